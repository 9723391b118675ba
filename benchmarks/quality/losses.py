"""The loss of predictions on test rows: lower is better for every task."""

from __future__ import annotations

import numpy as np

from benchmarks.quality.tables import Table
from benchmarks.quality.tasks import CLASSES, COUNTS, OUTPUTS, RANKING, REGRESSION, SURVIVAL
from sapwood.data.queries import Queries
from sapwood.metrics.concordance import concordance_index
from sapwood.metrics.ranking import ndcg

LEAST_PROBABILITY = 1e-7  # some libraries return float32
LEAST_RATE = 1e-9
K = 10


def loss(test: Table, predicted: np.ndarray) -> float:
    """From probabilities (n_rows, n_classes), means, rates, scores or risks."""
    predicted = np.asarray(predicted, dtype=np.float64)
    if predicted.shape[0] != len(test.y) or not np.isfinite(predicted).all():
        raise ValueError(f"predictions of shape {predicted.shape} for {len(test.y)} rows, or not all finite")
    return float(LOSSES[test.task](test, predicted))


def log_loss(test: Table, predicted: np.ndarray) -> float:
    chosen = predicted[np.arange(len(test.y)), test.y]
    return -np.log(np.clip(chosen, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)).mean()


def scaled_rmse(test: Table, predicted: np.ndarray) -> float:
    """Root of the mean squared error over the standard deviation of the target; the mean over outputs."""
    errors = np.sqrt(np.mean((test.y - predicted.reshape(test.y.shape)) ** 2, axis=0))
    return np.mean(errors / test.y.std(axis=0))


def poisson_deviance(test: Table, predicted: np.ndarray) -> float:
    """Mean over the exposure."""
    y, rate = test.y, np.maximum(predicted, LEAST_RATE)
    deviance = 2 * (np.where(y > 0, y * np.log(np.maximum(y, LEAST_RATE) / rate), 0) - y + rate)
    return np.average(deviance, weights=test.weight)


def ranking_loss(test: Table, predicted: np.ndarray) -> float:
    return 1 - ndcg(test.y, predicted, Queries.from_group(test.query_sizes, len(test.y)), k=K)


def survival_loss(test: Table, predicted: np.ndarray) -> float:
    return 1 - concordance_index(test.y, predicted)


LOSSES = {
    **dict.fromkeys(CLASSES, log_loss),
    REGRESSION: scaled_rmse,
    OUTPUTS: scaled_rmse,
    COUNTS: poisson_deviance,
    RANKING: ranking_loss,
    SURVIVAL: survival_loss,
}
