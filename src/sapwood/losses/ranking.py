"""Losses of whole queries: what matters is the order of their rows."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from sapwood.data.queries import Queries
from sapwood.losses.base import Loss
from sapwood.metrics import ranking as measures
from sapwood.runtime import kernels
from sapwood.runtime.execution import SERIAL, Execution

MEASURES = {"ndcg": 0, "map": 1, "mrr": 2}  # the kernel's numbers
PAIRWISE = 3


class RankingLoss(Loss):
    """A loss that looks at the rows of a query together: `bind` tells it which those are.

    Parameters
    ----------
    label_gain : what each relevance is worth; None for 2^y - 1
    """

    queries: Queries
    rowwise = False
    exact_hessian = False  # that of a pair, taken apart

    def __init__(self, label_gain: Any = None) -> None:
        super().__init__()
        self.label_gain = label_gain
        self._floats: np.ndarray | None = None

    def bind(self, queries: Queries | None, execution: Execution = SERIAL) -> RankingLoss:
        if queries is None:
            raise ValueError(f"loss={self.name!r} needs to know the queries of its rows")
        bound = copy.copy(self)
        bound.queries, bound._kept, bound._floats, bound._known = queries.located(execution), None, None, None
        return bound

    def check_targets(self, y: np.ndarray) -> None:
        measures.gains(y, self.label_gain)

    def best_shift(
        self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, start: np.ndarray, execution: Execution = SERIAL
    ) -> np.ndarray:
        return np.zeros(1)  # only differences within a query matter

    def weighted_gradients(
        self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution
    ) -> tuple[np.ndarray, np.ndarray]:
        if self._floats is None:
            self._floats = np.empty((2, 1, len(y)))
        gradient, hessian = self._floats
        gain, unit = self._gains(y, execution)
        rows = kernels.RankedRows(self._targets(gain), raw[0], weight, self.queries.begin, unit)
        self._finite(execution.max(np.array(self._gradients(rows, (gradient[0], hessian[0]), execution))).tolist())
        return gradient, hessian

    def _gradients(self, rows: kernels.RankedRows, out: tuple[np.ndarray, np.ndarray], execution: Execution) -> tuple[float, float]:
        """Fill (n_rows,) arrays of gradients and hessians; return the largest of both."""
        raise TypeError(f"{type(self).__name__} has no gradients")

    def _targets(self, gain: np.ndarray) -> np.ndarray:
        """(n_rows,) float64: the gains that this round's gradients are made of."""
        return gain

    def _gains(self, y: np.ndarray, execution: Execution) -> tuple[np.ndarray, np.ndarray]:
        """Gain of each row, (n_rows,), and factor of the changes of each query, (n_queries,). Both are kept."""
        if self._known is None or self._known[0] is not y:
            self._known = y, self._prepare(y, execution)
        return self._known[1]

    _known: tuple[np.ndarray, tuple[np.ndarray, np.ndarray]] | None = None

    def _prepare(self, y: np.ndarray, execution: Execution) -> tuple[np.ndarray, np.ndarray]:
        return measures.gains(y, self.label_gain), np.ones(self.queries.n_queries)


class LambdaMart(RankingLoss):
    """Each pair of rows of a query with different relevance pulls apart by the slope of log(1 + exp(-d)), d = raw of the higher less that
    of the lower, times the change of a measure (NDCG, MAP or MRR) that a swap would make (Burges, 2010).

    Only pairs with a row among the first `truncation` count. Normalised as in LightGBM: a change is divided by 0.01 + |d|, and a query's
    gradients, whose sizes add up to S, are multiplied by log2(1 + S) / S.
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
        return kernels.pair_gradients(
            MEASURES[self.metric],
            rows,
            truncation=self.truncation,
            steepness=1.0,
            normalize=self.normalize,
            gradient=out[0],
            hessian=out[1],
            n_threads=execution.n_threads,
        )

    def mean(self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution) -> float:
        """1 - the measure of the first `truncation` rows: the pairs' gradients have no loss of their own."""
        args = y, raw[0], self.queries, weight, self.truncation
        if self.metric == "ndcg":
            return 1.0 - measures.ndcg(*args, self.label_gain, execution)
        return 1.0 - (measures.average_precision if self.metric == "map" else measures.reciprocal_rank)(*args, execution)


class Pairwise(RankingLoss):
    """The mean of log(1 + exp(-d)) over the pairs of a query with different relevance (d: raw of the higher less that of the lower), times
    the rows of the query, so that each row counts the same (RankNet; Burges et al., 2005).

    Its time grows with the square of a query's rows.
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
        return kernels.pair_gradients(
            PAIRWISE,
            rows,
            truncation=measures.ALL_RANKS,
            steepness=1.0,
            normalize=False,
            gradient=out[0],
            hessian=out[1],
            n_threads=execution.n_threads,
        )

    def mean(self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution) -> float:
        gain, unit = self._gains(y, execution)
        values = np.empty(len(unit))
        kernels.pair_values(gain, raw[0], self.queries.begin, unit, steepness=1.0, out=values, n_threads=execution.n_threads)
        return self.queries.mean(values / self.queries.sizes, weight, execution)


class ListwiseNdcg(RankingLoss):
    """Cross-entropy of a query's softmax p with targets in proportion to 2^y - u, u drawn from [0, 1) for each row and round: a bound of
    NDCG (XE-NDCG; Bruch, 2021). hessian = p (1 - p)."""

    name = "xendcg"
    expected: float = 0.5  # of u

    def before_round(self, key: int) -> None:
        self._key = key

    def _gradients(self, rows: kernels.RankedRows, out: tuple[np.ndarray, np.ndarray], execution: Execution) -> tuple[float, float]:
        return kernels.listwise_gradients(rows, out[0], out[1], execution.n_threads)

    def _targets(self, gain: np.ndarray) -> np.ndarray:
        return gain + 1.0 - kernels.hash_rows(len(gain), self._key, self.queries.first_row) * 2.0**-32

    def mean(self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution) -> float:
        gain, unit = self._gains(y, execution)
        values = np.empty(len(unit))
        kernels.listwise_values(gain + 1.0 - self.expected, raw[0], self.queries.begin, unit, values, execution.n_threads)
        return self.queries.mean(values, weight, execution)
