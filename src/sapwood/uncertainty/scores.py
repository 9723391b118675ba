"""Conformity scores of held-out rows: how far their targets are from the predictions.

The rank of a new row's score among n held-out scores is uniformly distributed. With at least the probability `level` it is at most the
k-th smallest held-out score, k = ceil(level * (n + 1)). With weights, k is replaced by the weight level * (total + weight of the new row).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import numpy as np

CELLS = 1 << 22  # values sorted at a time when several folds are merged
SLACK = 1 - 1e-12  # guards against level * (n + 1) being rounded up past an integer


class Scores:
    """Sorted scores of the held-out rows of one fold, with their weights and cumulative weights."""

    def __init__(self, values: np.ndarray, weight: np.ndarray | None = None) -> None:
        order = np.argsort(values, kind="stable")
        self.values: np.ndarray = values[order]
        self.weight: np.ndarray = np.ones(len(values)) if weight is None else weight[order]
        self.up_to: np.ndarray = np.cumsum(self.weight)

    @classmethod
    def of_file(cls, values: np.ndarray, weight: np.ndarray) -> Scores:
        """Return scores from the arrays of a file. Raises ValueError if they are not valid."""
        if any(one.dtype != np.float64 or one.ndim != 1 or len(one) != len(values) for one in (values, weight)) or not len(values):
            raise ValueError("scores and weights must be one-dimensional float64 arrays of the same length")
        if np.isnan(values).any() or not ((weight > 0) & (weight < np.inf)).all():
            raise ValueError("scores must not be NaN, and weights must be positive and finite")
        return cls(values, weight)

    def below(self, values: np.ndarray) -> np.ndarray:
        """Return the total weight of the scores below each value."""
        return np.append(0.0, self.up_to)[np.searchsorted(self.values, values)]

    def reaching(self, weight: np.ndarray) -> np.ndarray:
        """Return the smallest score whose cumulative weight reaches `weight`; infinity if the total weight is smaller."""
        return np.append(self.values, np.inf)[np.searchsorted(self.up_to, weight)]


def needed_weight(folds: Sequence[Scores], level: float, new: np.ndarray | None) -> np.ndarray:
    """Return the cumulative weight that the bound must reach, (1,) or (n_new,). If `new` is None, each new row has the mean weight."""
    weight = np.concatenate([fold.weight for fold in folds])
    total = float(weight.sum())
    if new is None:
        new = np.array([total / len(weight)])
    needed = level * (total + new) * SLACK
    if (needed > total).any():
        warnings.warn(
            f"confidence_level={level} needs at least {math.ceil(level / (1 - level) * SLACK)} held-out rows of equal weight; there are "
            f"{len(weight)}, so that intervals are infinite and sets contain all classes",
            stacklevel=3,
        )
    return needed


def reach(folds: Sequence[Scores], centres: np.ndarray, needed: np.ndarray) -> np.ndarray:
    """Return the upper bound of each new row, (n_new,): the smallest centre + score whose cumulative weight reaches `needed`.

    `centres`, (n_folds, n_new), are the predictions of each fold's estimator. One fold is split conformal prediction, several are CV+.
    """
    if len(folds) == 1:
        return centres[0] + folds[0].reaching(needed)
    n_new, n = centres.shape[1], sum(len(fold.values) for fold in folds)
    weight = np.concatenate([fold.weight for fold in folds])
    needed = np.broadcast_to(needed, (n_new,))
    reached = np.empty(n_new)
    all_alike = (weight == weight[0]).all() and (needed == needed[:1]).all()  # then a partial sort is enough
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
