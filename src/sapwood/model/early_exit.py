"""Early exit: prediction that stops adding rounds to a row when its class is certain enough."""

from __future__ import annotations

import numpy as np

from sapwood.data.tables import Table
from sapwood.runtime import kernels
from sapwood.runtime.execution import Execution

ROUNDS_AT_ONCE = 10  # rounds between two checks of the margin


def add_with_early_exit(
    table: Table, scorer: kernels.Scorer, raw: np.ndarray, trees: range, link: str, margin: float, execution: Execution
) -> None:
    """Add trees to raw predictions, (n_rows, n_outputs), until the class of a row leads by the margin.

    The result of a row does not depend on other rows. The step of `trees` is the number of trees of a round.
    """
    n_trees = ROUNDS_AT_ONCE * trees.step
    for block in table.row_blocks():
        features, out = table.dense(block), raw[block]
        rows, active = np.arange(len(out)), out.copy()  # rows that need more rounds, and their raw predictions
        for first in range(trees.start, trees.stop, n_trees):
            scorer.add(features, first, min(first + n_trees, trees.stop), active, execution.n_threads)
            out[rows] = active
            uncertain = lead(active, link) < margin
            if not uncertain.all():
                rows, features, active = rows[uncertain], features[uncertain], active[uncertain]
            if not len(rows):
                break


def lead(raw: np.ndarray, link: str) -> np.ndarray:
    """Return the (n_rows,) margin between the best and the second-best class; for two classes and multilabel classification the smallest
    absolute log-odds."""
    if link != "softmax":
        return np.abs(raw).min(axis=1)
    top = np.partition(raw, -2, axis=1)[:, -2:]
    return top[:, 1] - top[:, 0]
