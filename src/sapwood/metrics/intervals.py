"""Confidence intervals of metrics: how much a score would vary with other rows of the same kind."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sapwood.data.queries import Queries
from sapwood.metrics.base import Metric

BOOTSTRAP_UNITS = 5_000  # rows or queries; above, the jackknife needs fewer evaluations of the metric
REPLICATES = 200
GROUPS = 20


@dataclass(frozen=True)
class Score:
    """Value of a metric with the ends of a confidence interval; the ends are NaN if they cannot be computed."""

    value: float
    low: float
    high: float
    standard_error: float


def score_interval(
    metric: Metric,
    y: np.ndarray,
    predicted: np.ndarray,
    weight: np.ndarray | None = None,
    queries: Queries | None = None,
    *,
    level: float = 0.95,
    seed: int = 0,
) -> Score:
    """Return a metric with a confidence interval.

    Up to 5,000 rows the standard error is that of 200 bootstrap resamples and the interval has their quantiles, moved to the score. Above,
    it is the jackknife's: one of 20 random groups of rows is left out at a time, and the interval has quantiles of Student's t. Queries
    are resampled as a whole.

    Examples
    --------
    >>> import numpy as np
    >>> from sapwood.metrics import find_metric
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=1000)
    >>> score = score_interval(find_metric("rmse"), y, y + 0.1 * rng.normal(size=1000))
    >>> score.low < 0.1 < score.high
    True
    """

    def value(rows: np.ndarray | None) -> float:
        """Return the metric of some rows, or of some queries; NaN if it is not defined for them."""
        if queries is not None:
            if rows is None:
                return metric(y, predicted, weight, queries)
            chosen = queries.rows(rows)
            part = Queries(np.concatenate([[0], np.cumsum(queries.sizes[rows])]))
            return metric(y[chosen], predicted[chosen], None if weight is None else weight[chosen], part)
        if rows is None:
            return metric(y, predicted, weight)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return metric(y[rows], predicted[rows], None if weight is None else weight[rows])
        except ValueError:  # such as one class only
            return float("nan")

    return interval_of(value, len(y) if queries is None else queries.n_queries, level=level, seed=seed)


def interval_of(value: Callable[[np.ndarray | None], float], n_units: int, *, level: float = 0.95, seed: int = 0) -> Score:
    """Return the value of a function of rows (or of queries) with a confidence interval, as `score_interval` does.

    `value` is called with the numbers of the chosen units, which may be repeated; None for all.
    """
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1; got {level}")
    rng = np.random.default_rng(seed)
    return (_bootstrap if n_units <= BOOTSTRAP_UNITS else _jackknife)(value, n_units, level, rng)


def _bootstrap(value: Callable[[np.ndarray | None], float], n: int, level: float, rng: np.random.Generator) -> Score:
    whole = value(None)
    replicates = np.array([value(np.sort(rng.integers(0, n, size=n))) for _ in range(REPLICATES)])
    replicates = replicates[np.isfinite(replicates)]
    if len(replicates) < REPLICATES // 2:
        return Score(whole, np.nan, np.nan, np.nan)
    low, high = np.quantile(replicates - replicates.mean(), [(1 - level) / 2, (1 + level) / 2])
    return Score(whole, whole + float(low), whole + float(high), float(replicates.std(ddof=1)))


def _jackknife(value: Callable[[np.ndarray | None], float], n: int, level: float, rng: np.random.Generator) -> Score:
    from scipy.special import stdtrit  # quantiles of Student's t

    whole, group = value(None), rng.permutation(n) % GROUPS
    scores = np.array([value(np.flatnonzero(group != left_out)) for left_out in range(GROUPS)])
    error = float(np.sqrt((GROUPS - 1) * scores.var()))
    width = float(stdtrit(GROUPS - 1, (1 + level) / 2)) * error
    return Score(whole, whole - width, whole + width, error)
