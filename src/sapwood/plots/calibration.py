"""Reliability diagrams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sapwood.data.checks import check_labels
from sapwood.plots.canvas import GREY, bare, make_axes, style
from sapwood.uncertainty.rows import count_rows

Z = 1.96  # of a 95 % confidence interval


def plot_calibration(estimators: Any, X: Any, y: Any, *, n_bins: int = 10, ax: Any = None) -> Any:
    """Reliability diagram: observed frequency against predicted probability. A calibrated classifier lies on the diagonal.

    With two classes, the probability of the second class is shown; with more, the probability of the predicted class. Bins hold equal
    numbers of rows. Error bars are 95 % Wilson confidence intervals.

    Parameters
    ----------
    estimators : fitted classifier, or dict of name -> fitted classifier
    X, y : rows that were not used for training
    n_bins : number of bins
    ax : axes to draw on; None for new ones
    """
    named = estimators if isinstance(estimators, Mapping) else {type(estimators).__name__: estimators}
    y = check_labels(y, count_rows(X), "y")
    ax = make_axes(ax, 5.2, 5.2)
    first = 1.0  # lower end of both axes
    for i, (name, estimator) in enumerate(named.items()):
        proba, classes = estimator.predict_proba(X), estimator.classes_
        two = len(classes) == 2
        predicted = proba[:, 1] if two else proba.max(axis=1)
        true = y == classes[1] if two else classes[proba.argmax(axis=1)] == y
        means, rates, low, high, error = _bins(predicted, np.asarray(true, dtype=np.float64), n_bins)
        first = 0.0 if two else min(first, np.floor(10 * min(means.min(), low.min())) / 10)
        ax.errorbar(
            means,
            rates,
            yerr=[rates - low, high - rates],
            marker="os^Dv"[i % 5],
            markersize=5,
            capsize=2,
            elinewidth=0.9,
            linewidth=1.5,
            label=f"{name} (mean gap {error:.1%})",
            **style(i),
        )
    ax.plot([first, 1], [first, 1], color=GREY, linewidth=1, linestyle=":", zorder=1)
    for x, height, side, text in ((0.98, 0.02, "right", "overconfident"), (0.02, 0.96, "left", "underconfident")):
        ax.text(x, height, text, transform=ax.transAxes, ha=side, fontsize=8, color=GREY, style="italic")
    what = f"probability of class {classes[1]!s}" if two else "probability of the most probable class"
    limits = (first - 0.02 * (1 - first), 1 + 0.02 * (1 - first))
    ax.set(xlabel=f"predicted {what}", ylabel="observed frequency", xlim=limits, ylim=limits, aspect="equal")
    ax.set_title("Calibration", loc="left")
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(-0.02, -0.12), fontsize=9)
    bare(ax, "both")
    return ax


def _bins(predicted: np.ndarray, true: np.ndarray, n_bins: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]:
    """Mean prediction, observed frequency and its confidence interval of each bin; and the mean absolute gap (calibration error)."""
    order = np.argsort(predicted, kind="stable")
    bins = [rows for rows in np.array_split(order, n_bins) if len(rows)]
    n = np.array([len(rows) for rows in bins])
    means, rates = (np.array([values[rows].mean() for rows in bins]) for values in (predicted, true))
    middle = (rates + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * np.sqrt(rates * (1 - rates) / n + Z**2 / (4 * n**2))
    low, high = np.minimum(middle - half, rates), np.maximum(middle + half, rates)
    return means, rates, low, high, float((n * abs(means - rates)).sum() / n.sum())
