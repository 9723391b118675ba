"""Plot of a single tree: the root at the left, one line per leaf."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sapwood.model.conditions import condition, short_number
from sapwood.plots.canvas import BLUE, FAINT, GREY, ORANGE, color_map, make_axes, need_matplotlib

FONT = 8.0  # points
LINE = 0.36  # inches per leaf
GAP = 0.62  # inches between columns of nodes, where the branches are
PAD = 0.07  # inches around a node's text
MOST_VALUES = 4  # per leaf
HEAD = 0.45  # inches for the title and the legend


@dataclass
class Box:
    """Text of a node, and its position in inches."""

    text: str
    note: str
    x: float = 0.0
    y: float = 0.0
    width: float = 0.0


def plot_tree(estimator: Any, tree: int = 0, *, ax: Any = None) -> Any:
    """Plot one tree of a model.

    At each node, rows that satisfy the condition follow the upper branch. The line width is the fraction of training rows. "missing" marks
    the branch of missing values, for features whose splits show that there were some in training; others follow the larger branch.
    Leaves show their value (added to the raw prediction), colored by sign and size. New axes are as large as the tree needs; on given axes,
    text shrinks to fit.

    Parameters
    ----------
    estimator : fitted Sapwood estimator
    tree : index of the tree in training order; with one tree per output, a round has `n_outputs` consecutive trees
    ax : axes to draw on; None for new ones
    """
    model = estimator.model_
    if not 0 <= tree < len(model.trees):
        raise ValueError(f"tree must be from 0 to {len(model.trees) - 1}; got {tree}")
    need_matplotlib()
    grown = model.trees[tree]
    boxes = _boxes(model, grown)
    width, height = _place(boxes, grown)
    ax = make_axes(ax, width, height, whole=True)
    size = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
    font = FONT * min(1.0, size.width / width, size.height / height)
    _draw_branches(ax, boxes, grown, np.isin(grown.feature, list(features_with_missing(model))), font)
    _draw_nodes(ax, boxes, grown, font)
    ax.set(xlim=(0, width), ylim=(height, 0))
    ax.axis("off")
    ax.text(0.05, 0.12, _title(estimator, tree), fontsize=font + 2, va="center")
    ax.text(0.05, 0.34, f"{grown.count[0]:,} training rows; upper branch: yes, lower branch: no", fontsize=font, va="center", color=GREY)
    return ax


def _title(estimator: Any, tree: int) -> str:
    model = estimator.model_
    title = f"Tree {tree} of {len(model.trees)}"
    if model.n_outputs > 1:
        title += f": round {tree // model.trees_per_round + 1}"
    if model.n_outputs > 1 and not model.shared:
        k = tree % model.n_outputs
        title += f", class {estimator.classes_[k]}" if hasattr(estimator, "classes_") else f", output {k}"
    return title


def _boxes(model: Any, tree: Any) -> list[Box]:
    boxes = []
    for node, f in enumerate(tree.feature):
        rows = f"{tree.count[node]:,} rows"
        if f < 0:
            boxes.append(Box(tree.leaves.label(node, MOST_VALUES), f"{rows} ({tree.count[node] / max(tree.count[0], 1):.0%})"))
        else:
            boxes.append(Box(condition(model, tree, node).replace("$", r"\$"), f"{rows}, gain {short_number(tree.gain[node])}"))
    return boxes


def features_with_missing(model: Any) -> set[int]:
    """Return the features whose missing values do not always follow the larger branch, as they do at splits that saw none in training."""
    found: set[int] = set()
    for tree in model.trees:
        inner = np.flatnonzero(tree.feature >= 0)
        left, right = tree.count[tree.left[inner]], tree.count[tree.right[inner]]
        to_larger = np.where(tree.missing_left[inner], left >= right, right >= left)
        # In a symmetric tree, the nodes of a level have one split with one direction, that of most of their rows.
        splits = np.column_stack([_depths(tree)[inner], tree.feature[inner], tree.bin[inner]])
        level = np.unique(splits, axis=0, return_inverse=True)[1].ravel()
        found.update(tree.feature[inner[np.bincount(level, to_larger)[level] == 0]].tolist())
    return found


def _depths(tree: Any) -> np.ndarray:
    """Return the depth of each node, (n_nodes,) intp."""
    depth = np.zeros(len(tree.feature), dtype=np.intp)
    for parent in np.flatnonzero(tree.feature >= 0):  # children come after their parents
        depth[[tree.left[parent], tree.right[parent]]] = depth[parent] + 1
    return depth


def _place(boxes: list[Box], tree: Any) -> tuple[float, float]:
    """Position the boxes: columns by depth, one line per leaf. Returns width and height in inches."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    def inches(text: str) -> float:
        return text_to_path.get_text_width_height_descent(text.replace(r"\$", "$"), properties, False)[0] / 72

    properties = FontProperties(size=FONT)
    depth = _depths(tree)
    for node, box in enumerate(boxes):  # the two texts are side by side in a leaf, stacked in other nodes
        leaf = tree.feature[node] < 0
        box.width = (inches(box.text) + inches(box.note) + 0.12 if leaf else max(inches(box.text), inches(box.note))) + 2 * PAD
    widest = [max(box.width for node, box in enumerate(boxes) if depth[node] == d) for d in range(depth.max() + 1)]
    begins = np.concatenate([[0.05], 0.05 + np.cumsum(np.array(widest) + GAP)])
    n_lines, below = 0, [0]
    while below:  # leaves from the top down
        top = below.pop()
        boxes[top].x = float(begins[depth[top]])
        if tree.feature[top] < 0:
            boxes[top].y = HEAD + (n_lines + 0.5) * LINE
            n_lines += 1
        else:
            below += [tree.right[top], tree.left[top]]
    for inner in np.flatnonzero(tree.feature >= 0)[::-1]:  # children come after their parents
        boxes[inner].y = (boxes[tree.left[inner]].y + boxes[tree.right[inner]].y) / 2
    return max(box.x + box.width for box in boxes) + 0.05, HEAD + max(n_lines, 2) * LINE + 0.05


