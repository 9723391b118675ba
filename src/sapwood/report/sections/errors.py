"""Section: errors: confusion matrix, residuals, or survival of risk groups."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.report.context import Context
from sapwood.report.markup import chart, element, join, number, percent, plural, table
from sapwood.report.payload import numbers
from sapwood.report.sections.base import Section
from sapwood.report.subject import BINARY, MULTI_OUTPUT, MULTICLASS, MULTILABEL, QUANTILES, RANK, REGRESSION, SURVIVAL

CLASSES_SHOWN = 25
QUERIES_SHOWN = 10


def errors_section(context: Context) -> Section | None:
    task = context.subject.task
    if context.subject.rows.y is None:
        return None
    if task in (BINARY, MULTICLASS):
        return _confusion(context)
    if task == MULTILABEL:
        return _labels(context)
    if task in (REGRESSION, MULTI_OUTPUT, QUANTILES):
        return _residuals(context)
    return _survival(context) if task == SURVIVAL else _queries(context) if task == RANK else None


def _confusion(context: Context) -> Section:
    subject, rows = context.subject, context.subject.rows
    k = len(subject.classes)
    counts = np.bincount(rows.y * k + rows.predicted, minlength=k * k).reshape(k, k)
    order = np.arange(k) if k <= CLASSES_SHOWN else np.sort(np.argsort(-counts.sum(axis=1), kind="stable")[:CLASSES_SHOWN])
    labels = [str(subject.classes[i]) for i in order]
    shown = counts[np.ix_(order, order)]
    cells = []
    for name, i in zip(labels, order.tolist(), strict=True):
        true, found, right = counts[i].sum(), counts[:, i].sum(), counts[i, i]
        precision, recall = (float(right / total) if total else float("nan") for total in (found, true))
        f1 = 2 * right / (true + found) if true + found else float("nan")
        cells.append([name, f"{true:,}", f"{found:,}", percent(precision), percent(recall), percent(float(f1))])
    header = ["class", "rows", "predicted", "precision", "recall", "F1"]
    html = join(
        [
            element("p", f"{plural(int(counts.trace()), 'row')} of {rows.n_rows:,} are predicted correctly."),
            chart("confusion", "Confusion matrix: rows are true classes, columns are predicted classes"),
            table(header, cells, "Precision and recall by class", numeric=(1, 2, 3, 4, 5)),
        ]
    )
    return Section("errors", "Confusion matrix", html, {"labels": labels, "counts": shown.tolist()}, _confused(counts, subject.classes))


def _confused(counts: np.ndarray, classes: list[Any]) -> list[str]:
    wrong = counts - np.diag(np.diag(counts))
    if len(classes) < 3 or not wrong.any():
        return []
    true, found = np.unravel_index(int(wrong.argmax()), wrong.shape)
    fraction = wrong[true, found] / counts[true].sum()
    return [f"The most frequent error: {classes[true]} predicted as {classes[found]} ({percent(float(fraction))} of its rows)."]


def _labels(context: Context) -> Section:
    subject, rows = context.subject, context.subject.rows
    cells = []
    for k, name in enumerate(subject.classes):
        y, p = rows.y[:, k] == 1, rows.predicted[:, k] == 1
        right = int((y & p).sum())
        precision, recall = (right / int(total.sum()) if total.any() else float("nan") for total in (p, y))
        cells.append([str(name), f"{int(y.sum()):,}", f"{int(p.sum()):,}", percent(precision), percent(recall)])
    html = table(["label", "rows", "predicted", "precision", "recall"], cells, "Precision and recall by label", numeric=(1, 2, 3, 4))
    return Section("errors", "Errors by label", html)


def _residuals(context: Context) -> Section:
    subject, rows = context.subject, context.subject.rows
    predicted, targets = np.asarray(rows.predicted).reshape(rows.n_rows, -1), np.asarray(rows.y).reshape(rows.n_rows, -1)
    outputs, cells = [], []
    for k in context.outputs_shown:
        y, p, label = targets[:, min(k, targets.shape[1] - 1)], predicted[:, k], subject.labels[k]
        known = ~np.isnan(y)
        residuals = (y - p)[known]
        if not len(residuals):
            continue
        low, middle, high = np.quantile(residuals, [0.05, 0.5, 0.95])
        cells.append([label, *(number(float(one)) for one in (residuals.mean(), residuals.std(), low, middle, high))])
        counts, edges = np.histogram(np.clip(residuals, *np.quantile(residuals, [0.002, 0.998])), bins=40)
        some = context.sample[known[context.sample]]
        outputs.append(
            {"label": label, "actual": numbers(y[some]), "predicted": numbers(p[some]), "edges": numbers(edges), "counts": counts.tolist()}
        )
    header = ["output", "mean", "standard deviation", "5%", "median", "95%"]
    html = join(
        [
            element(
                "p", "A residual is the target minus the prediction. A pattern in the residuals is something the model has not learned."
            ),
            element("div", id="residuals-control", class_="controls"),
            element(
                "div",
                chart("actual", f"Target by prediction, {plural(len(context.sample), 'row')}"),
                chart("residuals", "Residual by prediction"),
                class_="pair",
            ),
            chart("residual-histogram", "Distribution of the residuals of all rows"),
            table(header, cells, "Residuals", numeric=(1, 2, 3, 4, 5)),
        ]
    )
    return Section("errors", "Residuals", html, {"outputs": outputs})


def _survival(context: Context) -> Section:
    """Kaplan-Meier curves of three groups of rows by prediction."""
    subject, rows = context.subject, context.subject.rows
    y = rows.y
    event = ~np.signbit(y) if y.ndim == 1 else y[:, 0] == y[:, 1]
    time = np.abs(y) if y.ndim == 1 else np.where(np.isfinite(y[:, 1]) & (y[:, 0] != y[:, 1]), y.mean(axis=1), y[:, 0])
    risk = rows.predicted if subject.model.loss == "cox" else -rows.predicted
    at = np.searchsorted(np.quantile(risk, [1 / 3, 2 / 3]), risk)
    curves, cells = [], []
    for k, label in enumerate(("low risk", "medium risk", "high risk")):
        own = at == k
        if not own.any():
            continue
        times, alive = kaplan_meier(time[own], event[own])
        half = times[alive <= 0.5]
        cells.append([label, f"{int(own.sum()):,}", f"{int(event[own].sum()):,}", number(float(half[0])) if len(half) else "not reached"])
        chosen = np.unique(np.linspace(0, len(times) - 1, min(len(times), 150)).astype(np.int64))
        curves.append({"label": label, "times": numbers(times[chosen]), "alive": numbers(alive[chosen])})
    text = "Rows in three groups of equal size by predicted risk. The further apart the curves, the better the model separates them."
    html = join(
        [
            element("p", text),
            chart("survival", "Fraction without an event over time (Kaplan-Meier estimate)"),
            table(["group", "rows", "events", "median time"], cells, "Groups by predicted risk", numeric=(1, 2, 3)),
        ]
    )
    return Section("errors", "Survival by risk", html, {"curves": curves})


def kaplan_meier(time: np.ndarray, event: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return times, beginning with 0, and the estimated fraction of rows without an event up to and including each."""
    times, of_row = np.unique(time, return_inverse=True)
    events, rows = np.bincount(of_row, weights=event, minlength=len(times)), np.bincount(of_row, minlength=len(times))
    at_risk = np.cumsum(rows[::-1])[::-1]
    return np.append(0.0, times), np.append(1.0, np.cumprod(1 - events / at_risk))


def _queries(context: Context) -> Section:
    losses, rows = context.losses, context.subject.rows
    assert losses is not None and rows.queries is not None
    worst = np.argsort(-losses.values, kind="stable")[:QUERIES_SHOWN]
    sizes = rows.queries.sizes
    cells = [
        [
            f"query {q}",
            f"{sizes[q]:,}",
            number(float(rows.y[rows.queries.begin[q] : rows.queries.begin[q + 1]].max())),
            number(1 - float(losses.values[q])),
        ]
        for q in worst.tolist()
    ]
    counts, edges = np.histogram(1 - losses.values, bins=20, range=(0, 1))
    html = join(
        [
            chart("ndcg", "Number of queries by NDCG"),
            table(["query", "rows", "highest relevance", "NDCG"], cells, "Queries with the lowest NDCG", numeric=(1, 2, 3)),
        ]
    )
    return Section("errors", "Queries", html, {"edges": numbers(edges), "counts": counts.tolist()})
