"""Conditions of nodes as text, with names of columns and levels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sapwood.data.columns import Kind
from sapwood.encoding.calendar import LAST

if TYPE_CHECKING:
    from sapwood.model.model import Model
    from sapwood.trees.tree import Tree

LONGEST_NAME = 28
MOST_LEVELS = 3


def condition(model: Model, tree: Tree, node: int) -> str:
    """Return the condition of a node, which rows of its left branch satisfy."""
    f = int(tree.feature[node])
    columns, lookup = model.encoding.columns_of(f), model.encoding.lookups.get(f)
    names = model.schema.names
    name = " × ".join(short_name(names[c]) if names else f"feature {c}" for c in columns)
    if f in model.encoding.parts:
        return f"{model.encoding.parts[f].part} of {name} ≤ {short_number(tree.threshold[node])}"
    if f in model.encoding.crosses:
        first, second = (short_name(names[c]) if names else f"feature {c}" for c in columns)
        return f"{model.encoding.crosses[f].describe(first, second)} ≤ {short_number(tree.threshold[node])}"
    if lookup is None:
        return f"{name} ≤ {format_threshold(tree.threshold[node], model.schema.kind(f))}"
    if not model.binning.is_category(tree.feature[node : node + 1])[0]:
        return f"{name}, encoded ≤ {short_number(tree.threshold[node])}"
    chosen = tree.sets[tree.bin[node]]
    (column,) = columns  # a key is the code of a level + 1
    keys = [int(key) for key, bin_ in zip(lookup.keys, lookup.values, strict=True) if chosen[int(bin_) >> 5] >> (int(bin_) & 31) & 1]
    levels = [model.schema.kind(column).levels[key - 1] if key else "missing" for key in keys]
    shown = ", ".join(short_name(level) for level in levels[:MOST_LEVELS])
    return f"{name} in {shown}" if len(levels) <= MOST_LEVELS else f"{name} in {shown}, … ({len(levels)} levels)"


def format_threshold(value: float, kind: Kind) -> str:
    """Format a threshold in the units of the column."""
    if kind.name == "datetime" and abs(value) < LAST:
        return str(np.datetime64(int(value), "us").astype("datetime64[s]")).replace("T", " ")
    if kind.name in ("datetime", "duration"):
        return f"{value / 1e6:,.6g} s"
    return f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.6g}"


def short_name(name: Any) -> str:
    """Return a name on one line, shortened in the middle."""
    text = " ".join(str(name).split())
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 10]}…{text[-9:]}"


def short_number(value: float) -> str:
    """Format a number with few digits; from 1,000 to 10 million without an exponent."""
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.3g}"
