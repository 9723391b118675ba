"""Cut points and bins."""

from itertools import pairwise

import numpy as np


def distinct(column, weight=None):
    """Return the distinct numbers of a column, ascending, and the weight of each."""
    column = np.asarray(column, dtype=np.float64)
    weight = np.ones(len(column)) if weight is None else np.asarray(weight, dtype=np.float64)
    known = ~np.isnan(column)
    values, group = np.unique(column[known] + 0.0, return_inverse=True)  # -0.0 + 0.0 is 0.0
    return values, np.bincount(group, weight[known], len(values))


def between(low, high):
    """Return the midpoint of two numbers; the lower number if it is rounded to the upper one."""
    with np.errstate(invalid="ignore"):
        middle = low / 2 + high / 2
    return middle if low <= middle < high else low


def cut_points(column, max_bins, weight=None):
    """Return the cut points of a column.

    At most `max_bins` distinct values have one bin each. Otherwise a heavy value (at least 1 / max_bins of the weight) ends its bin; the
    other values fill bins up to an equal fraction of their remaining weight, or to half of it before a heavy value.
    """
    values, weights = distinct(column, weight)
    if len(values) <= max_bins:
        return np.array([between(a, b) for a, b in pairwise(values)])
    heavy = weights >= weights.sum() / max_bins
    bins_left = max_bins - heavy.sum()
    goal = weights[~heavy].sum() / bins_left if bins_left else 0.0
    cuts, filled = [], 0.0
    for i in range(len(values) - 1):
        filled += weights[i]
        if not (heavy[i] or filled >= goal or (heavy[i + 1] and filled >= goal / 2)):
            continue
        cuts.append(between(values[i], values[i + 1]))
        filled = 0.0
        if not heavy[i]:
            bins_left -= 1
            if bins_left > 0:
                goal = weights[i + 1 :][~heavy[i + 1 :]].sum() / bins_left
    return np.array(cuts[: max_bins - 1])


def bins_of(column, cuts):
    """Return the bin of each value: the number of cut points below it; for missing values the bin after the last."""
    column = np.asarray(column, dtype=np.float64)
    return np.where(np.isnan(column), len(cuts) + 1, np.searchsorted(cuts, column, side="left")).astype(np.uint8)
