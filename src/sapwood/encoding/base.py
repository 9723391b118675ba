"""Base class of encoders, and the targets of target statistics."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np

from sapwood.data.row_range import RowRange
from sapwood.encoding.lookup import Lookup
from sapwood.runtime import kernels
from sapwood.runtime.execution import SERIAL, Execution

MASK = (1 << 64) - 1
LARGEST = 1 << 30  # of a row's target or weight as an integer: sums of 2^32 of them fit a word


@dataclass(frozen=True)
class CategoryKeys:
    """A category, or several at once, on the rows of this partition that a model learns from."""

    columns: tuple[int, ...]
    n_levels: tuple[int, ...]
    keys: np.ndarray  # (n_rows,) int64: see lookup.combine

    @property
    def is_single(self) -> bool:
        return len(self.columns) == 1

    def numbered(self, execution: Execution) -> tuple[np.ndarray, np.ndarray]:
        """The keys that there are in any partition, ascending, and the number of each row's among them, for the rows of all partitions."""
        found, number = np.unique(execution.gather(self.keys), return_inverse=True)
        return found, number.astype(np.uint32)

    def counted(self, execution: Execution) -> tuple[np.ndarray, np.ndarray]:
        """The keys that there are in any partition, ascending, and the rows of each in all partitions."""
        own, counts = np.unique(self.keys, return_counts=True)
        if execution.is_local:
            return own, counts
        found, number = np.unique(execution.gather(own), return_inverse=True)
        totals = np.zeros(len(found), dtype=np.int64)
        np.add.at(totals, number, execution.gather(counts))
        return found, totals


class EncodingTargets:
    """Targets that levels are described by: one or more of each row, as integers, so that no sum depends on its order.

    Parameters
    ----------
    targets : (n_targets, n_rows) float64; a row without a finite one counts as the mean of the others
    weight : (n_rows,) float64, or None
    ids : (n_rows,) of the rows in their table, ascending; None: 0, 1, 2, ...
    seed : of the permutations
    execution : the partitions, of which this is one; all of them make their targets at the same time
    first_id : id of the first row of this partition's table
    """

    execution: Execution
    first_id: int
    ids: np.ndarray | None
    seed: int
    weight_unit: float
    targets: tuple[np.ndarray, ...]  # of int64
    units: tuple[float, ...]

    def __init__(
        self,
        targets: np.ndarray,
        weight: np.ndarray | None = None,
        ids: np.ndarray | None = None,
        seed: int = 0,
        execution: Execution = SERIAL,
        first_id: int = 0,
    ) -> None:
        self.ids, self.seed, self.execution, self.first_id = ids, seed, execution, first_id
        self.range: RowRange = RowRange.of(targets.shape[1], execution)
        self.weights: np.ndarray | None = None
        self.weight_unit = 1.0
        if weight is not None:
            self.weights, self.weight_unit = _as_integers(weight, execution)
        targets = np.array([_finite(target, execution) for target in targets])
        weighted = targets if weight is None else targets * weight
        self.targets, self.units = zip(*(_as_integers(target, execution) for target in weighted), strict=True)
        total = self.range.total if self.weights is None else execution.total(int(self.weights.sum())) * self.weight_unit
        sums = execution.totals(tuple(int(target.sum()) for target in self.targets))
        self.means: list[float] = [one * unit / total for one, unit in zip(sums, self.units, strict=True)]

    def __len__(self) -> int:
        return len(self.targets)

    @property
    def n_rows(self) -> int:
        return self.range.n_rows

    def gathered(self) -> EncodingTargets:
        """The targets of the rows of all partitions: all of them are in memory, and kept."""
        if self.execution.is_local:
            return self
        if self._gathered is None:  # no cached_property: its lock would let one partition of a process gather at a time
            self._gathered = self._gather()
        return self._gathered

    _gathered: EncodingTargets | None = None

    def _gather(self) -> EncodingTargets:
        gather, everyone = self.execution.gather, copy.copy(self)
        everyone.ids = gather(self.first_id + (np.arange(self.n_rows) if self.ids is None else self.ids))
        everyone.targets = tuple(gather(target) for target in self.targets)
        everyone.weights = None if self.weights is None else gather(self.weights)
        everyone.range, everyone.execution = RowRange(self.range.total, 0, self.range.total), Execution(self.execution.n_threads)
        return everyone

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


def _finite(values: np.ndarray, execution: Execution) -> np.ndarray:
    known = np.isfinite(values)
    if not execution.any(not known.all()):
        return values
    return np.where(known, values, execution.exact_sum(values[known]) / max(1, execution.total(int(np.count_nonzero(known)))))


def _as_integers(values: np.ndarray, execution: Execution) -> tuple[np.ndarray, float]:
    """Fixed point: integers, and what one unit is worth. Counts are exact."""
    most = execution.largest(float(np.abs(values).max(initial=0.0)))
    if most < LARGEST and not execution.any(not (values == np.rint(values)).all()):
        return values.astype(np.int64), 1.0
    scale = 2.0 ** (30 - np.frexp(most)[1])
    return np.rint(values * scale).astype(np.int64), 1.0 / scale


@dataclass(frozen=True)
class EncodedFeature:
    """A feature of the model; `training`, (n_rows,) float64, is what it is in the rows that the model learns from, if not looked up."""

    lookup: Lookup
    training: np.ndarray | None = None


class Encoder:
    """From a category to features of the model.

    Its life: one call of `fit` for each column (or combination of columns) that it is to encode, by all partitions at the same time.
    """

    name: str
    combines = False  # whether it takes several columns at once

    def fit(self, column: CategoryKeys, targets: EncodingTargets) -> list[EncodedFeature]:
        """Learn from the rows of all partitions, which `targets` knows; the first feature takes the column's place."""
        raise TypeError(f"{type(self).__name__} does not say how it encodes")
