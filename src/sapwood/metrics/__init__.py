"""Metrics. `METRICS` is the table."""

from __future__ import annotations

import re
from collections.abc import Callable

from sapwood.metrics import classification, ranking, regression
from sapwood.metrics.base import Metric
from sapwood.metrics.concordance import concordance_index, concordance_of_times

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
    """Return a metric from its name or from a function (y, predicted) -> float, where lower is better. None for an unknown name."""
    if isinstance(given, Metric):
        return given
    if isinstance(given, str):
        return find_metric(given)
    return Metric(getattr(given, "__name__", type(given).__name__), given, takes_weight=False)


__all__ = ["METRICS", "Metric", "as_metric", "classification", "find_metric", "ranking", "regression"]
