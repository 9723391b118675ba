"""Scores of a model on rows, with confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sapwood.cli.errors import CommandError
from sapwood.cli.task import METRICS, kind_of
from sapwood.cli.text import number
from sapwood.metrics import METRICS as ALL
from sapwood.metrics import Metric, find_metric
from sapwood.metrics.intervals import Score, score_interval

if TYPE_CHECKING:
    from sapwood.cli.roles import Data

HEADER = ("metric", "score", "95 % interval")


def metrics_of(estimator: Any, names: Sequence[str] | None) -> list[Metric]:
    """Return metrics by name, or those of the kind of model."""
    chosen = []
    quantile = getattr(estimator, "quantile", None)
    default = METRICS[kind_of(estimator)]
    if getattr(estimator, "loss", None) == "quantile" and isinstance(quantile, float | None):
        default = [f"pinball@{0.5 if quantile is None else quantile:g}", "mae"]
    for name in names or default:
        metric = find_metric(name)
        if metric is None:
            raise CommandError(f"--metric {name} is unknown; choose from {', '.join(ALL)}")
        if not hasattr(estimator, metric.response):
            raise CommandError(f"--metric {name} needs {metric.response}, which {type(estimator).__name__} does not have")
        chosen.append(metric)
    return chosen


def scores(estimator: Any, data: Data, names: Sequence[str] | None, level: float = 0.95) -> dict[str, Score]:
    """Return the scores of an estimator on rows, by metric."""
    from sapwood.data.queries import Queries

    predicted: dict[str, np.ndarray] = {}
    queries = Queries.of(None, data.qid, data.n_rows) if kind_of(estimator) == "ranking" else None
    found = {}
    for metric in metrics_of(estimator, names):
        if metric.response not in predicted:
            offset = {} if data.offset is None else {"offset": data.offset}
            found_values = getattr(estimator, metric.response)(data.X, **offset)
            predicted[metric.response] = found_values if isinstance(found_values, np.ndarray) else np.concatenate(list(found_values))
        y = encode(estimator, data.y) if metric.response == "predict_proba" else _labels(estimator, data.y)
        try:
            found[metric.name] = score_interval(metric, y, predicted[metric.response], data.weight, queries, level=level)
        except ValueError as error:
            if names:
                raise CommandError(f"--metric {metric.name} cannot be computed: {error}") from None
    return found


def encode(estimator: Any, y: np.ndarray) -> np.ndarray:
    """Return the index of the class of each row."""
    if y.ndim == 2:
        return y
    classes = estimator.classes_
    labels = _labels(estimator, y)
    codes = {label: code for code, label in enumerate(classes.tolist())}
    found = np.array([codes.get(label, -1) for label in labels.tolist()])
    if (found < 0).any():
        raise CommandError(f"the target has the class {labels[found < 0][0]!r}, which the model does not know: {classes.tolist()[:10]}")
    return found


def _labels(estimator: Any, y: np.ndarray) -> np.ndarray:
    """Return the targets with the type of the classes: files may have other types for the same labels."""
    classes = getattr(estimator, "classes_", None)
    if classes is None or y.ndim == 2:
        return y
    return y.astype(str) if classes.dtype.kind in "OU" and y.dtype.kind not in "OU" else y


def rows_of(found: dict[str, Score]) -> list[list[str]]:
    """Return the cells of a table of scores."""
    return [[name, number(one.value, 5), interval(one)] for name, one in found.items()]


def interval(score: Score) -> str:
    return "" if np.isnan(score.low) else f"{number(score.low, 5)} to {number(score.high, 5)}"


def as_data(found: dict[str, Score]) -> dict[str, dict[str, float]]:
    """Return scores for JSON."""
    return {name: {"score": one.value, "low": one.low, "high": one.high} for name, one in found.items()}
