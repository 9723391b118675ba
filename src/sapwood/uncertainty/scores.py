"""Conformity scores: how far held-out rows were from what was predicted for them.

A new row is as likely to have any rank among them as another. So, with a probability of at least the confidence level, its score is not
above the smallest one that ceil(level * (n + 1)) of the n held-out scores do not exceed. With weights, rows count by theirs, and the new
one by its own: level * (total + new).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import numpy as np

CELLS = 1 << 22  # numbers sorted at a time, where several folds are merged
SLACK = 1 - 1e-12  # so that level * (n + 1) is not above the integer it stands for


class Scores:
    """The scores of one fold's held-out rows, ascending, and the weight of all up to each."""

    def __init__(self, values: np.ndarray, weight: np.ndarray | None = None) -> None:
        order = np.argsort(values, kind="stable")
        self.values = values[order]
        self.weight = np.ones(len(values)) if weight is None else weight[order]
        self.up_to = np.cumsum(self.weight)

    @classmethod
    def of_file(cls, values: np.ndarray, weight: np.ndarray) -> Scores:
        """From what a file holds; ValueError if it makes no sense."""
        if any(one.dtype != np.float64 or one.ndim != 1 or len(one) != len(values) for one in (values, weight)) or not len(values):
            raise ValueError("scores and their weights must be lists of numbers, as many of each")
        if np.isnan(values).any() or not ((weight > 0) & (weight < np.inf)).all():
            raise ValueError("scores must be numbers, and weights above 0")
        return cls(values, weight)

    def below(self, values: np.ndarray) -> np.ndarray:
        """The weight of the scores below each value."""
        return np.append(0.0, self.up_to)[np.searchsorted(self.values, values)]

    def reaching(self, weight: np.ndarray) -> np.ndarray:
        """The smallest score that so much weight does not exceed; infinite where there is not so much."""
        return np.append(self.values, np.inf)[np.searchsorted(self.up_to, weight)]


def needed_weight(folds: Sequence[Scores], level: float, new: np.ndarray | None) -> np.ndarray:
    """(1,) or (n_new,): the weight of scores that a new row's must not exceed. Without weights for new rows theirs is the mean."""
    weight = np.concatenate([fold.weight for fold in folds])
    total = float(weight.sum())
    if new is None:
        new = np.array([total / len(weight)])
    needed = level * (total + new) * SLACK
    if (needed > total).any():
        warnings.warn(
            f"confidence_level={level} needs at least {math.ceil(level / (1 - level) * SLACK)} held-out rows of equal weight; there are "
            f"{len(weight)}: nothing can be ruled out",
            stacklevel=3,
        )
    return needed


def reach(folds: Sequence[Scores], centres: np.ndarray, needed: np.ndarray) -> np.ndarray:
    """(n_new,): for each new row the smallest end that centre + score of so much weight does not exceed.

    `centres`, (n_folds, n_new), are what each fold's estimator predicts. Of one fold this is split conformal prediction, of several CV+.
    """
    if len(folds) == 1:
        return centres[0] + folds[0].reaching(needed)
    n_new, n = centres.shape[1], sum(len(fold.values) for fold in folds)
    weight = np.concatenate([fold.weight for fold in folds])
    needed = np.broadcast_to(needed, (n_new,))
    reached = np.empty(n_new)
    all_alike = (weight == weight[0]).all() and (needed == needed[:1]).all()  # then there is no need to sort
    step = max(1, CELLS // n)
    for rows in (slice(a, a + step) for a in range(0, n_new, step)):
        ends = np.concatenate([centre[rows, None] + fold.values for centre, fold in zip(centres, folds, strict=True)], axis=1)
        if all_alike:
            k = math.ceil(needed[0] / weight[0]) - 1
            reached[rows] = np.partition(ends, k, axis=1)[:, k] if k < n else np.inf
            continue
        order = np.argsort(ends, axis=1, kind="stable")
        at = (np.cumsum(weight[order], axis=1) < needed[rows, None]).sum(axis=1, keepdims=True)
        ends = np.append(np.take_along_axis(ends, order, axis=1), np.full((len(ends), 1), np.inf), axis=1)
        reached[rows] = np.take_along_axis(ends, at, axis=1)[:, 0]
    return reached
