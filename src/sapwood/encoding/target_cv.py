"""Cross-fitted target means with empirical-Bayes smoothing."""

from __future__ import annotations

import math

import numpy as np

from sapwood.data.binning import NUMBER
from sapwood.encoding.base import CategoryKeys, EncodedFeature, Encoder, EncodingTargets
from sapwood.encoding.lookup import Lookup


class CrossFittedTarget(Encoder):
    """Mean target of a level, shrunk towards the mean of all rows as much as the data suggest.

    The rows are divided into folds by a hash of their ids. The value of a training row is computed from the rows of the other folds only,
    so it does not depend on the targets of its own fold. At prediction it is computed from all training rows. An unseen level is treated
    as missing: it has the value of the training rows with a missing level, or the mean of all rows if there are none.

    The mean of all rows has the weight of `variance within levels / variance between levels` rows (a random-effects model, whose variances
    are estimated by the method of moments): levels that do not differ by more than chance all get the mean of all rows.

    Parameters
    ----------
    n_folds : number of folds
    """

    name = "target_cv"
    combines = True

    def __init__(self, n_folds: int = 5) -> None:
        self.n_folds = n_folds

    def fit(self, column: CategoryKeys, targets: EncodingTargets) -> list[EncodedFeature]:
        execution = targets.execution
        keys, _ = column.counts(execution)
        index, fold = np.searchsorted(keys, column.keys), targets.folds(self.n_folds)
        weights = execution.sum(self._sums(targets.weights, index, fold, len(keys))) * targets.weight_unit
        out = []
        for number, (target, unit) in enumerate(zip(targets.targets, targets.units, strict=True)):
            sums = execution.sum(self._sums(target, index, fold, len(keys))) * unit
            squares = np.array(execution.exact_sums(targets.squares(number)[fold == k] for k in range(self.n_folds)))
            training = np.empty(targets.n_rows)
            for k in range(self.n_folds):
                own = fold == k
                others = [part.sum(axis=-1) - part[..., k] for part in (sums, weights, squares)]
                training[own] = shrunk_means(*others)[0][index[own]]
            values, mean = shrunk_means(sums.sum(axis=1), weights.sum(axis=1), squares.sum())
            other = float(values[0]) if column.is_single and keys[0] == 0 else mean
            out.append(EncodedFeature(Lookup(column.columns, column.n_levels, keys, values, other, NUMBER), training))
        return out

    def _sums(self, values: np.ndarray | None, index: np.ndarray, fold: np.ndarray, n_keys: int) -> np.ndarray:
        """Return (n_keys, n_folds) int64: sums of integers, (n_rows,), by key and fold; None stands for ones."""
        out = np.zeros(n_keys * self.n_folds, dtype=np.int64)
        np.add.at(out, index * self.n_folds + fold, 1 if values is None else values)
        return out.reshape(n_keys, self.n_folds)


def shrunk_means(sums: np.ndarray, weights: np.ndarray, squares: float) -> tuple[np.ndarray, float]:
    """Return the shrunk mean of each level, (n_levels,) float64, and the mean of all rows.

    Parameters
    ----------
    sums, weights : (n_levels,) sums of weight * target and of weights
    squares : sum of weight * target^2 over all levels
    """
    total = weights.sum()
    mean = float(sums.sum() / total) if total > 0 else 0.0
    prior = prior_rows(sums, weights, squares)
    if math.isinf(prior):
        return np.full(len(sums), mean), mean
    return np.divide(sums + prior * mean, weights + prior, out=np.full(len(sums), mean), where=weights + prior > 0), mean


def prior_rows(sums: np.ndarray, weights: np.ndarray, squares: float) -> float:
    """Return the variance within levels divided by that between levels; infinity if levels do not differ by more than chance."""
    known = weights > 0
    sums, weights = sums[known], weights[known]
    total, n_levels = float(weights.sum()), len(weights)
    if n_levels < 2 or total <= n_levels:  # a level with several rows is needed to tell the two variances apart
        return math.inf
    of_levels, of_mean = float((sums**2 / weights).sum()), float(sums.sum()) ** 2 / total
    within = max(0.0, float(squares) - of_levels) / (total - n_levels)
    between = (of_levels - of_mean - (n_levels - 1) * within) / (total - float((weights**2).sum()) / total)
    return within / between if between > 0 else math.inf
