"""Partitions whose page is in memory only between `load` and `unload`: against plain NumPy, and every argument checked."""

import weakref

import numpy as np
import pytest

from sapwood.runtime.execution import SERIAL
from sapwood.trees.growth import LocalGrower, SummedGrower
from tests.kernels.binned import CUTS, MODES, NARROW, SINGLE, WIDE, Binned, Gradients, Partitions, nodes_of, slices
from tests.kernels.test_bundling import ROW_LIST, Table
from tests.kernels.test_row_partition import Rows, assert_the_same, grow

modes = pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
N = 700


class LoadedPages(Partitions):
    """Several partitions that load their page for each call, and add to the same words."""

    def __init__(self, rows, n_pages, n_threads=1, first_row=0):
        self.source, own = rows, slices(rows.n_rows, n_pages)
        parts, kernels = [], rows.kernels
        for one in own:
            other = parts[0] if parts else None
            parts.append(kernels.RowPartition(rows.layout, one.stop - one.start, first_row + one.start, n_threads, other))
        super().__init__(parts, own, first_row)
        self.sampled = False

    def page(self, rows):
        codes = np.ascontiguousarray(self.source.codes[:, rows])
        return self.source.kernels.Page(self.source.layout, codes.reshape(-1), rows.stop - rows.start, None, self.first_row + rows.start)

    def loaded(self):
        for part, rows in zip(self.parts, self.rows, strict=True):
            part.load(self.page(rows))
            yield part
            part.unload()

    def start(self, gradients, format, key, sample=None):
        self.sampled = sample is not None
        return super().start(gradients, format, key, sample)

    def apply(self, batch):
        words = np.zeros(batch.n_results, dtype=np.int64)
        for part in self.loaded():
            part.apply_to(batch, words)
        return words

    def split_sums(self, *split):
        return np.sum([part.split_sums(*split) for part in self.loaded()], axis=0)

    def leaf_sums(self, leaves, leaf_of_row, leaf_size):
        if not self.sampled:
            return super().leaf_sums(leaves, leaf_of_row, leaf_size)
        own = [leaf_of_row[rows.start * leaf_size : rows.stop * leaf_size] for rows in self.rows]
        return np.sum([part.leaf_sums(leaves, of_row, leaf_size) for part, of_row in zip(self.loaded(), own, strict=True)], axis=0)


def data(kernels, mode=WIDE, n_rows=N, **more):
    rng = np.random.default_rng(3)
    table = Binned.random(rng, n_rows, 6, most_bins=15)
    return table, Gradients.random(rng, n_rows, mode), Rows.plain(kernels, table, **more)


def summed(rows, n_pages, n_threads=1, first_row=0):
    search = rows.kernels.SplitSearch(rows.layout, n_threads, 1 << 30)
    return SummedGrower(search, LoadedPages(rows, n_pages, n_threads, first_row), SERIAL, first_row)


def goes_left(table, nodes, node):
    """Rows that a split sends left, by NumPy."""
    feature, bins = nodes["feature"][node], table.bins[:, nodes["feature"][node]]
    left = bins <= nodes["bin"][node]
    if table.missing[feature]:
        left = np.where(bins == table.n_bins[feature] - 1, bool(nodes["missing_left"][node]), left)
    return left


@modes
@pytest.mark.parametrize("n_pages", CUTS)
def test_histograms_leaves_and_sums_are_those_of_numpy(kernels, mode, n_pages):
    table, gradients, rows = data(kernels, mode)
    grower = summed(rows, n_pages)
    gradients.start(grower)
    np.testing.assert_array_equal(grower.search.histogram(0), gradients.histogram(table))
    of_row = np.zeros(N, dtype=np.int64)  # node of each row, by NumPy
    for node in (0, 1, 2):
        first, _ = grower.advance([node], True)
        left, own = goes_left(table, nodes_of(grower), node), of_row == node
        of_row[own & left], of_row[own & ~left] = first, first + 1
        for child in (first, first + 1):
            np.testing.assert_array_equal(grower.search.histogram(child), gradients.histogram(table, of_row == child))
    leaves = np.flatnonzero(nodes_of(grower)["left"] < 0)
    out = np.zeros(N, dtype=np.uint8)
    sums = grower.leaf_sums(leaves, out, 1)  # no page is loaded
    np.testing.assert_array_equal(leaves[out], of_row)
    wide = np.stack([gradients.gradient, gradients.hessian, np.ones(N, dtype=np.int64)])
    np.testing.assert_array_equal(sums, np.stack([wide[:, of_row == leaf].sum(axis=1) for leaf in leaves], axis=1))


