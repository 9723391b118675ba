"""Binning: cut points of each feature."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np

from sapwood.data.row_range import RowRange
from sapwood.data.sketch import QuantileSketch
from sapwood.data.sparse import SparseTable
from sapwood.data.tables import Table
from sapwood.runtime import kernels
from sapwood.runtime.caching import cached_property
from sapwood.runtime.execution import Execution

SAMPLE_ROWS = 200_000  # rows from which cut points are computed
SKETCH_ROWS = 65_536  # rows added to a sketch at a time
MAX_CUTS = 254  # maximum number of cut points of a feature
FEATURES_AT_ONCE = 8  # features per kernel call: values of a row share a cache line, and an interrupt is handled soon
NUMBER, PARTITION, ONE_VS_REST = range(3)  # kinds of splits, with their numbers in the kernel: by threshold, set of levels, one level


class Binning:
    """Cut points of every feature. The bin of x is the number of cut points below x; missing values have the bin after the last.

    Parameters
    ----------
    cuts : list of (n_cuts,) float64 arrays, ascending
    kinds : (n_features,) uint8 kinds of splits; None if all features are numbers. The codes of a category are its bins
    """

    def __init__(self, cuts: list[np.ndarray], kinds: np.ndarray | None = None) -> None:
        self.kinds = kinds
        self.cuts: np.ndarray = np.concatenate([*cuts, np.empty(0)])  # (total,) float64
        self.begin: np.ndarray = np.concatenate([[0], np.cumsum([len(c) for c in cuts], dtype=np.int64)]).astype(np.int64)
        self.n_features: int = len(cuts)

    @classmethod
    def from_arrays(cls, cuts: np.ndarray, begin: np.ndarray, kinds: np.ndarray | None = None) -> Binning:
        """Create from the concatenated cut points of all features, and the index of the first cut point of each."""
        binning = cls([], kinds)
        binning.cuts, binning.begin, binning.n_features = cuts, begin, len(begin) - 1
        return binning

    def native(self) -> kernels.CutPoints:
        """Cut points as the kernels take them."""
        return kernels.CutPoints(self.cuts, self.begin)

    @property
    def missing_bins(self) -> np.ndarray:
        """Bin of missing values of each feature, (n_features,) int32."""
        return (np.diff(self.begin) + 1).astype(np.int32)

    @property
    def n_levels(self) -> np.ndarray | None:
        """Number of levels of each category, 0 for numbers, (n_features,) int32; None if all features are numbers."""
        return None if self.kinds is None else np.where(self.kinds == NUMBER, 0, np.diff(self.begin) + 1).astype(np.int32)

    def is_category(self, features: np.ndarray) -> np.ndarray:
        """Return which of these features are split by levels, bool. -1 (a leaf) is not."""
        return np.zeros(len(features), dtype=bool) if self.kinds is None else (features >= 0) & (self.kinds[features] != NUMBER)

    def with_levels(self, kinds: np.ndarray, n_levels: np.ndarray) -> Binning:
        """Return a binning with one bin per level of the features that are categories."""
        cuts = [
            self.cuts_of(f) if kind == NUMBER else np.arange(n - 1) + 0.5 for f, (kind, n) in enumerate(zip(kinds, n_levels, strict=True))
        ]
        return Binning(cuts, kinds if kinds.any() else None)

    def thresholds(self, features: np.ndarray, bins: np.ndarray) -> np.ndarray:
        """Return the thresholds of splits after these bins; infinity after the last cut point."""
        return self._ends[self.begin[features] + features + bins]

    @cached_property
    def _ends(self) -> np.ndarray:
        """Upper ends of all bins except the missing bins: the cut points of each feature, then infinity."""
        return np.insert(self.cuts, self.begin[1:], np.inf)

    def cuts_of(self, feature: int) -> np.ndarray:
        """Return the cut points of a feature."""
        return self.cuts[self.begin[feature] : self.begin[feature + 1]]

    def bin_at(self, feature: int, threshold: float) -> int:
        """Return the bin that ends at the cut point closest to a threshold."""
        cuts = self.cuts_of(feature)
        return int(np.argmin(np.abs(cuts - threshold))) if len(cuts) else 0

    def with_cuts(self, new_cuts: Iterable[tuple[int, float]]) -> Binning:
        """Return a binning with additional cut points (feature, value). If a feature has too many, each replaces the closest other one."""
        cuts = [self.cuts_of(f) for f in range(self.n_features)]
        kept: dict[int, set[float]] = {}
        for feature, cut in new_cuts:
            kept.setdefault(feature, set()).add(cut)
            found = np.union1d(cuts[feature], [cut])
            if len(found) > MAX_CUTS:
                free = np.array([value not in kept[feature] for value in found])
                found = np.delete(found, np.argmin(np.where(free, np.abs(found - cut), np.inf)))
            cuts[feature] = found
        return Binning(cuts)

    @classmethod
    def fit(
        cls,
        table: Table,
        max_bins: int | np.ndarray,
        weight: np.ndarray | None,
        rows: np.ndarray | None,
        seed: int,
        execution: Execution,
        sample_rows: int | None = SAMPLE_ROWS,
        min_rows: int = 1,
    ) -> Binning:
        """Compute cut points from a sample of the rows of a table.

        Parameters
        ----------
        max_bins : maximum number of bins of all features, or of each, (n_features,)
        rows : rows to use, ascending; None for all
        sample_rows : maximum number of rows in the sample; None for all rows, with a quantile sketch
        min_rows : minimum number of rows in a bin
        """
        max_bins = np.broadcast_to(max_bins, table.n_features)
        if sample_rows is None:
            return cls(_sketch_cuts(table, max_bins, weight, rows, min_rows, execution))
        own = RowRange.of(table.n_rows if rows is None else len(rows), execution)
        fraction = 1.0
        if own.total > sample_rows:
            fraction = sample_rows / own.total
            picked = kernels.sample_rows(own.n_rows, own.first, fraction, seed)
            rows = picked if rows is None else rows[picked]
        if isinstance(table, SparseTable):
            return cls(_sparse_cuts(table, max_bins, weight, rows, min_rows * fraction, execution))
        sample_weight = None if weight is None else execution.gather(np.ascontiguousarray(weight if rows is None else weight[rows]))
        ids = None if rows is None else np.ascontiguousarray(rows, dtype=np.uint32)
        cuts: list[np.ndarray] = []
        for first, last in _split_blocks(table.feature_blocks(max(FEATURES_AT_ONCE, execution.n_threads)), max_bins):
            x, of_x, x_weight = table.view(first, last) if execution.is_local else None, ids, weight
            if x is None:
                x, of_x, x_weight = execution.gather(table.sample(rows, first, last)), None, sample_weight
            found = kernels.find_cuts(x, of_x, x_weight, int(max_bins[first]), execution.n_threads)
            if min_rows > 1:
                columns = (x if of_x is None else x[of_x]).T
                found = [_merge(c, _count(c, column), min_rows * fraction) for c, column in zip(found, columns, strict=True)]
            cuts += found
        return cls(cuts)


def _sparse_cuts(
    table: SparseTable, max_bins: np.ndarray, weight: np.ndarray | None, rows: np.ndarray | None, min_rows: float, execution: Execution
) -> list[np.ndarray]:
    """Return the cut points of a sparse table, with at least `min_rows` rows in each bin."""
    cuts = table.find_cuts(rows, weight, max_bins, execution)
    if min_rows <= 1:
        return cuts
    return [_merge(c, _count(c, execution.gather(table.sample(rows, f, f + 1))[:, 0]), min_rows) for f, c in enumerate(cuts)]


def _sketch_cuts(
    table: Table, max_bins: np.ndarray, weight: np.ndarray | None, rows: np.ndarray | None, min_rows: int, execution: Execution
) -> list[np.ndarray]:
    """Return cut points from a quantile sketch of all rows. Blocks span partitions, so that the result does not depend on them."""
    sketches = [QuantileSketch() for _ in range(table.n_features)]
    chosen = np.ones(table.n_rows, dtype=bool) if rows is None else np.isin(np.arange(table.n_rows), rows)
    weights = execution.gather(chosen if weight is None else chosen * weight)
    for rows_read, first, last, x in _blocks(table, execution):
        for f in range(first, last):
            sketches[f].add(x[:, f - first], weights[rows_read])
    cuts = [sketch.cut_points(int(n)) for sketch, n in zip(sketches, max_bins, strict=True)]
    if min_rows <= 1:
        return cuts
    counts = [np.zeros(len(c) + 1, dtype=np.int64) for c in cuts]
    for rows_read, first, last, x in _blocks(table, execution):
        for f in range(first, last):
            counts[f] += _count(cuts[f], x[weights[rows_read] > 0, f - first])
    return [_merge(c, n, min_rows) for c, n in zip(cuts, counts, strict=True)]


def _blocks(table: Table, execution: Execution) -> Iterator[tuple[slice, int, int, np.ndarray]]:
    """Yield blocks of SKETCH_ROWS rows of the features [first, last), over the rows of all partitions: rows, first, last, values. The
    blocks of a feature are in ascending order of their rows."""
    features = table.feature_blocks(table.n_features)
    if execution.is_local:
        for start in range(0, table.n_rows, SKETCH_ROWS):
            rows = slice(start, min(start + SKETCH_ROWS, table.n_rows))
            yield from ((rows, first, last, table.read(rows, first, last)) for first, last in features)
        return
    for first, last in features:
        x = execution.gather(table.sample(None, first, last))
        for start in range(0, len(x), SKETCH_ROWS):
            rows = slice(start, start + SKETCH_ROWS)
            yield rows, first, last, x[rows]


def _split_blocks(blocks: list[tuple[int, int]], values: np.ndarray) -> Iterator[tuple[int, int]]:
    """Split blocks of features so that all features of a block have the same value."""
    for first, last in blocks:
        edges = [first, *(f for f in range(first + 1, last) if values[f] != values[f - 1]), last]
        yield from pairwise(edges)


def _count(cuts: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Return the number of rows in each bin, without missing values, (n_cuts + 1,) int64."""
    return np.bincount(np.searchsorted(cuts, column[~np.isnan(column)], side="left"), minlength=len(cuts) + 1)


def _merge(cuts: np.ndarray, counts: np.ndarray, min_rows: float) -> np.ndarray:
    """Return the cut points to keep so that each bin has at least `min_rows` rows. `counts` are the rows of each bin."""
    kept: list[float] = []
    filled = 0
    for cut, count in zip(cuts, counts[:-1], strict=True):
        filled += count
        if filled >= min_rows:
            kept.append(cut)
            filled = 0
    if kept and filled + counts[-1] < min_rows:
        kept.pop()
    return np.array(kept)
