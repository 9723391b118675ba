"""Ranking losses: the loss of a query depends on the order of its rows."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from sapwood.data.queries import Queries
from sapwood.losses.base import Loss
from sapwood.metrics import ranking as measures
from sapwood.runtime import kernels
from sapwood.runtime.execution import SERIAL, Execution

RANK_METRICS = {"ndcg": 0, "map": 1, "mrr": 2}  # numbers in the kernel
PAIRWISE = 3


class RankingLoss(Loss):
    """Base class of ranking losses. `bind` sets the queries of the rows.

    Parameters
    ----------
    label_gain : gain of each relevance; None for 2^y - 1
    """

    queries: Queries
    rowwise = False
    exact_hessian = False  # the hessian of a pair is split between its rows
    _cached_gradients: np.ndarray | None = None

    def __init__(self, label_gain: Any = None) -> None:
        super().__init__()
        self.label_gain = label_gain

    def bind(self, queries: Queries | None, execution: Execution = SERIAL) -> RankingLoss:
        if queries is None:
            raise ValueError(f"loss={self.name!r} requires the queries of the rows: group or qid")
        bound = copy.copy(self)
        bound.queries = queries.located(execution)
        bound._cached_buffer, bound._cached_gradients, bound._cached_gains = None, None, None
        return bound

    def check_targets(self, y: np.ndarray) -> None:
        measures.gains(y, self.label_gain)

    def best_shift(
        self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, initial: np.ndarray, execution: Execution = SERIAL
    ) -> np.ndarray:
        return np.zeros(1)  # only differences within a query change the loss

    def weighted_gradients(
        self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution
    ) -> tuple[np.ndarray, np.ndarray]:
        if self._cached_gradients is None:
            self._cached_gradients = np.empty((2, 1, len(y)))
        gradient, hessian = self._cached_gradients
        gain, unit = self._gains(y, execution)
        rows = kernels.RankedRows(self._targets(gain), raw[0], weight, self.queries.begin, unit)
        self._check_finite(execution.max(np.array(self._gradients(rows, (gradient[0], hessian[0]), execution))).tolist())
        return gradient, hessian

    def _gradients(self, rows: kernels.RankedRows, out: tuple[np.ndarray, np.ndarray], execution: Execution) -> tuple[float, float]:
        """Write gradients and hessians, (n_rows,) each, to `out`; return the maximum of each."""
        raise TypeError(f"{type(self).__name__} must implement _gradients(rows, out, execution)")

    def _targets(self, gain: np.ndarray) -> np.ndarray:
        """Return the targets of this round's gradients, (n_rows,) float64."""
        return gain

    def _gains(self, y: np.ndarray, execution: Execution) -> tuple[np.ndarray, np.ndarray]:
        """Return the gain of each row, (n_rows,), and the normalization of each query, (n_queries,); cached."""
        if self._cached_gains is None or self._cached_gains[0] is not y:
            self._cached_gains = y, self._prepare(y, execution)
        return self._cached_gains[1]

    _cached_gains: tuple[np.ndarray, tuple[np.ndarray, np.ndarray]] | None = None

    def _prepare(self, y: np.ndarray, execution: Execution) -> tuple[np.ndarray, np.ndarray]:
        return measures.gains(y, self.label_gain), np.ones(self.queries.n_queries)


