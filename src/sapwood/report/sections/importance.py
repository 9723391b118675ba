"""Section: importance of columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.report.context import Context
from sapwood.report.markup import chart, element, join, table
from sapwood.report.measures import measure_raw, measures_of
from sapwood.report.payload import numbers
from sapwood.report.sections.base import Section
from sapwood.report.subject import RANK, SEED

SHOWN = 20
PERMUTED_ROWS, REPEATS = 2_000, 3
KINDS = {
    "gain": "gain of the splits on the column, as a fraction",
    "shap": "mean absolute SHAP value",
    "permutation": "decrease of the score if the column is permuted",
    "split": "number of splits on the column",
    "cover": "number of training rows that reach these splits",
}


def importance_section(context: Context) -> Section | None:
    subject = context.subject
    if not subject.by_importance:
        return None
    kinds = tree_importances(subject.model)
    kinds["shap"] = context.shap_importance
    permuted = permutation_importances(context)
    if permuted is not None:
        kinds["permutation"] = permuted
    data = {name: top_columns(subject.names, kinds[name]) for name in KINDS if name in kinds}
    order = subject.by_importance[:SHOWN]
    header = ["column", *(name for name in KINDS if name in kinds)]
    rows = [[subject.names[c], *(_cell(kinds[name][c]) for name in header[1:])] for c in order]
    html = join(
        [
            element("div", id="importance-control", class_="controls"),
            chart("importance", "Importance of columns"),
            element(
                "details", element("summary", "All kinds of importance"), table(header, rows, "Importance of columns", numeric=range(1, 6))
            ),
        ]
    )
    first, *more = (subject.names[c] for c in (context.top_columns or order)[:3])
    finding = f"Predictions depend most on {first}{''.join(f', {name}' for name in more[:-1])}{f' and {more[-1]}' if more else ''}."
    return Section("importance", "Importance of columns", html, {"kinds": data, "texts": KINDS}, [finding])


def tree_importances(model: Any) -> dict[str, np.ndarray]:
    """Return the importances that are computed from the trees alone; the gain as a fraction."""
    gain = model.importances("gain")
    top = gain.max(initial=0.0)
    return {
        "gain": gain / top / (gain / top).sum() if top > 0 else gain,
        "split": model.importances("split"),
        "cover": model.importances("cover"),
    }


def top_columns(names: list[str], values: np.ndarray) -> list[dict[str, Any]]:
    """Return the columns of highest importance."""
    order = np.argsort(-np.nan_to_num(values, nan=-np.inf), kind="stable")[:SHOWN]
    return [{"name": names[c], "value": numbers(values[c])} for c in order.tolist() if not np.isnan(values[c])]


def _cell(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.4g}"


def permutation_importances(context: Context) -> np.ndarray | None:
    """Return the decrease of the main score if a column is permuted, for the columns of most gain; NaN for the others."""
    subject = context.subject
    if subject.rows.y is None or subject.task == RANK or (subject.estimator is not None and subject.estimator.init_ is not None):
        return None
    (measure, *_), rows, rng = measures_of(subject), subject.sample_rows(PERMUTED_ROWS), np.random.default_rng(SEED)
    values, targets = subject.values(rows), subject.rows.take(rows)
    sign = 1 if measure.higher_is_better else -1
    whole, out = measure_raw(subject, measure, targets, subject.predict_raw(values)), np.full(len(subject.names), np.nan)
    for c in subject.by_importance[:SHOWN]:
        kept, found = values[:, c].copy(), []
        for _ in range(REPEATS):
            values[:, c] = rng.permutation(kept)
            found.append(measure_raw(subject, measure, targets, subject.predict_raw(values)))
        values[:, c] = kept
        out[c] = sign * (whole - float(np.mean(found)))
    return None if np.isnan(out).all() else out
