"""Data sets: columns, targets, weights, queries and offsets of rows; and the same in bins."""

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
    """Rows of a table with their targets, checked; or those of one of its partitions.

    Attributes
    ----------
    table : columns
    y : targets of all rows of the table
    weight : (n_rows,) float64 of all rows of the table
    queries : rows that are ranked against each other
    rows : selection of the rows, ascending; None for all
    offset : (n_rows, n_outputs) initial raw predictions of all rows of the table
    """

    table: Table
    y: np.ndarray
    weight: np.ndarray | None
    queries: Queries | None = None
    rows: np.ndarray | None = None
    offset: np.ndarray | None = None

    @property
    def n_rows(self) -> int:
        """Number of selected rows."""
        return self.table.n_rows if self.rows is None else len(self.rows)

    @property
    def weights(self) -> np.ndarray | None:
        """Weights of the selected rows."""
        return None if self.weight is None else self.take(self.weight)

    def take(self, values: np.ndarray) -> np.ndarray:
        """Values of the selected rows."""
        return values if self.rows is None else values[self.rows]

    def without_empty(self, execution: Execution = SERIAL) -> Dataset:
        """Data set without rows of weight zero and rows without any target."""
        data = self
        if execution.any(self.weight is not None and not self.weight.all()) and self.weight is not None:
            data = replace(data, rows=np.flatnonzero(self.weight))
        missing = np.isnan(data.take(self.y)).all(axis=1) if self.y.ndim == 2 else np.zeros(data.n_rows, dtype=bool)
        if execution.any(bool(missing.any())):
            data = replace(data, rows=data.take(np.arange(self.table.n_rows))[~missing])
            if execution.total(data.n_rows) == 0:
                raise ValueError("y has no row with a target: all are missing")
        return data

    def fingerprint(self, known: Table | None = None, execution: Execution = SERIAL) -> Fingerprint:
        """Hashes of the columns and arrays; a table that is known need not be read again."""
        own = RowRange.of(self.table.n_rows, execution)
        if self.table is known:
            rows = own.first + self.take(np.arange(self.table.n_rows))
            return Fingerprint(own.total, {}, {"rows": of_array(rows, execution)})
        arrays = {"rows": None if self.rows is None else own.first + self.rows, "y": self.y, "sample_weight": self.weight}
        arrays |= {"offset": self.offset, "queries": None if self.queries is None else _begin(self.queries, own, execution)}
        return Fingerprint.of(self.table, arrays, execution)

    def binned(self, pages: Pages | SortedRows, execution: Execution) -> BinnedDataset:
        """The selected rows; the pages hold these."""
        queries = self.queries if self.queries is None or self.rows is None else self.queries.take(self.rows)
        offset = None if self.offset is None else np.ascontiguousarray(self.take(self.offset).T)
        return BinnedDataset(pages, self.take(self.y), self.weights, queries, offset, RowRange.of(self.n_rows, execution))


@dataclass
class BinnedDataset:
    """Binned rows with their targets; or those of a partition.

    Attributes
    ----------
    pages : bins, or sorted columns
    y : targets, as the loss has read them
    weight : (n_rows,) float64
    queries : rows that are ranked against each other
    offset : (n_outputs, n_rows) float64: initial raw predictions, added to the constant of a model
    row_range : of the rows in the data set, if this is a partition of it
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
    """Part of this partition in the array of the first rows of all queries, and of the number of all rows at its end."""
    begin = queries.begin + own.first
    return begin if execution.collective.rank == 0 else begin[1:]
