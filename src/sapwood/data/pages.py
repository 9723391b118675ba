"""Binned rows in pages."""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sapwood.data.binning import Binning
from sapwood.data.bundling import ColumnLayout, bin_rows
from sapwood.data.layout import BinLayout
from sapwood.data.page_store import PageError, PageReader, PageStorage, PageWriter, StoredPages
from sapwood.data.row_range import RowRange
from sapwood.data.sparse import SparseTable
from sapwood.data.tables import ROWS_AT_ONCE, Table
from sapwood.runtime import kernels
from sapwood.runtime.caching import cached_property
from sapwood.runtime.execution import Execution
from sapwood.runtime.memory import release_memory

BLOCK_BYTES = 1 << 22  # bins that are computed at a time before they are bundled
CHOSEN_ROWS = 8192  # selected rows that are copied from the table at a time
NO_ROWS = np.empty(0, dtype=np.uint32)


@dataclass(frozen=True)
class Page:
    """Consecutive binned rows. Columns are in groups; the bins of a row in a group are contiguous.

    Attributes
    ----------
    codes : (n_groups, n_rows, stride) uint8: bins
    first_row : number of the first row in the partition
    lists : row lists, the bins of features without a column: begin, (n_rows + 1,) uint32, and bins, uint32; None if there are none
    """

    codes: np.ndarray
    first_row: int = 0
    lists: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def n_rows(self) -> int:
        return self.codes.shape[1]

    @property
    def rows(self) -> slice:
        """Rows of the page in the partition."""
        return slice(self.first_row, self.first_row + self.n_rows)

    def open(self, layout: BinLayout, first_row: int) -> kernels.Page:
        """Return the page for the kernels, after checking all bins. `first_row` is the id of the first row of the partition."""
        return kernels.Page(layout.native, self.codes.reshape(-1), self.n_rows, self.lists, first_row + self.first_row)

    def take_range(self, rows: slice) -> Page:
        """Return a page of consecutive rows, without a copy."""
        if rows.start == 0 and rows.stop == self.n_rows:
            return self
        lists = self.lists
        if lists is not None:
            begin, bins = lists
            lists = begin[rows.start : rows.stop + 1] - begin[rows.start], bins[begin[rows.start] : begin[rows.stop]]
        return Page(self.codes[:, rows], self.first_row + rows.start, lists)

    def take(self, rows: np.ndarray, first_row: int = 0) -> Page:
        """Return a page of the given rows."""
        codes = np.ascontiguousarray(self.codes[:, rows])
        if self.lists is None:
            return Page(codes, first_row)
        begin, bins = self.lists
        return Page(codes, first_row, kernels.take_lists(begin, bins, np.ascontiguousarray(rows, dtype=np.int64), 1))


