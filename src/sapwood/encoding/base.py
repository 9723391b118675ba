"""What the ways to encode categories share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sapwood.encoding.lookup import Lookup
from sapwood.runtime import kernels

MASK = (1 << 64) - 1
LARGEST = 1 << 30  # of a row's target or weight as an integer: sums of 2^32 of them fit a word


@dataclass(frozen=True)
class Column:
    """A category, or several at once, on the rows that a model learns from."""

    columns: tuple[int, ...]
    n_levels: tuple[int, ...]
    keys: np.ndarray  # (n_rows,) int64: see lookup.combine

    @property
    def is_single(self) -> bool:
        return len(self.columns) == 1

    def numbered(self) -> tuple[np.ndarray, np.ndarray]:
        """The keys that there are, ascending, and the number of each row's among them."""
        found, number = np.unique(self.keys, return_inverse=True)
        return found, number.astype(np.uint32)


class Targets:
    """What levels are described by: one or more targets of each row, as integers, so that no sum depends on its order.

    Parameters
    ----------
    targets : (n_targets, n_rows) float64; a row without a finite one counts as the mean of the others
    weight : (n_rows,) float64, or None
    ids : (n_rows,) of the rows in their table, ascending; None: 0, 1, 2, ...
    seed : of the permutations
    """

    ids: np.ndarray | None
    seed: int
    weight_unit: float
    targets: tuple[np.ndarray, ...]  # of int64
    units: tuple[float, ...]

    def __init__(self, targets: np.ndarray, weight: np.ndarray | None = None, ids: np.ndarray | None = None, seed: int = 0) -> None:
        self.ids, self.seed = ids, seed
        self.n_rows: int = targets.shape[1]
        self.weights: np.ndarray | None = None
        self.weight_unit = 1.0
        if weight is not None:
            self.weights, self.weight_unit = _as_integers(weight)
        targets = np.array([_finite(target) for target in targets])
        weighted = targets if weight is None else targets * weight
        self.targets, self.units = zip(*(_as_integers(target) for target in weighted), strict=True)
        total = self.n_rows if self.weights is None else int(self.weights.sum()) * self.weight_unit
        self.means: list[float] = [int(target.sum()) * unit / total for target, unit in zip(self.targets, self.units, strict=True)]

    def __len__(self) -> int:
        return len(self.targets)

    def order(self, permutation: int) -> np.ndarray:
        """(n_rows,) uint32: the rows by a hash of their ids."""
        n = self.n_rows if self.ids is None else int(self.ids[-1]) + 1
        hashes = kernels.hash_rows(n, (self.seed + 0xA0761D6478BD642F * (permutation + 1)) & MASK)
        return np.argsort(hashes if self.ids is None else hashes[self.ids], kind="stable").astype(np.uint32)

    def sums(self, target: int, keys: np.ndarray, n_keys: int, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sums of a target and of weights, (n_keys, 2) float64, by key; and those of the rows before each in an order, (n_rows, 2)."""
        totals, before = np.zeros((n_keys, 2), dtype=np.int64), np.zeros((self.n_rows, 2), dtype=np.int64)
        kernels.sum_before(order, keys, self.targets[target], self.weights, before, totals)
        units = np.array([self.units[target], self.weight_unit])
        return totals * units, before * units


def _finite(values: np.ndarray) -> np.ndarray:
    known = np.isfinite(values)
    if known.all():
        return values
    return np.where(known, values, kernels.exact_sum(values[known]) / max(1, np.count_nonzero(known)))


def _as_integers(values: np.ndarray) -> tuple[np.ndarray, float]:
    """Fixed point: integers, and what one unit is worth. Counts are exact."""
    most = float(np.abs(values).max(initial=0.0))
    if most < LARGEST and (values == np.rint(values)).all():
        return values.astype(np.int64), 1.0
    scale = 2.0 ** (30 - np.frexp(most)[1])
    return np.rint(values * scale).astype(np.int64), 1.0 / scale


@dataclass(frozen=True)
class Encoded:
    """A feature of the model; `training`, (n_rows,) float64, is what it is in the rows that the model learns from, if not looked up."""

    lookup: Lookup
    training: np.ndarray | None = None


class Encoder:
    """From a category to features of the model.

    Its life: one call of `fit` for each column (or combination of columns) that it is to encode.
    """

    name: str
    combines = False  # whether it takes several columns at once

    def fit(self, column: Column, targets: Targets) -> list[Encoded]:
        """Learn from the rows; the first feature takes the column's place."""
        raise TypeError(f"{type(self).__name__} does not say how it encodes")
