"""How far a round goes along a tree that was grown: its leaf values are multiplied by a factor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sapwood.losses.newton import newton
from sapwood.runtime.execution import Execution
from sapwood.trees.leaf_assignment import LeafAssignment
from sapwood.trees.leaf_models import LeafModel

if TYPE_CHECKING:
    from sapwood.training.boosting import Rows

LONGEST = 64.0  # factor of a line search: where the loss falls for ever, it must end somewhere


class Step:
    """Leaf values as they are: each is its leaf's own Newton step, times the learning rate."""

    def factor(
        self, leaves: LeafModel, rows: Rows, raw: np.ndarray, outputs: slice, assignment: LeafAssignment, execution: Execution
    ) -> float:
        """Return what to multiply the leaves of a tree for these outputs by, before the learning rate; `raw` is where its gradients were
        taken."""
        return 1.0


class LineSearch(Step):
    """Classic gradient boosting: the factor with the least loss of all training rows, found before the learning rate shrinks it.

    By Newton's method; slopes are exact sums, so neither threads nor the order of rows leave a trace. All outputs of a shared tree go as
    far; how they bend together is left out of the curvature, which only decides how fast the factor is found.
    """

    def factor(
        self, leaves: LeafModel, rows: Rows, raw: np.ndarray, outputs: slice, assignment: LeafAssignment, execution: Execution
    ) -> float:
        moves = np.zeros_like(raw)
        leaves.add_to(moves[outputs], assignment, execution)

        def derivatives(factor: float) -> tuple[float, float]:
            both = rows.loss.weighted_gradients(rows.y, raw + factor * moves, rows.weight, execution)
            gradients, hessians = (part[outputs] for part in both)
            along, bend = (gradients * moves[outputs]).ravel(), (hessians * moves[outputs] * moves[outputs]).ravel()
            slope, curvature = execution.exact_sums([along, bend])
            return slope, curvature

        return min(max(newton(derivatives, 1.0, low=0.0), 0.0), LONGEST)


STEPS: dict[str, type[Step]] = {"newton": Step, "line_search": LineSearch}
