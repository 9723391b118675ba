"""A table that was checked, and which of its rows count."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sapwood.data.fingerprint import Fingerprint, of_array
from sapwood.data.queries import Queries
from sapwood.data.tables import Table
from sapwood.runtime.execution import SERIAL, Execution


@dataclass(frozen=True)
class Dataset:
    """A table with targets and weights, that was checked."""

    table: Table
    y: np.ndarray  # of all rows
    weight: np.ndarray | None  # of all rows
    queries: Queries | None = None
    rows: np.ndarray | None = None  # ascending; None for all
    offset: np.ndarray | None = None  # (n_rows, n_outputs): what raw predictions start from

    @property
    def n_rows(self) -> int:
        return self.table.n_rows if self.rows is None else len(self.rows)

    @property
    def weights(self) -> np.ndarray | None:
        """Of the rows that count."""
        return None if self.weight is None else self.take(self.weight)

    def take(self, values: np.ndarray) -> np.ndarray:
        """Those of the rows that count."""
        return values if self.rows is None else values[self.rows]

    def counting(self) -> Dataset:
        """Without the rows that are as good as absent: those of weight zero, and those without any target."""
        part = self
        if self.weight is not None and not self.weight.all():
            part = replace(part, rows=np.flatnonzero(self.weight))
        if self.y.ndim == 2 and (missing := np.isnan(part.take(self.y)).all(axis=1)).any():
            part = replace(part, rows=part.take(np.arange(self.table.n_rows))[~missing])
            if part.n_rows == 0:
                raise ValueError("y has no row with a target: all are missing")
        return part

    def fingerprint(self, known: Table | None = None, execution: Execution = SERIAL) -> Fingerprint:
        """What tells these rows from others; a table that is known already need not be read again."""
        queries = None if self.queries is None else self.queries.begin
        arrays = {"rows": self.rows, "y": self.y, "sample_weight": self.weight, "offset": self.offset, "queries": queries}
        if self.table is not known:
            return Fingerprint.of(self.table, arrays, execution)
        return Fingerprint(self.table.n_rows, {}, {"rows": of_array(self.take(np.arange(self.table.n_rows)))})
