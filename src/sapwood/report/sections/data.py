"""Section: the columns and the target."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.inspection.describe import describe
from sapwood.report.context import Context
from sapwood.report.markup import Html, chart, element, join, note, number, percent, plural, table
from sapwood.report.payload import numbers
from sapwood.report.sections.base import Section
from sapwood.report.subject import BINARY, MULTICLASS, MULTILABEL, SURVIVAL, ReportColumn

COLUMNS_LISTED = 200
N_BINS = 20
CLASSES_SHOWN = 30


def data_section(context: Context) -> Section:
    subject = context.subject
    order = [*subject.by_importance, *(c for c in range(len(subject.names)) if c not in set(subject.by_importance))]
    listed = sorted(order[:COLUMNS_LISTED])
    constraints = [""] * len(subject.names) if subject.estimator is None else subject.estimator._constraints
    described = describe(subject.model.schema, subject.table, subject.model, constraints).columns
    rows, histograms = [], {}
    for c in listed:
        column = described[c]
        histograms[str(c)] = histogram(subject.column(c))
        rows.append(
            [
                column.name,
                column.kind,
                column.values,
                percent(column.missing),
                column.constraints,
                percent(float(subject.gains[c])),
                element("div", class_="spark", data_column=c),
            ]
        )
    hidden = len(order) - len(listed)
    more = note(f"{plural(hidden, 'column')} with less gain not shown.") if hidden else None
    header = ["column", "kind", "values", "missing", "constraints", "gain", "distribution"]
    caption = f"Columns of the {plural(subject.n_rows, 'row')} of this report"
    search = element("label", "Find a column ", element("input", type="search", id="find-column", autocomplete="off"), class_="control")
    html = join([_introduction(context), chart("target", "Distribution of the target") if subject.rows.y is not None else None, search])
    html = join([html, table(header, rows, caption, numeric=(3, 5), wide=True), more])
    data: dict[str, Any] = {"histograms": histograms}
    if subject.rows.y is not None:
        data["target"] = _target(context)
    return Section("data", "Data", html, data, _findings(context, described))


def _introduction(context: Context) -> Html:
    subject = context.subject
    unused = len(subject.names) - len(subject.by_importance)
    weighted = " Rows are weighted." if subject.rows.weight is not None else ""
    queries = "" if subject.rows.queries is None else f" in {plural(subject.rows.queries.n_queries, 'query').replace('querys', 'queries')}"
    trained = ""
    if subject.estimator is not None and "n_rows" in subject.estimator.provenance_:
        trained = f" The model was trained on {plural(int(subject.estimator.provenance_['n_rows']), 'row')}."
    used = (
        f" The trees use {len(subject.by_importance)} of the columns; {unused} {'is' if unused == 1 else 'are'} not used."
        if unused
        else " The trees use all columns."
    )
    return element("p", f"{plural(subject.n_rows, 'row')}{queries} and {plural(len(subject.names), 'column')}.{trained}{used}{weighted}")


def histogram(column: ReportColumn) -> dict[str, Any]:
    """Return counts of values: of ranges of equal width, or of the most frequent levels."""
    known = column.values[~column.missing]
    if column.kind.is_category:
        counts = np.bincount(known.astype(np.int64), minlength=len(column.kind.levels))
        order = np.argsort(-counts, kind="stable")[:N_BINS]
        return {"levels": [column.text(code) for code in order.tolist()], "counts": counts[order].tolist()}
    known = known[np.isfinite(known)]
    if not len(known):
        return {"edges": [], "counts": []}
    low, high = np.quantile(known, [0.005, 0.995]) if len(known) > 1000 else (known.min(), known.max())
    low, high = (known.min(), known.max()) if low == high else (low, high)
    counts, edges = np.histogram(np.clip(known, low, high), bins=N_BINS, range=(low, high if high > low else low + 1))
    return {"edges": numbers(edges), "counts": counts.tolist(), "kind": column.kind.name}


def _target(context: Context) -> dict[str, Any]:
    """Return the distribution of the targets."""
    subject = context.subject
    y = subject.rows.y
    if subject.task in (BINARY, MULTICLASS):
        counts = np.bincount(y, minlength=len(subject.classes))
        order = np.argsort(-counts, kind="stable")[:CLASSES_SHOWN] if len(counts) > CLASSES_SHOWN else np.arange(len(counts))
        return {"levels": [str(subject.classes[k]) for k in order.tolist()], "counts": counts[order].tolist()}
    if subject.task == MULTILABEL:
        return {"levels": [str(label) for label in subject.classes], "counts": np.asarray(y).sum(axis=0).astype(int).tolist()}
    if subject.task == SURVIVAL:
        y = np.abs(y) if y.ndim == 1 else y[:, 0]
    values = np.asarray(y, dtype=np.float64)
    values = values[np.isfinite(values)] if values.ndim == 1 else values[:, 0][np.isfinite(values[:, 0])]
    if len(np.unique(values[:1000])) <= 12 and len(distinct := np.unique(values)) <= 12:
        return {"levels": [number(one) for one in distinct], "counts": [int((values == one).sum()) for one in distinct]}
    counts, edges = np.histogram(values, bins=40)
    return {"edges": numbers(edges), "counts": counts.tolist()}


def _findings(context: Context, described: list[Any]) -> list[str]:
    subject, out = context.subject, []
    if subject.is_training_data:
        out.append("These are the rows that the model was trained on: scores and errors are optimistic. Use rows that it has not seen.")
    used = {subject.names[c] for c in subject.by_importance}
    often = [column.name for column in described if (column.missing or 0) > 0.3 and column.name in used]
    if often:
        out.append(f"More than 30% of the values are missing in {_some(often)}.")
    if subject.task in (BINARY, MULTICLASS) and subject.rows.y is not None:
        counts = np.bincount(subject.rows.y, minlength=len(subject.classes))
        rare = int(counts.argmin())
        if counts[rare] < 0.05 * len(subject.rows.y):
            out.append(f"The classes are imbalanced: {plural(int(counts[rare]), 'row')} of class {subject.classes[rare]}.")
    return out


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
