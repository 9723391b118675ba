"""Learning curves: scores by round."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sapwood.model.conditions import short_number
from sapwood.plots.canvas import GREY, bare, check_choice, make_axes, style


def plot_learning_curves(estimator: Any, metric: str | None = None, *, ax: Any = None) -> Any:
    """Plot the scores of each evaluation set after each round, and mark the round that predictions use.

    Parameters
    ----------
    estimator : Sapwood estimator fitted with early stopping, X_val or eval_sets
    metric : name of the metric; None for the first
    ax : axes to draw on; None for new ones
    """
    check_is_fitted(estimator)
    measured = {on: of for on, of in estimator.evals_result_.items() if of}
    metrics = list(dict.fromkeys(name for of in measured.values() for name in of))
    if not metrics:
        raise ValueError("there are no scores to plot: fit with early_stopping=True, X_val and y_val, or eval_sets")
    metric = metrics[0] if metric is None else metric
    check_choice("metric", metric, metrics)
    ax = make_axes(ax)
    curves = {on: np.asarray(of[metric]) for on, of in measured.items() if metric in of}
    best = estimator.best_iteration_
    for i, (on, values) in enumerate(curves.items()):
        rounds = np.arange(1, len(values) + 1)
        label = f"{on}: {short_number(values[best - 1])}" if 0 < best <= len(values) else on
        ax.plot(rounds, values, label=label, linewidth=1.8, **style(i))
    longest = max(len(values) for values in curves.values())
    if best < longest:
        ax.axvline(best, color=GREY, linewidth=1, linestyle=":")
        right = best > longest / 2
        ax.annotate(
            f"best round: {best}",
            (best, 1),
            xycoords=("data", "axes fraction"),
            xytext=(-4 if right else 4, -2),
            textcoords="offset points",
            ha="right" if right else "left",
            va="top",
            fontsize=8,
            color=GREY,
        )
    ax.set_xlabel("round")
    ax.set_ylabel(metric)
    ax.set_title(f"{metric} after each round", loc="left")
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0), title=f"at round {best}", title_fontsize=9, alignment="left")
    bare(ax, "y")
    return ax
