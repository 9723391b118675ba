"""Section: single predictions, which the page computes from the trees."""

from __future__ import annotations

from typing import Any

from sapwood.report.context import Context
from sapwood.report.forest import predictions_data, sample_data
from sapwood.report.markup import chart, element, join, note
from sapwood.report.sections.base import Section
from sapwood.report.subject import BINARY, MULTICLASS, MULTILABEL, SURVIVAL, TASK_NAMES

EXAMPLES = 60  # rows to begin with


def what_if_section(context: Context) -> Section | None:
    subject, title = context.subject, "What if"
    if not subject.by_importance:
        return None
    if subject.estimator is not None and subject.estimator.init_ is not None:
        return Section(
            "what-if", title, note("The initial predictions come from another estimator (init), which this page cannot evaluate.")
        )
    if not context.forest.complete:
        return Section("what-if", title, note("The model is too large for this page to evaluate it."))
    rows = context.sample[:EXAMPLES]
    parts: list[Any] = [
        element("p", "Choose a row, change its values, and see the prediction: this page evaluates all trees."),
        None if context.forest.exact else note("Leaf values are rounded to single precision here: the model is large."),
        None
        if subject.given is subject.estimator or subject.estimator is None
        else note("These are the predictions of the trees, before calibration."),
        element("div", id="what-if-row", class_="controls"),
        element("div", id="what-if-result", class_="result", role="status", aria_live="polite"),
        element(
            "div",
            element("div", id="what-if-values", class_="values"),
            chart("what-if", "Prediction by one column, others as chosen"),
            class_="what-if",
        ),
    ]
    order = {c: i for i, c in enumerate(context.shap_importance.argsort(kind="stable")[::-1].tolist())}
    columns = context.forest.data["columns"]
    data = {
        "rows": sample_data(context.sample_values[: len(rows)], context.forest.data),
        "numbers": rows.tolist(),
        "raw": predictions_data(subject.raw[rows]),
        "labels": [str(label) for label in subject.labels],
        "classes": [str(label) for label in subject.classes] if subject.task in (BINARY, MULTICLASS, MULTILABEL) else None,
        "task": TASK_NAMES[subject.task],
        "survival": subject.model.loss if subject.task == SURVIVAL else None,
        "order": sorted(range(len(columns)), key=lambda i: order[columns[i]["number"]]),
    }
    return Section("what-if", title, join(parts), data)
