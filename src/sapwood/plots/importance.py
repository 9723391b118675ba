"""Bar plot of feature importances."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.model.conditions import short_number
from sapwood.plots.canvas import BLUE, GREY, bare, feature_names, make_axes

TITLES = {"gain": "gain", "split": "splits", "cover": "cover", "permutation": "permutation", "shap": "SHAP"}
LABELS = {
    "shap": "mean absolute SHAP value",
    "gain": "% of total split gain",
    "split": "number of splits",
    "cover": "% of rows passing through splits",
}


def plot_importance(
    estimator: Any,
    kind: str = "gain",
    X: Any = None,
    y: Any = None,
    *,
    importances: Any = None,
    max_features: int = 20,
    ax: Any = None,
    **options: Any,
) -> Any:
    """Plot feature importances, the most important feature first.

    Parameters
    ----------
    estimator : fitted Sapwood estimator
    kind : {"gain", "split", "cover", "permutation", "shap"}, default="gain"
        See `estimator.importances`. "permutation" needs X and y, and is drawn with standard deviations; "shap" needs X.
    X, y : table and targets for "permutation" and "shap"
    importances : importances to plot instead: the result of `sklearn.inspection.permutation_importance` (drawn with standard deviations),
        or an array
    max_features : maximum number of features to show
    ax : axes to draw on; None for new ones
    options
        For "permutation": scoring, n_repeats, sample_weight, random_state.
    """
    errors = None
    if importances is not None and hasattr(importances, "importances_mean"):
        kind = "permutation"
    if importances is None and kind == "permutation" and X is not None and y is not None:
        from sklearn.inspection import permutation_importance

        importances = permutation_importance(estimator, X, y, **{"random_state": 0, **options})
    if importances is None:
        values = np.asarray(estimator.importances(kind, X, y, **options), dtype=np.float64)
        label = LABELS.get(kind, kind)
        values = values / values.sum() * 100 if label.startswith("%") and values.any() else values
    else:
        values = np.asarray(getattr(importances, "importances_mean", importances), dtype=np.float64)
        errors = getattr(importances, "importances_std", None)
        label = "importance" if errors is None else "decrease in score when permuted (mean ± standard deviation)"
    names = feature_names(estimator.model_.schema)
    if values.shape != (len(names),):
        raise ValueError(f"importances must have one number for each of {len(names)} features; got the shape {values.shape}")
    order = np.argsort(-values, kind="stable")[:max_features]
    ax = make_axes(ax, 6.4, 0.9 + 0.27 * len(order))
    places = np.arange(len(order))
    ax.barh(places, values[order], color=BLUE, height=0.72)
    ends = np.maximum(values[order], 0)
    if errors is not None:
        ax.errorbar(values[order], places, xerr=errors[order], fmt="none", ecolor="black", capsize=2, linewidth=0.9)
        ends = np.maximum(ends, values[order] + errors[order])
    for place, f, end in zip(places, order, ends, strict=True):
        ax.annotate(short_number(values[f]), (end, place), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8, color=GREY)
    ax.set_yticks(places, [names[f] for f in order])
    ax.invert_yaxis()
    ax.margins(x=0.1, y=0.02)
    ax.set_xlabel(label)
    ax.tick_params(axis="y", length=0)
    hidden = len(names) - len(order)
    what = "Feature importance" if importances is not None and errors is None else f"Feature importance: {TITLES[kind]}"
    ax.set_title(f"{what}{f' ({hidden} more features not shown)' if hidden else ''}", loc="left")
    bare(ax, "x")
    return ax
