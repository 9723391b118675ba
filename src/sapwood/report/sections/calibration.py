"""Section: calibration, and coverage of intervals and sets."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.report.context import Context
from sapwood.report.markup import Html, chart, element, join, number, percent, table
from sapwood.report.measures import Z, quantile_levels
from sapwood.report.payload import numbers
from sapwood.report.sections.base import Section
from sapwood.report.subject import BINARY, MULTI_OUTPUT, MULTICLASS, MULTILABEL, QUANTILES, REGRESSION
from sapwood.uncertainty import ConformalClassifier, ConformalRegressor

N_BINS, ROWS_PER_BIN = 10, 30  # fewer bins if there are few rows


def calibration_section(context: Context) -> Section | None:
    subject, rows = context.subject, context.subject.rows
    if rows.y is None:
        return None
    if subject.task == QUANTILES:
        return _coverage_of_quantiles(context)
    weight = np.ones(rows.n_rows) if rows.weight is None else rows.weight
    if subject.task in (BINARY, MULTICLASS, MULTILABEL):
        assert rows.proba is not None
        chosen = [1] if subject.task == BINARY else context.outputs_shown
        hit = rows.y if subject.task == MULTILABEL else np.asarray(rows.y)[:, None] == np.arange(len(subject.classes))
        curves = [curve(str(subject.classes[k]), rows.proba[:, k], hit[:, k].astype(float), weight, binary=True) for k in chosen]
        errors = [one["error"] for one in curves]
        text = "If probabilities are calibrated, the points are on the diagonal: of the rows predicted with 70%, 70% belong to the class."
        header, cells = ["class", "expected calibration error"], [[one["label"], number(one["error"], 3)] for one in curves]
        parts: list[Any] = [element("p", text), chart("calibration", "Observed frequency by predicted probability, with 95% intervals")]
        parts.append(table(header, cells, "Mean distance between predicted and observed frequency", numeric=(1,)))
        findings = (
            [f"Probabilities are not well calibrated (expected calibration error {max(errors):.1%}); see CalibratedClassifier."]
            if max(errors) > 0.1 and rows.n_rows >= 500
            else []
        )
    elif subject.task in (REGRESSION, MULTI_OUTPUT):
        columns = np.asarray(rows.predicted).reshape(rows.n_rows, -1)
        targets = np.asarray(rows.y).reshape(rows.n_rows, -1)
        curves = [
            curve(subject.labels[k], columns[known, k], targets[known, k], weight[known], binary=False)
            for k in context.outputs_shown
            if (known := ~np.isnan(targets[:, k])).any()
        ]
        text = "Rows in ten groups by prediction: the mean target of each group should be near its mean prediction."
        parts, findings = [element("p", text), chart("calibration", "Mean target by mean prediction, with 95% intervals")], []
    else:
        return None
    parts.append(_coverage(context))
    return Section("calibration", "Calibration", join(parts), {"curves": curves, "binary": bool(subject.classes)}, findings)


def curve(label: str, predicted: np.ndarray, observed: np.ndarray, weight: np.ndarray, binary: bool) -> dict[str, Any]:
    """Return means of predictions and targets in groups of about equal size by prediction."""
    cuts = np.unique(np.quantile(predicted, np.linspace(0, 1, min(N_BINS, max(3, len(predicted) // ROWS_PER_BIN)) + 1)[1:-1]))
    at = np.searchsorted(cuts, predicted)
    total = np.bincount(at, weights=weight, minlength=len(cuts) + 1)
    n = np.bincount(at, minlength=len(cuts) + 1)
    kept = total > 0
    mean_p = np.bincount(at, weights=weight * predicted, minlength=len(cuts) + 1)[kept] / total[kept]
    mean_y = np.bincount(at, weights=weight * observed, minlength=len(cuts) + 1)[kept] / total[kept]
    n = n[kept]
    if binary:
        center = (mean_y + Z**2 / (2 * n)) / (1 + Z**2 / n)
        half = Z * np.sqrt(mean_y * (1 - mean_y) / n + Z**2 / (4 * n**2)) / (1 + Z**2 / n)  # Wilson's interval
    else:
        square = np.bincount(at, weights=weight * observed**2, minlength=len(cuts) + 1)[kept] / total[kept]
        center, half = mean_y, Z * np.sqrt(np.maximum(square - mean_y**2, 0) / np.maximum(n - 1, 1))
    error = float((total[kept] * np.abs(mean_p - mean_y)).sum() / total.sum())
    return {
        "label": label,
        "predicted": numbers(mean_p),
        "observed": numbers(mean_y),
        "low": numbers(center - half),
        "high": numbers(center + half),
        "count": n.tolist(),
        "error": error,
    }


def _coverage_of_quantiles(context: Context) -> Section:
    subject, rows = context.subject, context.subject.rows
    below = (np.asarray(rows.y)[:, None] <= rows.predicted).mean(axis=0)
    levels = quantile_levels(subject)
    cells = [[f"quantile {level:g}", percent(level), percent(float(share))] for level, share in zip(levels, below, strict=True)]
    html = join(
        [
            element("p", "A quantile is calibrated if the fraction of targets below it is its level."),
            chart("coverage", "Fraction of targets below each predicted quantile"),
            table(["output", "level", "targets below"], cells, "Coverage of the quantiles", numeric=(1, 2)),
        ]
    )
    return Section("calibration", "Calibration", html, {"levels": numbers(levels), "below": numbers(below)})


def _coverage(context: Context) -> Html | None:
    """Return the coverage of prediction intervals or sets of a conformal wrapper."""
    given, rows = context.subject.given, context.subject.rows
    if isinstance(given, ConformalRegressor):
        ends = given.predict_interval(context.subject.X)
        inside = (ends[:, 0] <= rows.y) & (rows.y <= ends[:, 1])
        cells = [
            [
                "prediction intervals",
                percent(given.confidence_level),
                percent(float(inside.mean())),
                number(float(np.median(ends[:, 1] - ends[:, 0]))),
            ]
        ]
        return table(
            ["", "confidence level", "targets inside", "median width"], cells, "Prediction intervals on these rows", numeric=(1, 2, 3)
        )
    if isinstance(given, ConformalClassifier):
        sets = given.predict_set(context.subject.X)
        inside = sets[np.arange(len(sets)), rows.y]
        cells = [
            ["prediction sets", percent(given.confidence_level), percent(float(inside.mean())), number(float(sets.sum(axis=1).mean()))]
        ]
        return table(["", "confidence level", "targets inside", "mean size"], cells, "Prediction sets on these rows", numeric=(1, 2, 3))
    return None
