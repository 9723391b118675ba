"""Confidence intervals of metrics."""

import numpy as np
import pytest

from sapwood.data.queries import Queries
from sapwood.metrics import find_metric
from sapwood.metrics.intervals import score_interval


@pytest.mark.parametrize("n", [300, 6_000])  # bootstrap, jackknife
def test_interval_of_a_mean_is_that_of_theory(n):
    rng = np.random.default_rng(0)
    y = rng.normal(size=n)
    score = score_interval(find_metric("mae"), y, np.zeros(n))
    error = np.abs(y).std() / np.sqrt(n)
    assert score.value == pytest.approx(np.abs(y).mean())
    assert score.standard_error == pytest.approx(error, rel=0.35)
    assert score.high - score.low == pytest.approx(2 * 1.96 * error, rel=0.4)


@pytest.mark.parametrize("n", [300, 6_000])
def test_coverage(n):
    """The interval contains the score of the population in most samples."""
    rng = np.random.default_rng(1)
    inside = 0
    for seed in range(30):
        y = rng.normal(size=n)
        score = score_interval(find_metric("rmse"), y, np.zeros(n), level=0.9, seed=seed)
        inside += score.low <= 1.0 <= score.high
    assert inside >= 22


def test_queries_are_resampled_as_a_whole():
    rng = np.random.default_rng(0)
    y, scores = rng.integers(0, 3, 200), rng.normal(size=200)
    queries = Queries.from_group([5] * 40, 200)
    score = score_interval(find_metric("ndcg"), y, scores, None, queries)
    assert score.low < score.value < score.high


def test_undefined_interval():
    y = np.array([0, 0, 0, 0, 1])
    predicted = np.column_stack([1 - y * 0.9, y * 0.9])
    score = score_interval(find_metric("roc_auc"), y, predicted)
    assert score.value == 1.0
    with pytest.raises(ValueError, match="level"):
        score_interval(find_metric("rmse"), y, y, level=95)
