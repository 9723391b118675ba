"""Rows held out for early stopping: the same as scikit-learn's `train_test_split`."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from sapwood.data.row_range import RowRange
from sapwood.runtime.execution import SERIAL, Execution


def hold_out(
    units: np.ndarray, held: float, strata: np.ndarray | None, seed: int, execution: Execution = SERIAL
) -> tuple[np.ndarray, np.ndarray]:
    """Split units (rows or queries) into a training and a held-out part, both ascending.

    The split is that of scikit-learn's `train_test_split`, without shuffling the parts, which takes seconds for millions of rows and cannot
    be interrupted. With several partitions each gets its part of the split of all units.

    Parameters
    ----------
    units : ascending numbers
    held : number of units to hold out, or a fraction below 1
    strata : (n_units,) classes 0, 1, 2, ... for a stratified split
    seed : random seed
    """
    own = RowRange.of(len(units), execution)
    n_held = math.ceil(held * own.total) if held < 1 else int(held)
    if not 0 < n_held < own.total:
        raise ValueError(f"{n_held} of {own.total} would be held out, but both parts must have at least one")
    random = np.random.RandomState(seed % 2**32)  # it takes 32 bits
    chosen = np.zeros(len(units), dtype=bool)
    if strata is None:
        chosen[_within(random.permutation(own.total)[:n_held], own)] = True
    else:
        for places, stratum, n_train, n_own in _by_class(strata, n_held, random, execution):
            drawn = random.permutation(stratum.total)[n_train : n_train + n_own]
            chosen[places[_within(drawn, stratum)]] = True
    return units[~chosen], units[chosen]


def _within(drawn: np.ndarray, own: RowRange) -> np.ndarray:
    """Return the positions in a range of the drawn numbers that are in it."""
    return drawn[(drawn >= own.first) & (drawn < own.first + own.n_rows)] - own.first


def _by_class(
    strata: np.ndarray, n_held: int, random: np.random.RandomState, execution: Execution
) -> Iterator[tuple[np.ndarray, RowRange, int, int]]:
    """Yield for each class its positions in this partition, their range among those of all partitions, and the numbers of all to train on
    and to hold out."""
    codes = strata.astype(np.intp)
    n_classes = int(execution.largest(float(codes.max(initial=0)))) + 1
    here = np.bincount(codes, minlength=n_classes)
    counts = np.array(execution.collective.gather_objects(here))  # (n_partitions, n_classes)
    first, totals = counts[: execution.collective.rank].sum(axis=0), counts.sum(axis=0)
    n, present = int(totals.sum()), np.flatnonzero(totals)
    if totals[present].min() < 2:
        raise ValueError("a class has only one row, but both parts must have a row of each class")
    if min(n_held, n - n_held) < len(present):
        raise ValueError(f"{n_held} of {n} would be held out, but both parts must have a row of each of the {len(present)} classes")
    order = np.argsort(codes.astype(np.uint16 if n_classes <= 1 << 16 else np.int64), kind="stable")  # small integers are sorted faster
    places = np.split(order, np.cumsum(here)[:-1])
    n_train = _apportion(totals[present], n - n_held, random)
    n_own = _apportion(totals[present] - n_train, n_held, random)
    for k, to_train, to_hold in zip(present, n_train, n_own, strict=True):
        yield places[k], RowRange(int(here[k]), int(first[k]), int(totals[k])), to_train, to_hold


def _apportion(counts: np.ndarray, n: int, random: np.random.RandomState) -> np.ndarray:
    """Divide n in proportion to counts, by the largest remainders; ties are drawn. The draws are those of scikit-learn's splitters."""
    exact = counts / counts.sum() * n
    parts = np.floor(exact)
    remainder, missing = exact - parts, int(n - parts.sum())
    for value in np.unique(remainder)[::-1]:
        if missing <= 0:
            break
        (tied,) = np.nonzero(remainder == value)
        drawn = random.choice(tied, size=min(len(tied), missing), replace=False)
        parts[drawn] += 1
        missing -= len(drawn)
    return parts.astype(np.int64)
