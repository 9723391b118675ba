"""Binned rows, and what a growing tree asks of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sapwood.data.binning import Binning
from sapwood.data.bundling import ROW_LIST, ColumnLayout, bin_rows
from sapwood.data.sparse import SparseTable
from sapwood.data.tables import Table
from sapwood.runtime import kernels
from sapwood.runtime.execution import Execution
from sapwood.trees.growth import Grower, make_grower

if TYPE_CHECKING:
    from sapwood.model import Model
    from sapwood.trees.tree import Tree

GROUP_COLUMNS = 64  # columns side by side in a row of bins: one cache line
BLOCK_BYTES = 1 << 22  # of rows binned at a time, before they are stored
HISTOGRAM_BYTES = 1 << 28  # kept for nodes that may still be split; past it the least promising are counted anew


@dataclass(frozen=True)
class Page:
    """Rows of bins, as a storage keeps them: columns in groups, the codes of a row in a group side by side; and lists beside the rows."""

    codes: np.ndarray  # (n_groups, n_rows, stride) uint8
    begin: np.ndarray | None = None  # (n_rows + 1,) uint32: where each row's list begins
    beside: np.ndarray | None = None  # uint32: bins, counted through all features beside the rows

    @property
    def n_rows(self) -> int:
        return self.codes.shape[1]

    @property
    def lists(self) -> tuple[np.ndarray, np.ndarray] | None:
        return None if self.begin is None or self.beside is None else (self.begin, self.beside)

    def take(self, rows: np.ndarray) -> Page:
        """Some of the rows."""
        codes = self.codes[:, rows]
        if self.begin is None or self.beside is None:
            return Page(codes)
        return Page(codes, *kernels.take_lists(self.begin, self.beside, np.ascontiguousarray(rows, dtype=np.int64), 1))

    @classmethod
    def join(cls, pages: list[Page]) -> Page:
        """The rows of all pages in one."""
        codes = np.concatenate([page.codes for page in pages], axis=1)
        lists = [page.lists for page in pages if page.lists is not None]
        if not lists:
            return cls(codes)
        return cls(codes, *_join_lists([np.diff(begin) for begin, _ in lists], [beside for _, beside in lists]))


class Pages:
    """A list of pages of bins that together are one table. Row ids are counted through all pages."""

    def __init__(self, binning: Binning, storage: ColumnLayout, pages: list[Page], missing: np.ndarray, width: int) -> None:
        self.binning = binning
        self.storage = storage
        self.pages = pages
        self.missing = missing  # (n_features,) uint8: has missing values
        self.width = width  # columns of a group
        self.n_rows = sum(page.n_rows for page in pages)

    @classmethod
    def build(cls, table: Table, binning: Binning, execution: Execution, storage: ColumnLayout | None = None) -> Pages:
        """Bin a table into one page."""
        storage = storage or ColumnLayout.choose(table, binning, execution)
        n_groups = -(-storage.n_columns // GROUP_COLUMNS)
        width = max(1, -(-storage.n_columns // max(1, n_groups)))
        stride = max(4, 1 << (width - 1).bit_length())
        codes = _aligned_zeros(n_groups, table.n_rows, stride)
        missing = np.zeros(binning.n_features, dtype=np.uint8)
        if isinstance(table, SparseTable):
            return cls._build_sparse(table, binning, execution, storage, codes, width)
        if storage.is_plain:
            _bin_plainly(table, binning, codes, width, missing, execution)
            return cls(binning, storage, [Page(codes)], missing, width)
        clashes = np.zeros(binning.n_features, dtype=np.uint8)
        lists = []
        step = max(1, BLOCK_BYTES // binning.n_features)
        for rows in _slices(slice(0, table.n_rows), step):
            bins = bin_rows(table, binning, rows, missing, execution)
            args = storage.places, codes.reshape(-1), table.n_rows, rows.start, width, stride, clashes, execution.n_threads
            lists.append(kernels.store_rows(bins, *args))
        if clashes.any():  # the sample did not show it
            return cls.build(table, binning, execution, storage.without(np.flatnonzero(clashes)))
        if not (storage.column == ROW_LIST).any():
            return cls(binning, storage, [Page(codes)], missing, width)
        page = Page(codes, *_join_lists([lengths for lengths, _ in lists], [beside for _, beside in lists]))
        return cls(binning, storage, [page], missing, width)

    @classmethod
    def _build_sparse(
        cls, table: SparseTable, binning: Binning, execution: Execution, storage: ColumnLayout, codes: np.ndarray, width: int
    ) -> Pages:
        missing, clashes = (np.zeros(binning.n_features, dtype=np.uint8) for _ in range(2))
        places = kernels.ColumnLayout(storage.missing_bins, storage.column, storage.common)
        args = binning.cuts, binning.begin, places, codes.reshape(-1), width, codes.shape[2], missing, clashes, execution.n_threads
        begin, beside = table.lines.store(*args)
        if clashes.any():  # the sample did not show it
            return cls.build(table, binning, execution, storage.without(np.flatnonzero(clashes)))
        if table.absent_missing:
            missing |= table.occupancy() < 1
        page = Page(codes, begin, beside) if (storage.column == ROW_LIST).any() else Page(codes)
        return cls(binning, storage, [page], missing, width)

    def take(self, rows: np.ndarray) -> Pages:
        """Some of the rows, in ascending order, in one page."""
        starts = np.cumsum([0] + [page.n_rows for page in self.pages])
        parts = [page.take(rows[(rows >= a) & (rows < b)] - a) for page, (a, b) in zip(self.pages, pairwise(starts), strict=True)]
        return Pages(self.binning, self.storage, [Page.join(parts)], self.missing, self.width)

    def cut(self, n_pages: int) -> Pages:
        """The same rows in several pages."""
        pages = [page.take(rows) for page in self.pages for rows in np.array_split(np.arange(page.n_rows), n_pages)]
        return Pages(self.binning, self.storage, pages, self.missing, self.width)

    def add_tree(self, tree: Tree, raw: np.ndarray, execution: Execution, factor: float = 1.0) -> None:
        """Add one tree's values, times a factor, to the raw predictions, (n_outputs of the tree, n_rows)."""
        start = 0
        value = tree.value if factor == 1.0 else tree.value * factor
        nodes = (tree.feature, tree.bin, tree.left, tree.right, tree.missing_left, value)
        for page in self.pages:
            shape = page.n_rows, self.width, page.codes.shape[2], self.binning.missing_bins
            out = raw[:, start : start + page.n_rows]
            stored = self.storage.places, page.lists
            kernels.add_tree(page.codes.reshape(-1), *shape, *nodes, out, execution.n_threads, *stored, self.binning.kinds, tree.sets)
            start += page.n_rows

    def finish(self, model: Model) -> None:
        """Training is over."""

    def workspace(self, execution: Execution) -> Grower:
        """The native state in which trees grow on these rows."""
        n_bins = (np.diff(self.binning.begin) + 1 + self.missing).astype(np.int32)
        shape = self.width, self.pages[0].codes.shape[2]
        layout = kernels.BinLayout(n_bins, self.missing, self.binning.missing_bins, *shape, self.storage.places)
        starts = np.cumsum([0] + [page.n_rows for page in self.pages]).tolist()
        pages = [
            kernels.Page(layout, page.codes.reshape(-1), page.n_rows, page.lists, first_row)
            for page, first_row in zip(self.pages, starts[:-1], strict=True)
        ]
        search = kernels.SplitSearch(layout, execution.n_threads, HISTOGRAM_BYTES)
        return make_grower(search, kernels.RowPartition(layout, pages, execution.n_threads), execution)


