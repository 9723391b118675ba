"""Section: errors by slices of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.report.context import Context
from sapwood.report.groups import Groups, chosen_columns, group_rows
from sapwood.report.markup import chart, element, join, number, plural, table
from sapwood.report.measures import Losses, Z
from sapwood.report.payload import numbers
from sapwood.report.sections.base import Section

COLUMNS = 12  # that rows are divided by, if the user chose none
WORST = 10  # slices in the table
FEWEST = 20  # rows of a slice


def slices_section(context: Context) -> Section | None:
    losses, subject = context.losses, context.subject
    if losses is None or len(losses.values) < FEWEST:
        return None
    chosen = chosen_columns(subject, context.slice_by, "slice_by")
    columns = [
        *chosen,
        *(subject.column(c) for c in subject.by_importance[:COLUMNS] if subject.names[c] not in {own.name for own in chosen}),
    ]
    whole = float(np.average(losses.values, weights=losses.weight))
    data = [one for column in columns if len((one := _by_group(group_rows(column), losses))["groups"]) > 1]
    if not data:
        return None
    found = [{"name": one["name"], **group} for one in data for group in one["groups"] if group["n"] >= FEWEST]
    found.sort(key=lambda one: -one["low"])
    worse = [one for one in found if one["low"] > whole]
    rows = [
        [
            f"{one['name']}: {one['label']}",
            f"{one['n']:,}",
            number(one["mean"]),
            f"{number(one['low'])} to {number(one['high'])}",
            f"{one['mean'] / whole:.2f} ×" if whole else "–",
        ]
        for one in (worse or found)[:WORST]
    ]
    caption = f"Slices with the highest {losses.title}" + ("" if worse else " (none is higher than that of all rows beyond chance)")
    html = join(
        [
            element("p", f"The mean {losses.title} of all rows is {number(whole)}. Lower is better."),
            element("div", id="slices-control", class_="controls"),
            chart("slices", f"Mean {losses.title} by slice, with 95% intervals; the line is the mean of all rows"),
            table(["slice", "rows", f"mean {losses.title}", "95% interval", "of all rows"], rows, caption, numeric=(1, 2, 3, 4)),
        ]
    )
    findings = []
    if worse and worse[0]["mean"] > 1.5 * whole:
        one = worse[0]
        findings.append(
            f"Errors are highest where {one['name']} is {one['label']} ({plural(one['n'], 'row')}): "
            f"{one['mean'] / whole:.1f} times the mean {losses.title}."
        )
    return Section("slices", "Errors by slice", html, {"columns": data, "whole": whole, "title": losses.title}, findings)


def _by_group(groups: Groups, losses: Losses) -> dict[str, Any]:
    """Return the mean loss of each group with its 95% interval."""
    of_unit = groups.of_row[losses.rows]
    out = []
    for g, label in enumerate(groups.labels):
        own = of_unit == g
        n = int(own.sum())
        if n < 2:
            continue
        values, weight = losses.values[own], losses.weight[own]
        mean = float(np.average(values, weights=weight)) if weight.sum() > 0 else float("nan")
        half = float(Z * values.std(ddof=1) / np.sqrt(n))
        out.append({"label": label, "n": n, "mean": mean, "low": mean - half, "high": mean + half})
    return {"name": groups.name, "groups": [{**one, **{key: numbers(one[key]) for key in ("mean", "low", "high")}} for one in out]}
