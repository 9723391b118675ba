"""Section: explorer of the trees."""

from __future__ import annotations

from sapwood.report.context import Context
from sapwood.report.markup import chart, element, join, note, plural
from sapwood.report.sections.base import Section


def trees_section(context: Context) -> Section | None:
    model = context.subject.model
    n = model.n_rounds_used * model.trees_per_round
    if not context.subject.by_importance:
        return None
    forest = context.forest
    n_packed = n if forest.complete else "the first"
    text = f"Prediction adds up {plural(n, 'tree')}. At each node, rows that satisfy the condition go to the upper branch."
    html = join(
        [
            element("p", text),
            None if forest.complete else note(f"The model is too large for this page, which has {n_packed} trees only."),
            element("div", id="tree-control", class_="controls"),
            chart("tree", "One tree; the width of a branch is the fraction of training rows"),
        ]
    )
    return Section("trees", "Trees", html, {"labels": [str(label) for label in context.subject.labels]})
