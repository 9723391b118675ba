"""Section: SHAP values."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.report.context import Context
from sapwood.report.markup import chart, element, join, plural, table
from sapwood.report.payload import numbers
from sapwood.report.sections.base import Section
from sapwood.report.subject import ReportColumn, format_value

LEVELS_SHOWN = 12


def shap_section(context: Context) -> Section | None:
    subject = context.subject
    if not context.top_columns:
        return None
    values, base = context.shap
    outputs = context.outputs_shown
    rows = [[subject.names[c], *(f"{np.abs(values[:, c, k]).mean():.4g}" for k in outputs)] for c in context.top_columns]
    unit = {"identity": "the prediction", "log": "the logarithm of the prediction", "logit": "the log-odds"}
    what = unit.get(subject.model.link, "the raw prediction")
    text = f"A SHAP value is the contribution of a column to {what} of a row; the contributions add up to it. {plural(len(values), 'row')}."
    html = join(
        [
            element("p", text),
            element("div", id="shap-control", class_="controls"),
            chart("shap", "SHAP values by column; each dot is a row, its color the value of the column (green: a category, or missing)"),
            element("h3", "Dependence"),
            element("div", id="dependence-control", class_="controls"),
            chart("shap-dependence", "SHAP values of one column by its value"),
            element(
                "details",
                element("summary", "Mean absolute SHAP values"),
                table(["column", *(subject.labels[k] for k in outputs)], rows, "Mean absolute SHAP values", numeric=range(1, 20)),
            ),
        ]
    )
    columns = [column_data(context, c) for c in context.top_columns]
    data = {
        "outputs": [subject.labels[k] for k in outputs],
        "columns": columns,
        "values": [numbers(values[:, context.top_columns, k].T, 4) for k in outputs],
        "base": numbers(base[outputs]),
    }
    return Section("shap", "SHAP values", html, data)


def column_data(context: Context, c: int) -> dict[str, Any]:
    """Return the values of a column in the sample: numbers, or levels; and their ranks from 0 to 1."""
    subject = context.subject
    kind, values = subject.model.schema.kind(c), context.sample_values[:, c]
    about: dict[str, Any] = {"name": subject.names[c], "kind": kind.name}
    if kind.is_category:
        codes, counts = np.unique(values, return_counts=True)
        shown = set(codes[np.argsort(-counts, kind="stable")[:LEVELS_SHOWN]].tolist())
        texts = {code: format_value(code, kind) if code in shown else "other levels" for code in codes.tolist()}
        return about | {"levels": [texts[code] for code in values.tolist()]}
    return about | {"numbers": numbers(values, 6), "ranks": numbers(ranks(ReportColumn("", kind, values)), 3)}


def ranks(column: ReportColumn) -> np.ndarray:
    """Return ranks scaled to [0, 1]; ties have the same rank, missing values NaN."""
    _, at, counts = np.unique(column.values, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - (counts + 1) / 2
    n = int((~column.missing).sum())
    return np.where(column.missing, np.nan, middle[at] / max(n - 1, 1))