@modes
@pytest.mark.parametrize("n_pages", [1, 3])
def test_sums_of_a_split_are_those_of_numpy(kernels, mode, n_pages):
    table, gradients, rows = data(kernels, mode)
    grower = summed(rows, n_pages)
    gradients.start(grower)
    gradient, hessian = gradients.seen()
    of_rows = np.stack([gradient, hessian, np.ones(N, dtype=np.int64)], axis=1)
    for missing_left in (False, True):
        got = grower.partition.split_sums(0, 5, 3, missing_left)
        left = goes_left(table, {"feature": [5], "bin": [3], "missing_left": [missing_left]}, 0)
        np.testing.assert_array_equal(got, [of_rows[left].sum(axis=0), of_rows.sum(axis=0)])


@modes
@pytest.mark.parametrize("n_pages", CUTS)
@pytest.mark.parametrize("width", [None, 2])  # one group of columns, several
@pytest.mark.parametrize("sampled", [False, True])
def test_the_tree_is_that_of_pages_in_memory(kernels, mode, n_pages, width, sampled):
    _, gradients, rows = data(kernels, mode, width=width)
    sample = np.flatnonzero(np.random.default_rng(0).random(N) < 0.6) if sampled else None
    how = {"n_splits": 25, "forced": [(0, 5, 2, True)]}
    for n_threads in (1, 3):
        grower = summed(rows, n_pages, n_threads, first_row=0)
        assert_the_same(grow(rows.local(), gradients, sample=sample, **how), grow(grower, gradients, sample=sample, **how))


def test_large_row_ids(kernels):
    """Pages far behind the first row of the data set."""
    _, gradients, rows = data(kernels, NARROW)
    first = (1 << 33) + 5
    assert_the_same(grow(rows.local(first_row=first), gradients), grow(summed(rows, 3, first_row=first), gradients))


@modes
def test_apply_to_adds_to_the_words(kernels, mode):
    _, gradients, rows = data(kernels, mode)
    search, (loaded, kept) = kernels.SplitSearch(rows.layout, 1, 1 << 30), (LoadedPages(rows, 1), rows.partition(slice(0, N)))
    settings = kernels.TreeSettings(gradients.format(kernels), kernels.SplitRules(), 0, gradients.key)
    start = gradients.format(kernels), gradients.key
    sums = kept.start(gradients.records(), *start)
    np.testing.assert_array_equal(loaded.start(gradients.records(), *start), sums)
    batch = search.start(sums, settings)
    plain = kept.apply(batch)
    words = np.full(batch.n_results, 3, dtype=np.int64)
    (part,) = loaded.parts
    part.load(loaded.page(slice(0, N)))
    part.apply_to(batch, words)
    padding = 1 if mode == SINGLE else 2
    np.testing.assert_array_equal(words[:-padding], plain[:-padding] + 3)
    assert not words[-padding:].any()


def test_a_page_is_freed_when_it_is_unloaded(kernels):
    _, gradients, rows = data(kernels)
    pages = LoadedPages(rows, 1)
    (part,) = pages.parts
    pages.start(gradients.records(), gradients.format(kernels), 0)

    codes = rows.codes.copy().reshape(-1)
    owner = weakref.ref(codes)
    page = kernels.Page(rows.layout, codes, N, None, 0)
    part.load(page)
    del page, codes
    expected = rows.partition(slice(0, N))
    expected.start(gradients.records(), gradients.format(kernels), 0)
    assert owner() is not None, "the partition must keep the page that it reads"
    np.testing.assert_array_equal(part.split_sums(0, 5, 3, False), expected.split_sums(0, 5, 3, False))
    part.unload()
    assert owner() is None
    part.unload()  # again: nothing to forget


