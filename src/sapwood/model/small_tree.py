"""SVG drawing of the upper levels of a tree, for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from sapwood.model.conditions import condition
from sapwood.runtime.svg import COLORS, drawing

if TYPE_CHECKING:
    from sapwood.model.model import Model

LINE, GAP, CHARACTER, PAD = 26, 34, 6.4, 7  # pixels
LEVELS = 3
MOST_VALUES = 3
LOWER, HIGHER = COLORS[0], COLORS[1]


def small_tree(model: Model, number: int = 0, levels: int = LEVELS) -> str:
    """Return the upper levels of a tree as SVG. At each node, rows that satisfy the condition go to the upper branch."""
    tree = model.trees[number]
    nodes: list[tuple[int, int, float, str]] = []  # node, level, y, text
    branches: list[tuple[int, float, float]] = []  # level of the parent, y of the parent, y of the child
    lines = 0

    def place(node: int, level: int) -> float:
        nonlocal lines
        if tree.feature[node] < 0 or level >= levels:
            lines += 1
            y = (lines - 0.5) * LINE
            leaf = tree.feature[node] < 0
            nodes.append((node, level, y, tree.leaves.label(node, MOST_VALUES) if leaf else f"… {tree.count[node]:,} rows"))
            return y
        children = [place(int(child), level + 1) for child in (tree.left[node], tree.right[node])]
        y = sum(children) / 2
        nodes.append((node, level, y, condition(model, tree, node)))
        branches.extend((level, y, child) for child in children)
        return y

    place(0, 0)
    depth = max(level for _, level, _, _ in nodes) + 1
    widths = [max(len(text) for _, level, _, text in nodes if level == d) * CHARACTER + 2 * PAD for d in range(depth)]
    begins = [sum(widths[:d]) + GAP * d for d in range(depth)]
    parts = []
    for level, y, child in branches:
        x = begins[level] + widths[level]
        line = f"M{x:.0f},{y:.0f} h{GAP / 2:.0f} V{child:.0f} H{begins[level + 1]:.0f}"
        parts.append(f'<path d="{line}" fill="none" stroke="currentColor" opacity="0.4"/>')
    values = tree.leaves.mean_values().sum(axis=1)
    for node, level, y, text in nodes:
        color = "currentColor" if tree.feature[node] >= 0 else HIGHER if values[node] >= 0 else LOWER
        box = f'x="{begins[level]:.0f}" y="{y - 10:.0f}" width="{widths[level]:.0f}" height="20" rx="4"'
        parts.append(
            f'<rect {box} fill="{color}" fill-opacity="{0.08 if tree.feature[node] >= 0 else 0.22}" stroke="{color}" stroke-opacity="0.4"/>'
        )
        parts.append(f'<text x="{begins[level] + PAD:.0f}" y="{y + 4:.0f}" fill="currentColor">{escape(text)}</text>')
    return drawing("".join(parts), begins[-1] + widths[-1] + 2, lines * LINE, f"Tree {number + 1}")
