"""Rows of one page on a device, by the node of a growing tree that each is in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sapwood.data.pages import Page
from sapwood.device.layout import SIDE_CODES, DeviceLayout
from sapwood.device.opencl import Device, GrowingBuffer
from sapwood.runtime import kernels

WIDE = 1  # a mode of kernels.HistogramFormat
LISTED, LEAF = 2, 0xFFFFFFFF  # of rows.cl
FORMAT = np.dtype([("count_bits", np.int32), ("gradient_shift", np.int32), ("hessian_shift", np.int32)])
CHUNK_ROWS = 4096  # rows that a work-group splits or sums
COPY_ROWS = 256  # rows that a work-group copies by columns: they stay in its cache
PART_ROWS = 4095  # rows of a part of a histogram, at least: BLOCK_ROWS of common.cl
CHUNK_WORDS = 2048  # words of histograms that a work-group sums
PART_BYTES = 1 << 26  # of the parts of histograms, unless there is one for each histogram
NO_PLACES = np.empty((0, 2), dtype=np.uint32)
MIX, MASK32, MASK64 = 0x9E3779B97F4A7C15, 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF


@dataclass(frozen=True)
class TreeFormat:
    """Format of the gradients and histograms of a tree, for the kernels."""

    mode: int
    scalars: np.void

    @classmethod
    def of(cls, format: kernels.HistogramFormat) -> TreeFormat:
        scalars = np.zeros(1, dtype=FORMAT)
        scalars[0] = format.count_bits, format.gradient_shift, format.hessian_shift
        return cls(format.gradients, scalars[0])

    @property
    def table_words(self) -> int:
        """Words of a cell in the table of a work-group."""
        return 2 if self.mode == WIDE else 1


@dataclass(frozen=True)
class Splits:
    """Splits of some nodes.

    Attributes
    ----------
    nodes : nodes to split
    jobs : (n_splits, 4) uint32: column, first stored bin and number of stored bins of the feature of each
    sides : (n_splits, SIDE_CODES) uint8: whether rows go left
    """

    nodes: np.ndarray
    jobs: np.ndarray
    sides: np.ndarray


@dataclass
class DeviceBins:
    """Bins of a page on a device.

    Attributes
    ----------
    codes : (n_groups, n_rows, stride) uint8
    columns : (n_columns, n_rows) uint8: the same by column
    list_begin, list_bins : row lists; one word if there are none
    """

    codes: Any
    columns: Any
    list_begin: Any
    list_bins: Any

    @classmethod
    def send(cls, page: Page, layout: DeviceLayout) -> DeviceBins:
        """Copy the bins of a page to the device."""
        device, n_columns, n_rows = layout.device, layout.n_columns, page.n_rows
        codes = np.ascontiguousarray(page.codes)
        lists = page.lists or (np.zeros(1, dtype=np.uint32), np.zeros(1, dtype=np.uint32))
        buffers = [device.allocate(size) for size in (codes.nbytes, n_columns * n_rows, lists[0].nbytes, lists[1].nbytes)]
        bins = cls(*buffers)
        for buffer, data in (bins.codes, codes), (bins.list_begin, lists[0]), (bins.list_bins, lists[1]):
            device.send(buffer, data)
            device.transfers.bins += data.nbytes
        if n_rows and n_columns:
            numbers = [np.uint32(x) for x in (COPY_ROWS, layout.layout.width, layout.layout.stride, n_columns)]
            device.run(WIDE, "copy_columns", -(-n_rows // COPY_ROWS), bins.codes, np.uint64(n_rows), *numbers, bins.columns)
        return bins


class DeviceScratch:
    """Buffers of one step, shared by the pages of a device: pages are visited one after the other."""

    def __init__(self, device: Device) -> None:
        self.tables: GrowingBuffer = GrowingBuffer(device)  # chunks and splits, read by several kernels
        self.more: GrowingBuffer = GrowingBuffer(device)  # places and parts
        self.left: GrowingBuffer = GrowingBuffer(device)  # side of each row
        self.parts: GrowingBuffer = GrowingBuffer(device)  # of histograms
        self.results: GrowingBuffer = GrowingBuffer(device)


class DeviceRows:
    """Rows of a page by node.

    Row lists and gradients stay on the device for the whole fit. Every node has a range of positions in one of two row lists; the rows of
    its children are in the same range of the other one, those of the left child first, in their order.

    Attributes
    ----------
    bins : the bins of the page; None while they are not on the device
    """

    n_rows: int
    first_row: int
    layout: DeviceLayout
    device: Device
    scratch: DeviceScratch
    bins: DeviceBins | None = None
    format: TreeFormat
    sampled: bool
    begin: list[int]
    end: list[int]
    buffer: list[int]

    def __init__(self, n_rows: int, first_row: int, layout: DeviceLayout, scratch: DeviceScratch) -> None:
        self.n_rows, self.first_row, self.layout, self.device, self.scratch = n_rows, first_row, layout, layout.device, scratch
        self.rows: list[Any] = [self.device.allocate(4 * n_rows) for _ in range(2)]
        self.gradients: list[GrowingBuffer] = [GrowingBuffer(self.device) for _ in range(2)]
        self.leaves: GrowingBuffer = GrowingBuffer(self.device)

    def start(self, gradients: np.ndarray, format: TreeFormat, key: int, sample: np.ndarray | None) -> np.ndarray:
        """Begin a tree on all rows, or on a sample of their ids. Return the sums of its rows: gradient, hessian, count."""
        self.format, self.sampled = format, sample is not None
        n = self.n_rows if sample is None else len(sample)
        buffer = int(self.sampled)
        # Of each node: begin and end of its rows, and the number of their buffer, with LISTED unless the rows are all rows.
        self.begin, self.end, self.buffer = [0], [n], [buffer | LISTED * self.sampled]
        self.children: list[tuple[int, int]] = [(-1, -1)]
        self.splits: dict[int, tuple[np.ndarray, np.ndarray]] = {}  # by node: storage and sides
        given = self.gradients[0].sent(gradients)
        root = self.gradients[1].of(len(gradients)) if self.sampled else given
        if not self.sampled:
            self.gradients[1].of(len(gradients))
        if n == 0:
            return np.zeros(3, dtype=np.int64)
        rows = given if sample is None else self.scratch.tables.sent((sample - self.first_row).astype(np.uint32))
        n_chunks = -(-n // CHUNK_ROWS)
        sums = self.scratch.results.of(16 * n_chunks)
        # The ids of a page pass a multiple of 2^32 once at most: rows from there on have another key.
        passing = min((1 << 32) - (self.first_row & MASK32), MASK32)
        keys = [_row_key(key, self.first_row >> 32), _row_key(key, (self.first_row >> 32) + 1)]
        numbers = [np.uint32(x) for x in (self.first_row & MASK32, *keys, passing)]
        sizes = [np.uint32(x) for x in (self.sampled, n, CHUNK_ROWS)]
        self._run("start_rows", n_chunks, given, rows, *sizes, format.scalars, *numbers, self.rows[1], root, sums)
        total = self.device.receive(sums, np.empty((n_chunks, 2), dtype=np.int64)).sum(axis=0)
        return np.array([*total, n], dtype=np.int64)

    def apply(self, splits: Splits, first: int, histograms: np.ndarray, words: np.ndarray) -> None:
        """Split nodes, then build histograms of nodes.

        Parameters
        ----------
        first : the children of split i are the nodes first + 2 i (left) and first + 2 i + 1
        words : (n_histograms, n_words) int64: the histograms are written here
        """
        places = self._place(splits, first)
        for part in self._histogram_batches(*words.shape):
            self._step(places, histograms[part], words[part])
            places = NO_PLACES

    def count(self, node: int) -> int:
        """Return the number of rows of a node."""
        return self.end[node] - self.begin[node]

    def split_sums(self, node: int, job: np.ndarray, sides: np.ndarray) -> np.ndarray:
        """Return gradient, hessian and count of the rows that a split would send left, and of all rows of the node, (2, 3) int64."""
        chunks, n_left = self._find_sides(Splits(np.array([node]), job[None], sides[None]))
        if not len(chunks):
            return np.zeros((2, 3), dtype=np.int64)
        sums = self.scratch.results.of(32 * len(chunks))
        self._run(
            "sum_sides", len(chunks), self.scratch.tables.native, self.scratch.left.native, *self._gradients(), self.format.scalars, sums
        )
        total = self.device.receive(sums, np.empty((len(chunks), 2, 2), dtype=np.int64)).sum(axis=0)
        return np.column_stack([total, [int(n_left.sum()), self.count(node)]]).astype(np.int64)

    def leaf_sums(self, leaves: np.ndarray, leaf_of_row: np.ndarray, leaf_size: int) -> np.ndarray:
        """Return the exact sums of gradients, hessians and rows of leaves, (3, n_leaves) int64. Write the leaf of each row."""
        total = np.zeros((3, len(leaves)), dtype=np.int64)
        total[2] = [self.count(leaf) for leaf in leaves]
        if self.n_rows == 0:
            return total
        of_row = self.leaves.of(self.n_rows * leaf_size)
        chunks = self._chunks(leaves, CHUNK_ROWS)
        if len(chunks):
            tables = self.scratch.tables.sent(chunks)
            sums = self.scratch.results.of(16 * len(chunks))
            sizes = np.uint32(self.sampled), np.uint32(leaf_size)
            self._run("sum_leaves", len(chunks), tables, *self.rows, *self._gradients(), *sizes, of_row, sums)
            of_chunks = self.device.receive(sums, np.empty((len(chunks), 2), dtype=np.int64))
            np.add.at(total[0], chunks[:, 2], of_chunks[:, 0])
            np.add.at(total[1], chunks[:, 2], of_chunks[:, 1])
        if self.sampled:
            self._find_leaves(leaves, leaf_size, of_row)
        self.device.receive(of_row, leaf_of_row)
        return total

    # Steps

    def _place(self, splits: Splits, first: int) -> np.ndarray:
        """Find the side of each row of nodes, and set the ranges of the children. Return where the rows of each chunk go."""
        if not len(splits.nodes):
            return NO_PLACES
        chunks, n_left = self._find_sides(splits)
        owner = chunks[:, 2]
        left_counts = np.bincount(owner, n_left, len(splits.nodes)).astype(np.int64)
        for i, node in enumerate(splits.nodes.tolist()):
            begin, end, middle = self.begin[node], self.end[node], self.begin[node] + int(left_counts[i])
            self.begin += [begin, middle]
            self.end += [middle, end]
            self.buffer += [1 - (self.buffer[node] & 1) | LISTED] * 2
            self.children[node] = first + 2 * i, first + 2 * i + 1
            self.children += [(-1, -1)] * 2
            if self.sampled:
                self.splits[node] = splits.jobs[i], splits.sides[i]
        # Rows before a chunk in its node, on the left and on the right.
        before = np.cumsum(np.column_stack([n_left, chunks[:, 1] - n_left]).astype(np.int64), axis=0)
        before = np.concatenate([np.zeros((1, 2), dtype=np.int64), before])
        starts = np.searchsorted(owner, np.arange(len(splits.nodes)))
        begins = np.array([[self.begin[first + 2 * i], self.begin[first + 2 * i + 1]] for i in range(len(splits.nodes))])
        return (before[:-1] - before[starts][owner] + begins[owner]).astype(np.uint32)

    def _find_sides(self, splits: Splits) -> tuple[np.ndarray, np.ndarray]:
        """Find the side of each row of nodes. Return the chunks of rows, and the number of rows on the left of each."""
        chunks = self._chunks(splits.nodes, CHUNK_ROWS)
        if not len(chunks):
            return chunks, np.zeros(0, dtype=np.uint32)
        tables, (_, jobs_at, sides_at) = _join(chunks, splits.jobs, splits.sides)
        bins, step = self._bins, self.scratch.tables.sent(tables)
        left, n_left = self.scratch.left.of(self.n_rows), self.scratch.results.of(4 * len(chunks))
        columns = bins.columns, np.uint64(self.n_rows), bins.list_begin, bins.list_bins
        self._run("decide", len(chunks), step, jobs_at, sides_at, *self.rows, *columns, left, n_left)
        return chunks, self.device.receive(n_left, np.empty(len(chunks), dtype=np.uint32))

    def _histogram_batches(self, n_histograms: int, n_words: int) -> list[slice]:
        """Return the histograms that are built at once, at least one batch: few, if they are large."""
        at_once = max(1, PART_BYTES // max(1, 16 * n_words))
        return [slice(a, min(a + at_once, n_histograms)) for a in range(0, max(1, n_histograms), at_once)]

    def _step(self, places: np.ndarray, nodes: np.ndarray, words: np.ndarray) -> None:
        """Move the rows of split nodes, whose sides were found, then build histograms. All tables are sent at once."""
        counts = np.array([self.count(node) for node in nodes], dtype=np.int64)
        chunks, part_begin = self._parts(nodes, counts, words.shape[1])
        if not len(places) and not len(nodes):
            return
        tables, (_, chunks_at, begin_at) = _join(places, chunks, part_begin)
        step = self.scratch.more.sent(tables)
        if len(places):
            self._run("move_rows", len(places), self.scratch.tables.native, step, self.scratch.left.native, *self.rows, *self._gradients())
        if len(nodes):
            self._build(step, chunks_at, begin_at, len(chunks), words)

    def _build(self, step: Any, chunks_at: np.uint32, begin_at: np.uint32, n_parts: int, words: np.ndarray) -> None:
        """Build histograms, in parts that are summed at the end."""
        n_words, layout, format = words.shape[1], self.layout, self.format
        blocks, n_blocks, table_bytes = layout.blocks(format.table_words)
        parts = self.scratch.parts.of(n_parts * n_words * 8)
        bins, sums = self._bins, (format.scalars, np.uint64(n_words), parts)
        rows = *self.rows, *self._gradients()
        if n_parts and n_blocks:
            codes = bins.codes, np.uint64(self.n_rows), np.uint32(layout.layout.stride), layout.column_begin
            table = self.device.local_memory(table_bytes)
            self._run("add_columns", (n_parts, n_blocks), step, chunks_at, blocks, *rows, *codes, *sums, table)
        if n_parts and layout.n_list_bins:
            lists = bins.list_begin, bins.list_bins, np.uint32(layout.lists_begin), np.uint32(layout.n_list_bins)
            self._run("add_lists", n_parts, step, chunks_at, *rows, *lists, *sums)
        results = self.scratch.results.of(words.nbytes)
        groups = -(-n_words // CHUNK_WORDS), len(words)
        self._run("sum_parts", groups, step, begin_at, parts, np.uint64(n_words), np.uint32(CHUNK_WORDS), results)
        self.device.receive(results, words)

    def _parts(self, nodes: np.ndarray, counts: np.ndarray, n_words: int) -> tuple[np.ndarray, np.ndarray]:
        """Divide the rows of nodes into parts of histograms. Return the rows of each part, and the first part of each histogram."""
        units, n_blocks = self.device.info.compute_units, max(1, self.layout.blocks(self.format.table_words)[1])
        most = 2 * units if self.device.options.group_size == 1 else max(1, 8 * units // n_blocks)
        most = max(1, min(most, PART_BYTES // max(1, 8 * n_words * len(nodes))))
        n_parts = np.minimum(-(-counts // PART_ROWS), most)
        chunks = self._chunks(nodes, -(-counts // np.maximum(1, n_parts)))
        part_begin = np.searchsorted(chunks[:, 2], np.arange(len(nodes) + 1)).astype(np.uint32)
        chunks[:, 2] = np.arange(len(chunks))
        return chunks, part_begin

    def _find_leaves(self, leaves: np.ndarray, leaf_size: int, of_row: Any) -> None:
        """Find the leaf of each row, in the sample or not."""
        n_nodes = len(self.children)
        jobs, sides = np.zeros((n_nodes, 4), dtype=np.uint32), np.zeros((n_nodes, SIDE_CODES), dtype=np.uint8)
        children = np.array(self.children, dtype=np.int64)
        children[:, 0] = np.where(children[:, 0] < 0, LEAF, children[:, 0])
        children[leaves, 1] = np.arange(len(leaves))
        for node, (job, of_node) in self.splits.items():
            jobs[node], sides[node] = job, of_node
        tables, (_, jobs_at, sides_at) = _join(children.astype(np.uint32), jobs, sides)
        step, bins = self.scratch.tables.sent(tables), self._bins
        n_chunks = -(-self.n_rows // CHUNK_ROWS)
        columns = bins.columns, np.uint64(self.n_rows), np.uint32(CHUNK_ROWS), bins.list_begin, bins.list_bins
        self._run("find_leaves", n_chunks, step, jobs_at, sides_at, *columns, np.uint32(leaf_size), of_row)

    # Arguments of kernels

    @property
    def _bins(self) -> DeviceBins:
        assert self.bins is not None
        return self.bins

    def _gradients(self) -> tuple[Any, Any]:
        return self.gradients[0].native, self.gradients[1].native

    def _run(self, name: str, n_groups: int | tuple[int, int], *args: Any) -> None:
        self.device.run(self.format.mode, name, n_groups, *args)

    def _chunks(self, nodes: np.ndarray, size: int | np.ndarray) -> np.ndarray:
        """Cut the rows of nodes into chunks of at most `size` rows: begin, number of rows, index of the node, buffer, (n, 4) uint32."""
        begin, end, buffer = (np.array([column[node] for node in nodes], dtype=np.int64) for column in (self.begin, self.end, self.buffer))
        steps = np.broadcast_to(np.maximum(1, size), begin.shape)
        n_chunks = -(-(end - begin) // steps)
        owner = np.repeat(np.arange(len(nodes)), n_chunks)
        number = np.arange(len(owner)) - np.repeat(np.cumsum(n_chunks) - n_chunks, n_chunks)
        first = begin[owner] + number * steps[owner]
        n = np.minimum(steps[owner], end[owner] - first)
        return np.column_stack([first, n, owner, buffer[owner]]).astype(np.uint32)


def _join(*tables: np.ndarray) -> tuple[np.ndarray, list[np.uint32]]:
    """Join tables to one array of bytes. Return it, and where each table begins, in words of 4 bytes; a multiple of 4."""
    pieces, begin, at = [], [], 0
    for table in tables:
        data = np.ascontiguousarray(table).reshape(-1).view(np.uint8)
        begin.append(np.uint32(at // 4))
        pieces += [data, np.zeros(-len(data) % 16, dtype=np.uint8)]
        at += len(data) + len(pieces[-1])
    return np.concatenate(pieces), begin


def _row_key(key: int, upper: int) -> int:
    """Return the key of rows whose ids have this upper half: see src/kernels/core/hash.hpp."""
    x = (key + MIX * upper) & MASK64
    x ^= x >> 30
    x = x * 0xBF58476D1CE4E5B9 & MASK64
    x ^= x >> 27
    x = x * 0x94D049BB133111EB & MASK64
    return ((x ^ (x >> 31)) >> 16) & MASK32