def test_a_page_without_rows(kernels):
    _, gradients, rows = data(kernels)
    empty = kernels.RowPartition(rows.layout, 0, 0, 1)
    assert empty.n_rows == 0
    assert empty.start(np.empty(0, dtype=np.uint8), gradients.format(kernels), 0).tolist() == [0, 0, 0]
    assert empty.leaf_sums(np.array([0]), np.empty(0, dtype=np.uint8), 1).tolist() == [[0], [0], [0]]


class TestBadArguments:
    def begun(self, kernels):
        """A partition in its first tree, its pages, and a batch."""
        _, gradients, rows = data(kernels, n_rows=60)
        grower = summed(rows, 1)
        gradients.start(grower)
        (part,) = grower.partition.parts
        return rows, gradients, grower, part, grower.search.begin([0], True)

    @pytest.mark.parametrize(
        ("n_rows", "first_row"), [(-1, 0), (1 << 32, 0), (1 << 62, 0), (-(1 << 62), 0), (5, -1), (5, 1 << 62), (5, -(1 << 62))]
    )
    def test_numbers_of_rows(self, kernels, n_rows, first_row):
        _, _, rows = data(kernels, n_rows=60)
        with pytest.raises(ValueError, match="n_rows or first_row out of range"):
            kernels.RowPartition(rows.layout, n_rows, first_row, 1)

    def test_row_lists(self, kernels):
        rng = np.random.default_rng(5)
        rows = Rows.bundled(kernels, Table(rng, 60, [ROW_LIST] * 3))
        with pytest.raises(ValueError, match="row lists"):
            kernels.RowPartition(rows.layout, 60, 0, 1)

    def test_shared_memory(self, kernels):
        rows, _, _, part, _ = self.begun(kernels)
        other = Rows.plain(kernels, Binned.random(np.random.default_rng(1), 60, 4))
        with pytest.raises(ValueError, match="layouts"):
            kernels.RowPartition(other.layout, 60, 0, 1, part)
        with pytest.raises(ValueError, match="another kind of partition"):
            kernels.RowPartition(rows.layout, 60, 0, 2, part)  # another number of threads
        with pytest.raises(ValueError, match="another kind of partition"):
            kernels.RowPartition(rows.layout, 60, 0, 1, rows.partition(slice(0, 60)))  # always loaded

    def test_load(self, kernels):
        rows, _, grower, part, _ = self.begun(kernels)
        page = grower.partition.page
        with pytest.raises(ValueError, match="another page"):
            part.load(page(slice(0, 59)))
        with pytest.raises(ValueError, match="another page"):
            part.load(kernels.Page(rows.layout, rows.codes.reshape(-1), 60, None, 1))
        other = Rows.plain(kernels, Binned.random(np.random.default_rng(1), 60, 4))
        with pytest.raises(ValueError, match="layouts"):
            part.load(kernels.Page(other.layout, other.codes.reshape(-1), 60, None, 0))
        for wrong in (None, 3, rows.codes):
            with pytest.raises(TypeError):
                part.load(wrong)
        always = rows.partition(slice(0, 60))
        with pytest.raises(ValueError, match="always loaded"):
            always.load(page(slice(0, 60)))
        with pytest.raises(ValueError, match="always loaded"):
            always.unload()

    def test_what_needs_the_page(self, kernels):
        _, gradients, grower, part, batch = self.begun(kernels)
        words, settings = (
            np.zeros(batch.n_results, dtype=np.int64),
            kernels.TreeSettings(gradients.format(kernels), kernels.SplitRules(), 0, 0),
        )
        calls = [
            lambda: part.apply(batch),
            lambda: part.apply_to(batch, words),
            lambda: part.split_sums(0, 5, 1, False),
            lambda: grower.search.start(part, gradients.records(), settings),
        ]
        for call in calls:
            with pytest.raises(ValueError, match="the page is not loaded"):
                call()
        assert not words.any()
        part.load(grower.partition.page(slice(0, 60)))
        part.unload()
        with pytest.raises(ValueError, match="the page is not loaded"):
            part.apply_to(batch, words)
        part.start(gradients.records(), gradients.format(kernels), 0, np.arange(0, 60, 2))
        with pytest.raises(ValueError, match="the page is not loaded"):  # leaves of rows that are not sampled
            part.leaf_sums(np.array([0]), np.zeros(60, dtype=np.uint8), 1)

    def test_samples_are_rows_of_the_page(self, kernels):
        _, gradients, rows = data(kernels, n_rows=60)
        part = kernels.RowPartition(rows.layout, 60, 100, 1)
        for sample in ([99], [160], [120, 120], [121, 120], [0], [-1]):
            with pytest.raises(ValueError, match="sample"):
                part.start(gradients.records(), gradients.format(kernels), 0, np.array(sample))
        with pytest.raises(ValueError):
            part.start(gradients.records()[:-1], gradients.format(kernels), 0)

    def test_words(self, kernels):
        _, _, grower, part, batch = self.begun(kernels)
        part.load(grower.partition.page(slice(0, 60)))
        for wrong in (np.zeros(batch.n_results - 1, dtype=np.int64), np.zeros(batch.n_results + 1, dtype=np.int64)):
            with pytest.raises(ValueError, match="words do not fit"):
                part.apply_to(batch, wrong)
        words = np.zeros(batch.n_results, dtype=np.int64)
        read_only = words.copy()
        read_only.flags.writeable = False
        for wrong in (words.astype(np.int32), words.astype(np.float64), np.zeros(2 * len(words), dtype=np.int64)[::2], read_only, None):
            with pytest.raises(TypeError):
                part.apply_to(batch, wrong)
        part.apply_to(batch, words)
        with pytest.raises(ValueError, match="steps before"):
            part.apply_to(batch, words)
        for wrong in (np.zeros(60, dtype=np.int8), np.zeros(120, dtype=np.uint8)[::2]):  # a copy would be written
            with pytest.raises(TypeError):
                part.leaf_sums(np.array([1, 2]), wrong, 1)

    def test_a_batch_of_another_tree(self, kernels):
        rows, gradients, grower, part, batch = self.begun(kernels)
        words = np.zeros(batch.n_results, dtype=np.int64)
        fresh = kernels.RowPartition(rows.layout, 60, 0, 1)
        fresh.load(grower.partition.page(slice(0, 60)))
        with pytest.raises(ValueError, match="begun"):
            fresh.apply_to(batch, words)
        fresh.start(gradients.records(), kernels.HistogramFormat(WIDE, 30), 0)
        with pytest.raises(ValueError, match="begun"):
            fresh.apply_to(batch, words)
        other = Rows.plain(kernels, Binned.random(np.random.default_rng(1), 60, 4)).partition(slice(0, 60))
        other.start(gradients.records(), gradients.format(kernels), 0)
        with pytest.raises(ValueError, match="layouts"):
            other.apply_to(batch, words)
        with pytest.raises(TypeError):
            part.apply_to(None, words)

    def test_a_tree_in_one_call(self, kernels):
        """A partition with all rows that is loaded may grow a tree without sums; once it is unloaded it may not."""
        _, gradients, rows = data(kernels, n_rows=60)
        pages = LoadedPages(rows, 1)
        (part,) = pages.parts
        local = LocalGrower(kernels.SplitSearch(rows.layout, 1, 1 << 20), part)
        part.load(pages.page(slice(0, 60)))
        assert gradients.start(local) == gradients.start(rows.local())
        part.unload()
        for call in (lambda: local.advance([0], True), lambda: local.search_again(0), lambda: local.force(0, 5, 1, False)):
            with pytest.raises(ValueError, match="the page is not loaded"):
                call()
