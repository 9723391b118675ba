"""Exclusive feature bundling: the columns in which the bins of each feature are stored.

A feature that is in one bin, its default bin, in most rows (a one-hot column, a count) can share a column with others (a bundle) if no row
has two of them outside their default bins. Or its other bins are stored in row lists. Both make histograms faster and do not change their
sums, nor the model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sapwood.data.binning import Binning
from sapwood.data.sparse import SparseTable
from sapwood.data.tables import Table
from sapwood.runtime import kernels
from sapwood.runtime.caching import cached_property
from sapwood.runtime.execution import Execution

ROW_LIST, NO_DEFAULT = -1, -1
LOOK_ROWS = 2048  # rows sampled to test whether any feature has a default bin
FRACTION_ROWS = 8192  # rows sampled to find default bins and their fractions
EXCLUSION_ROWS = 1 << 18  # rows sampled to find features that exclude each other; rare overlaps need many rows
MIN_DEFAULT_FRACTION = 0.4  # minimum fraction of rows in the default bin of a bundled or listed feature
LIST_DENSITY = 0.3  # features of a column go to row lists if at most this fraction of rows is outside their default bins
MIN_LISTED = 8  # minimum number of columns saved by row lists; for fewer, lists are slower
BUNDLED_BINS = 8  # maximum number of bins of a bundled feature
OPEN_COLUMNS = 32  # bundles that a feature is tried in
MAX_CODES = 256  # codes of a column


@dataclass(frozen=True)
class ColumnLayout:
    """Column (or ROW_LIST) and default bin (or NO_DEFAULT) of each feature. Default bins are not stored."""

    column: np.ndarray  # (n_features,) int32
    default_bin: np.ndarray  # (n_features,) int32
    missing_bins: np.ndarray  # (n_features,) int32

    @classmethod
    def plain(cls, binning: Binning) -> ColumnLayout:
        """Return a layout with one column per feature."""
        n = binning.n_features
        return cls(np.arange(n, dtype=np.int32), np.full(n, NO_DEFAULT, dtype=np.int32), binning.missing_bins)

    @classmethod
    def choose(cls, table: Table, binning: Binning, execution: Execution, lists: bool = True) -> ColumnLayout:
        """Choose the layout from a sample of the rows of a table. Without `lists`, features are in columns and bundles only."""
        plain = cls.plain(binning)
        if isinstance(table, SparseTable) and table.n_rows:
            return cls._choose_sparse(table, binning, execution, lists)
        if table.n_rows < LOOK_ROWS or binning.n_features < 2 or not table.random_access:
            return plain
        fractions = _default_bins(_sample_bins(table, binning, LOOK_ROWS, execution))[1]
        if np.count_nonzero(fractions >= MIN_DEFAULT_FRACTION) < 2:
            return plain
        default_bin, fractions = _default_bins(_sample_bins(table, binning, FRACTION_ROWS, execution))
        candidates = np.flatnonzero((fractions >= MIN_DEFAULT_FRACTION) & (binning.missing_bins <= BUNDLED_BINS))
        columns = _bundle(table, binning, candidates, default_bin, fractions, execution)
        return cls._arrange(binning, columns, default_bin, fractions, lists)

    @classmethod
    def _choose_sparse(cls, table: SparseTable, binning: Binning, execution: Execution, lists: bool) -> ColumnLayout:
        """Choose the layout of a sparse table, whose stored entries are known."""
        default_bin, fractions = table.implicit_bins(binning.cuts, binning.begin), 1 - table.occupancy()
        candidates = np.flatnonzero((fractions >= MIN_DEFAULT_FRACTION) & (binning.missing_bins <= BUNDLED_BINS))
        order = candidates[np.argsort(fractions[candidates], kind="stable")]
        columns = table.bundle_features(order, binning.missing_bins, MAX_CODES, OPEN_COLUMNS, execution)
        return cls._arrange(binning, columns, default_bin, fractions, lists)

    @classmethod
    def _arrange(
        cls, binning: Binning, columns: list[np.ndarray], default_bin: np.ndarray, fractions: np.ndarray, lists: bool
    ) -> ColumnLayout:
        """Return the layout with these bundles. Features in no bundle get their own column or, with `lists`, row lists."""
        shared = np.concatenate([*columns, np.empty(0, dtype=np.int64)])
        columns = columns + [np.array([f]) for f in np.setdiff1d(np.arange(binning.n_features), shared)]
        columns.sort(key=lambda features: int(features[0]))
        density = [float((1 - fractions[features]).sum()) for features in columns]
        sparse = [
            fractions[features].min() >= MIN_DEFAULT_FRACTION and d <= LIST_DENSITY for features, d in zip(columns, density, strict=True)
        ]
        if sum(sparse) < MIN_LISTED or not lists:
            sparse = [False] * len(columns)
        column, has_default = np.full(binning.n_features, ROW_LIST, dtype=np.int32), np.zeros(binning.n_features, dtype=bool)
        for features, listed in zip(columns, sparse, strict=True):
            has_default[features] = listed or len(features) > 1
            if not listed:
                column[features] = column.max() + 1
        return cls(column, np.where(has_default, default_bin, NO_DEFAULT).astype(np.int32), binning.missing_bins)

    def without(self, features: np.ndarray) -> ColumnLayout:
        """Return the layout with these features in no bundle: in row lists if there are any, else in their own columns."""
        column, default_bin = self.column.copy(), self.default_bin.copy()
        if (column == ROW_LIST).any():
            column[features] = ROW_LIST
        else:
            column[features] = column.max() + 1 + np.arange(len(features))
            default_bin[features] = NO_DEFAULT
        stored = column != ROW_LIST
        column[stored] = np.unique(column[stored], return_inverse=True)[1]
        return ColumnLayout(column, default_bin, self.missing_bins)

    @property
    def is_plain(self) -> bool:
        """Whether every feature has its own column."""
        return bool((self.default_bin == NO_DEFAULT).all())

    @property
    def any_lists(self) -> bool:
        """Whether any feature is stored in row lists."""
        return bool((self.column == ROW_LIST).any())

    @property
    def n_columns(self) -> int:
        return int(self.column.max()) + 1

    @cached_property
    def native(self) -> kernels.ColumnLayout | None:
        """Layout for the kernels; None if every feature has its own column."""
        return None if self.is_plain else kernels.ColumnLayout(self.missing_bins, self.column, self.default_bin)


def bin_rows(table: Table, binning: Binning, rows: slice | np.ndarray, missing: np.ndarray, execution: Execution) -> np.ndarray:
    """Return the bins of some rows, (n_rows, n_features) uint8. Sets `missing` for features with missing values."""
    n = binning.n_features
    n_rows = len(range(*rows.indices(table.n_rows))) if isinstance(rows, slice) else len(rows)
    bins = np.zeros((n_rows, n), dtype=np.uint8)
    page, cuts = kernels.PageBuffer(bins[None], n, missing, np.zeros(n, dtype=np.uint8)), binning.native()
    for first, last in table.feature_blocks(n):
        x = table.read(rows, first, last)
        kernels.bin_table(x, cuts, page, first_row=0, first_feature=first, n_threads=execution.n_threads)
    return bins


def _evenly_spaced(table: Table, n_rows: int) -> slice:
    """Return about `n_rows` evenly spaced rows of a table."""
    return slice(0, table.n_rows, max(1, table.n_rows // n_rows))


def _sample_bins(table: Table, binning: Binning, n_rows: int, execution: Execution) -> np.ndarray:
    return bin_rows(table, binning, _evenly_spaced(table, n_rows), np.zeros(binning.n_features, dtype=np.uint8), execution)


def _default_bins(bins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the most frequent bin of each feature, (n_features,) int32, and its fraction of rows, (n_features,) float64."""
    n_rows, n_features = bins.shape
    default_bin, fractions = np.zeros(n_features, dtype=np.int32), np.zeros(n_features)
    for f, column in enumerate(np.asfortranarray(bins).T):
        counts = np.bincount(column)
        default_bin[f] = counts.argmax()
        fractions[f] = counts[default_bin[f]] / n_rows
    return default_bin, fractions


