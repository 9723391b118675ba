"""Ranking metrics.

A relevance y is a non-negative integer, with a gain of 2^y - 1 or of `label_gain`. A query without relevant rows has a score of 1, as in
LightGBM and XGBoost. For rows with equal scores NDCG is the mean over all their orders, as in scikit-learn; MAP and MRR use the worst
order, so that constant scores do not depend on the order of the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.data.queries import Queries
from sapwood.runtime import kernels
from sapwood.runtime.execution import SERIAL, Execution

NDCG, MAP, MRR = range(3)  # numbers in the kernel
ALL_RANKS = 1 << 40
MAX_RELEVANCE = 31  # its gain is 2^31 - 1


def ndcg(
    y: Any, scores: Any, queries: Queries, weight: Any = None, k: int | None = None, label_gain: Any = None, execution: Execution = SERIAL
) -> float:
    """Return NDCG@k (normalized discounted cumulative gain), mean over queries."""
    gain = gains(np.asarray(y, dtype=np.float64), label_gain)
    return queries.mean(ndcg_of_queries(gain, np.ascontiguousarray(scores, dtype=np.float64), queries, k, execution), weight, execution)


def average_precision(
    y: Any, scores: Any, queries: Queries, weight: Any = None, k: int | None = None, execution: Execution = SERIAL
) -> float:
    """Return MAP@k (mean average precision) over queries: sum of the precision at each relevant row (y > 0) among the first k, divided by
    min(k, number of relevant rows)."""
    return _of_relevant(MAP, y, scores, queries, weight, k, execution)


def reciprocal_rank(
    y: Any, scores: Any, queries: Queries, weight: Any = None, k: int | None = None, execution: Execution = SERIAL
) -> float:
    """Return MRR@k (mean reciprocal rank) over queries: 1 / rank of the first relevant row (y > 0), 0 if it is after k."""
    return _of_relevant(MRR, y, scores, queries, weight, k, execution)


def ndcg_of_queries(gain: np.ndarray, scores: np.ndarray, queries: Queries, k: int | None, execution: Execution) -> np.ndarray:
    """Return NDCG@k of each query, (n_queries,) float64."""
    best = _values(NDCG, gain, gain, queries, k, execution)
    dcg = _values(NDCG, gain, scores, queries, k, execution)
    return np.divide(dcg, best, out=np.ones(queries.n_queries), where=best > 0)


def best_dcg(gain: np.ndarray, queries: Queries, k: int | None, execution: Execution) -> np.ndarray:
    """Return the discounted cumulative gain of the best order of each query, (n_queries,) float64."""
    return _values(NDCG, gain, gain, queries, k, execution)


def gains(y: np.ndarray, label_gain: Any = None, name: str = "y") -> np.ndarray:
    """Return the gain of each relevance, (n_rows,) float64."""
    most = MAX_RELEVANCE if label_gain is None else len(label_gain) - 1
    wrong = (y < 0) | (y != np.floor(y)) | (y > most)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"{name} must hold relevances, integers from 0 to {most}"
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
    rows = kernels.RankedRows(gain, scores, None, queries.begin)
    kernels.rank_values(rows, measure, last_rank=k or ALL_RANKS, out=out, n_threads=execution.n_threads)
    return out
