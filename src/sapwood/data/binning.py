"""Cut points: where a feature's numbers become bins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import pairwise

import numpy as np

from sapwood.data.row_range import RowRange
from sapwood.data.sketch import QuantileSketch
from sapwood.data.sparse import SparseTable
from sapwood.data.tables import Table
from sapwood.runtime import kernels
from sapwood.runtime.execution import Execution

SAMPLE_ROWS = 200_000  # rows that decide where the cut points are
SKETCH_ROWS = 65_536  # taken in at a time
MAX_CUTS = 254  # of a feature
FEATURES_AT_ONCE = 8  # whose sampled values are copied: those of a row in a cache line; and an interrupt need not wait long
NUMBER, PARTITION, ONE_VS_REST = range(3)  # the kernel's numbers: a feature is split at a threshold, by a set of levels, by one level


class Binning:
    """The cut points of every feature. The bin of x is the number of cuts below x; a missing value falls in the bin after the last.

    Parameters
    ----------
    cuts : list of (n_cuts,) float64 arrays, ascending
    kinds : (n_features,) uint8, how each is split; None where all are numbers. The values of a category are 0, 1, 2, ..., and so its bins
    """

    def __init__(self, cuts: list[np.ndarray], kinds: np.ndarray | None = None) -> None:
        self.kinds = kinds
        self.cuts: np.ndarray = np.concatenate([*cuts, np.empty(0)])  # (total,) float64
        self.begin: np.ndarray = np.concatenate([[0], np.cumsum([len(c) for c in cuts], dtype=np.int64)]).astype(np.int64)
        self.n_features: int = len(cuts)

    @classmethod
    def from_arrays(cls, cuts: np.ndarray, begin: np.ndarray, kinds: np.ndarray | None = None) -> Binning:
        """From the cut points of all features end to end, and where each one's begin."""
        binning = cls([], kinds)
        binning.cuts, binning.begin, binning.n_features = cuts, begin, len(begin) - 1
        return binning

    @property
    def missing_bins(self) -> np.ndarray:
        """(n_features,) int32: where missing values fall."""
        return (np.diff(self.begin) + 1).astype(np.int32)

    @property
    def n_levels(self) -> np.ndarray | None:
        """(n_features,) int32: of categories, and 0 for numbers; None where all are numbers."""
        return None if self.kinds is None else np.where(self.kinds == NUMBER, 0, np.diff(self.begin) + 1).astype(np.int32)

    def is_category(self, features: np.ndarray) -> np.ndarray:
        """bool: which of these features (of nodes: -1 in leaves) are split by levels."""
        return np.zeros(len(features), dtype=bool) if self.kinds is None else (features >= 0) & (self.kinds[features] != NUMBER)

    def with_levels(self, kinds: np.ndarray, n_levels: np.ndarray) -> Binning:
        """The same with a bin for each level of the features that are categories."""
        cuts = [
            self.cuts_of(f) if kind == NUMBER else np.arange(n - 1) + 0.5 for f, (kind, n) in enumerate(zip(kinds, n_levels, strict=True))
        ]
        return Binning(cuts, kinds if kinds.any() else None)

    def thresholds(self, features: np.ndarray, bins: np.ndarray) -> np.ndarray:
        """The cut points that splits after these bins stand for; past the last cut, infinity."""
        return self._ends[self.begin[features] + features + bins]

    @cached_property
    def _ends(self) -> np.ndarray:
        """Of all bins but the missing ones: each feature's cut points, then infinity."""
        return np.insert(self.cuts, self.begin[1:], np.inf)

    def cuts_of(self, feature: int) -> np.ndarray:
        """The cut points of a feature."""
        return self.cuts[self.begin[feature] : self.begin[feature + 1]]

    def bin_at(self, feature: int, threshold: float) -> int:
        """The last bin whose values are at most a threshold that is a cut point; the nearest cut's, if it is none."""
        cuts = self.cuts_of(feature)
        return int(np.argmin(np.abs(cuts - threshold))) if len(cuts) else 0

    def with_cuts(self, wanted: Iterable[tuple[int, float]]) -> Binning:
        """The same with these cut points too; where a feature would have too many, each replaces the nearest other one."""
        cuts = [self.cuts_of(f) for f in range(self.n_features)]
        kept: dict[int, set[float]] = {}
        for feature, cut in wanted:
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
        """Choose cut points from (a sample of) the rows of a table: all of them, or the given ones.

        Parameters
        ----------
        max_bins : the most bins of a feature, or of each, (n_features,)
        sample_rows : the most rows to look at; None: all, by a sketch of their quantiles
        min_rows : the fewest rows in a bin
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
        for first, last in _runs_of_equals(table.runs(max(FEATURES_AT_ONCE, execution.n_threads)), max_bins):
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
    table: SparseTable, max_bins: np.ndarray, weight: np.ndarray | None, rows: np.ndarray | None, least: float, execution: Execution
) -> list[np.ndarray]:
    """Cut points of a sparse table, with at least so many rows in each bin."""
    cuts = table.find_cuts(rows, weight, max_bins, execution)
    if least <= 1:
        return cuts
    return [_merge(c, _count(c, execution.gather(table.sample(rows, f, f + 1))[:, 0]), least) for f, c in enumerate(cuts)]


def _sketch_cuts(
    table: Table, max_bins: np.ndarray, weight: np.ndarray | None, rows: np.ndarray | None, min_rows: int, execution: Execution
) -> list[np.ndarray]:
    """Cut points from all rows, block by block. Blocks are counted through the rows of all partitions."""
    sketches = [QuantileSketch() for _ in range(table.n_features)]
    chosen = np.ones(table.n_rows, dtype=bool) if rows is None else np.isin(np.arange(table.n_rows), rows)
    own = execution.gather(chosen if weight is None else chosen * weight)
    for first, last in table.runs(table.n_features):
        for rows_read, x in _blocks(table, first, last, execution):
            for f in range(first, last):
                sketches[f].add(x[:, f - first], own[rows_read])
    cuts = [sketch.cut_points(int(most)) for sketch, most in zip(sketches, max_bins, strict=True)]
    if min_rows <= 1:
        return cuts
    counts = [np.zeros(len(c) + 1, dtype=np.int64) for c in cuts]
    for first, last in table.runs(table.n_features):
        for rows_read, x in _blocks(table, first, last, execution):
            for f in range(first, last):
                counts[f] += _count(cuts[f], x[own[rows_read] > 0, f - first])
    return [_merge(c, n, min_rows) for c, n in zip(cuts, counts, strict=True)]


def _blocks(table: Table, first: int, last: int, execution: Execution) -> Iterator[tuple[slice, np.ndarray]]:
    """Blocks of SKETCH_ROWS rows of some features, counted through the rows of all partitions."""
    x = None if execution.is_local else execution.gather(table.sample(None, first, last))
    for start in range(0, table.n_rows if x is None else len(x), SKETCH_ROWS):
        rows = slice(start, start + SKETCH_ROWS)
        yield rows, table.read(slice(start, min(rows.stop, table.n_rows)), first, last) if x is None else x[rows]


def _runs_of_equals(runs: list[tuple[int, int]], values: np.ndarray) -> Iterator[tuple[int, int]]:
    """The runs, cut where the values of neighbours differ."""
    for first, last in runs:
        borders = [first, *(f for f in range(first + 1, last) if values[f] != values[f - 1]), last]
        yield from pairwise(borders)


def _count(cuts: np.ndarray, column: np.ndarray) -> np.ndarray:
    """(n_cuts + 1,) int64: rows in each bin, without those of a missing value."""
    return np.bincount(np.searchsorted(cuts, column[~np.isnan(column)], side="left"), minlength=len(cuts) + 1)


def _merge(cuts: np.ndarray, counts: np.ndarray, least: float) -> np.ndarray:
    """The cut points that leave at least so many rows in each bin, of bins with these counts."""
    kept: list[float] = []
    filled = 0
    for cut, count in zip(cuts, counts[:-1], strict=True):
        filled += count
        if filled >= least:
            kept.append(cut)
            filled = 0
    if kept and filled + counts[-1] < least:
        kept.pop()
    return np.array(kept)
