"""The best split of a node, by trying them all."""

from typing import NamedTuple

import numpy as np


class Candidate(NamedTuple):
    gain: float
    score: float  # of both children: what rounding errors of the gain are relative to
    feature: int
    bin: int
    missing_left: bool
    left: np.ndarray  # gradient, hessian, count of the left child


def candidates(histogram, n_bins, missing, min_count=1, min_hessian=0.0, l2=0.0, hessian_unit=1.0, allowed=None):
    """Every split that keeps the rules, from a node's (n_cells, 3) histogram.

    A split sends the rows of a feature's bins up to one to the left, and the missing ones (its last bin, where `missing`) to either side.
    """
    found, begin = [], 0
    for feature, n in enumerate(n_bins):
        cells = histogram[begin : begin + n]
        begin += n
        if allowed is not None and not allowed[feature]:
            continue
        if cells[:, 1].sum() == 0:  # no hessian at all: l2 alone makes no split
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
    """What a node takes off the loss, doubled: G^2 / (H + l2)."""
    return float(sums[0]) ** 2 / (float(sums[1]) * hessian_unit + l2)
