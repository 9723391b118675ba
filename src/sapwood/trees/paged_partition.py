"""Rows of a growing tree whose bins are in files."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sapwood.data.pages import DiskPages
from sapwood.runtime import kernels


class PagedPartition:
    """Rows by node, in one `kernels.RowPartition` for each page. Every step visits each page once and sums integers over the pages.

    Row lists and gradients stay in memory; the bins of a page are in memory while it is visited.
    """

    def __init__(self, pages: DiskPages, first_row: int, n_threads: int) -> None:
        self.pages, self.first_row, self.sampled = pages, first_row, False
        layout = pages.layout.native
        self.parts: list[tuple[slice, kernels.RowPartition]] = []
        for page in pages.stored.files:
            other = self.parts[0][1] if self.parts else None  # one after the other: they share temporary memory
            self.parts.append((page.rows, kernels.RowPartition(layout, page.n_rows, first_row + page.first_row, n_threads, other)))

    def start(self, gradients: np.ndarray, format: kernels.HistogramFormat, key: int, sample: np.ndarray | None = None) -> np.ndarray:
        self.sampled = sample is not None
        size, total = len(gradients) // max(1, self.pages.n_rows), np.zeros(3, dtype=np.int64)
        for rows, part in self.parts:
            own = None
            if sample is not None:
                own = sample[slice(*np.searchsorted(sample, [self.first_row + rows.start, self.first_row + rows.stop]))]
            total += part.start(gradients[rows.start * size : rows.stop * size], format, key, own)
        return total

    def apply(self, batch: kernels.SplitBatch) -> np.ndarray:
        words = np.zeros(batch.n_results, dtype=np.int64)
        for _, part in self._loaded():
            part.apply_to(batch, words)
        return words

    def split_sums(self, node: int, feature: int, bin: int, missing_left: bool) -> np.ndarray:
        return np.sum([part.split_sums(node, feature, bin, missing_left) for _, part in self._loaded()], axis=0)

    def leaf_sums(self, leaves: np.ndarray, leaf_of_row: np.ndarray, leaf_size: int) -> np.ndarray:
        total = np.zeros((3, len(leaves)), dtype=np.int64)
        for rows, part in self._loaded() if self.sampled else self.parts:
            total += part.leaf_sums(leaves, leaf_of_row[rows.start * leaf_size : rows.stop * leaf_size], leaf_size)
        return total

    def _loaded(self) -> Iterator[tuple[slice, kernels.RowPartition]]:
        """Yield the partition of each page while its bins are in memory."""
        for (rows, part), (_, page) in zip(self.parts, self.pages.reader.visit(self.first_row), strict=True):
            part.load(page)
            yield rows, part
            part.unload()