class LambdaMart(RankingLoss):
    """LambdaMART (Burges, 2010). Each pair of rows of a query with different relevance has the gradient of log(1 + exp(-d)), where d is the
    difference of their raw predictions, times the change of the metric (NDCG, MAP or MRR) if the two rows were swapped.

    Pairs need a row among the first `truncation` ranks. With `normalize`, as in LightGBM, the change is divided by 0.01 + |d|, and the
    gradients of a query are multiplied by log2(1 + S) / S, where S is the sum of their absolute values.
    """

    metric: str
    truncation: int
    normalize: bool
    name = "lambdamart"

    def __init__(self, label_gain: Any = None, metric: str = "ndcg", truncation: int = 30, normalize: bool = True) -> None:
        super().__init__(label_gain)
        self.metric, self.truncation, self.normalize = metric, truncation, normalize

    def _prepare(self, y: np.ndarray, execution: Execution) -> tuple[np.ndarray, np.ndarray]:
        gain = measures.gains(y, self.label_gain)
        if self.metric == "ndcg":
            best = measures.best_dcg(gain, self.queries, self.truncation, execution)
            return gain, np.divide(1.0, best, out=np.zeros(len(best)), where=best > 0)
        relevant = (y > 0).astype(np.float64)
        n_relevant = self.queries.sums(relevant) if self.metric == "map" else np.ones(self.queries.n_queries)
        return relevant, np.divide(1.0, n_relevant, out=np.zeros(len(n_relevant)), where=n_relevant > 0)

    def _gradients(self, rows: kernels.RankedRows, out: tuple[np.ndarray, np.ndarray], execution: Execution) -> tuple[float, float]:
        rule = kernels.PairRule(RANK_METRICS[self.metric], self.truncation, normalize=self.normalize)
        return kernels.pair_gradients(rows, rule, out[0], out[1], execution.n_threads)

    def mean(self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution) -> float:
        """Return 1 - metric at `truncation`, since the gradients of the pairs are not derivatives of a loss."""
        args = y, raw[0], self.queries, weight, self.truncation
        if self.metric == "ndcg":
            return 1.0 - measures.ndcg(*args, self.label_gain, execution)
        return 1.0 - (measures.average_precision if self.metric == "map" else measures.reciprocal_rank)(*args, execution)


class Pairwise(RankingLoss):
    """RankNet (Burges et al., 2005): mean of log(1 + exp(-d)) over the pairs of a query with different relevance, times the number of rows
    of the query. d is the raw prediction of the more relevant row minus that of the other.

    The cost is quadratic in the number of rows of a query.
    """

    name = "pairwise"

    def _prepare(self, y: np.ndarray, execution: Execution) -> tuple[np.ndarray, np.ndarray]:
        levels, level = np.unique(y, return_inverse=True)
        counts = np.bincount(self.queries.of_row * len(levels) + level, minlength=self.queries.n_queries * len(levels))
        same = (counts.reshape(self.queries.n_queries, len(levels)).astype(np.float64) ** 2).sum(axis=1)
        sizes = self.queries.sizes.astype(np.float64)
        n_pairs = (sizes**2 - same) / 2
        return y, np.divide(sizes, n_pairs, out=np.zeros(len(sizes)), where=n_pairs > 0)

    def _gradients(self, rows: kernels.RankedRows, out: tuple[np.ndarray, np.ndarray], execution: Execution) -> tuple[float, float]:
        rule = kernels.PairRule(PAIRWISE, measures.ALL_RANKS)
        return kernels.pair_gradients(rows, rule, out[0], out[1], execution.n_threads)

    def mean(self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution) -> float:
        gain, unit = self._gains(y, execution)
        values = np.empty(len(unit))
        rows = kernels.RankedRows(gain, raw[0], None, self.queries.begin, unit)
        kernels.pair_values(rows, steepness=1.0, out=values, n_threads=execution.n_threads)
        return self.queries.mean(values / self.queries.sizes, weight, execution)


class ListwiseNdcg(RankingLoss):
    """XE-NDCG (Bruch, 2021): cross-entropy between the softmax p of a query and targets proportional to 2^y - u, where u is uniform on
    [0, 1), drawn for each row and round. It bounds NDCG. hessian = p (1 - p)."""

    name = "xendcg"
    expected: float = 0.5  # mean of u

    def before_round(self, key: int) -> None:
        self._key = key

    def _gradients(self, rows: kernels.RankedRows, out: tuple[np.ndarray, np.ndarray], execution: Execution) -> tuple[float, float]:
        return kernels.listwise_gradients(rows, out[0], out[1], execution.n_threads)

    def _targets(self, gain: np.ndarray) -> np.ndarray:
        return gain + 1.0 - kernels.hash_rows(len(gain), self._key, self.queries.first_row) * 2.0**-32

    def mean(self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution) -> float:
        gain, unit = self._gains(y, execution)
        values = np.empty(len(unit))
        rows = kernels.RankedRows(gain + 1.0 - self.expected, raw[0], None, self.queries.begin, unit)
        kernels.listwise_values(rows, values, execution.n_threads)
        return self.queries.mean(values, weight, execution)