class Pages:
    """Binned rows of a partition, in consecutive pages with the same layout."""

    layout: BinLayout
    pages: list[Page]
    histogram_bytes: int = (
        1 << 28
    )  # of cached histograms; beyond it, those of the nodes with the lowest gains are dropped and computed again
    cuts_are_candidates: ClassVar[bool] = False  # whether a model keeps only the cut points that its trees use

    def __init__(self, layout: BinLayout, pages: list[Page]) -> None:
        self.layout, self.pages = layout, pages
        self.n_rows: int = sum(page.n_rows for page in pages)

    @property
    def binning(self) -> Binning:
        return self.layout.binning

    @classmethod
    def build(
        cls,
        table: Table,
        binning: Binning,
        execution: Execution,
        rows: np.ndarray | None = None,
        columns: ColumnLayout | None = None,
        page_rows: int | None = None,
        storage: PageStorage | None = None,
    ) -> Pages:
        """Bin rows of a table. Called by every partition.

        Parameters
        ----------
        rows : selected rows, ascending; None for all
        columns : column layout; None to choose it from the table
        page_rows : maximum number of rows of a page; None for one page
        storage : folders for the pages; None for memory
        """
        if storage is not None:
            return DiskPages.write(table, binning, execution, rows, storage)
        columns = columns or _agree(ColumnLayout.choose(table, binning, execution), table.n_rows, execution)
        layout = BinLayout(binning, columns, np.zeros(binning.n_features, dtype=np.uint8))
        page, missing, clashes = _build(table, layout, rows, execution)
        if execution.max(clashes).any():  # bundled features overlap in rows that were not sampled
            again = columns.without(np.flatnonzero(execution.max(clashes)))
            return cls.build(table, binning, execution, rows, again, page_rows)
        layout = BinLayout(binning, columns, execution.max(missing))
        if page_rows is None:
            return cls(layout, [page])
        starts = range(0, max(1, page.n_rows), page_rows)
        return cls(layout, [page.take(np.arange(a, min(a + page_rows, page.n_rows)), a) for a in starts])

    def take(self, rows: np.ndarray) -> Pages:
        """Return the given rows (ascending) in new pages."""
        begin = np.searchsorted(rows, [page.first_row for page in self.pages] + [self.n_rows])
        chosen = [rows[a:b] - page.first_row for page, a, b in zip(self.pages, begin[:-1], begin[1:], strict=True)]
        return Pages(self.layout, [page.take(own, int(a)) for page, own, a in zip(self.pages, chosen, begin[:-1], strict=True)])

    def open(self, first_row: int) -> list[kernels.Page]:
        """Return the pages for the kernels. `first_row` is the id of the first row of the partition."""
        return [page.open(self.layout, first_row) for page in self.pages]

    @property
    def row_ranges(self) -> list[slice]:
        """Rows of each page in the partition."""
        return [page.rows for page in self.pages]

    @property
    def list_bytes(self) -> int:
        """Bytes of the row lists of all pages."""
        return sum(part.nbytes for page in self.pages for part in page.lists or ())

    def read(self) -> Iterator[Page]:
        """Yield the pages one after the other. A page is valid until the next."""
        return iter(self.pages)

    @cached_property
    def native(self) -> list[kernels.Page]:
        """Pages for kernels that do not use the ids of rows."""
        return self.open(0)

    def visit(self) -> Iterator[tuple[slice, kernels.Page]]:
        """Yield the rows of each page and the page, for kernels that do not use the ids of rows. A page is valid until the next."""
        return zip((page.rows for page in self.pages), self.native, strict=True)


