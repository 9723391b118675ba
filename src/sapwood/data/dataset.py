"""Data sets: rows of a table with targets, weights, queries and offsets; and the same rows in bins."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sapwood.data.fingerprint import Fingerprint, of_array
from sapwood.data.pages import Pages
from sapwood.data.queries import Queries
from sapwood.data.row_range import RowRange
from sapwood.data.sorted import SortedRows
from sapwood.data.tables import Table
from sapwood.runtime.execution import SERIAL, Execution


@dataclass(frozen=True)
class Dataset:
    """Rows of a table, or of a partition of it, with their targets; checked.

    Attributes
    ----------
    table : columns of all rows
    y : targets of all rows of the table
    weight : (n_rows,) float64 of all rows of the table
    queries : queries of a ranking task
    rows : selected rows, ascending; None for all
    offset : (n_rows, n_outputs) initial raw predictions of all rows of the table
    not_empty : rows with a weight and a target, ascending; None for all
    """

    table: Table
    y: np.ndarray
    weight: np.ndarray | None
    queries: Queries | None = None
    rows: np.ndarray | None = None
    offset: np.ndarray | None = None
    not_empty: np.ndarray | None = None

    @property
    def n_rows(self) -> int:
        """Number of selected rows."""
        return self.table.n_rows if self.rows is None else len(self.rows)

    @property
    def weights(self) -> np.ndarray | None:
        """Weights of the selected rows."""
        return None if self.weight is None else self.take(self.weight)

    def take(self, values: np.ndarray) -> np.ndarray:
        """Return the values of the selected rows."""
        return values if self.rows is None else values[self.rows]

    @property
    def ids(self) -> np.ndarray | None:
        """Ids of the selected rows, ascending: rows that are not empty are numbered, selected or not. None for 0, 1, 2, ..."""
        if self.rows is None or self.not_empty is None:
            return self.rows
        return np.searchsorted(self.not_empty, self.rows)

    def first_id(self, execution: Execution) -> int:
        """Return the id of the first row of this partition that is not empty."""
        return execution.first_row(self.table.n_rows if self.not_empty is None else len(self.not_empty))

    def without_empty(self, execution: Execution = SERIAL) -> Dataset:
        """Return the data set without rows of weight 0 and rows without a target."""
        data = self
        if execution.any(self.weight is not None and not self.weight.all()) and self.weight is not None:
            data = replace(data, rows=np.flatnonzero(self.weight))
        missing = np.isnan(data.take(self.y)).all(axis=1) if self.y.ndim == 2 else np.zeros(data.n_rows, dtype=bool)
        if execution.any(bool(missing.any())):
            data = replace(data, rows=data.take(np.arange(self.table.n_rows))[~missing])
            if execution.total(data.n_rows) == 0:
                raise ValueError("all targets in y are missing")
        return replace(data, not_empty=data.rows)

    def fingerprint(self, known: Table | None = None, execution: Execution = SERIAL) -> Fingerprint:
        """Return hashes of the columns and arrays. If the table is `known`, it is not hashed again."""
        own = RowRange.of(self.table.n_rows, execution)
        if self.table is known:
            rows = own.first + self.take(np.arange(self.table.n_rows))
            return Fingerprint(own.total, {}, {"rows": of_array(rows, execution)})
        arrays = {"rows": None if self.rows is None else own.first + self.rows, "y": self.y, "sample_weight": self.weight}
        arrays |= {"offset": self.offset, "queries": None if self.queries is None else _begin(self.queries, own, execution)}
        return Fingerprint.of(self.table, arrays, execution)

    def binned(self, pages: Pages | SortedRows, execution: Execution) -> BinnedDataset:
        """Return the binned data set of the selected rows. `pages` hold these rows."""
        queries = self.queries if self.queries is None or self.rows is None else self.queries.take(self.rows)
        offset = None if self.offset is None else np.ascontiguousarray(self.take(self.offset).T)
        return BinnedDataset(pages, self.take(self.y), self.weights, queries, offset, RowRange.of(self.n_rows, execution))


@dataclass
class BinnedDataset:
    """Binned rows of a data set, or of a partition of it, with their targets.

    Attributes
    ----------
    pages : bins, or sorted columns
    y : targets, as returned by `Loss.read_targets`
    weight : (n_rows,) float64
    queries : queries of a ranking task
    offset : (n_outputs, n_rows) float64: initial raw predictions, to which the base score is added
    row_range : row ids of a partition; None if there is only one
    """

    pages: Pages | SortedRows
    y: np.ndarray
    weight: np.ndarray | None
    queries: Queries | None = None
    offset: np.ndarray | None = None
    row_range: RowRange | None = None

    @property
    def n_rows(self) -> int:
        return self.pages.n_rows

    @property
    def rows(self) -> RowRange:
        """Ids of the rows."""
        return self.row_range or RowRange(self.n_rows, 0, self.n_rows)


def _begin(queries: Queries, own: RowRange, execution: Execution) -> np.ndarray:
    """Return the part of this partition of the array of all queries: their first rows, then the number of rows."""
    begin = queries.begin + own.first
    return begin if execution.collective.rank == 0 else begin[1:]