def _draw_branches(ax: Any, boxes: list[Box], tree: Any, marked: np.ndarray, font: float) -> None:
    for node in np.flatnonzero(tree.feature >= 0):
        begin = boxes[node]
        turn = begin.x + begin.width + 0.14
        ax.plot([begin.x + begin.width, turn], [begin.y, begin.y], color=GREY, linewidth=0.8, zorder=1)
        for child, yes in ((tree.left[node], True), (tree.right[node], False)):
            end = boxes[child]
            fraction = tree.count[child] / max(tree.count[0], 1)
            ax.plot(
                [turn, turn, end.x], [begin.y, end.y, end.y], color=GREY, linewidth=0.6 + 3 * fraction, solid_joinstyle="round", zorder=1
            )
            if marked[node] and bool(tree.missing_left[node]) == yes:
                ax.text(turn + 0.04, end.y - 0.03, "missing", fontsize=font * 0.75, color=GREY, va="bottom", style="italic")


def _draw_nodes(ax: Any, boxes: list[Box], tree: Any, font: float) -> None:
    from matplotlib.patches import FancyBboxPatch

    leaves = tree.feature < 0
    colors = color_map(BLUE, "#FFFFFF", ORANGE)
    values = tree.leaves.mean_values().sum(axis=1)
    largest = abs(values[leaves]).max() or 1.0
    for node, box in enumerate(boxes):
        fill = colors(0.5 + 0.32 * values[node] / largest) if leaves[node] else "#F4F4F4"
        height = 0.24 if leaves[node] else 0.38
        patch = FancyBboxPatch(
            (box.x, box.y - height / 2),
            box.width,
            height,
            boxstyle="round,pad=0,rounding_size=0.05",
            facecolor=fill,
            edgecolor=FAINT,
            zorder=2,
        )
        ax.add_patch(patch)
        if leaves[node]:
            ax.text(box.x + PAD, box.y, box.text, fontsize=font, va="center", zorder=3)
            ax.text(box.x + box.width - PAD, box.y, box.note, fontsize=font, va="center", ha="right", color="#333333", zorder=3)
        else:
            ax.text(box.x + PAD, box.y - 0.085, box.text, fontsize=font, va="center", zorder=3)
            ax.text(box.x + PAD, box.y + 0.09, box.note, fontsize=font, va="center", color=GREY, zorder=3)
