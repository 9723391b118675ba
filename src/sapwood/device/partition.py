"""Rows of a growing tree on a device."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sapwood.data.pages import Page, Pages
from sapwood.device.devices import DeviceError
from sapwood.device.layout import DeviceLayout
from sapwood.device.opencl import Device
from sapwood.device.rows import DeviceBins, DeviceRows, DeviceScratch, Splits, TreeFormat
from sapwood.runtime import kernels

ROW_BYTES = 2 * 4 + 2 * 8 + 4 + 1  # of a row, without bins: row lists, gradients, leaf, side
FREE_FRACTION = 0.1  # of the memory, for histograms
MIN_BLOCK_ROWS = 256  # of a block, if it does not hold all rows
MAX_ROWS = 1 << 30  # of a block: kernels number the rows of a block with 32 bits


class DevicePartition:
    """Rows by node, in blocks of rows on a device. Every step visits each block once and sums integers over the blocks.

    Row lists and gradients stay on the device, and bins too if they fit; otherwise the bins of a block are there while it is visited.
    """

    pages: Pages
    first_row: int
    device: Device
    stays: bool
    sampled: bool

    def __init__(self, pages: Pages, first_row: int, device: Device) -> None:
        self.pages, self.first_row, self.device = pages, first_row, device
        self.layout: DeviceLayout = DeviceLayout(pages.layout, device)
        device.transfers.n_rows = pages.n_rows
        block_rows, self.stays = self._plan(pages)
        scratch = DeviceScratch(device)
        self.blocks: list[tuple[slice, DeviceRows]] = []
        for rows in pages.row_ranges:
            for start in range(rows.start, max(rows.stop, rows.start + 1), block_rows):
                own = slice(start, min(start + block_rows, rows.stop))
                self.blocks.append((own, DeviceRows(own.stop - own.start, first_row + start, self.layout, scratch)))
        if self.stays:
            for page, rows, block in self._pieces():
                block.bins = DeviceBins.send(page.take_range(rows), self.layout)
        device.finish()

    def start(self, gradients: np.ndarray, format: kernels.HistogramFormat, key: int, sample: np.ndarray | None = None) -> np.ndarray:
        size, total, form = len(gradients) // max(1, self.pages.n_rows), np.zeros(3, dtype=np.int64), TreeFormat.of(format)
        self.device.transfers.n_trees += 1
        self.sampled = sample is not None
        for rows, block in self.blocks:
            own = None
            if sample is not None:
                own = sample[slice(*np.searchsorted(sample, [self.first_row + rows.start, self.first_row + rows.stop]))]
            total += block.start(gradients[rows.start * size : rows.stop * size], form, key, own)
        return total

    def apply(self, batch: kernels.SplitBatch) -> np.ndarray:
        features, histograms, uncounted = batch.features, batch.histograms, batch.uncounted
        splits = Splits(batch.nodes, self.layout.jobs[features], batch.sides)
        words = np.zeros(batch.n_results, dtype=np.int64)
        n_histogram_words = len(histograms) * batch.n_words
        out = words[:n_histogram_words].reshape(len(histograms), -1) if len(histograms) else words[:0].reshape(0, 0)
        for number, (_, block) in enumerate(self._loaded()):
            own = out if number == 0 else np.empty_like(out)
            block.apply(splits, batch.first, histograms, own)
            if number > 0:
                out += own
            words[n_histogram_words:] += np.array([block.count(node) for node in uncounted], dtype=np.int64)
        return words

    def split_sums(self, node: int, feature: int, bin: int, missing_left: bool) -> np.ndarray:
        job, sides = self.layout.jobs[feature], self.layout.sides(feature, bin, missing_left)
        return np.sum([block.split_sums(node, job, sides) for _, block in self._loaded()], axis=0)

    def leaf_sums(self, leaves: np.ndarray, leaf_of_row: np.ndarray, leaf_size: int) -> np.ndarray:
        total = np.zeros((3, len(leaves)), dtype=np.int64)
        for rows, block in self._loaded() if self.sampled else self.blocks:
            total += block.leaf_sums(leaves, leaf_of_row[rows.start * leaf_size : rows.stop * leaf_size], leaf_size)
        return total

    def _plan(self, pages: Pages) -> tuple[int, bool]:
        """Return the number of rows of a block, and whether all bins stay on the device. Raise a DeviceError if it is too small."""
        info, available = self.device.info, int(self.device.options.memory_bytes * (1 - FREE_FRACTION))
        n_rows, of_rows = pages.n_rows, pages.n_rows * ROW_BYTES
        bin_bytes = self.layout.bin_bytes + -(-pages.list_bytes // max(1, n_rows))  # of a row; row lists: of a mean row
        largest = max(8, pages.layout.n_groups * pages.layout.stride, self.layout.n_columns)  # of a row in one buffer
        fitting = min(MAX_ROWS, info.max_buffer_bytes // largest)
        if of_rows + n_rows * bin_bytes <= available and fitting >= MIN_BLOCK_ROWS:
            return fitting, True
        block_rows = min(fitting, (available - of_rows) // bin_bytes)
        if block_rows < min(n_rows, MIN_BLOCK_ROWS):
            need = of_rows + min(n_rows, MIN_BLOCK_ROWS) * bin_bytes
            raise DeviceError(
                f"device {info}: too small: {n_rows:,} rows need at least {need:,} bytes ({ROW_BYTES} for each row, and the bins of "
                f"{MIN_BLOCK_ROWS} rows), and {available:,} are available"
            )
        return block_rows, False

    def _pieces(self) -> Iterator[tuple[Page, slice, DeviceRows]]:
        """Yield each block with its page and its rows there, one after the other."""
        blocks = iter(self.blocks)
        for page in self.pages.read():
            page.open(self.pages.layout, 0)  # checks all bins and row lists: no kernel reads an index that was not checked
            n_done = 0
            while n_done < max(1, page.n_rows):
                rows, block = next(blocks)
                n_done += max(1, rows.stop - rows.start)
                yield page, slice(rows.start - page.first_row, rows.stop - page.first_row), block

    def _loaded(self) -> Iterator[tuple[slice, DeviceRows]]:
        """Yield each block while its bins are on the device."""
        if self.stays:
            yield from self.blocks
            return
        for (rows, _), (page, own, block) in zip(self.blocks, self._pieces(), strict=True):
            block.bins = DeviceBins.send(page.take_range(own), self.layout)
            yield rows, block
            self.device.finish()
            block.bins = None
