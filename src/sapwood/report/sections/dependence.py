"""Section: partial dependence and interactions."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from sapwood.data.columns import Kind
from sapwood.report.context import Context
from sapwood.report.markup import chart, element, join, note, number, plural, table
from sapwood.report.payload import numbers
from sapwood.report.sections.base import Section
from sapwood.report.subject import QUANTILES, RANK, format_value

CURVES, GRID, ROWS, LINES = 6, 24, 200, 25
PAIR_COLUMNS, PAIR_GRID, PAIR_ROWS, PAIRS = 5, 9, 60, 6


def dependence_section(context: Context) -> Section | None:
    subject = context.subject
    columns = context.top_columns[:CURVES]
    if not columns:
        return None
    outputs = context.outputs_shown
    values = context.sample_values[:ROWS]
    curves = [_curve(context, c, values) for c in columns]
    pairs = sorted((_pair(context, a, b) for a, b in combinations(columns[:PAIR_COLUMNS], 2)), key=lambda pair: -pair["strength"])[:PAIRS]
    rows = [[f"{pair['names'][0]} × {pair['names'][1]}", number(pair["strength"], 3)] for pair in pairs]
    scale = "raw prediction" if subject.task in (RANK, QUANTILES) else "prediction"
    parts: list[Any] = [
        element(
            "p",
            f"The mean {scale} over {plural(len(values), 'row')} if a column is set to a value and all others stay as they are. "
            "Thin lines are single rows.",
        ),
        element("div", id="pd-control", class_="controls"),
        element("div", *(chart(f"pd-{i}", curve["name"]) for i, curve in enumerate(curves)), class_="grid"),
    ]
    if pairs:
        parts += [
            element("h3", "Interactions"),
            element(
                "p",
                "How much the joint effect of two columns differs from the sum of their own effects, on the scale of the raw prediction.",
            ),
            element("div", id="pair-control", class_="controls"),
            chart("pair", "Mean raw prediction by two columns"),
            element(
                "details",
                element("summary", "Strength of interactions"),
                table(["columns", "strength"], rows, "Interactions (root mean square)", numeric=(1,)),
            ),
        ]
    else:
        parts.append(note("Interactions need two columns."))
    data = {"outputs": [subject.labels[k] for k in outputs], "curves": curves, "pairs": pairs}
    return Section("dependence", "Partial dependence", join(parts), data)


def _curve(context: Context, c: int, values: np.ndarray) -> dict[str, Any]:
    subject, kind = context.subject, context.subject.model.schema.kind(c)
    grid = grid_of(context.sample_values[:, c], kind, GRID)
    found = np.stack([_linked(context, _with(values, {c: point})) for point in grid])  # (n_grid, n_rows, n_outputs)
    lines = np.unique(np.linspace(0, len(values) - 1, min(LINES, len(values))).astype(np.int64))
    return {
        "name": subject.names[c],
        **axis_data(grid, kind),
        "mean": [numbers(found[:, :, k].mean(axis=1)) for k in context.outputs_shown],
        "lines": [numbers(found[:, lines, k].T, 4) for k in context.outputs_shown],
    }


def _pair(context: Context, a: int, b: int) -> dict[str, Any]:
    subject, values = context.subject, context.sample_values[:PAIR_ROWS]
    kinds = subject.model.schema.kind(a), subject.model.schema.kind(b)
    grids = grid_of(context.sample_values[:, a], kinds[0], PAIR_GRID), grid_of(context.sample_values[:, b], kinds[1], PAIR_GRID)
    points = np.concatenate([_with(values, {a: x, b: y}) for x in grids[0] for y in grids[1]])
    raw = subject.predict_raw(points).reshape(len(grids[0]), len(grids[1]), len(values), -1).mean(axis=2)  # (n_a, n_b, n_outputs)
    apart = raw - raw.mean(axis=0, keepdims=True) - raw.mean(axis=1, keepdims=True) + raw.mean(axis=(0, 1), keepdims=True)
    return {
        "names": [subject.names[a], subject.names[b]],
        "axes": [axis_data(grids[0], kinds[0]), axis_data(grids[1], kinds[1])],
        "mean": [numbers(raw[:, :, k]) for k in context.outputs_shown],
        "strength": float(f"{np.sqrt((apart**2).mean(axis=(0, 1))).max():.4g}"),
    }


def _with(values: np.ndarray, fixed: dict[int, float]) -> np.ndarray:
    """Return rows with some columns set to a value."""
    rows = values.copy()
    for column, value in fixed.items():
        rows[:, column] = value
    return rows


def _linked(context: Context, values: np.ndarray) -> np.ndarray:
    subject = context.subject
    raw = subject.predict_raw(values)
    return raw if subject.task in (RANK, QUANTILES) else subject.model.apply_link(raw, subject.execution)


def grid_of(values: np.ndarray, kind: Kind, n: int) -> np.ndarray:
    """Return the values of a grid: the most frequent levels, all distinct values, or values between the 2% and 98% quantiles."""
    if kind.is_category:
        codes, counts = np.unique(values[values >= 0], return_counts=True)
        return np.sort(codes[np.argsort(-counts, kind="stable")[: min(n, 12)]]) if len(codes) else np.array([-1.0])
    known = values[np.isfinite(values)]
    distinct = np.unique(known)
    if len(distinct) <= n:
        return distinct if len(distinct) else np.array([np.nan])
    low, high = np.quantile(known, [0.02, 0.98])
    return np.unique(np.linspace(low, high, n))


def axis_data(grid: np.ndarray, kind: Kind) -> dict[str, Any]:
    """Return the values of a grid for the page."""
    if kind.is_category or kind.name == "bool":
        return {"levels": [format_value(value, kind) for value in grid.tolist()]}
    return {"values": numbers(grid, 16), "kind": kind.name}
