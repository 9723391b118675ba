"""Step size of a tree: the factor of its leaf values before the learning rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sapwood.losses.newton import newton
from sapwood.runtime.execution import Execution
from sapwood.trees.leaf_assignment import LeafAssignment
from sapwood.trees.leaf_models import LeafModel

if TYPE_CHECKING:
    from sapwood.training.boosting import BoostingDataset

MAX_FACTOR = 64.0  # for losses that decrease without bound


class Step:
    """Step size 1: each leaf value is the Newton step of the leaf."""

    def factor(
        self,
        leaves: LeafModel,
        learning_rate: float,
        train_set: BoostingDataset,
        raw: np.ndarray,
        outputs: slice,
        assignment: LeafAssignment,
        execution: Execution,
    ) -> float:
        """Return the step size of a tree.

        Parameters
        ----------
        leaves : leaf values of the tree, times the learning rate
        train_set : training set
        raw : (n_outputs, n_rows) raw predictions at which the gradients were computed
        outputs : outputs of the tree
        assignment : leaf of each training row
        execution : threads and partitions
        """
        return 1.0


class LineSearch(Step):
    """Line search of classic gradient boosting: the step size that minimizes the loss of all training rows, before the learning rate.

    The minimum is found by Newton's method. Derivatives are exact sums, so threads and the order of rows do not change the result. A tree
    that is shared by several outputs has one step size; mixed second derivatives between outputs are left out of the curvature, which
    affects only the speed of convergence.
    """

    def factor(
        self,
        leaves: LeafModel,
        learning_rate: float,
        train_set: BoostingDataset,
        raw: np.ndarray,
        outputs: slice,
        assignment: LeafAssignment,
        execution: Execution,
    ) -> float:
        update = np.zeros_like(raw)  # (n_outputs, n_rows) float64
        leaves.unscaled(learning_rate).add_to(update[outputs], assignment, execution)
        moved = update[outputs]

        def derivatives(factor: float) -> tuple[float, float]:
            gradients, hessians = train_set.loss.weighted_gradients(train_set.y, raw + factor * update, train_set.weight, execution)
            first, second = (gradients[outputs] * moved).ravel(), (hessians[outputs] * moved * moved).ravel()
            slope, curvature = execution.exact_sums([first, second])
            return slope, curvature

        return min(max(newton(derivatives, 1.0, low=0.0), 0.0), MAX_FACTOR)


STEPS: dict[str, type[Step]] = {"newton": Step, "line_search": LineSearch}
