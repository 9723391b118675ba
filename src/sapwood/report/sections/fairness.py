"""Section: predictions and errors by groups of a sensitive column."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.report.context import Context
from sapwood.report.groups import Groups, chosen_columns, group_rows
from sapwood.report.markup import Html, chart, element, join, note, number, percent, table
from sapwood.report.payload import numbers
from sapwood.report.sections.base import Section
from sapwood.report.subject import BINARY, MULTICLASS, REGRESSION

FOUR_FIFTHS = 0.8  # the usual limit of the ratio of selection rates


def fairness_section(context: Context) -> Section | None:
    columns = chosen_columns(context.subject, context.sensitive, "sensitive")
    if not columns:
        return None
    parts, data, findings = [_introduction(context)], [], []
    for i, column in enumerate(columns):
        groups = group_rows(column)
        html, one, found = _of_groups(context, groups, i)
        parts += [element("h3", groups.name), html]
        data.append(one)
        findings += found
    return Section("fairness", "Fairness", join(parts), {"columns": data}, findings)


def _introduction(context: Context) -> Html:
    text = "Predictions and errors by group. Equal numbers are no proof of fairness: the data may be biased."
    if context.subject.task == BINARY:
        text += f" A row is selected if class {context.subject.classes[1]} is predicted (probability above 0.5)."
    return note(text)


def _of_groups(context: Context, groups: Groups, i: int) -> tuple[Html, dict[str, Any], list[str]]:
    subject, rows = context.subject, context.subject.rows
    if subject.task == BINARY:
        return _binary(context, groups, i)
    header, cells, chosen = ["group", "rows"], [], []
    measures: list[tuple[str, np.ndarray]] = []
    if subject.task == REGRESSION:
        measures = [("mean prediction", rows.predicted)]
        if rows.y is not None:
            measures += [
                ("mean target", rows.y),
                ("mean error", rows.predicted - rows.y),
                ("mean absolute error", np.abs(rows.predicted - rows.y)),
            ]
    elif subject.task == MULTICLASS and rows.y is not None:
        measures = [("accuracy", (rows.y == rows.predicted).astype(float))]
    elif context.losses is not None and len(context.losses.values) == subject.n_rows:
        measures = [(context.losses.title, context.losses.values)]
    if not measures:
        measures = [
            (f"mean of {label}", np.asarray(rows.predicted).reshape(subject.n_rows, -1)[:, k]) for k, label in enumerate(subject.labels[:4])
        ]
    header += [name for name, _ in measures]
    for g, label in enumerate(groups.labels):
        own = groups.of_row == g
        means = [float(values[own].mean()) for _, values in measures]
        cells.append([label, f"{int(own.sum()):,}", *map(number, means)])
        chosen.append({"label": label, "n": int(own.sum()), "values": numbers(means)})
    html = join(
        [chart(f"fairness-{i}", f"Means by group of {groups.name}"), table(header, cells, f"Groups of {groups.name}", numeric=range(1, 9))]
    )
    return html, {"name": groups.name, "measures": header[2:], "groups": chosen}, []


def _binary(context: Context, groups: Groups, i: int) -> tuple[Html, dict[str, Any], list[str]]:
    rows = context.subject.rows
    assert rows.proba is not None
    selected, names = rows.predicted == 1, ["selection rate", "mean probability"]
    if rows.y is not None:
        names += ["rate of the class", "true positive rate", "false positive rate", "precision", "accuracy"]
    cells, data = [], []
    for g, label in enumerate(groups.labels):
        own = groups.of_row == g
        values = [_mean(selected[own]), _mean(rows.proba[own, 1])]
        if rows.y is not None:
            y = rows.y == 1
            values += [
                _mean(y[own]),
                _mean(selected[own & y]),
                _mean(selected[own & ~y]),
                _mean(y[own & selected]),
                _mean((y == selected)[own]),
            ]
        cells.append([label, f"{int(own.sum()):,}", *map(percent, values)])
        data.append({"label": label, "n": int(own.sum()), "values": numbers(values)})
    rates = np.array([[np.nan if v is None else v for v in one["values"]] for one in data], dtype=float)
    spread = [[name, percent(_spread(rates[:, k]))] for k, name in enumerate(names)]
    ratio = _ratio(rates[:, 0])
    summary = [["ratio of selection rates (demographic parity)", number(ratio, 3)]]
    if rows.y is not None:
        odds = np.nanmax([_spread(rates[:, 3]), _spread(rates[:, 4])]) if np.isfinite(rates[:, 3:5]).any() else float("nan")
        summary += [
            ["difference of true positive rates (equal opportunity)", percent(_spread(rates[:, 3]))],
            ["equalized odds difference", percent(float(odds))],
        ]
    html = join(
        [
            chart(f"fairness-{i}", f"Rates by group of {groups.name}"),
            table(["group", "rows", *names], cells, f"Groups of {groups.name}", numeric=range(1, 9), wide=True),
            table(["measure", "value"], summary, f"Differences between the groups of {groups.name}", numeric=(1,)),
            element(
                "details",
                element("summary", "Largest difference of each rate"),
                table(["rate", "largest difference"], spread, "Largest differences", numeric=(1,)),
            ),
        ]
    )
    findings = (
        [f"The selection rates of the groups of {groups.name} differ: their ratio is {number(ratio, 2)}, below four fifths."]
        if ratio < FOUR_FIFTHS
        else []
    )
    return html, {"name": groups.name, "measures": names, "groups": data}, findings


def _mean(values: np.ndarray) -> float:
    return float(np.mean(values)) if len(values) else float("nan")


def _spread(rates: np.ndarray) -> float:
    known = rates[~np.isnan(rates)]
    return float(known.max() - known.min()) if len(known) else float("nan")


def _ratio(rates: np.ndarray) -> float:
    known = rates[~np.isnan(rates)]
    return float(known.min() / known.max()) if len(known) and known.max() > 0 else float("nan")
