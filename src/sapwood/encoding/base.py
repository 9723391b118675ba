"""Base class of encoders, and the targets of target encoding."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np

from sapwood.data.row_range import RowRange
from sapwood.encoding.lookup import Lookup
from sapwood.runtime import kernels
from sapwood.runtime.execution import SERIAL, Execution

MASK = (1 << 64) - 1
FOLD_KEY = 0x8EBC6AF09C88C6E3
MAX_INTEGER = 1 << 30  # of a target or weight in fixed point: the sum of 2^32 of them fits in an int64


@dataclass(frozen=True)
class CategoryKeys:
    """Keys of a categorical column, or of a combination of columns, in the training rows of this partition."""

    columns: tuple[int, ...]
    n_levels: tuple[int, ...]
    keys: np.ndarray  # (n_rows,) int64: see lookup.combine

    @property
    def is_single(self) -> bool:
        return len(self.columns) == 1

    def indexed(self, execution: Execution) -> tuple[np.ndarray, np.ndarray]:
        """Return the unique keys of all partitions, ascending, and the index of the key of each row of all partitions."""
        unique, index = np.unique(execution.gather(self.keys), return_inverse=True)
        return unique, index.astype(np.uint32)

    def counts(self, execution: Execution) -> tuple[np.ndarray, np.ndarray]:
        """Return the unique keys of all partitions, ascending, and the number of rows of each."""
        own, counts = np.unique(self.keys, return_counts=True)
        if execution.is_local:
            return own, counts
        unique, index = np.unique(execution.gather(own), return_inverse=True)
        totals = np.zeros(len(unique), dtype=np.int64)
        np.add.at(totals, index, execution.gather(counts))
        return unique, totals


class EncodingTargets:
    """Targets of target encoding, in fixed point: integer sums do not depend on the order of rows.

    Parameters
    ----------
    targets : (n_targets, n_rows) float64; values that are not finite are replaced by the mean of the others
    weight : (n_rows,) float64, or None
    ids : (n_rows,) row ids, ascending; None for 0, 1, 2, ...
    seed : random seed of the permutations
    execution : threads and partitions; called by all partitions at the same time
    first_id : id of the first row of this partition
    """

    execution: Execution
    first_id: int
    ids: np.ndarray | None
    seed: int
    weight_unit: float
    targets: tuple[np.ndarray, ...]  # (n_rows,) int64 each
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
        targets = np.array([_fill_missing(target, execution) for target in targets])
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
        """Return the targets of the rows of all partitions; cached."""
        if self.execution.is_local:
            return self
        if self._gathered is None:  # not a cached_property: its lock would block the other partitions of this process
            self._gathered = self._gather()
        return self._gathered

    _gathered: EncodingTargets | None = None

    def _gather(self) -> EncodingTargets:
        gather, whole = self.execution.gather, copy.copy(self)
        whole.ids = gather(self.first_id + (np.arange(self.n_rows) if self.ids is None else self.ids))
        whole.targets = tuple(gather(target) for target in self.targets)
        whole.weights = None if self.weights is None else gather(self.weights)
        whole.range, whole.execution = RowRange(self.range.total, 0, self.range.total), Execution(self.execution.n_threads)
        return whole

    def order(self, permutation: int) -> np.ndarray:
        """Return a random permutation of the rows, (n_rows,) uint32: rows sorted by a hash of their ids."""
        n = self.n_rows if self.ids is None else int(self.ids[-1]) + 1
        hashes = kernels.hash_rows(n, (self.seed + 0xA0761D6478BD642F * (permutation + 1)) & MASK)
        return np.argsort(hashes if self.ids is None else hashes[self.ids], kind="stable").astype(np.uint32)

    def folds(self, n_folds: int) -> np.ndarray:
        """Return the fold of each row, (n_rows,) int64: a hash of its id."""
        key = (self.seed + FOLD_KEY) & MASK
        if self.ids is None:
            hashes = kernels.hash_rows(self.n_rows, key, self.first_id)
        else:
            hashes = kernels.hash_rows(int(self.ids[-1]) + 1 if len(self.ids) else 0, key, self.first_id)[self.ids]
        return (hashes.astype(np.uint64) * np.uint64(n_folds) >> np.uint64(32)).astype(np.int64)

    def squares(self, target: int) -> np.ndarray:
        """Return weight * target^2 of each row, (n_rows,) float64."""
        weighted = self.targets[target] * self.units[target]
        if self.weights is None:
            return weighted**2
        weight = self.weights * self.weight_unit
        return np.divide(weighted**2, weight, out=np.zeros(len(weighted)), where=weight > 0)

    def sums(self, target: int, keys: np.ndarray, n_keys: int, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return sums of a target and of weights by key, (n_keys, 2) float64, and for each row the sums over the rows of the same key
        that precede it in `order`, (n_rows, 2)."""
        totals, before = np.zeros((n_keys, 2), dtype=np.int64), np.zeros((self.n_rows, 2), dtype=np.int64)
        kernels.sum_before(order, keys, self.targets[target], self.weights, before, totals)
        units = np.array([self.units[target], self.weight_unit])
        return totals * units, before * units


def _fill_missing(values: np.ndarray, execution: Execution) -> np.ndarray:
    """Replace values that are not finite by the mean of the others."""
    known = np.isfinite(values)
    if not execution.any(not known.all()):
        return values
    return np.where(known, values, execution.exact_sum(values[known]) / max(1, execution.total(int(np.count_nonzero(known)))))


def _as_integers(values: np.ndarray, execution: Execution) -> tuple[np.ndarray, float]:
    """Return numbers in fixed point, int64, and the value of one unit. Integers are exact."""
    largest = execution.largest(float(np.abs(values).max(initial=0.0)))
    if largest < MAX_INTEGER and not execution.any(not (values == np.rint(values)).all()):
        return values.astype(np.int64), 1.0
    scale = 2.0 ** (30 - np.frexp(largest)[1])
    return np.rint(values * scale).astype(np.int64), 1.0 / scale


@dataclass(frozen=True)
class EncodedFeature:
    """Encoded feature. `training`, (n_rows,) float64, holds its values in the training rows; None if they are looked up."""

    lookup: Lookup
    training: np.ndarray | None = None


class Encoder:
    """Base class of encoders, which turn a categorical column into features.

    `fit` is called once for each column or combination of columns, by all partitions at the same time.
    """

    name: str
    combines = False  # whether it can encode combinations of columns

    def fit(self, column: CategoryKeys, targets: EncodingTargets) -> list[EncodedFeature]:
        """Return the features, learned from the rows of all partitions. The first one replaces the column."""
        raise TypeError(f"{type(self).__name__} must implement fit(column, targets)")