class DiskPages(Pages):
    """Binned rows of a partition in files. Features have a column or a bundle, and no row lists."""

    def __init__(self, stored: StoredPages, storage: PageStorage, writer: PageWriter | None = None) -> None:
        self.layout, self.n_rows = stored.layout, stored.n_rows
        self.stored, self.storage = stored, storage
        self.reader: PageReader = PageReader(stored, storage)
        self._writer = writer  # its files are removed with it
        self.histogram_bytes = storage.histogram_bytes

    @classmethod
    def write(cls, table: Table, binning: Binning, execution: Execution, rows: np.ndarray | None, storage: PageStorage) -> DiskPages:
        """Bin rows of a table, page by page; or take the stored pages of the same rows and bins. Called by every partition."""
        own = RowRange.of(table.n_rows, execution)

        def key() -> str:
            return _key(table, binning, rows, own.first, execution)

        if storage.has_any and (found := storage.find(key())) is not None:
            execution.max(found.layout.missing)
            return cls(found, storage)
        if table.is_stored:
            raise PageError(errno.ENOENT, "the stored pages of these rows are missing: fit with pages_dir again", storage.folders[0])
        # Several partitions have the same layout without asking each other: some may have found their pages.
        columns = ColumnLayout.choose(table, binning, execution, lists=False) if execution.is_local else ColumnLayout.plain(binning)
        release_memory()  # of cut points
        writer, missing, clashes = cls._write(table, binning, columns, rows, storage, execution)
        while clashes.any():  # bundled features overlap in rows that were not sampled
            del writer  # and its files
            columns = columns.without(np.flatnonzero(clashes))
            writer, missing, clashes = cls._write(table, binning, columns, rows, storage, execution)
        table.release()
        release_memory()
        layout = BinLayout(binning, columns, execution.max(missing))
        return cls(writer.finish(layout, key() if storage.folders else None), storage, writer)

    @staticmethod
    def _write(
        table: Table, binning: Binning, columns: ColumnLayout, rows: np.ndarray | None, storage: PageStorage, execution: Execution
    ) -> tuple[PageWriter, np.ndarray, np.ndarray]:
        """Write pages. Return them, the features with missing values, and the features that overlap in a bundle."""
        missing, clashes = np.zeros((2, binning.n_features), dtype=np.uint8)
        layout = BinLayout(binning, columns, missing.copy())
        if isinstance(table, SparseTable):
            missing |= table.has_missing()  # of all rows, as in memory
        n_rows, step = table.n_rows if rows is None else len(rows), storage.page_rows(layout)

        def pages() -> Iterator[np.ndarray]:
            for start in range(0, max(1, n_rows), step):
                part = slice(start, min(start + step, n_rows))
                page, own_missing, own_clashes = _build(table, layout, part if rows is None else rows[part], execution)
                missing[:] |= own_missing
                clashes[:] |= own_clashes
                yield page.codes

        return PageWriter(storage, pages()), missing, clashes

    def take(self, rows: np.ndarray) -> DiskPages:
        def pages() -> Iterator[np.ndarray]:
            shape = self.layout.n_groups, -1, self.layout.stride
            for file in self.stored.files:
                first, last = np.searchsorted(rows, [file.rows.start, file.rows.stop])
                size = self.layout.n_groups * file.n_rows * self.layout.stride
                codes = self.stored.read(file, np.empty(size, dtype=np.uint8), check=True).reshape(shape)
                yield np.ascontiguousarray(codes[:, rows[first:last] - file.first_row])

        storage = replace(self.storage, folders=())  # a selection is not stored under a name
        writer = PageWriter(storage, pages())
        return DiskPages(writer.finish(self.layout, None), storage, writer)

    def visit(self) -> Iterator[tuple[slice, kernels.Page]]:
        return ((page.rows, native) for page, native in self.reader.visit(0))

    @property
    def row_ranges(self) -> list[slice]:
        return [file.rows for file in self.stored.files]

    @property
    def list_bytes(self) -> int:
        return 0

    def read(self) -> Iterator[Page]:
        shape = self.layout.n_groups, -1, self.layout.stride
        for file in self.stored.files:
            memory = np.empty(self.layout.n_groups * file.n_rows * self.layout.stride, dtype=np.uint8)
            yield Page(self.stored.read(file, memory, check=True).reshape(shape), file.first_row)

    @property
    def fit_memory(self) -> bool:
        """Whether all pages may be in memory at the same time."""
        return self.storage.resident_bytes is None

    def open(self, first_row: int) -> list[kernels.Page]:
        if not self.fit_memory:
            raise TypeError("pages in files are not in memory at the same time: use visit()")
        return [native for _, native in self.reader.visit(first_row)]


def _key(table: Table, binning: Binning, rows: np.ndarray | None, first_row: int, execution: Execution) -> str:
    """Return a digest of the features of some rows of a table, and of their bins."""
    digest = hashlib.sha256(table.digest(first_row, execution))
    digest.update(binning.cuts.tobytes() + binning.begin.tobytes())
    digest.update(b"all" if rows is None else np.ascontiguousarray(rows, dtype=np.int64).data)
    return digest.hexdigest()[:32]


Built = tuple[Page, np.ndarray, np.ndarray]  # page; features with missing values; features that overlap in a bundle


def _agree(columns: ColumnLayout, n_rows: int, execution: Execution) -> ColumnLayout:
    """Return the layout of the partition with the most rows, for all partitions. Sums and models do not depend on it."""
    return max(execution.collective.gather_objects((n_rows, columns)), key=lambda pair: pair[0])[1]


def _build(table: Table, layout: BinLayout, rows: np.ndarray | slice | None, execution: Execution) -> Built:
    if isinstance(table, SparseTable):
        if isinstance(rows, slice) or (rows is not None and not layout.columns.any_lists):
            return _build_sparse(table.take(rows), layout, None, execution)
        return _build_sparse(table, layout, rows, execution)
    return (_build_plain if layout.columns.is_plain else _build_bundled)(table, layout, rows, execution)


