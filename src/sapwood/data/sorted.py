"""Rows sorted by every feature, for the exact and approximate split search."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sapwood.data.binning import Binning
from sapwood.data.tables import Table
from sapwood.runtime import kernels
from sapwood.runtime.execution import Execution

FEATURES_AT_ONCE = 16  # features per kernel call, so that an interrupt is handled soon
MISSING = np.uint32(0xFFFFFFFF)  # rank of a missing value
ALL, GLOBAL, LOCAL = range(3)  # split candidates, with their numbers in the kernel


class Ranks(Binning):
    """Binning with one bin per distinct value. The threshold between two values is their midpoint."""

    def __init__(self, values: list[np.ndarray]) -> None:
        super().__init__([_midpoints(v[:-1], v[1:]) for v in values])
        self.values = values

    def bin_at(self, feature: int, threshold: float) -> int:
        return int(np.searchsorted(self.values[feature], threshold, side="right")) - 1


class SortedRows:
    """Rows of a table, sorted by each feature. Sorting is delayed until the first tree is grown.

    Parameters
    ----------
    rows : selected rows, ascending; None for all
    binning : cut points that are split candidates; None for all distinct values
    proposal : ALL candidates; or candidates at quantiles weighted by hessians, of all rows (GLOBAL) or of the rows of each node (LOCAL)
    n_quantiles : number of quantiles
    """

    cuts_are_candidates: ClassVar[bool] = True  # whether a model keeps only the cut points that its trees use
    table: Table
    rows: np.ndarray | None
    execution: Execution
    proposal: int
    n_quantiles: int

    def __init__(
        self,
        table: Table,
        execution: Execution,
        rows: np.ndarray | None = None,
        binning: Binning | None = None,
        proposal: int = ALL,
        n_quantiles: int = 1,
    ) -> None:
        self.table, self.rows, self.execution = table, rows, execution
        self.proposal, self.n_quantiles = proposal, n_quantiles
        self.n_rows: int = table.n_rows if rows is None else len(rows)
        self._given = binning
        self._sorted: tuple[list[np.ndarray], Binning, list[int]] | None = None

    def take(self, rows: np.ndarray) -> SortedRows:
        """Return the given rows, which must be ascending."""
        chosen = rows if self.rows is None else self.rows[rows]
        return SortedRows(self.table, self.execution, chosen, self._given, self.proposal, self.n_quantiles)

    @property
    def binning(self) -> Binning:
        return self._sort()[1]

    def native_tree(self, execution: Execution) -> kernels.SortedTree:
        """Return the native object that grows trees on these rows."""
        columns, _, n_values = self._sort()
        return kernels.SortedTree(columns, n_values, execution.n_threads, self.proposal, self.n_quantiles)

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield blocks of rows: their slice, and their values, (n, n_features)."""
        for block in self.table.row_blocks():
            at, x = block, self.table.dense(block)
            if self.rows is not None:
                at = slice(*np.searchsorted(self.rows, [block.start, block.stop]))
                x = x[self.rows[at] - block.start]
            yield at, x

    def _sort(self) -> tuple[list[np.ndarray], Binning, list[int]]:
        if self._sorted is None:
            columns, values = [], []
            for first, last in self.table.feature_blocks(FEATURES_AT_ONCE):
                chosen = slice(0, self.table.n_rows) if self.rows is None else self.rows
                for column, distinct in kernels.sort_columns(self.table.read(chosen, first, last), self.execution.n_threads):
                    columns.append(column)
                    values.append(distinct)
            binning: Binning
            if self._given is None:
                binning, n_values = Ranks(values), [max(1, len(v)) for v in values]
            else:
                binning, n_values = self._given, (np.diff(self._given.begin) + 1).tolist()
                for f, column in enumerate(columns):
                    bins = np.append(np.searchsorted(binning.cuts_of(f), values[f], side="left"), MISSING).astype(np.uint32)
                    column[:, 1] = bins[np.minimum(column[:, 1], len(values[f]))]
            self._sorted = columns, binning, n_values
        return self._sorted


def _midpoints(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the midpoints of pairs of numbers; the lower number if the midpoint is rounded to the upper one."""
    with np.errstate(invalid="ignore"):
        middle = low / 2 + high / 2
    return np.where((middle >= low) & (middle < high), middle, low)
