"""Rows kept aside: those that scikit-learn would keep."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from sklearn.utils.extmath import _approximate_mode


def hold_out(units: np.ndarray, held: float, strata: np.ndarray | None, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Split units, ascending numbers, into those to train on and those kept aside, both ascending.

    The same as scikit-learn's `train_test_split` puts there, who also shuffles them and goes through lists: on millions of rows that took
    seconds, during which nothing could interrupt it.

    Parameters
    ----------
    held : the share, below 1, or the number of units to keep aside
    strata : (n_units,) classes 0, 1, 2, ...; each has its share in both parts
    """
    n = len(units)
    n_held = math.ceil(held * n) if held < 1 else int(held)
    if not 0 < n_held < n:
        raise ValueError(f"that is {n_held} of {n}: some must be left for both")
    random = np.random.RandomState(seed)
    chosen = np.zeros(n, dtype=bool)
    if strata is None:
        chosen[random.permutation(n)[:n_held]] = True
    else:
        for own, n_train, n_own in _by_class(strata, n_held, random):
            chosen[own[random.permutation(len(own))[n_train : n_train + n_own]]] = True
    return units[~chosen], units[chosen]


def _by_class(strata: np.ndarray, n_held: int, random: np.random.RandomState) -> Iterator[tuple[np.ndarray, int, int]]:
    """The places of each class, and how many of them are trained on and kept aside."""
    n, counts = len(strata), np.bincount(strata.astype(np.intp))
    n_classes = np.count_nonzero(counts)
    if counts[counts > 0].min() < 2:
        raise ValueError("a class has one row only, and would be missing in one part")
    if min(n_held, n - n_held) < n_classes:
        raise ValueError(f"that is {n_held} of {n}, but each of {n_classes} classes should be in both parts")
    order = np.argsort(strata.astype(np.uint16 if len(counts) <= 1 << 16 else np.int64), kind="stable")  # few bits are sorted faster
    counts = counts[counts > 0]
    n_train = _approximate_mode(counts, n - n_held, random)
    n_own = _approximate_mode(counts - n_train, n_held, random)
    yield from zip(np.split(order, np.cumsum(counts)[:-1]), n_train, n_own, strict=True)
