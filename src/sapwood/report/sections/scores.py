"""Section: scores with confidence intervals."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.metrics.intervals import BOOTSTRAP_UNITS, GROUPS, REPLICATES
from sapwood.report.context import Context
from sapwood.report.markup import chart, element, join, note, number, plural, table
from sapwood.report.measures import Score
from sapwood.report.payload import numbers
from sapwood.report.sections.base import Section
from sapwood.report.subject import BINARY

N_THRESHOLDS = 200


def scores_section(context: Context) -> Section | None:
    subject, scores = context.subject, context.scores
    if not scores:
        return None
    header = ["metric", "value", "95% confidence interval", "constant prediction", "better"]
    rows = [
        [one.measure.title, number(one.value), interval(one), number(one.baseline), "higher" if one.measure.higher_is_better else "lower"]
        for one in scores
    ]
    n = subject.rows.n_units
    unit = "rows" if subject.rows.queries is None else "queries"
    how = f"{REPLICATES} bootstrap samples of the {unit}" if n <= BOOTSTRAP_UNITS else f"the jackknife over {GROUPS} groups of {unit}"
    parts = [
        table(header, rows, f"Scores on {plural(subject.n_rows, 'row')}", numeric=(1, 2, 3)),
        note(
            f"Intervals come from {how}. They show the uncertainty due to the choice of these rows, not of training. "
            "The constant prediction is the best one for these rows."
        ),
    ]
    data: dict[str, Any] = {}
    if subject.task == BINARY:
        data["threshold"] = _thresholds(context)
        parts.append(element("h3", "Decision threshold"))
        parts.append(
            element("p", f"A row is predicted as {subject.classes[1]} if its probability is above the threshold. Move it to trade errors.")
        )
        parts.append(element("div", id="threshold-control", class_="controls"))
        parts.append(
            element(
                "div",
                chart("roc", "ROC curve; the dot is the threshold"),
                chart("pr", "Precision and recall; the dot is the threshold"),
                class_="pair",
            )
        )
    return Section("scores", "Scores", join(parts), data, _findings(scores))


def interval(score: Score) -> str:
    """Format the interval of a score."""
    return "–" if score.low != score.low else f"{number(score.low)} to {number(score.high)}"


def _thresholds(context: Context) -> dict[str, Any]:
    """Return the weights of rows of both classes by ranges of the probability of the second class."""
    rows, labels = context.subject.rows, context.subject.classes
    assert rows.proba is not None and rows.y is not None
    at = np.minimum((rows.proba[:, 1] * N_THRESHOLDS).astype(np.int64), N_THRESHOLDS - 1)
    weight = np.ones(rows.n_rows) if rows.weight is None else rows.weight
    counts = [np.bincount(at[rows.y == k], weights=weight[rows.y == k], minlength=N_THRESHOLDS) for k in (0, 1)]
    return {"labels": [str(label) for label in labels], "negative": numbers(counts[0], 8), "positive": numbers(counts[1], 8)}


def _findings(scores: list[Score]) -> list[str]:
    first = scores[0]
    if first.baseline != first.baseline or first.low != first.low:
        return []
    worse = first.high <= first.baseline if first.measure.higher_is_better else first.low >= first.baseline
    inside = first.low <= first.baseline <= first.high
    if worse or inside:
        return [f"{first.measure.title} is not better than that of a constant prediction ({number(first.baseline)})."]
    return []
