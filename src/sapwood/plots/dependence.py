"""Partial dependence plots of one or two features."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.data.columns import Name
from sapwood.data.reading import read_table
from sapwood.inspection import Dependence, partial_dependence
from sapwood.inspection.dependence import find_feature
from sapwood.plots.canvas import BLUE, FAINT, GREY, bare, make_axes, short, style

LETTERS_IN_A_ROW = 50  # total length of tick labels above which they are rotated


def plot_dependence(
    estimator: Any,
    X: Any,
    features: Name | tuple[Name, Name],
    *,
    output: int | None = None,
    max_lines: int = 50,
    raw: bool = False,
    grid_resolution: int | None = None,
    ax: Any = None,
) -> Any:
    """Plot the partial dependence on one or two features.

    For one feature, faint lines show single rows (ICE) and ticks mark the deciles of its values. Each output (class) has its own line.

    Parameters
    ----------
    estimator : fitted Sapwood estimator
    X : table with the columns of the fit; a few hundred rows are enough
    features : name or position of a column, or a pair of them
    output : the output to plot; None for all
    max_lines : maximum number of ICE lines
    raw : plot raw predictions instead of predictions
    grid_resolution : number of grid values; by default 60 for one feature, 25 for each of two
    ax : axes to draw on; None for new ones
    """
    pair = not isinstance(features, Name) and len(features) == 2
    model = estimator.model_
    if output is not None and not 0 <= output < model.n_outputs:
        raise ValueError(f"output must be from 0 to {model.n_outputs - 1}; got {output}")
    lines = not pair and max_lines > 0 and (model.n_outputs == 1 or output is not None)
    resolution = grid_resolution or (25 if pair else 60)
    found = partial_dependence(estimator, X, features, kind="both" if lines else "average", raw=raw, grid_resolution=resolution)
    ax = make_axes(ax, 5.6, 4.4)
    what = _what(estimator, found, output)
    if pair:
        _draw_pair(ax, found, 0 if output is None else output, what)
    else:
        _draw_lines(ax, found, estimator, output, max_lines if lines else 0, what)
        _draw_deciles(ax, estimator, X, features if isinstance(features, Name) else features[0])
    ax.set_title(f"Partial dependence on {' and '.join(short(name) for name in found.features)}", loc="left")
    return ax


def _what(estimator: Any, found: Dependence, output: int | None) -> str:
    classes = getattr(estimator, "classes_", None)
    if found.raw:
        return "raw prediction" if classes is not None or estimator.model_.link != "identity" else "prediction"
    if classes is None:
        return "prediction"
    one = classes[1] if len(classes) == 2 else None if output is None else classes[output]
    return "probability" if one is None else f"probability of class {one}"


def _draw_lines(ax: Any, found: Dependence, estimator: Any, output: int | None, max_lines: int, what: str) -> None:
    assert found.average is not None
    values = found.values[0]
    named = values.dtype == object  # levels of a category
    x = np.arange(len(values)) if named else values
    marker = {"marker": "o", "markersize": 8 if named else 5} if named or len(values) < 12 else {}
    single = {"linestyle": "none", "marker": "_", "markersize": 14} if named else {}  # do not connect levels
    if found.individual is not None and max_lines:
        of = found.individual[output or 0]
        some = np.unique(np.linspace(0, len(of) - 1, max_lines).astype(np.intp))
        ax.plot(x, of[some].T, color=GREY, alpha=0.25, linewidth=0.7, zorder=1, **single)
        ax.plot([], [], color=GREY, alpha=0.6, linewidth=0.7, **single, label=f"individual rows ({len(some)} of {len(of)})")
    outputs = range(len(found.average)) if output is None else [output]
    for i, k in enumerate(outputs):
        label = "average" if len(outputs) == 1 else f"class {estimator.classes_[k]}" if hasattr(estimator, "classes_") else f"output {k}"
        ax.plot(x, found.average[k], linewidth=2.4, label=label, zorder=3, **(style(i) | marker | ({"linestyle": "none"} if named else {})))
    if named:
        labels = [short(value) for value in values]
        crowded = sum(map(len, labels)) > LETTERS_IN_A_ROW
        ax.set_xticks(x, labels, rotation=30 if crowded else 0, ha="right" if crowded else "center")
    ax.set(xlabel=short(found.features[0]), ylabel=what)
    ax.margins(x=0.1 if named else 0.02)
    ax.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(0.0, -0.14), ncols=3)
    bare(ax, "y")


def _draw_deciles(ax: Any, estimator: Any, X: Any, feature: Name) -> None:
    schema = estimator.model_.schema
    f = find_feature(schema, feature)
    if schema.kind(f).name != "number":
        return
    table = read_table(X, schema, type(estimator).__name__)
    column = np.asarray(table.dense(slice(0, table.n_rows))[:, f], dtype=np.float64)
    left, right = ax.get_xlim()
    deciles = np.nanquantile(column, np.linspace(0.1, 0.9, 9))
    ax.vlines(deciles, 0, 0.025, transform=ax.get_xaxis_transform(), color=BLUE, linewidth=1.2)
    ax.set_xlim(left, right)


def _draw_pair(ax: Any, found: Dependence, output: int, what: str) -> None:
    assert found.average is not None
    grid = found.average[output]
    axes = [np.arange(len(values)) if values.dtype == object else values for values in found.values]
    if any(values.dtype == object for values in found.values):  # do not interpolate between levels
        shown = ax.pcolormesh(axes[0], axes[1], grid.T, shading="nearest", cmap="cividis")
    else:
        shown = ax.contourf(axes[0], axes[1], grid.T, levels=12, cmap="cividis")
        ax.contour(axes[0], axes[1], grid.T, levels=shown.levels, colors=FAINT, linewidths=0.4)
    for values, set_ticks in zip(found.values, (ax.set_xticks, ax.set_yticks), strict=True):
        if values.dtype == object:
            set_ticks(np.arange(len(values)), [short(value) for value in values])
    ax.set(xlabel=short(found.features[0]), ylabel=short(found.features[1]))
    ax.figure.colorbar(shown, ax=ax, label=what)
