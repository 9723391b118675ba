"""Summary plot of SHAP values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sapwood.data.frames import frame_table, open_frame
from sapwood.model.conditions import short_number
from sapwood.plots.canvas import BLUE, COLORS, FAINT, GREY, ORANGE, bare, color_map, make_axes, short, style

LEVELS_SHOWN = 5  # of a category, with a color each
BINS = 60  # of the horizontal axis; points of a bin are stacked


def plot_shap_summary(explanation: Any, *, output: int | None = None, max_features: int = 15, max_rows: int = 2000, ax: Any = None) -> Any:
    """Beeswarm plot: one point per row and feature, at its SHAP value, colored by the value of the feature.

    Features are sorted by mean absolute SHAP value. With several outputs, stacked bars of these means are drawn, unless `output` is given.

    Parameters
    ----------
    explanation : object with `values`, `data` and `feature_names`, as returned by `estimator.explain(X)` or an explainer of shap
    output : the output to plot; None for all
    max_features, max_rows : maximum number of features and rows to show
    ax : axes to draw on; None for new ones
    """
    values = np.asarray(explanation.values, dtype=np.float64)
    if values.ndim not in (2, 3):
        raise ValueError(f"values must have the shape (n_rows, n_features) or (n_rows, n_features, n_outputs); got {values.shape}")
    if values.ndim == 3 and values.shape[2] == 1:
        output = 0
    if output is not None and values.ndim == 3:
        values = values[:, :, output]
    given = getattr(explanation, "feature_names", None)
    names = [short(name) for name in given] if given is not None else [f"feature {f}" for f in range(values.shape[1])]
    size = abs(values).mean(axis=0)
    order = np.argsort(-(size if size.ndim == 1 else size.sum(axis=1)), kind="stable")[:max_features]
    ax = make_axes(ax, 6.8, 1.2 + 0.36 * len(order))
    if values.ndim == 3:
        _draw_bars(ax, size[order], getattr(explanation, "output_names", None))
    else:
        rows = np.unique(np.linspace(0, len(values) - 1, min(max_rows, len(values))).astype(np.intp))
        columns = _columns(explanation.data, order, len(values))
        ranks = [np.full(len(rows), np.nan) if isinstance(column, Levels) else _ranks(column)[rows] for column in columns]
        _draw_points(ax, values[rows][:, order], ranks)
        _draw_levels(
            ax, values[rows][:, order], {i: (names[order[i]], one, rows) for i, one in enumerate(columns) if isinstance(one, Levels)}
        )
    labels = [f"{names[f]}  ({short_number(size[f])})" if size.ndim == 1 else names[f] for f in order]
    ax.set_yticks(range(len(order)), labels)
    ax.set_ylim(len(order) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    hidden = values.shape[1] - len(order)
    ax.set_title(f"SHAP values by feature{f' ({hidden} more features not shown)' if hidden else ''}", loc="left")
    bare(ax, "x")
    return ax


@dataclass(frozen=True)
class Levels:
    """Codes of an unordered category, (n_rows,), the most frequent level first; -1 is missing."""

    codes: np.ndarray
    names: list[str]

    @classmethod
    def of(cls, codes: np.ndarray, levels: Sequence[Any]) -> Levels:
        counts = np.bincount(codes[codes >= 0], minlength=len(levels))
        by_count = np.argsort(-counts, kind="stable")
        place = np.append(np.argsort(by_count), -1)
        return cls(place[codes], [str(levels[code]) for code in by_count])


def _columns(data: Any, features: np.ndarray, n_rows: int) -> list[np.ndarray | Levels]:
    """Values of the features: numbers, or levels of unordered categories."""
    nothing = np.full(n_rows, np.nan)
    if data is None:
        return [nothing] * len(features)
    frame = open_frame(data)
    if frame is None:
        array = data.toarray() if hasattr(data, "toarray") else np.asarray(data)
        return [array[:, f].astype(np.float64) if array.dtype.kind in "biuf" else nothing for f in features]
    columns = frame_table(frame).columns
    return [
        Levels.of(c.values, c.kind.levels) if (c := columns[f]).kind.is_category and not c.kind.ordered else c.values.astype(np.float64)
        for f in features
    ]


def _ranks(column: np.ndarray) -> np.ndarray:
    """Ranks scaled to [0, 1]. Ties have the same rank; NaN stays NaN."""
    _, place, counts = np.unique(column, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - (counts + 1) / 2
    n = np.count_nonzero(~np.isnan(column))
    return np.where(np.isnan(column), np.nan, middle[place] / max(int(n) - 1, 1))


def _draw_points(ax: Any, values: np.ndarray, ranks: list[np.ndarray]) -> None:
    colors = color_map(BLUE, "#BFBFBF", ORANGE)
    ax.axvline(0, color=GREY, linewidth=0.8, zorder=1)
    low, high = values.min(), values.max()
    width = (high - low) / BINS or 1.0
    most = max(int(np.bincount(((column - low) / width).astype(np.intp)).max()) for column in values.T)
    for place, (column, rank) in enumerate(zip(values.T, ranks, strict=True)):
        y = place + _swarm(((column - low) / width).astype(np.intp), most)
        known = ~np.isnan(rank)
        ax.scatter(column[~known], y[~known], s=6, color=GREY, linewidths=0, alpha=0.7, zorder=2)
        ax.scatter(column[known], y[known], s=7, c=rank[known], cmap=colors, vmin=0, vmax=1, linewidths=0, alpha=0.85, zorder=3)
    ax.hlines(np.arange(len(ranks)), low, high, color=FAINT, linewidth=0.5, zorder=0)
    ax.set_xlabel("SHAP value: impact on the raw prediction (in brackets: mean absolute value)")
    from matplotlib.cm import ScalarMappable

    bar = ax.figure.colorbar(ScalarMappable(cmap=colors), ax=ax, aspect=50, pad=0.02, ticks=[0, 1])
    bar.ax.set_yticklabels(["low", "high"])
    bar.set_label("feature value", labelpad=-14)
    bar.outline.set_visible(False)


def _draw_levels(ax: Any, values: np.ndarray, levels: dict[int, tuple[str, Levels, np.ndarray]]) -> None:
    """Color the points of unordered categories by level: the most frequent ones, with a legend below the axes."""
    if not levels:
        return
    low, high = values.min(), values.max()
    width = (high - low) / BINS or 1.0
    most = max(int(np.bincount(((column - low) / width).astype(np.intp)).max()) for column in values.T)
    for place, (name, own, rows) in levels.items():
        codes, column = own.codes[rows], values[:, place]
        y = place + _swarm(((column - low) / width).astype(np.intp), most)
        for code in range(min(LEVELS_SHOWN, len(own.names))):
            mine = codes == code
            label = f"{name}: {short(own.names[code])}"
            ax.scatter(column[mine], y[mine], s=8, color=COLORS[code], linewidths=0, alpha=0.9, zorder=4, label=label)
        if len(own.names) > LEVELS_SHOWN:
            ax.scatter([], [], s=8, color=GREY, label=f"{name}: {len(own.names) - LEVELS_SHOWN} other levels")
    below = -0.55 / (0.36 * values.shape[1])  # under the label of the axis, which is 0.55 inches high
    ax.legend(frameon=False, fontsize=8, markerscale=2, loc="upper left", bbox_to_anchor=(-0.02, below), ncols=3)


def _swarm(bins: np.ndarray, most: int) -> np.ndarray:
    """Vertical offsets of points: those of a bin alternate above and below the center line."""
    order = np.argsort(bins, kind="stable")
    first = np.searchsorted(bins[order], bins[order])
    turn = np.empty(len(bins))
    turn[order] = np.arange(len(bins)) - first
    return (-1) ** turn * np.ceil(turn / 2) * min(0.8 / max(most, 1), 0.06)


def _draw_bars(ax: Any, size: np.ndarray, names: Any) -> None:
    left = np.zeros(len(size))
    for k in range(size.shape[1]):
        look = style(k)
        ax.barh(
            range(len(size)),
            size[:, k],
            left=left,
            height=0.7,
            color=look["color"],
            label=str(names[k]) if names is not None else f"output {k}",
        )
        left += size[:, k]
    ax.set_xlabel("mean absolute SHAP value")
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
