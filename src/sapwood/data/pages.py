"""Binned rows, and what a growing tree asks of them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from sapwood import kernels
from sapwood.data.binning import Binning
from sapwood.data.tables import Table

GROUP_FEATURES = 64  # features side by side in a row of bins: one cache line
HISTOGRAM_BYTES = 1 << 30  # kept for nodes that may still be split; past it the least promising are counted anew


class Pages:
    """A list of pages of bins that together are one table.

    A page is an (n_groups, n_rows, stride) uint8 array: features lie in groups, and the bins of a row in a group side by side. Row ids are
    counted through all pages.
    """

    def __init__(self, binning: Binning, pages: list[np.ndarray], missing: np.ndarray, width: int) -> None:
        self.binning = binning
        self.pages = pages
        self.missing = missing  # (n_features,) uint8: has missing values
        self.width = width
        self.n_rows = sum(page.shape[1] for page in pages)

    @classmethod
    def build(cls, table: Table, binning: Binning, n_threads: int) -> Pages:
        """Bin a table into one page."""
        n_groups = -(-binning.n_features // GROUP_FEATURES)
        width = -(-binning.n_features // n_groups)
        stride = max(4, 1 << (width - 1).bit_length())
        page = _aligned_zeros(n_groups, table.n_rows, stride)
        missing = np.zeros(binning.n_features, dtype=np.uint8)
        for first, last in table.runs(binning.n_features):
            for rows in table.row_blocks():
                for block in _slices(rows, 1 << 20):
                    kernels.bin_table(
                        table.read(block, first, last),
                        first,
                        binning.cuts,
                        binning.begin,
                        page.reshape(-1),
                        table.n_rows,
                        block.start,
                        width,
                        stride,
                        missing,
                        n_threads,
                    )
        return cls(binning, [page], missing, width)

    def take(self, rows: np.ndarray) -> Pages:
        """Some of the rows, in ascending order, in one page."""
        starts = np.cumsum([0] + [page.shape[1] for page in self.pages])
        parts = [page[:, rows[(rows >= a) & (rows < b)] - a] for page, (a, b) in zip(self.pages, pairwise(starts), strict=True)]
        return Pages(self.binning, [np.concatenate(parts, axis=1)], self.missing, self.width)

    def cut(self, n_pages: int) -> Pages:
        """The same rows in several pages."""
        pages = [np.ascontiguousarray(part) for page in self.pages for part in np.array_split(page, n_pages, axis=1)]
        return Pages(self.binning, pages, self.missing, self.width)

    def workspace(self, n_threads: int) -> kernels.Workspace:
        """The native state in which trees grow on these rows."""
        n_bins = (np.diff(self.binning.begin) + 1 + self.missing).astype(np.int32)
        return kernels.Workspace(
            n_bins,
            self.missing,
            self.binning.missing_bins,
            self.width,
            self.pages[0].shape[2],
            [page.reshape(-1) for page in self.pages],
            [page.shape[1] for page in self.pages],
            n_threads,
            HISTOGRAM_BYTES,
        )


def _slices(rows: slice, step: int) -> list[slice]:
    return [slice(a, min(a + step, rows.stop)) for a in range(rows.start, rows.stop, step)]


def _aligned_zeros(n_groups: int, n_rows: int, stride: int) -> np.ndarray:
    """Zeros that begin on a cache line, so that a row of bins never straddles two."""
    size = n_groups * n_rows * stride
    memory = np.empty(size + 64, dtype=np.uint8)  # NumPy asks for huge pages for large arrays, but not for zeros
    memory.fill(0)
    offset = -memory.ctypes.data % 64
    return memory[offset : offset + size].reshape(n_groups, n_rows, stride)
