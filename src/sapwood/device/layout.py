"""Bin layout on a device: where features are stored, and which columns a work-group adds to a histogram."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.data.layout import BinLayout
from sapwood.device.devices import DeviceError
from sapwood.device.opencl import Device
from sapwood.runtime import kernels

COLUMN_BYTES = 264 * 8  # of a column in the table of a work-group, for each word of a cell: COLUMN_CELLS of common.cl
SIDE_CODES = 257  # codes of a column, and the default bin


class DeviceLayout:
    """Layout of binned rows, for the kernels of a device."""

    layout: BinLayout
    native: kernels.BinLayout
    device: Device
    n_cells: int
    lists_begin: int
    n_columns: int

    def __init__(self, layout: BinLayout, device: Device) -> None:
        native = layout.native
        self.layout, self.native, self.device = layout, native, device
        column_begin = native.column_begin  # (n_columns + 1,) uint32
        self.n_cells, self.lists_begin, self.n_columns = native.n_cells, int(column_begin[-1]), layout.columns.n_columns
        self.n_list_bins: int = self.n_cells - self.lists_begin
        self.jobs: np.ndarray = np.zeros((native.n_features, 4), dtype=np.uint32)  # by feature: column, first stored bin, number of them
        self.jobs[:, :3] = native.storage[:, [0, 2, 3]]
        self.column_begin: Any = device.allocate(column_begin.nbytes)
        device.send(self.column_begin, column_begin)
        self._blocks: dict[int, tuple[Any, int, int]] = {}

    @property
    def bin_bytes(self) -> int:
        """Bytes of the bins of a row on the device, without row lists: by row for histograms, by column for splits."""
        return self.layout.n_groups * self.layout.stride + self.n_columns

    def blocks(self, table_words: int) -> tuple[Any, int, int]:
        """Return the blocks of columns of a work-group whose table has this many words in a cell: buffer, number, bytes of the table."""
        if table_words not in self._blocks:
            self._blocks[table_words] = self._make_blocks(COLUMN_BYTES * table_words)
        return self._blocks[table_words]

    def _make_blocks(self, column_bytes: int) -> tuple[Any, int, int]:
        device, width = self.device, self.layout.width
        most = device.options.local_memory_bytes // column_bytes // 4 * 4
        if most == 0:
            need = f"{4 * column_bytes:,} bytes of local memory, and has {device.options.local_memory_bytes:,}"
            raise DeviceError(f"device {device.info}: too small: a histogram needs {need}")
        blocks = []
        for group in range(self.layout.n_groups):
            n_columns = min(width, self.n_columns - group * width)
            step = -(-n_columns // -(-n_columns // most) // 4) * 4  # blocks of about the same size
            blocks += [(group, a, min(step, n_columns - a), group * width + a) for a in range(0, n_columns, step)]
        table = np.array(blocks, dtype=np.uint32).reshape(-1, 4)
        buffer = device.allocate(table.nbytes)
        device.send(buffer, table)
        return buffer, len(table), -(-int(table[:, 2].max(initial=4)) // 4) * 4 * column_bytes

    def sides(self, feature: int, bin: int, missing_left: bool) -> np.ndarray:
        """Return the sides of a split, (SIDE_CODES,) uint8: see `kernels.SplitBatch.sides`."""
        return kernels.RowPartition.sides(self.native, feature, bin, missing_left)
