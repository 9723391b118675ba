"""Metrics of a report: those of the task, with confidence intervals, and losses of single rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sapwood.metrics import METRICS, find_metric
from sapwood.metrics.intervals import interval_of
from sapwood.metrics.ranking import gains, ndcg_of_queries
from sapwood.report.subject import (
    BINARY,
    MULTI_OUTPUT,
    MULTICLASS,
    MULTILABEL,
    QUANTILES,
    RANK,
    REGRESSION,
    SEED,
    SURVIVAL,
    Evaluated,
    Subject,
    quietly,
    sample_rows,
)
from sapwood.runtime.execution import SERIAL

NAMES = {
    BINARY: ("roc_auc", "average_precision", "log_loss", "brier", "accuracy", "balanced_accuracy", "f1"),
    MULTICLASS: ("accuracy", "balanced_accuracy", "log_loss", "roc_auc", "f1"),
    MULTILABEL: ("accuracy", "f1"),
    RANK: ("ndcg", "ndcg@10", "map", "mrr"),
}
BY_LOSS = {"poisson": "poisson_deviance", "gamma": "gamma_deviance", "mape": "mape"}
TITLES = {
    "roc_auc": "ROC AUC",
    "average_precision": "Average precision",
    "log_loss": "Log loss",
    "brier": "Brier score",
    "accuracy": "Accuracy",
    "balanced_accuracy": "Balanced accuracy",
    "f1": "F1 (macro)",
    "rmse": "RMSE",
    "mae": "MAE",
    "medae": "Median absolute error",
    "r2": "R²",
    "mape": "MAPE",
    "poisson_deviance": "Poisson deviance",
    "gamma_deviance": "Gamma deviance",
    "ndcg": "NDCG",
    "ndcg@10": "NDCG@10",
    "map": "MAP",
    "mrr": "MRR",
}
Z = 1.959964  # 97.5% quantile of the normal distribution
MANY_UNITS = 20_000  # rows or queries; above, intervals come from a sample


@dataclass(frozen=True)
class Measure:
    """A metric of evaluated rows."""

    name: str
    title: str
    of: Callable[[Evaluated], float]
    higher_is_better: bool
    low: float = -np.inf  # range of possible values
    high: float = np.inf

    def __call__(self, rows: Evaluated) -> float:
        return quietly(self.of, rows)


@dataclass(frozen=True)
class Score:
    """Value of a measure with its 95% confidence interval, and the value of a constant prediction."""

    measure: Measure
    value: float
    low: float
    high: float
    baseline: float


def measures_of(subject: Subject) -> list[Measure]:
    """Return the metrics of the task, the main one first."""
    task, model = subject.task, subject.model
    if task in NAMES:
        return [_named(name) for name in NAMES[task]]
    if task == SURVIVAL:
        name = "concordance" if model.loss == "cox" else "concordance_of_times"
        metric = METRICS[name]
        return [Measure(name, "Concordance index", lambda rows: metric(rows.y, rows.predicted), True, 0.0, 1.0)]
    if task == QUANTILES:
        levels = quantile_levels(subject)
        return [_of_output(f"pinball@{level:g}", k, f"Pinball loss of quantile {level:g}") for k, level in enumerate(levels)]
    if task == MULTI_OUTPUT:
        return [_of_output(name, k, f"{TITLES[name]} of {label}") for k, label in enumerate(subject.labels) for name in ("rmse", "r2")]
    names = ["rmse", "mae", "r2", "medae"]
    if model.loss in BY_LOSS:
        names.insert(0, BY_LOSS[model.loss])
    if model.loss == "quantile":
        level = getattr(subject.estimator, "quantile", None)
        names.insert(0, f"pinball@{0.5 if level is None else level:g}")
    if model.loss == "absolute_error":
        names = ["mae", *(name for name in names if name != "mae")]
    return [_named(name) for name in names]


def quantile_levels(subject: Subject) -> list[float]:
    """Return the levels of a model of several quantiles, ascending."""
    levels = np.atleast_1d(np.asarray(getattr(subject.estimator, "quantile", np.nan), dtype=np.float64))
    n = subject.model.n_outputs
    return sorted(levels.tolist()) if len(levels) == n else [(k + 1) / (n + 1) for k in range(n)]


def _named(name: str) -> Measure:
    metric = find_metric(name)
    assert metric is not None

    def of(rows: Evaluated) -> float:
        found = rows.proba if metric.response == "predict_proba" else rows.predicted
        return metric(rows.y, found, rows.weight, rows.queries)

    bounded = metric.response == "predict_proba" or metric.of_queries or name in ("accuracy", "balanced_accuracy", "f1")
    low, high = (
        (0.0, 1.0 if name != "log_loss" else np.inf) if bounded else (-np.inf if name == "r2" else 0.0, 1.0 if name == "r2" else np.inf)
    )
    return Measure(name, TITLES.get(name, name.replace("_", " ").replace("@", " at ")), of, metric.higher_is_better, low, high)


def _of_output(name: str, k: int, title: str) -> Measure:
    """Return the measure of one output."""
    metric = find_metric(name)
    assert metric is not None

    def of(rows: Evaluated) -> float:
        y = rows.y if rows.y.ndim == 1 else rows.y[:, k]
        known = ~np.isnan(y)
        return metric(y[known], rows.predicted[known, k], None if rows.weight is None else rows.weight[known])

    return Measure(f"{name}:{k}", title, of, metric.higher_is_better, -np.inf if name == "r2" else 0.0, 1.0 if name == "r2" else np.inf)


def scores_of(subject: Subject) -> list[Score]:
    """Return the scores of all measures, with intervals and baselines."""
    rows = subject.rows
    if rows.y is None:
        return []
    if subject.task == SURVIVAL:
        rows = rows.take(subject.sample_rows(MANY_UNITS))
    constant = baseline(subject, rows)
    return [Score(measure, measure(rows), *confidence_interval(measure, rows), measure(constant)) for measure in measures_of(subject)]


def confidence_interval(measure: Measure, rows: Evaluated) -> tuple[float, float]:
    """Return the 95% confidence interval of a measure. With many units (rows, or queries) it is that of a sample, scaled."""
    n = rows.n_units
    if n < 2:
        return float("nan"), float("nan")
    part = rows if n <= MANY_UNITS else rows.take(sample_rows(n, MANY_UNITS))
    found = interval_of(lambda units: measure(part if units is None else part.take(units)), part.n_units, seed=SEED)
    whole, scale = measure(rows), math.sqrt(part.n_units / n)
    low, high = (whole + (end - found.value) * scale for end in (found.low, found.high))
    return max(measure.low, low), min(measure.high, high)


def baseline(subject: Subject, rows: Evaluated) -> Evaluated:
    """Return the rows with the best constant prediction: frequencies of classes, means, medians or quantiles of the targets."""
    n, y = rows.n_rows, rows.y
    weight = np.ones(n) if rows.weight is None else rows.weight
    if subject.task in (BINARY, MULTICLASS):
        frequencies = np.bincount(y, weights=weight, minlength=len(subject.classes)) / weight.sum()
        return replace(rows, predicted=np.full(n, frequencies.argmax()), proba=np.tile(frequencies, (n, 1)))
    if subject.task == MULTILABEL:
        means = np.average(y, axis=0, weights=weight)
        return replace(rows, predicted=np.tile((means > 0.5).astype(np.int64), (n, 1)), proba=np.tile(means, (n, 1)))
    if subject.task == REGRESSION:
        center = np.median(y) if subject.model.loss == "absolute_error" else np.average(y, weights=weight)
        if subject.model.loss == "quantile":
            center = np.quantile(y, getattr(subject.estimator, "quantile", None) or 0.5)
        return replace(rows, predicted=np.full(n, center))
    if subject.task == MULTI_OUTPUT:
        return replace(rows, predicted=np.tile(np.nanmean(y, axis=0), (n, 1)))
    if subject.task == QUANTILES:
        return replace(rows, predicted=np.tile(np.quantile(y, quantile_levels(subject)), (n, 1)))
    return replace(rows, predicted=np.zeros(n))  # ranking and survival: the order counts


@dataclass(frozen=True)
class Losses:
    """Losses of units: of rows, or of the queries of a ranking task. Lower is better.

    Attributes
    ----------
    title : name of the loss
    values : (n_units,) float64
    rows : (n_units,) a row of each unit
    weight : (n_units,) float64
    """

    title: str
    values: np.ndarray
    rows: np.ndarray
    weight: np.ndarray


def losses_of(subject: Subject) -> Losses | None:
    """Return a loss for each row or query; None without targets, and for survival, where rows are only compared."""
    rows = subject.rows
    if rows.y is None or subject.task == SURVIVAL:
        return None
    y: Any = rows.y
    at, weight = np.arange(rows.n_rows), np.ones(rows.n_rows) if rows.weight is None else rows.weight
    if subject.task in (BINARY, MULTICLASS):
        assert rows.proba is not None
        return Losses("log loss", -np.log(np.clip(rows.proba[at, y], np.finfo(float).eps, 1.0)), at, weight)
    if subject.task == MULTILABEL:
        return Losses("fraction of wrong labels", (y != rows.predicted).mean(axis=1), at, weight)
    if subject.task == RANK:
        assert rows.queries is not None
        label_gain = getattr(subject.estimator, "label_gain", None)
        found = ndcg_of_queries(gains(y, label_gain), np.ascontiguousarray(rows.predicted), rows.queries, None, SERIAL)
        of_query = rows.queries.weights(rows.weight)
        return Losses("1 − NDCG", 1 - found, rows.queries.begin[:-1], np.ones(len(found)) if of_query is None else of_query)
    if subject.task == QUANTILES:
        above = y[:, None] - rows.predicted
        levels = np.array(quantile_levels(subject))
        return Losses("mean pinball loss", np.maximum(levels * above, (levels - 1) * above).mean(axis=1), at, weight)
    if subject.task == MULTI_OUTPUT:
        spread = np.nanstd(y, axis=0)
        errors = np.abs(y - rows.predicted) / np.where(spread > 0, spread, 1.0)
        known = ~np.isnan(errors).all(axis=1)
        return Losses("mean absolute error in standard deviations", np.nanmean(errors[known], axis=1), at[known], weight[known])
    return Losses("absolute error", np.abs(y - rows.predicted), at, weight)


def measure_raw(subject: Subject, measure: Measure, rows: Evaluated, raw: np.ndarray) -> float:
    """Return the measure of raw predictions, (n_rows, n_outputs), for rows with targets."""
    linked = subject.model.apply_link(raw.copy(), subject.execution)
    if subject.task == MULTILABEL:
        return measure(replace(rows, predicted=(linked > 0.5).astype(np.int64), proba=linked))
    if subject.classes:
        proba = np.column_stack([1 - linked, linked]) if linked.shape[1] == 1 else linked
        return measure(replace(rows, predicted=proba.argmax(axis=1), proba=proba))
    return measure(replace(rows, predicted=linked[:, 0] if linked.shape[1] == 1 else linked))
