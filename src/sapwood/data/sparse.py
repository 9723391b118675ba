"""Sparse tables: SciPy matrices and arrays, and pandas frames with sparse columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from sapwood.data.columns import ColumnError, Kind, Name, Schema
from sapwood.data.sparse_formats import check_sparse
from sapwood.data.tables import Table, match_names
from sapwood.runtime import kernels
from sapwood.runtime.caching import cached_property
from sapwood.runtime.execution import Execution

DENSE_BYTES = 1 << 24  # size of a dense block of rows, where one is needed
SAMPLE_ROWS = 1 << 18  # rows sampled to find features that exclude each other


class SparseTable(Table):
    """Sparse table. Entries that are not stored are 0 or missing.

    Parameters
    ----------
    matrix : SciPy matrix or array of numbers, in any format; already checked (see `check_sparse`)
    implicit_missing : whether entries that are not stored are missing
    missing_values : values treated as missing, in addition to NaN; with 0, entries that are not stored are missing
    names : names of the columns, if they have any
    bools : columns of bools; None for all columns of a matrix of bools
    """

    is_sparse = True
    n_rows: int
    n_features: int

    def __init__(
        self,
        matrix: Any,
        implicit_missing: bool = False,
        missing_values: frozenset[float] = frozenset(),
        names: Sequence[Name] | None = None,
        bools: Sequence[int] | None = None,
    ) -> None:
        rows = sparse.csr_array(matrix)  # shares the arrays of a CSR matrix
        if not rows.has_canonical_format:
            rows = rows.copy()  # do not change the matrix of the caller
            rows.sum_duplicates()
        if rows.data.dtype.kind not in "biuf":
            raise ValueError(f"X has dtype {rows.data.dtype}, which is not numeric: convert it to numbers")
        data = _readable(rows.data)
        if missing_values:
            missing = np.isin(data, list(missing_values))
            data = np.where(missing, np.nan, data.astype(np.float64)) if missing.any() else data
        self.n_rows, self.n_features = rows.shape
        self.implicit_missing: bool = implicit_missing or 0.0 in missing_values
        self._csr = rows if data is rows.data else sparse.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)
        self.names: tuple[Name, ...] | None = None if names is None else tuple(names)
        self._cached_columns: kernels.SparseMatrix | None = None
        self._bools = bools if bools is not None else range(self.n_features) if rows.data.dtype.kind == "b" else ()

    @cached_property
    def native(self) -> kernels.SparseMatrix:
        """Rows of the matrix, for the kernels."""
        return self._native(self._csr)

    def _native(self, matrix: Any) -> kernels.SparseMatrix:
        values, indices = np.ascontiguousarray(matrix.data), np.ascontiguousarray(matrix.indices.astype(np.int32, copy=False))
        indptr, n_minor = matrix.indptr.astype(np.int64, copy=False), matrix.shape[1 if matrix.format == "csr" else 0]
        return kernels.SparseMatrix(values, indices, indptr, n_minor, self.implicit_missing, 1)

    @property
    def schema(self) -> Schema:
        return Schema(self.n_features, self.names, dict.fromkeys(self._bools, Kind("bool")))

    def match(self, schema: Schema) -> Table:
        for f, kind in schema.kinds.items():
            if kind.name not in ("number", "bool"):
                then = f"Column {schema.name(f)} had kind {kind.describe()} when the model was fitted"
                raise ColumnError(f"{then}; now X is sparse, and all columns are numbers")
        order = match_names(self.names, schema.names) if self.names and schema.names else range(self.n_features)
        if list(order) == list(range(self.n_features)):
            return self
        bools = [at for at, f in enumerate(order) if f in set(self._bools)]
        return SparseTable(self._csc[:, order], self.implicit_missing, names=schema.names, bools=bools)

    def with_categories(self, features: Sequence[int]) -> Table:
        if features:
            raise ColumnError("columns of a sparse X cannot be categories: use a dense table or a data frame")
        return self

    # Dense blocks

    def feature_blocks(self, max_features: int) -> list[tuple[int, int]]:
        return [(first, min(first + max_features, self.n_features)) for first in range(0, self.n_features, max_features)]

    def row_blocks(self) -> list[slice]:
        step = max(1, DENSE_BYTES // (8 * self.n_features))
        return [slice(start, min(start + step, self.n_rows)) for start in range(0, self.n_rows, step)]

    def sample(self, rows: np.ndarray | None, first: int, last: int) -> np.ndarray:
        return self.read(slice(0, self.n_rows) if rows is None else rows, first, last)

    def read(self, rows: slice | np.ndarray, first: int, last: int) -> np.ndarray:
        if last - first < self.n_features:
            return self._read_columns(first, last)[rows]
        if isinstance(rows, slice) and rows.step in (None, 1):
            start, stop, _ = rows.indices(self.n_rows)
            out = np.empty((stop - start, last - first))
            self.native.fill_dense(start, first, last, out, 1)
            return out
        chosen = self._native(self._csr[rows])
        out = np.empty((len(np.arange(self.n_rows)[rows]), last - first))
        chosen.fill_dense(0, first, last, out, 1)
        return out

    def _read_columns(self, first: int, last: int) -> np.ndarray:
        out = np.empty((last - first, self.n_rows))
        self._native(self._csc[:, first:last]).fill_dense(0, 0, self.n_rows, out, 1)
        return out.T

    @cached_property
    def _csc(self) -> Any:
        return self._csr.tocsc()

    # Without dense blocks

    def _columns_of(self, rows: np.ndarray | slice | None, execution: Execution) -> kernels.SparseMatrix:
        """Return the columns of the given rows (None for all)."""
        return (self.native if rows is None else self._native(self._csr[rows])).transposed(execution.n_threads)

    def find_cuts(self, rows: np.ndarray | None, weight: np.ndarray | None, max_bins: np.ndarray, execution: Execution) -> list[np.ndarray]:
        """Return the cut points of each feature; the same as those of the dense table."""
        own = weight if weight is None or rows is None else np.ascontiguousarray(weight[rows])
        own = own if own is None else execution.gather(own)
        columns = self._columns_of(rows, execution) if execution.is_local else self._gather(rows, execution).transposed(execution.n_threads)
        if execution.is_local and rows is None and self.n_rows <= SAMPLE_ROWS:
            self._cached_columns = columns  # `bundle_features` needs them next
        return columns.find_cuts(own, max_bins.astype(np.int32), execution.n_threads)

    def _gather(self, rows: np.ndarray | None, execution: Execution) -> kernels.SparseMatrix:
        """Return the given rows of all partitions."""
        csr = self._csr if rows is None else self._csr[rows]
        lengths, parts = execution.gather(np.diff(csr.indptr)), (execution.gather(csr.data), execution.gather(csr.indices))
        begin = np.concatenate([[0], np.cumsum(lengths)])
        return self._native(sparse.csr_array((*parts, begin), shape=(len(lengths), self.n_features)))

    def occupancy(self) -> np.ndarray:
        """Return the fraction of rows with a stored entry of each feature, (n_features,)."""
        return np.bincount(self._csr.indices, minlength=self.n_features) / self.n_rows

    def has_missing(self) -> np.ndarray:
        """Return whether each feature has missing values, (n_features,) bool."""
        missing = np.zeros(self.n_features, dtype=bool)
        if self._csr.data.dtype.kind == "f":
            missing[self._csr.indices[np.isnan(self._csr.data)]] = True
        return missing | (self.occupancy() < 1) if self.implicit_missing and self.n_rows else missing

    def take(self, rows: np.ndarray | slice) -> SparseTable:
        """Return the given rows."""
        return SparseTable(self._csr[rows], self.implicit_missing, names=self.names, bools=self._bools)

    @property
    def n_entries(self) -> int:
        """Number of stored entries."""
        return len(self._csr.indices)

    def implicit_bins(self, cuts: np.ndarray, begin: np.ndarray) -> np.ndarray:
        """Return the bin of entries that are not stored, for each feature, (n_features,) int32."""
        n_cuts = np.diff(begin)
        if self.implicit_missing:
            return (n_cuts + 1).astype(np.int32)
        feature = np.repeat(np.arange(len(n_cuts)), n_cuts)
        return np.bincount(feature[cuts < 0], minlength=len(n_cuts)).astype(np.int32)

    def bundle_features(
        self, features: np.ndarray, n_codes: np.ndarray, max_codes: int, n_open: int, execution: Execution
    ) -> list[np.ndarray]:
        """Return bundles: groups of features of which no row of a sample has two entries."""
        columns, self._cached_columns = self._cached_columns, None
        if columns is None:
            sample = None if self.n_rows <= SAMPLE_ROWS else slice(0, self.n_rows, -(-self.n_rows // SAMPLE_ROWS))
            columns = self._columns_of(sample, execution)
        shared = columns.bundle_features(features.astype(np.int32), n_codes.astype(np.int32), max_codes, n_open)
        order = features[np.argsort(shared[features], kind="stable")]
        return [np.sort(group) for group in np.split(order, np.flatnonzero(np.diff(shared[order])) + 1)] if len(order) else []

    def hash_sums(self, first_row: int, execution: Execution) -> np.ndarray:
        out = np.zeros(self.n_features, dtype=np.uint64)
        self.native.hash_columns(out, execution.n_threads, first_row)
        return out

    def score(self, scorer: kernels.Scorer, first: int, last: int, out: np.ndarray, execution: Execution) -> None:
        scorer.add_sparse(self.native, first, last, out, execution.n_threads)


def sparse_frame(frame: Any, names: Sequence[Name], missing_values: frozenset[float]) -> SparseTable | None:
    """Return a pandas frame as a sparse table if all columns are sparse, with the same fill value 0 or missing; else None."""
    if type(frame).__module__.partition(".")[0] != "pandas" or not all(hasattr(dtype, "fill_value") for dtype in frame.dtypes):
        return None
    columns = [series.array for _, series in frame.items()]
    fills = [column.fill_value for column in columns]
    zero, missing = all(fill == 0 for fill in fills), all(fill != fill for fill in fills)
    if not (zero or missing) or any(column.sp_values.dtype.kind not in "biuf" for column in columns):
        return None
    begin = np.cumsum([0] + [len(column.sp_values) for column in columns])
    rows = np.concatenate([column.sp_index.indices for column in columns])
    matrix = sparse.csc_array((np.concatenate([column.sp_values for column in columns]), rows, begin), shape=frame.shape)
    bools = [f for f, column in enumerate(columns) if column.sp_values.dtype.kind == "b"]
    return SparseTable(check_sparse(matrix), missing, missing_values, names, bools)


def _readable(data: np.ndarray) -> np.ndarray:
    plain = data.dtype.isnative and (data.dtype.kind != "f" or data.dtype.itemsize in (4, 8))
    return data if plain else data.astype(np.float64)
