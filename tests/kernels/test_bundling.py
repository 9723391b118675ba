"""Features that share a column or are stored in row lists: the same nodes, sums and leaves as with a column for each."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.trees.growth import LocalGrower
from tests.kernels.binned import MODES, NARROW, Gradients, grow, native_pages
from tests.kernels.test_scoring import add_tree

OWN, SHARED, ROW_LIST = "own", "shared", "beside"


class Table:
    """Random bins of features of which some are hardly ever away from a common bin, and never two that share a column at once."""

    def __init__(self, rng, n_rows, kinds, most_bins=6, density=0.2):
        n = len(kinds)
        self.missing_bin = rng.integers(1, most_bins + 1, n).astype(np.int32)  # the last bin is for missing values
        self.common = rng.integers(0, self.missing_bin + 1).astype(np.int32)
        self.column = np.full(n, -1, dtype=np.int32)
        own = [f for f, kind in enumerate(kinds) if kind == OWN]
        shared = [f for f, kind in enumerate(kinds) if kind == SHARED]
        groups = [[f] for f in own] + [shared[i : i + 4] for i in range(0, len(shared), 4)]
        for column, features in enumerate(groups):
            self.column[features] = column
        self.n_columns = len(groups)
        self.bins = rng.integers(0, self.missing_bin + 1, (n_rows, n)).astype(np.uint8)
        away = rng.random((n_rows, n)) < density
        for features in groups:
            if kinds[features[0]] == SHARED:
                away[:, features] = (rng.integers(0, len(features), n_rows)[:, None] == np.arange(len(features))) & away[:, features]
        away[:, own] = True
        self.bins = np.where(away, self.bins, self.common).astype(np.uint8)
        self.common[own] = -1
        self.missing = np.zeros(n, dtype=np.uint8)
        self.missing[:] = (self.bins == self.missing_bin).any(axis=0)
        self.n_rows, self.n_features = n_rows, n

    def arguments(self):
        n_bins = (self.missing_bin + self.missing).astype(np.int32)
        return {"n_bins": n_bins, "missing": self.missing, "missing_bin": self.missing_bin}

    def plain(self, n_pages):
        """Pages with a column for each feature, and no lists."""
        width = min(64, self.n_features)
        return width, [np.ascontiguousarray(part) for part in np.array_split(_grouped(self.bins, width), n_pages, axis=1)], []

    def stored(self, kernels, n_pages):
        """Pages and lists by the kernel."""
        columns = kernels.ColumnLayout(self.missing_bin, self.column, self.common)
        assert (columns.n_columns, columns.n_list_bins) == (self.n_columns, self.missing_bin[self.column < 0].sum())
        width = max(1, min(5, self.n_columns))
        pages, lists = [], []
        for bins in np.array_split(self.bins, n_pages):
            page = np.zeros((-(-self.n_columns // width), len(bins), 8), dtype=np.uint8)
            clashes = np.zeros(self.n_features, dtype=np.uint8)
            buffer = kernels.PageBuffer(page, width, clashes.copy(), clashes)
            half = len(bins) // 2
            parts = [
                kernels.store_rows(np.ascontiguousarray(rows), columns, buffer, start, 2)
                for rows, start in ((bins[:half], 0), (bins[half:], half))
            ]
            assert not clashes.any()
            lengths = np.concatenate([lengths for lengths, _ in parts])
            begin = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint32)
            pages.append(page)
            lists.append((begin, np.concatenate([beside for _, beside in parts])))
        return columns, width, pages, lists

    def growers(self, kernels, n_pages=1, n_threads=1):
        """The same rows twice: plain, and stored."""
        for columns, width, pages, lists in ((None, *self.plain(n_pages)), self.stored(kernels, n_pages)):
            layout = kernels.BinLayout(**self.arguments(), width=width, stride=pages[0].shape[2], columns=columns)
            lists = lists if columns is not None and columns.n_list_bins else None
            partition = kernels.RowPartition(layout, native_pages(kernels, layout, pages, lists), n_threads)
            yield LocalGrower(kernels.SplitSearch(layout, n_threads, 1 << 30), partition)


def _grouped(bins, width):
    n_groups = -(-bins.shape[1] // width)
    page = np.zeros((n_groups, len(bins), -(-width // 4) * 4), dtype=np.uint8)
    for f in range(bins.shape[1]):
        page[f // width, :, f % width] = bins[:, f]
    return page


def assert_the_same(table, gradients, kernels, n_splits=12, sample=None, leaf_size=4, **more):
    rules = {"min_count": 2, "sample": sample}
    plain, stored = (grow(grower, gradients, n_splits, leaf_size, **rules) for grower in table.growers(kernels, **more))
    assert (plain[0]["left"] >= 0).any()
    for name in plain[0]:
        np.testing.assert_array_equal(stored[0][name], plain[0][name], err_msg=name)
    for which in (1, 2, 3):
        np.testing.assert_array_equal(stored[which], plain[which])


MIXTURES = {
    "shared": [OWN, *[SHARED] * 9, OWN],
    "only shared": [SHARED] * 6,
    "beside": [OWN, ROW_LIST, ROW_LIST, OWN, OWN, ROW_LIST],
    "only beside": [ROW_LIST] * 7,
    "all kinds": [SHARED, ROW_LIST, OWN] * 7,
}


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
@pytest.mark.parametrize("kinds", MIXTURES.values(), ids=MIXTURES)
class TestGrowing:
    @pytest.mark.parametrize("n_rows", [60, 400, 9_000])
    def test_gives_the_same_nodes(self, kernels, kinds, mode, n_rows):
        rng = np.random.default_rng(n_rows)
        assert_the_same(Table(rng, n_rows, kinds), Gradients.random(rng, n_rows, mode), kernels)

    def test_on_pages_and_threads(self, kernels, kinds, mode):
        rng = np.random.default_rng(1)
        assert_the_same(Table(rng, 9_000, kinds), Gradients.random(rng, 9_000, mode), kernels, n_pages=3, n_threads=3)

    @pytest.mark.parametrize("density", [0.01, 0.1, 0.24])
    @pytest.mark.parametrize("n_pages", [1, 2])
    def test_where_few_rows_leave_the_others(self, kernels, kinds, mode, density, n_pages):
        rng = np.random.default_rng(4)
        table = Table(rng, 9_000, kinds, most_bins=3, density=density)
        assert_the_same(table, Gradients.random(rng, 9_000, mode), kernels, n_splits=40, n_pages=n_pages)

    @pytest.mark.parametrize("n_rows", [400, 140_000])  # the larger ones have a copy by columns, and leaves are found by sets
    def test_on_some_rows(self, kernels, kinds, mode, n_rows):
        rng = np.random.default_rng(3)
        sample = np.flatnonzero(rng.random(n_rows) < 0.3)
        gradients = Gradients.random(rng, n_rows, mode, hessian_shift=0 if mode == NARROW else 8)  # so that the sums fit their words
        assert_the_same(Table(rng, n_rows, kinds), gradients, kernels, sample=sample, leaf_size=1, n_threads=2)

    def test_with_many_bins(self, kernels, kinds, mode):
        rng = np.random.default_rng(2)
        most = 60 if SHARED in kinds else 250  # four features share a column
        assert_the_same(Table(rng, 3_000, kinds, most_bins=most), Gradients.random(rng, 3_000, mode), kernels)


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32), kinds=st.lists(st.sampled_from([OWN, SHARED, ROW_LIST]), min_size=1, max_size=12), data=st.data())
def test_any_mixture_gives_the_same_nodes(kernels, seed, kinds, data):
    rng = np.random.default_rng(seed)
    n_rows = data.draw(st.integers(4, 600))
    table = Table(rng, n_rows, kinds, density=data.draw(st.floats(0, 1)))
    gradients = Gradients.random(rng, n_rows, data.draw(st.sampled_from(list(MODES.values()))))
    plain, stored = (grow(grower, gradients, 8) for grower in table.growers(kernels))
    for name in plain[0]:
        np.testing.assert_array_equal(stored[0][name], plain[0][name], err_msg=name)


@pytest.mark.parametrize("kinds", MIXTURES.values(), ids=MIXTURES)
def test_a_tree_over_stored_rows(kernels, kinds):
    rng = np.random.default_rng(3)
    table = Table(rng, 5_000, kinds)
    gradients = Gradients.random(rng, 5_000, NARROW)
    nodes, leaves, _, leaf_of_row = grow(next(iter(table.growers(kernels))), gradients, 20)
    value = np.zeros(len(nodes["left"]))
    value[leaves] = rng.normal(size=len(leaves))
    columns, width, (page,), (lists,) = table.stored(kernels, 1)
    raw = np.zeros(5_000)
    tree = {name: nodes[name] for name in ("feature", "bin", "left", "right", "missing_left")}
    layout = kernels.BinLayout(**table.arguments(), width=width, stride=8, columns=columns)
    native = kernels.Page(layout, page.reshape(-1), 5_000, lists if columns.n_list_bins else None)
    add_tree(kernels, native, **tree, value=value, raw=raw, n_threads=2)
    np.testing.assert_array_equal(raw, value[leaves[leaf_of_row]])


def test_rows_that_clash_are_told(kernels):
    columns = kernels.ColumnLayout(*(np.array(a, dtype=np.int32) for a in ([2, 2, 2], [0, 0, 0], [0, 0, 0])))
    clashes, page = np.zeros(3, dtype=np.uint8), np.zeros((1, 2, 4), dtype=np.uint8)
    bins = np.array([[1, 0, 0], [0, 2, 1]], dtype=np.uint8)
    kernels.store_rows(bins, columns, kernels.PageBuffer(page, 1, clashes.copy(), clashes), 0, 1)
    assert clashes.tolist() == [0, 0, 1]
    assert page[0, 0, 0] == 1


class TestBadArguments:
    @pytest.mark.parametrize(
        ("missing_bin", "column", "common"),
        [
            ([], [], []),
            ([2, 2], [0], [-1, -1]),
            ([2, 2], [0, 2], [-1, -1]),  # a column out of range
            ([2, 2], [-2, 0], [0, -1]),
            ([2, 2, 2], [0, 2, 2], [-1, 0, 0]),  # a column without a feature
            ([2, 2], [0, 0], [-1, -1]),  # shared, without common bins
            ([2, 2], [0, 0], [0, -1]),
            ([2, 2], [0, -1], [-1, -1]),  # beside, without a common bin
            ([2, 2], [0, -1], [-1, 3]),
            ([256, 2], [0, 1], [-1, -1]),
            ([200, 200], [0, 0], [0, 0]),  # too many codes
        ],
    )
    def test_columns(self, kernels, missing_bin, column, common):
        with pytest.raises(ValueError):
            kernels.ColumnLayout(*(np.array(a, dtype=np.int32) for a in (missing_bin, column, common)))

    def test_lists(self, kernels):
        table = Table(np.random.default_rng(0), 40, [OWN, ROW_LIST, ROW_LIST])
        columns, width, (page,), ((begin, beside),) = table.stored(kernels, 1)
        layout = kernels.BinLayout(**table.arguments(), width=width, stride=8, columns=columns)
        kernels.Page(layout, page.reshape(-1), 40, (begin, beside))
        far, back = beside.copy(), begin.copy()
        far[-1] = columns.n_list_bins
        back[3] = back[-1] + 1
        for lists in (None, (begin[:-1], beside), (begin, beside[:-1]), (begin, far), (back, beside)):
            with pytest.raises(ValueError):
                kernels.Page(layout, page.reshape(-1), 40, lists)
        with pytest.raises(ValueError, match="columns"):
            one = kernels.ColumnLayout(*(np.zeros(1, dtype=np.int32),) * 3)
            kernels.BinLayout(**table.arguments(), width=width, stride=8, columns=one)

    def test_rows(self, kernels):
        columns = kernels.ColumnLayout(*(np.array(a, dtype=np.int32) for a in ([2, 2], [0, -1], [-1, 0])))
        flags = np.zeros(2, dtype=np.uint8)
        page = kernels.PageBuffer(np.zeros((1, 5, 4), dtype=np.uint8), 1, flags, flags)
        good = {"bins": np.zeros((5, 2), dtype=np.uint8), "columns": columns, "page": page, "first_row": 0, "n_threads": 1}
        kernels.store_rows(**good)
        small, empty = np.zeros((1, 4, 4), dtype=np.uint8), np.zeros((0, 5, 4), dtype=np.uint8)
        changes = [{"bins": np.zeros((5, 3), dtype=np.uint8)}, {"first_row": 1}, {"first_row": -1}]
        changes += [{"page": kernels.PageBuffer(codes, 1, flags, flags)} for codes in (small, empty)]
        changes += [{"page": kernels.PageBuffer(np.zeros((1, 5, 4), dtype=np.uint8), 1, flags[:1], flags[:1])}]
        changes += [{"bins": np.full((5, 2), 3, dtype=np.uint8)}]  # a bin that its feature does not have
        for change in changes:
            with pytest.raises(ValueError):
                kernels.store_rows(**{**good, **change})
