"""Rows on a device against the native RowPartition: the same sums, the same leaves."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sapwood.data.binning import Binning
from sapwood.data.pages import Page, Pages
from sapwood.data.tables import ArrayTable
from sapwood.device.opencl import open_device
from sapwood.device.partition import DevicePartition
from sapwood.device.rows import DeviceBins
from sapwood.runtime import kernels
from sapwood.runtime.execution import SERIAL
from sapwood.trees.gradients import NARROW, SINGLE, WIDE

N_ROWS = 21_000


@pytest.fixture(scope="module")
def pages():
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=N_ROWS), rng.integers(0, 3, N_ROWS), np.zeros(N_ROWS), rng.normal(size=N_ROWS)])
    x[::11, 3] = np.nan
    return Pages.build(ArrayTable(x), Binning.fit(ArrayTable(x), 255, None, None, 0, SERIAL), SERIAL)


def gradients(mode, largest=False):
    rng = np.random.default_rng(1)
    g = rng.integers(-kernels.MAX_GRADIENT, kernels.MAX_GRADIENT, N_ROWS, endpoint=True).astype(np.int32)
    h = rng.integers(0, kernels.MAX_HESSIAN, N_ROWS, endpoint=True).astype(np.uint32)
    if largest:
        g[:], h[:] = kernels.MAX_GRADIENT, kernels.MAX_HESSIAN
    return g.view(np.uint8) if mode == SINGLE else np.column_stack([g.view(np.uint32), h]).view(np.uint8).reshape(-1)


def grown(partition, pages, data, mode, sample, leaf_size, n_splits=9):
    """All results of a partition while a tree is grown."""
    format = kernels.HistogramFormat(mode, 20, 5 if mode != NARROW else 0, 6 if mode == WIDE else 0)
    search = kernels.SplitSearch(pages.layout.native, 1, 1 << 24)
    settings = kernels.TreeSettings(format, kernels.SplitRules(), 0, 7)
    results = [partition.start(data.copy(), format, 7, sample)]
    batch = search.start(results[0], settings)
    gains = {}
    for step in range(n_splits):
        results.append(partition.apply(batch))
        search.take(batch, results[-1])
        first, new = search.best(batch)
        gains |= {first + i: gain for i, gain in enumerate(new) if gain > 0}
        if step == n_splits - 1:
            break
        chosen = sorted(gains, key=gains.get)[-2:]
        for node in chosen:
            del gains[node]
        results.append(partition.split_sums(chosen[0], 3, 100, bool(step % 2)))
        batch = search.begin(chosen, True)
    leaves = search.grown(1.0).leaves
    of_row = np.zeros(pages.n_rows * leaf_size, dtype=np.uint8)
    return [*results, partition.leaf_sums(leaves, of_row, leaf_size), of_row]


@pytest.mark.parametrize(("mode", "leaf_size"), [(SINGLE, 1), (WIDE, 2), (NARROW, 4)])
@pytest.mark.parametrize("first_row", [0, (1 << 32) - 5_000])
@pytest.mark.parametrize("sampled", [False, True])
def test_the_same_sums_and_leaves(mode, leaf_size, first_row, sampled, pages, device, variant):
    """Beyond 2^32, the random bits of rows have another key."""
    sample = np.flatnonzero(np.random.default_rng(2).random(N_ROWS) < 0.5) + first_row if sampled else None
    native = kernels.RowPartition(pages.layout.native, pages.open(first_row), 1)
    there = DevicePartition(pages, first_row, open_device(device))
    for expected, result in zip(
        grown(native, pages, gradients(mode), mode, sample, leaf_size),
        grown(there, pages, gradients(mode), mode, sample, leaf_size),
        strict=True,
    ):
        assert_array_equal(result, expected)


@pytest.mark.parametrize("mode", [SINGLE, WIDE, NARROW])
def test_the_largest_gradients_do_not_overflow(mode, pages, device, variant):
    """All rows are in one bin of the third feature: its sum is spilled several times."""
    native = kernels.RowPartition(pages.layout.native, pages.open(0), 1)
    there = DevicePartition(pages, 0, open_device(device))
    results = [grown(one, pages, gradients(mode, largest=True), mode, None, 1, n_splits=1) for one in (native, there)]
    for expected, result in zip(*results, strict=True):
        assert_array_equal(result, expected)


def test_small_local_memory_takes_blocks_of_columns(device, options):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N_ROWS, 70))
    pages = Pages.build(ArrayTable(x), Binning.fit(ArrayTable(x), 255, None, None, 0, SERIAL), SERIAL)
    native = kernels.RowPartition(pages.layout.native, pages.open(0), 1)
    options(local_memory_bytes=1 << 15, group_size=64)
    there = DevicePartition(pages, 0, open_device(device))
    assert there.layout.blocks(1)[1] == 6  # two groups of 35 columns, at most 12 columns in a block
    for expected, result in zip(*(grown(one, pages, gradients(NARROW), NARROW, None, 1, 3) for one in (native, there)), strict=True):
        assert_array_equal(result, expected)


def test_bins_out_of_range_are_refused(pages, device):
    codes = pages.pages[0].codes.copy()
    codes[0, 77, 2] = 255
    with pytest.raises(ValueError, match="a page holds a bin that its feature does not have"):
        DevicePartition(Pages(pages.layout, [Page(codes)]), 0, open_device(device))


def test_bins_out_of_range_index_no_memory(pages, device, variant):
    """Even if they were not checked: the table of a work-group has a cell for each code, and only those of the feature are moved."""
    there = DevicePartition(pages, 0, open_device(device))
    there.blocks[0][1].bins = DeviceBins.send(Page(np.full_like(pages.pages[0].codes, 255)), there.layout)
    sums, words, *_ = grown(there, pages, gradients(WIDE), WIDE, None, 1, n_splits=1)
    begin = pages.layout.native.column_begin
    assert sums[2] == N_ROWS
    assert not words[2 * begin[1] : 2 * begin[3]].any()  # the second and third features have fewer bins


def test_no_rows(pages, device):
    none = pages.take(np.empty(0, dtype=np.int64))
    results = grown(DevicePartition(none, 0, open_device(device)), none, np.empty(0, dtype=np.uint8), WIDE, None, 1, n_splits=1)
    assert not any(result.any() for result in results)