def _build_plain(table: Table, layout: BinLayout, rows: np.ndarray | slice | None, execution: Execution) -> Built:
    """Build a page in which every feature has its own column."""
    codes, missing, clashes = _empty(table, layout, rows)
    page, cuts = kernels.PageBuffer(codes, layout.width, missing, clashes), layout.binning.native()
    for at, chosen in _blocks(table, rows, 1 << 20):
        for first, last in table.feature_blocks(layout.binning.n_features):
            x = table.read(chosen, first, last)
            kernels.bin_table(x, cuts, page, first_row=at, first_feature=first, n_threads=execution.n_threads)
    return Page(codes), missing, clashes


def _build_bundled(table: Table, layout: BinLayout, rows: np.ndarray | slice | None, execution: Execution) -> Built:
    """Build a page with bundles or row lists."""
    codes, missing, clashes = _empty(table, layout, rows)
    page, lists, native = kernels.PageBuffer(codes, layout.width, missing, clashes), [], layout.columns.native
    assert native is not None
    for at, chosen in _blocks(table, rows, max(1, BLOCK_BYTES // layout.binning.n_features)):
        bins = bin_rows(table, layout.binning, chosen, missing, execution)
        lists.append(kernels.store_rows(bins, native, page, first_row=at, n_threads=execution.n_threads))
    if not layout.columns.any_lists:
        return Page(codes), missing, clashes
    return Page(codes, 0, _join_lists([own for own, _ in lists], [bins for _, bins in lists])), missing, clashes


def _build_sparse(table: SparseTable, layout: BinLayout, rows: np.ndarray | None, execution: Execution) -> Built:
    """Build a page of a sparse table, without a dense copy."""
    codes, missing, clashes = _empty(table, layout, None)
    native = kernels.ColumnLayout(layout.columns.missing_bins, layout.columns.column, layout.columns.default_bin)
    page = kernels.PageBuffer(codes, layout.width, missing, clashes)
    lists = table.native.store(layout.binning.native(), native, page, execution.n_threads)
    if table.implicit_missing and table.n_rows:
        missing |= table.occupancy() < 1
    whole = Page(codes, 0, lists if layout.columns.any_lists else None)
    return whole if rows is None else whole.take(rows), missing, clashes


def _empty(table: Table, layout: BinLayout, rows: np.ndarray | slice | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return zeros for the codes of a page, for features with missing values, and for features that overlap in a bundle."""
    n_rows = table.n_rows if rows is None else rows.stop - rows.start if isinstance(rows, slice) else len(rows)
    missing, clashes = np.zeros((2, layout.binning.n_features), dtype=np.uint8)
    return _aligned_zeros(layout.n_groups, n_rows, layout.stride), missing, clashes


def _blocks(table: Table, rows: np.ndarray | slice | None, step: int) -> Iterator[tuple[int, slice | np.ndarray]]:
    """Yield blocks of the rows to bin: the position of the first row, and the rows."""
    if isinstance(rows, slice):
        step = min(step, ROWS_AT_ONCE)
        yield from ((a - rows.start, slice(a, min(a + step, rows.stop))) for a in range(rows.start, rows.stop, step))
        return
    if rows is not None:
        step = min(step, CHOSEN_ROWS)
        yield from ((a, rows[a : a + step]) for a in range(0, len(rows), step))
        return
    for block in table.row_blocks():
        yield from ((a, slice(a, min(a + step, block.stop))) for a in range(block.start, block.stop, step))


def _join_lists(lengths: list[np.ndarray], bins: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the begin of the list of each row and the concatenated bins, from blocks of rows."""
    begin = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(np.concatenate([NO_ROWS, *lengths]), dtype=np.int64)])
    if begin[-1] >= 1 << 32:
        raise ValueError(f"X has {begin[-1]} values in row lists; a page holds at most {(1 << 32) - 1}")
    return begin.astype(np.uint32), np.concatenate([NO_ROWS, *bins])


def _aligned_zeros(n_groups: int, n_rows: int, stride: int) -> np.ndarray:
    """Return zeros aligned to cache lines, so that the bins of a row are in one line."""
    size = n_groups * n_rows * stride
    memory = np.empty(size + 64, dtype=np.uint8)  # NumPy asks for huge pages for large arrays, but not for zeros
    memory.fill(0)
    offset = -memory.ctypes.data % 64
    return memory[offset : offset + size].reshape(n_groups, n_rows, stride)
