"""Prediction that stops where the class is beyond doubt."""

from __future__ import annotations

import numpy as np

from sapwood.data.tables import Table
from sapwood.runtime import kernels
from sapwood.runtime.execution import Execution

ROUNDS_AT_ONCE = 10  # between two looks at a row


def add_until_sure(
    table: Table, scorer: kernels.Scorer, raw: np.ndarray, trees: range, link: str, margin: float, execution: Execution
) -> None:
    """Add trees to raw predictions, (n_rows, n_outputs), until a row's lead is at least the margin. Each row is on its own, so the answer
    does not depend on which others come with it. The range of trees has whole rounds for its steps."""
    some = ROUNDS_AT_ONCE * trees.step
    for block in table.row_blocks():
        features, out = table.dense(block), raw[block]
        rows, own = np.arange(len(out)), out.copy()  # those in doubt, and their raw predictions
        for first in range(trees.start, trees.stop, some):
            scorer.add(features, first, min(first + some, trees.stop), own, execution.n_threads)
            out[rows] = own
            doubtful = lead(own, link) < margin
            if not doubtful.all():
                rows, features, own = rows[doubtful], features[doubtful], own[doubtful]
            if not len(rows):
                break


def lead(raw: np.ndarray, link: str) -> np.ndarray:
    """(n_rows,): how far a class is ahead of the next; of two classes, or where each label is a yes or no, the log-odds of the least
    certain answer."""
    if link != "softmax":
        return np.abs(raw).min(axis=1)
    top = np.partition(raw, -2, axis=1)[:, -2:]
    return top[:, 1] - top[:, 0]
