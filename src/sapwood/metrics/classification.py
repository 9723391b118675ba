"""How well classes are told apart.

Metrics of `predict` take labels. Metrics of `predict_proba` take the probabilities of all classes, (n_rows, n_classes), and as y the column
of each row's class: so a table in which a class is absent is no problem.
"""

from __future__ import annotations

import numpy as np
from sklearn import metrics

from sapwood.metrics.base import exact_mean

balanced_accuracy = metrics.balanced_accuracy_score
matthews_correlation = metrics.matthews_corrcoef
cohen_kappa = metrics.cohen_kappa_score


def accuracy(y: np.ndarray, predicted: np.ndarray, sample_weight: np.ndarray | None = None) -> float:
    """Of several labels, (n_rows, n_labels), all must be right."""
    right = np.asarray(y == predicted, dtype=np.float64)
    return exact_mean(right if right.ndim == 1 else right.min(axis=1), sample_weight)


def error_rate(y: np.ndarray, predicted: np.ndarray, sample_weight: np.ndarray | None = None) -> float:
    return 1.0 - accuracy(y, predicted, sample_weight)


def f1(y: np.ndarray, predicted: np.ndarray, sample_weight: np.ndarray | None = None) -> float:
    """Of the classes on average, each counting the same."""
    return metrics.f1_score(y, predicted, sample_weight=sample_weight, average="macro", zero_division=0.0)


def precision(y: np.ndarray, predicted: np.ndarray, sample_weight: np.ndarray | None = None) -> float:
    """Of the classes on average, each counting the same."""
    return metrics.precision_score(y, predicted, sample_weight=sample_weight, average="macro", zero_division=0.0)


def recall(y: np.ndarray, predicted: np.ndarray, sample_weight: np.ndarray | None = None) -> float:
    """Of the classes on average, each counting the same."""
    return metrics.recall_score(y, predicted, sample_weight=sample_weight, average="macro", zero_division=0.0)


def log_loss(y: np.ndarray, predicted: np.ndarray, sample_weight: np.ndarray | None = None) -> float:
    chosen = predicted[np.arange(len(y)), y.astype(np.intp)]
    return exact_mean(-np.log(np.clip(chosen, np.finfo(np.float64).eps, 1.0)), sample_weight)


def brier(y: np.ndarray, predicted: np.ndarray, sample_weight: np.ndarray | None = None) -> float:
    """The mean squared distance of the probabilities, halved for two classes, as scikit-learn has it."""
    indicator = np.eye(predicted.shape[1])[y.astype(np.intp)]
    distance = ((predicted - indicator) ** 2).sum(axis=1)
    return exact_mean(distance / 2 if predicted.shape[1] <= 2 else distance, sample_weight)


def roc_auc(y: np.ndarray, predicted: np.ndarray, sample_weight: np.ndarray | None = None) -> float:
    """For more than two classes each against the rest, those that are there on average."""
    return _each_class(metrics.roc_auc_score, y, predicted, sample_weight)


def average_precision(y: np.ndarray, predicted: np.ndarray, sample_weight: np.ndarray | None = None) -> float:
    """For more than two classes each against the rest, those that are there on average."""
    return _each_class(metrics.average_precision_score, y, predicted, sample_weight)


def _each_class(function, y: np.ndarray, predicted: np.ndarray, sample_weight: np.ndarray | None) -> float:  # type: ignore[no-untyped-def]
    columns = [1] if predicted.shape[1] == 2 else [k for k in range(predicted.shape[1]) if 0 < (y == k).sum() < len(y)]
    return float(np.mean([function(y == k, predicted[:, k], sample_weight=sample_weight) for k in columns])) if columns else float("nan")
