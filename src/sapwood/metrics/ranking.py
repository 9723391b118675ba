"""How well scores order the rows of a query.

A relevance y is a whole number from 0 on, and gains 2^y - 1 (or what `label_gain` says). A query without a relevant row counts 1: there is
nothing to get wrong, as LightGBM and XGBoost have it. Rows with equal scores share their places: for NDCG the mean over all orders, as in
scikit-learn; for MAP and MRR the worst order, so that a constant score earns nothing from the order of the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.data.queries import Queries
from sapwood.runtime import kernels
from sapwood.runtime.execution import SERIAL, Execution

NDCG, MAP, MRR = range(3)  # the kernel's numbers
ALL_RANKS = 1 << 40
MOST_RELEVANT = 31  # a gain of 2^31 - 1


def ndcg(
    y: Any, scores: Any, queries: Queries, weight: Any = None, k: int | None = None, label_gain: Any = None, execution: Execution = SERIAL
) -> float:
    """Normalised discounted cumulative gain of the first k rows of each query, mean over queries."""
    gain = gains(np.asarray(y, dtype=np.float64), label_gain)
    return queries.mean(ndcg_of_queries(gain, np.ascontiguousarray(scores, dtype=np.float64), queries, k, execution), weight, execution)


def average_precision(
    y: Any, scores: Any, queries: Queries, weight: Any = None, k: int | None = None, execution: Execution = SERIAL
) -> float:
    """MAP@k: the precision at each relevant row (y > 0) among the first k, over min(k, relevant rows); mean over queries."""
    return _of_relevant(MAP, y, scores, queries, weight, k, execution)


def reciprocal_rank(
    y: Any, scores: Any, queries: Queries, weight: Any = None, k: int | None = None, execution: Execution = SERIAL
) -> float:
    """MRR@k: one over the rank of the first relevant row (y > 0), 0 past k; mean over queries."""
    return _of_relevant(MRR, y, scores, queries, weight, k, execution)


def ndcg_of_queries(gain: np.ndarray, scores: np.ndarray, queries: Queries, k: int | None, execution: Execution) -> np.ndarray:
    """(n_queries,) float64."""
    best = _values(NDCG, gain, gain, queries, k, execution)
    found = _values(NDCG, gain, scores, queries, k, execution)
    return np.divide(found, best, out=np.ones(queries.n_queries), where=best > 0)


def best_dcg(gain: np.ndarray, queries: Queries, k: int | None, execution: Execution) -> np.ndarray:
    """(n_queries,) float64: the discounted gain of the best order."""
    return _values(NDCG, gain, gain, queries, k, execution)


def gains(y: np.ndarray, label_gain: Any = None, name: str = "y") -> np.ndarray:
    """(n_rows,) float64: what a relevance is worth."""
    most = MOST_RELEVANT if label_gain is None else len(label_gain) - 1
    wrong = (y < 0) | (y != np.floor(y)) | (y > most)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"{name} must hold relevances, whole numbers from 0 to {most}"
            f"{'' if label_gain is None else ' (label_gain has a gain for each)'}; got {y[row]:g} in row {row}"
        )
    whole = y.astype(np.int64)
    return np.ldexp(1.0, whole.astype(np.int32)) - 1.0 if label_gain is None else np.asarray(label_gain, dtype=np.float64)[whole]


def _of_relevant(measure: int, y: Any, scores: Any, queries: Queries, weight: Any, k: int | None, execution: Execution) -> float:
    relevant = (np.asarray(y) > 0).astype(np.float64)
    found = _values(measure, relevant, np.ascontiguousarray(scores, dtype=np.float64), queries, k, execution)
    found[queries.sums(relevant) == 0] = 1.0
    return queries.mean(found, weight, execution)


def _values(measure: int, gain: np.ndarray, scores: np.ndarray, queries: Queries, k: int | None, execution: Execution) -> np.ndarray:
    out = np.empty(queries.n_queries)
    kernels.rank_values(measure, gain, scores, queries.begin, last_rank=k or ALL_RANKS, out=out, n_threads=execution.n_threads)
    return out
