"""Regression metrics. Means are computed by exact sums; other metrics are those of scikit-learn."""

from __future__ import annotations

import math

import numpy as np
from sklearn import metrics

from sapwood.metrics.base import exact_mean

mean_absolute_percentage_error = metrics.mean_absolute_percentage_error
mean_squared_log_error = metrics.mean_squared_log_error
median_absolute_error = metrics.median_absolute_error
max_error = metrics.max_error
mean_tweedie_deviance = metrics.mean_tweedie_deviance
r2_score = metrics.r2_score


def mean_squared_error(y: np.ndarray, predicted: np.ndarray, sample_weight: np.ndarray | None = None) -> float:
    return exact_mean((y - predicted) ** 2, sample_weight)


def root_mean_squared_error(y: np.ndarray, predicted: np.ndarray, sample_weight: np.ndarray | None = None) -> float:
    return math.sqrt(mean_squared_error(y, predicted, sample_weight))


def mean_absolute_error(y: np.ndarray, predicted: np.ndarray, sample_weight: np.ndarray | None = None) -> float:
    return exact_mean(np.abs(y - predicted), sample_weight)


def mean_pinball_loss(y: np.ndarray, predicted: np.ndarray, sample_weight: np.ndarray | None = None, alpha: float = 0.5) -> float:
    above = y - predicted
    return exact_mean(np.maximum(alpha * above, (alpha - 1) * above), sample_weight)


def mean_poisson_deviance(y: np.ndarray, predicted: np.ndarray, sample_weight: np.ndarray | None = None) -> float:
    return metrics.mean_poisson_deviance(y, predicted, sample_weight=sample_weight)


def mean_gamma_deviance(y: np.ndarray, predicted: np.ndarray, sample_weight: np.ndarray | None = None) -> float:
    return metrics.mean_gamma_deviance(y, predicted, sample_weight=sample_weight)
