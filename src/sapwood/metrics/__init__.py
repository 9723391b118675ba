"""Metrics. `METRICS` is the table."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

from sapwood.metrics import classification, ranking, regression
from sapwood.metrics.base import Metric
from sapwood.metrics.concordance import concordance_index, concordance_of_times
from sapwood.metrics.survival import brier_scores, integrated_brier_score

METRICS = {
    metric.name: metric
    for metric in (
        # regression
        Metric("mse", regression.mean_squared_error),
        Metric("rmse", regression.root_mean_squared_error),
        Metric("mae", regression.mean_absolute_error),
        Metric("medae", regression.median_absolute_error),
        Metric("max_error", regression.max_error, takes_weight=False),
        Metric("mape", regression.mean_absolute_percentage_error),
        Metric("msle", regression.mean_squared_log_error),
        Metric("pinball", regression.mean_pinball_loss, cut="alpha"),
        Metric("poisson_deviance", regression.mean_poisson_deviance),
        Metric("gamma_deviance", regression.mean_gamma_deviance),
        Metric("tweedie_deviance", regression.mean_tweedie_deviance, cut="power"),
        Metric("r2", regression.r2_score, higher_is_better=True),
        # classification
        Metric("accuracy", classification.accuracy, higher_is_better=True),
        Metric("error", classification.error_rate),
        Metric("balanced_accuracy", classification.balanced_accuracy, higher_is_better=True),
        Metric("f1", classification.f1, higher_is_better=True),
        Metric("precision", classification.precision, higher_is_better=True),
        Metric("recall", classification.recall, higher_is_better=True),
        Metric("mcc", classification.matthews_correlation, higher_is_better=True),
        Metric("kappa", classification.cohen_kappa, higher_is_better=True),
        Metric("log_loss", classification.log_loss, response="predict_proba"),
        Metric("brier", classification.brier, response="predict_proba"),
        Metric("roc_auc", classification.roc_auc, higher_is_better=True, response="predict_proba"),
        Metric("average_precision", classification.average_precision, higher_is_better=True, response="predict_proba"),
        # survival
        Metric("concordance", concordance_index, higher_is_better=True, takes_weight=False),
        Metric("concordance_of_times", concordance_of_times, higher_is_better=True, takes_weight=False),
        # ranking
        Metric("ndcg", ranking.ndcg, higher_is_better=True, of_queries=True, cut="k"),
        Metric("map", ranking.average_precision, higher_is_better=True, of_queries=True, cut="k"),
        Metric("mrr", ranking.reciprocal_rank, higher_is_better=True, of_queries=True, cut="k"),
    )
}
ESTIMATOR_NAMES = ("estimator", "est", "model", "clf", "reg")  # of the first parameter of a scorer
SYNONYMS = {"auc": "roc_auc", "l1": "mae", "l2": "mse", "logloss": "log_loss"}


def find_metric(name: str) -> Metric | None:
    """Return the metric with a name such as "rmse", "ndcg@10" or "pinball@0.9"; None if there is none."""
    base, at, cut = name.partition("@")
    metric = METRICS.get(SYNONYMS.get(base, base))
    if metric is None or not at:
        return metric
    whole = metric.cut == "k"
    if metric.cut is None or not re.fullmatch(r"[1-9]\d*" if whole else r"\d+(\.\d+)?", cut):
        can = ", ".join(f"{m.name}@{'10' if m.cut == 'k' else '0.9'}" for m in METRICS.values() if m.cut)
        raise ValueError(f"metric {name!r} is unknown; metrics with a parameter are written {can}")
    return metric.at(name, int(cut) if whole else float(cut))


def as_metric(given: Metric | str | Callable[..., float]) -> Metric | None:
    """Metric from its name or from a function (y, predicted) -> float. None for an unknown name.

    As in scikit-learn, higher is better for a function whose name ends with `_score`, and lower for any other. A function with a
    parameter `sample_weight` is given the weights.
    """
    if isinstance(given, Metric):
        return given
    if isinstance(given, str):
        return find_metric(given)
    name = getattr(given, "__name__", type(given).__name__)
    return Metric(name, given, higher_is_better=name.endswith("_score"), takes_weight="sample_weight" in parameters_of(given))


def is_scorer(given: Any) -> bool:
    """Whether a callable is a scorer, (estimator, X, y) -> float, rather than a function (y, predicted) -> float."""
    if isinstance(given, (str, Metric)) or not callable(given):
        return False
    parameters = list(parameters_of(given).values())
    by_position = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p for p in by_position if p.default is p.empty]
    any_number = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    return any_number or len(needed) > 2 or (bool(by_position) and by_position[0].name in ESTIMATOR_NAMES)


def parameters_of(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """Parameters of a callable by name; none where Python cannot tell."""
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


__all__ = [
    "METRICS",
    "Metric",
    "as_metric",
    "brier_scores",
    "classification",
    "concordance_index",
    "find_metric",
    "integrated_brier_score",
    "is_scorer",
    "ranking",
    "regression",
]