def _bin_plainly(table: Table, binning: Binning, codes: np.ndarray, width: int, missing: np.ndarray, execution: Execution) -> None:
    """Bin straight into a page in which every feature has its own column."""
    out, stride = codes.reshape(-1), codes.shape[2]
    for first, last in table.runs(binning.n_features):
        for rows in table.row_blocks():
            for block in _slices(rows, 1 << 20):
                x = table.read(block, first, last)
                cuts = binning.cuts, binning.begin
                kernels.bin_table(x, first, *cuts, out, table.n_rows, block.start, width, stride, missing, execution.n_threads)


def _join_lists(lengths: list[np.ndarray], beside: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Where each row's list begins, and the lists, of several parts in turn."""
    begin = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(np.concatenate(lengths), dtype=np.int64)])
    if begin[-1] >= 1 << 32:
        raise ValueError(f"X has {begin[-1]} values beside its rows; a page holds at most {(1 << 32) - 1}")
    return begin.astype(np.uint32), np.concatenate(beside)


def _slices(rows: slice, step: int) -> list[slice]:
    return [slice(a, min(a + step, rows.stop)) for a in range(rows.start, rows.stop, step)]


def _aligned_zeros(n_groups: int, n_rows: int, stride: int) -> np.ndarray:
    """Zeros that begin on a cache line, so that a row of bins never straddles two."""
    size = n_groups * n_rows * stride
    memory = np.empty(size + 64, dtype=np.uint8)  # NumPy asks for huge pages for large arrays, but not for zeros
    memory.fill(0)
    offset = -memory.ctypes.data % 64
    return memory[offset : offset + size].reshape(n_groups, n_rows, stride)