def _bundle(
    table: Table, binning: Binning, features: np.ndarray, default_bin: np.ndarray, fractions: np.ndarray, execution: Execution
) -> list[np.ndarray]:
    """Bundle features: each is put into the first column that has room and no row where both are outside their default bins."""
    columns: list[list[int]] = []
    taken: list[np.ndarray] = []  # by column: bits of the rows in which a feature is outside its default bin
    codes: list[int] = []
    for f in features[np.argsort(fractions[features], kind="stable")]:
        own = np.packbits(_bin_feature(table, binning, f, execution) != default_bin[f])
        room = [c for c in range(len(columns)) if codes[c] + binning.missing_bins[f] <= MAX_CODES]
        fit = next((c for c in room[:OPEN_COLUMNS] if not (taken[c] & own).any()), None)
        if fit is None:
            columns.append([f])
            taken.append(own)
            codes.append(1 + binning.missing_bins[f])
        else:
            columns[fit].append(f)
            taken[fit] |= own
            codes[fit] += binning.missing_bins[f]
    return [np.array(sorted(column)) for column in columns]


def _bin_feature(table: Table, binning: Binning, feature: int, execution: Execution) -> np.ndarray:
    """Return the bins of one feature in a sample of rows, (n_rows,) uint8."""
    x = table.read(_evenly_spaced(table, EXCLUSION_ROWS), feature, feature + 1)
    cuts = binning.cuts[binning.begin[feature] : binning.begin[feature + 1]]
    bins = np.zeros((1, len(x), 1), dtype=np.uint8)
    page = kernels.PageBuffer(bins, 1, *np.zeros((2, 1), dtype=np.uint8))
    native = kernels.CutPoints(cuts, np.array([0, len(cuts)]))
    kernels.bin_table(x, native, page, first_row=0, first_feature=0, n_threads=execution.n_threads)
    return bins[0, :, 0]
