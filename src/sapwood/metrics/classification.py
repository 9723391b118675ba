"""Classification metrics.

Metrics of `predict` take labels. Metrics of `predict_proba` take probabilities, (n_rows, n_classes), and the class index of each row as y,
so that classes may be absent from the evaluation set.
"""

from __future__ import annotations

import numpy as np
from sklearn import metrics

from sapwood.metrics.base import exact_mean

balanced_accuracy = metrics.balanced_accuracy_score
matthews_correlation = metrics.matthews_corrcoef
cohen_kappa = metrics.cohen_kappa_score


def accuracy(y: np.ndarray, predicted: np.ndarray, sample_weight: np.ndarray | None = None) -> float:
    """Return the fraction of correct predictions. With several labels, (n_rows, n_labels), all labels of a row must be correct."""
    right = np.asarray(y == predicted, dtype=np.float64)
    return exact_mean(right if right.ndim == 1 else right.min(axis=1), sample_weight)


def error_rate(y: np.ndarray, predicted: np.ndarray, sample_weight: np.ndarray | None = None) -> float:
    return 1.0 - accuracy(y, predicted, sample_weight)


def f1(y: np.ndarray, predicted: np.ndarray, sample_weight: np.ndarray | None = None) -> float:
    """Return the macro-averaged F1 score."""
    return metrics.f1_score(y, predicted, sample_weight=sample_weight, average="macro", zero_division=0.0)


def precision(y: np.ndarray, predicted: np.ndarray, sample_weight: np.ndarray | None = None) -> float:
    """Return the macro-averaged precision."""
    return metrics.precision_score(y, predicted, sample_weight=sample_weight, average="macro", zero_division=0.0)


def recall(y: np.ndarray, predicted: np.ndarray, sample_weight: np.ndarray | None = None) -> float:
    """Return the macro-averaged recall."""
    return metrics.recall_score(y, predicted, sample_weight=sample_weight, average="macro", zero_division=0.0)


def log_loss(y: np.ndarray, predicted: np.ndarray, sample_weight: np.ndarray | None = None) -> float:
    chosen = predicted[np.arange(len(y)), y.astype(np.intp)]
    return exact_mean(-np.log(np.clip(chosen, np.finfo(np.float64).eps, 1.0)), sample_weight)


def brier(y: np.ndarray, predicted: np.ndarray, sample_weight: np.ndarray | None = None) -> float:
    """Return the mean squared distance of the probabilities from the classes; half of it for two classes, as in scikit-learn."""
    indicator = np.eye(predicted.shape[1])[y.astype(np.intp)]
    distance = ((predicted - indicator) ** 2).sum(axis=1)
    return exact_mean(distance / 2 if predicted.shape[1] <= 2 else distance, sample_weight)


def roc_auc(y: np.ndarray, predicted: np.ndarray, sample_weight: np.ndarray | None = None) -> float:
    """Return the area under the ROC curve; for more than two classes the one-vs-rest mean over the classes in y."""
    return _each_class(metrics.roc_auc_score, y, predicted, sample_weight)


def average_precision(y: np.ndarray, predicted: np.ndarray, sample_weight: np.ndarray | None = None) -> float:
    """Return the average precision; for more than two classes the one-vs-rest mean over the classes in y."""
    return _each_class(metrics.average_precision_score, y, predicted, sample_weight)


def _each_class(function, y: np.ndarray, predicted: np.ndarray, sample_weight: np.ndarray | None) -> float:  # type: ignore[no-untyped-def]
    columns = [1] if predicted.shape[1] == 2 else [k for k in range(predicted.shape[1]) if 0 < (y == k).sum() < len(y)]
    return float(np.mean([function(y == k, predicted[:, k], sample_weight=sample_weight) for k in columns])) if columns else float("nan")
