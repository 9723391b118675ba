"""Best split of a node, by exhaustive search."""

from typing import NamedTuple

import numpy as np


class Candidate(NamedTuple):
    gain: float
    score: float  # score of both children, to which rounding errors of the gain are relative
    feature: int
    bin: int
    missing_left: bool
    left: np.ndarray  # gradient, hessian, count of the left child


def candidates(histogram, n_bins, missing, min_count=1, min_hessian=0.0, l2=0.0, hessian_unit=1.0, allowed=None):
    """Return all splits that satisfy the rules, from the histogram of a node, (n_cells, 3).

    A split sends the bins of a feature up to a threshold to the left, and missing values (its last bin, if `missing`) to either side.
    """
    found, begin = [], 0
    for feature, n in enumerate(n_bins):
        cells = histogram[begin : begin + n]
        begin += n
        if allowed is not None and not allowed[feature]:
            continue
        if cells[:, 1].sum() == 0:  # no splits without hessian, whatever l2 is
            continue
        total, absent = cells.sum(axis=0), cells[-1] if missing[feature] else np.zeros(3, dtype=np.int64)
        for bin_ in range(n - missing[feature]):
            for missing_left in (False, True) if absent[2] else (False,):
                left = cells[: bin_ + 1].sum(axis=0) + (absent if missing_left else 0)
                right = total - left
                if keeps_rules(left, right, min_count, min_hessian, l2, hessian_unit):
                    children = score(left, l2, hessian_unit) + score(right, l2, hessian_unit)
                    found.append(Candidate(children - score(total, l2, hessian_unit), children, feature, bin_, missing_left, left))
    return found


def keeps_rules(left, right, min_count, min_hessian, l2, hessian_unit):
    return all(
        count >= max(1, min_count) and hessian * hessian_unit >= min_hessian and hessian * hessian_unit + l2 > 0
        for _, hessian, count in (left, right)
    )


def score(sums, l2, hessian_unit):
    """Return twice the reduction of the loss by a node, G^2 / (H + l2)."""
    return float(sums[0]) ** 2 / (float(sums[1]) * hessian_unit + l2)
