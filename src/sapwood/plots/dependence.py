"""Partial dependence of one feature or two."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.data.columns import Name
from sapwood.data.reading import read_table
from sapwood.inspection import Dependence, partial_dependence
from sapwood.inspection.dependence import find_feature
from sapwood.plots.canvas import BLUE, FAINT, GREY, bare, make_axes, short, style

LETTERS_IN_A_ROW = 50  # of labels below an axis


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
    """What is predicted on average where one feature, or two, have given values.

    Of one feature there are faint lines of single rows too (ICE), and ticks for the deciles of its values. Several outputs (classes) have a
    line each.

    Parameters
    ----------
    estimator : fitted, of ours
    X : some hundreds of rows like those of the fit
    features : a column's name or number, or a pair of them
    output : of several, the one to show
    max_lines : how many rows get a line
    raw : whether to show raw predictions, or what they stand for
    grid_resolution : how many values to try; 60 of one feature, 25 of each of two
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
    ax.set_title("Partial dependence", loc="left")
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
    single = {"linestyle": "none", "marker": "_", "markersize": 14} if named else {}  # nothing lies between two levels
    if found.individual is not None and max_lines:
        of = found.individual[output or 0]
        some = np.unique(np.linspace(0, len(of) - 1, max_lines).astype(np.intp))
        ax.plot(x, of[some].T, color=GREY, alpha=0.25, linewidth=0.7, zorder=1, **single)
        ax.plot([], [], color=GREY, alpha=0.6, linewidth=0.7, **single, label=f"single rows ({len(some)} of {len(of)})")
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
    ax.legend(frameon=False, fontsize=9)
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
    if any(values.dtype == object for values in found.values):  # nothing lies between two levels
        shown = ax.pcolormesh(axes[0], axes[1], grid.T, shading="nearest", cmap="cividis")
    else:
        shown = ax.contourf(axes[0], axes[1], grid.T, levels=12, cmap="cividis")
        ax.contour(axes[0], axes[1], grid.T, levels=shown.levels, colors=FAINT, linewidths=0.4)
    for values, set_ticks in zip(found.values, (ax.set_xticks, ax.set_yticks), strict=True):
        if values.dtype == object:
            set_ticks(np.arange(len(values)), [short(value) for value in values])
    ax.set(xlabel=short(found.features[0]), ylabel=short(found.features[1]))
    ax.figure.colorbar(shown, ax=ax, label=what)
