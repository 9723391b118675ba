"""Rows in several partitions, whose integers are added up: the same trees, to the last bit, as on all rows at once."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.runtime.execution import SERIAL
from sapwood.trees.growth import LocalGrower, SummedGrower
from tests.kernels.binned import CUTS, MODES, NARROW, SINGLE, WIDE, Binned, Gradients, Partitions, constrain, native_pages, nodes_of, slices
from tests.kernels.test_bundling import OWN, ROW_LIST, SHARED, Table
from tests.reference import levels

modes = pytest.mark.parametrize("mode", MODES.values(), ids=MODES)


class Rows:
    """A data set: its layout, and its codes and lists from any row to any other."""

    def __init__(self, kernels, layout, codes, lists=None):
        self.kernels, self.layout, self.codes, self.lists = kernels, layout, codes, lists
        self.n_rows = codes.shape[1]

    @classmethod
    def plain(cls, kernels, table, width=None):
        (codes,) = table.pages(1, width)
        return cls(kernels, kernels.BinLayout(**table.layout(width)), codes)

    @classmethod
    def bundled(cls, kernels, table):
        columns, width, (codes,), (lists,) = table.stored(kernels, 1)
        layout = kernels.BinLayout(**table.arguments(), width=width, stride=8, columns=columns)
        return cls(kernels, layout, codes, lists if columns.n_list_bins else None)

    def partition(self, rows, n_threads=1, n_pages=1, first_row=0):
        """A RowPartition of some rows, in several pages."""
        cuts = np.linspace(rows.start, rows.stop, n_pages + 1).astype(int)
        codes = [np.ascontiguousarray(self.codes[:, a:b]) for a, b in pairwise(cuts)]
        lists = None
        if self.lists is not None:
            begin, bins = self.lists
            lists = [(begin[a : b + 1] - begin[a], bins[begin[a] : begin[b]]) for a, b in pairwise(cuts)]
        pages = native_pages(self.kernels, self.layout, codes, lists, first_row + rows.start)
        return self.kernels.RowPartition(self.layout, pages, n_threads)

    def local(self, n_threads=1, max_histogram_bytes=1 << 30, first_row=0):
        search = self.kernels.SplitSearch(self.layout, n_threads, max_histogram_bytes)
        return LocalGrower(search, self.partition(slice(0, self.n_rows), n_threads, first_row=first_row))

    def summed(self, n_partitions, n_threads=1, max_histogram_bytes=1 << 30, first_row=0):
        rows = slices(self.n_rows, n_partitions)
        parts = [self.partition(own, n_threads, 1 + i % 3, first_row) for i, own in enumerate(rows)]
        search = self.kernels.SplitSearch(self.layout, n_threads, max_histogram_bytes)
        return SummedGrower(search, Partitions(parts, rows, first_row), SERIAL)


def leafwise(gains):
    return [max(gains, key=lambda node: (gains[node], -node))] if max(gains.values()) > 0 else []


def depthwise(gains):
    return [node for node, gain in gains.items() if gain > 0]


def symmetric(gains):
    return list(gains) if min(gains.values()) > 0 else []


POLICIES = {"leafwise": leafwise, "depthwise": depthwise, "symmetric": symmetric}


def grow(grower, gradients, choose=leafwise, n_splits=40, forced=(), limits=None, allowed=None, **rules):
    """Grow a tree. Returns everything that can be asked about it, and the gains in the order in which they were found."""
    gains, found = {0: gradients.start(grower, allowed=None if allowed is None else allowed(1)[0], **rules)}, []

    def advance(nodes, search=True):
        first, new = grower.advance(nodes, search, None if allowed is None else allowed(2 * len(nodes)))
        for node in nodes:
            gains.pop(node)
        gains.update(enumerate(new, first))
        found.extend(new)

    for node, *split in forced:
        found.append(grower.force(node, *split))
        if found[-1]:
            advance([node])
    while len(found) < 2 * n_splits and gains and (chosen := choose(gains)):
        advance(chosen, search=len(found) + 2 * len(chosen) < 2 * n_splits)
        if limits is None:
            continue
        for node in list(gains):  # as monotonic neighbours do
            grower.limit(node, *limits(node))
            gains[node] = grower.search_again(node, None if allowed is None else allowed(1)[0])
            found.append(gains[node])
    nodes = nodes_of(grower)
    leaves = np.flatnonzero(nodes["left"] < 0)
    of_row = np.zeros(2 * len(gradients.gradient), dtype=np.uint8)
    sums = grower.leaf_sums(leaves, of_row, 2)
    return nodes | {"leaf sums": sums, "leaf of row": of_row.view(np.uint16), "sets": grower.sets(), "found": np.array(found)}


def assert_the_same(a, b):
    for name, array in a.items():
        np.testing.assert_array_equal(array, b[name], err_msg=name)


def check(rows, gradients, constraints=None, first_row=0, **how):
    """Grow on all rows at once, on one partition and on several; returns the tree."""
    constraints = dict(constraints or {})
    how["extra"] = constraints.pop("extra", False)  # a rule of each tree
    expected = grow(constrain(rows.local(first_row=first_row), **constraints), gradients, **how)
    for n_partitions in CUTS:
        n_threads = 1 + n_partitions % 2
        grower = constrain(rows.summed(n_partitions, n_threads, first_row=first_row), **constraints)
        assert_the_same(expected, grow(grower, gradients, **how))
    return expected


def coarse(rng, n_rows, mode):
    """Gradients of few values, so that there are many ties."""
    gradient = rng.integers(-2, 3, n_rows)
    return Gradients.small(gradient, np.ones(n_rows) if mode == SINGLE else rng.integers(0, 3, n_rows), mode)


CONSTRAINTS = {
    "none": {},
    "extra": {"extra": True},
    "score noise": {"score_noise": 0.5},
    "extra, noise and weights": {"extra": True, "score_noise": 0.5, "weights": np.linspace(0.5, 1.5, 8)},
    "shaped": {"l1": 0.5, "smooth": 3.0, "max_step": 2.0},
    "monotonic": {"monotonic": np.array([1, -1, 0, 1, -1, 0, 1, -1], dtype=np.int8)},
    "neighbours": {"monotonic": np.array([1, -1, 0, 1, -1, 0, 1, -1], dtype=np.int8), "neighbours": True, "extra": True},
    "partitions": {"kinds": np.full(8, levels.PARTITION, dtype=np.uint8), "category_smooth": 1.0, "category_l2": 0.5, "min_level_rows": 3},
    "one level": {"kinds": np.array([0, levels.ONE_VS_REST] * 4, dtype=np.uint8)},
    "extra levels": {"kinds": np.array([0, 1, 2, 0, 1, 2, 0, 1], dtype=np.uint8), "extra": True, "score_noise": 0.2},
}
each_constraint = pytest.mark.parametrize("constraints", CONSTRAINTS.values(), ids=CONSTRAINTS)
each_policy = pytest.mark.parametrize("policy", POLICIES)


@modes
@each_policy
@each_constraint
@pytest.mark.parametrize("ties", [False, True])
def test_the_same_tree(kernels, mode, policy, constraints, ties):
    """From large nodes down to single rows."""
    rng = np.random.default_rng(1)
    table = Binned.random(rng, 1_500, 8, most_bins=25)
    gradients = coarse(rng, 1_500, mode) if ties and mode != NARROW else Gradients.random(rng, 1_500, mode)
    if "weights" in constraints and policy == "symmetric":
        return
    rules = {"choose": POLICIES[policy], "n_splits": 300, "min_hessian": 0.5}
    constraints = constraints | {"symmetric": policy == "symmetric"}
    tree = check(Rows.plain(kernels, table), gradients, constraints, **rules)
    assert (tree["left"] >= 0).sum() >= 7
    if policy != "symmetric":
        assert tree["count"].min() < 20


@modes
@each_policy
@pytest.mark.parametrize(
    "kinds", [[OWN, SHARED, SHARED, ROW_LIST, ROW_LIST, ROW_LIST, SHARED, OWN], [SHARED] * 8, [ROW_LIST] * 8], ids="-".join
)
@pytest.mark.parametrize("constraints", [{}, CONSTRAINTS["extra"], CONSTRAINTS["neighbours"], CONSTRAINTS["partitions"]])
def test_bundled_columns_and_row_lists(kernels, mode, policy, kinds, constraints):
    rng = np.random.default_rng(2)
    table = Table(rng, 6_000, kinds, density=0.15)
    rules = {"choose": POLICIES[policy], "n_splits": 60, "min_count": 3}
    tree = check(
        Rows.bundled(kernels, table),
        Gradients.random(rng, 6_000, mode),
        constraints | {"symmetric": policy == "symmetric"},
        **rules,
    )
    assert (tree["left"] >= 0).sum() >= 7


@modes
@each_policy
def test_several_groups_of_columns(kernels, mode, policy):
    rng = np.random.default_rng(3)
    table = Binned.random(rng, 4_000, 130)
    rows, gradients = Rows.plain(kernels, table, 44), Gradients.random(rng, 4_000, mode)
    check(rows, gradients, {"symmetric": policy == "symmetric"}, choose=POLICIES[policy], n_splits=40)


@modes
@pytest.mark.parametrize("more_bins", [0, 3])
def test_binary_features(kernels, mode, more_bins):
    rng = np.random.default_rng(4)
    n_bins = np.full(30, 2, dtype=np.int32)
    n_bins[::7] += more_bins
    table = Binned(rng.integers(0, n_bins, (900, 30)).astype(np.uint8), n_bins, np.zeros(30, dtype=np.uint8))
    gradients = Gradients.random(rng, 900, mode) if mode == NARROW else coarse(rng, 900, mode)
    for constraints in ({}, {"extra": True}, {"l1": 0.1}):
        check(Rows.plain(kernels, table), gradients, constraints, n_splits=200)


@modes
@each_policy
@pytest.mark.parametrize("first_row", [0, 1_000, (1 << 32) - 700])
def test_samples_of_rows(kernels, mode, policy, first_row):
    """Ids of rows need not begin at 0: random bits depend on them."""
    rng = np.random.default_rng(5)
    sample = first_row + np.flatnonzero(rng.random(2_000) < 0.3)
    rules = {"choose": POLICIES[policy], "n_splits": 30, "sample": sample, "first_row": first_row}
    gradients = Gradients.random(rng, 2_000, mode)
    check(Rows.plain(kernels, Binned.random(rng, 2_000, 6)), gradients, {"symmetric": policy == "symmetric"}, **rules)
    check(Rows.bundled(kernels, Table(rng, 2_000, [OWN, SHARED, ROW_LIST] * 3)), gradients, {"symmetric": policy == "symmetric"}, **rules)


def test_ids_of_rows_decide_how_they_are_rounded(kernels):
    rng = np.random.default_rng(6)
    rows, gradients = Rows.plain(kernels, Binned.random(rng, 500, 4)), Gradients.random(rng, 500, NARROW)
    here, there = (check(rows, gradients, n_splits=3, first_row=first_row) for first_row in (0, 77))
    assert here["gradient"][0] != there["gradient"][0]


@modes
@pytest.mark.parametrize("rest", [0, 1 << 30])
def test_forced_splits_and_dropped_histograms(kernels, mode, rest):
    rng = np.random.default_rng(7)
    rows, gradients = Rows.plain(kernels, Binned.random(rng, 3_000, 8)), Gradients.random(rng, 3_000, mode)
    forced = [(0, 7, 3, True), (1, 7, 200, False), (2, 7, 5, False)]
    expected = grow(rows.local(), gradients, n_splits=30, forced=forced)
    assert expected["feature"][:3].tolist() == [7, 7, 7] or expected["found"][3] == 0
    for n_partitions in CUTS:
        grower = rows.summed(n_partitions, max_histogram_bytes=rest)
        assert_the_same(expected, grow(grower, gradients, n_splits=30, forced=forced))


def test_a_root_too_small_to_be_searched_may_be_forced(kernels):
    rng = np.random.default_rng(8)
    rows, gradients = Rows.plain(kernels, Binned.random(rng, 30, 3)), Gradients.random(rng, 30, WIDE)
    tree = check(rows, gradients, CONSTRAINTS["shaped"], forced=[(0, 2, 4, False)], min_count=20)
    assert len(tree["feature"]) == 3


@modes
@pytest.mark.parametrize("rest", [0, 1 << 30])
def test_limits_that_change(kernels, mode, rest):
    """Leaves are searched again, whether their histograms were kept or not."""
    rng = np.random.default_rng(9)
    rows, gradients = Rows.plain(kernels, Binned.random(rng, 1_500, 8)), Gradients.random(rng, 1_500, mode)
    bounds = {node: (-rng.random() * 3, rng.random() * 3) for node in range(200)}
    how = {"n_splits": 60, "limits": bounds.get, "gradient_unit": 2.0**-20, "hessian_unit": 2.0**-20, "min_count": 4, "extra": True}
    constraints = {name: value for name, value in CONSTRAINTS["neighbours"].items() if name != "extra"}
    expected = grow(constrain(rows.local(), **constraints), gradients, **how)
    for n_partitions in CUTS:
        grower = constrain(rows.summed(n_partitions, max_histogram_bytes=rest), **constraints)
        assert_the_same(expected, grow(grower, gradients, **how))


def test_only_allowed_features(kernels):
    rng = np.random.default_rng(10)
    rows, gradients = Rows.plain(kernels, Binned.random(rng, 1_500, 8)), Gradients.random(rng, 1_500, WIDE)
    for constraints in ({}, {"symmetric": True}):
        choose = symmetric if constraints else leafwise

        def draw(n, draws=None):
            return np.random.default_rng(n).integers(0, 2, (n, 8)).astype(np.uint8) | np.eye(8, dtype=np.uint8)[7]

        check(rows, gradients, constraints, allowed=draw, choose=choose, n_splits=60)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32), data=st.data())
def test_any_table(kernels, seed, data):
    rng = np.random.default_rng(seed)
    n_rows = data.draw(st.integers(1, 400))
    kinds = data.draw(st.lists(st.sampled_from([OWN, SHARED, ROW_LIST]), min_size=1, max_size=8))
    mode = data.draw(st.sampled_from(list(MODES.values())))
    constraints = {"extra": data.draw(st.booleans()), "score_noise": data.draw(st.sampled_from([0.0, 0.3]))}
    shape = data.draw(st.sampled_from(["number", "monotonic", "category"]))
    if shape == "monotonic":
        constraints["monotonic"] = rng.integers(-1, 2, len(kinds)).astype(np.int8)
    if shape == "category":
        constraints["kinds"] = rng.integers(0, 3, len(kinds)).astype(np.uint8)
    policy = data.draw(st.sampled_from(list(POLICIES)))
    constraints["symmetric"] = policy == "symmetric"
    gradients = Gradients.random(rng, n_rows, mode) if mode == NARROW or data.draw(st.booleans()) else coarse(rng, n_rows, mode)
    table = Table(rng, n_rows, kinds, most_bins=12, density=data.draw(st.floats(0, 1)))
    min_count = data.draw(st.integers(1, 5))
    check(Rows.bundled(kernels, table), gradients, constraints, choose=POLICIES[policy], n_splits=80, min_count=min_count)


class TestSeam:
    """Words between partitions and search."""

    def data(self, kernels, n_rows=400, mode=WIDE):
        rng = np.random.default_rng(11)
        table, gradients = Binned.random(rng, n_rows, 5), Gradients.random(rng, n_rows, mode)
        return table, gradients, Rows.plain(kernels, table), kernels.SplitRules()

    @modes
    def test_root(self, kernels, mode):
        table, gradients, rows, rules = self.data(kernels, mode=mode)
        partition, search = rows.partition(slice(0, 400)), kernels.SplitSearch(rows.layout, 1, 1 << 20)
        sums = partition.start(gradients.records(), gradients.format(kernels), gradients.key)
        expected = gradients.histogram(table)
        assert sums.tolist() == expected[: table.n_bins[0]].sum(axis=0).tolist()
        settings = kernels.TreeSettings(gradients.format(kernels), rules, 0, gradients.key)
        batch = search.start(sums, settings)
        assert (batch.n_splits, batch.n_histograms) == (0, 1)
        words = partition.apply(batch)
        assert words.dtype == np.int64
        assert words.shape == (batch.n_words,)
        assert not words[-(1 if mode == SINGLE else 2) :].any()  # padding
        search.take(batch, words)
        np.testing.assert_array_equal(search.histogram(0), expected)
        first, (gain,) = search.best(batch)
        assert first == 0
        assert gain == rows.local().search.start(rows.partition(slice(0, 400)), gradients.records(), settings)

    def test_one_child_is_built_the_other_subtracted(self, kernels):
        _, gradients, rows, _ = self.data(kernels)
        grower = rows.summed(1)
        gradients.start(grower)
        batch = grower.search.begin([0], True)
        assert (batch.n_splits, batch.n_histograms) == (1, 1)
        assert grower.search.begin([], True).n_histograms == 0

    def test_a_batch_shows_its_splits(self, kernels):
        table, gradients, rows, _ = self.data(kernels)
        grower = rows.summed(1)
        gradients.start(grower)
        batch = grower.search.begin([0], True)
        (feature,), (sides,) = batch.features, batch.sides
        assert (batch.first, batch.nodes.tolist(), batch.uncounted.tolist()) == (1, [0], [])
        words = grower.partition.apply(batch)
        grower.search.take(batch, words)
        grower.search.best(batch)
        counts = grower.search.nodes().count
        assert batch.histograms.tolist() == [1 if counts[1] <= counts[2] else 2]
        bins = table.bins[:, feature]
        assert sides.shape == (257,)
        assert np.count_nonzero(sides[bins]) == counts[1]
        nodes = grower.search.nodes()
        np.testing.assert_array_equal(
            kernels.RowPartition.sides(rows.layout, int(feature), int(nodes.bin[0]), bool(nodes.missing_left[0])), sides
        )

    def test_a_layout_shows_its_storage(self, kernels):
        table, _, rows, _ = self.data(kernels)
        n = table.n_bins.tolist()
        assert rows.layout.column_begin.tolist() == [0, *np.cumsum(n)]
        assert rows.layout.storage.tolist() == [[f, -1, 0, n[f]] for f in range(5)]
        assert rows.layout.n_cells == sum(n)

    def test_a_partition_without_rows(self, kernels):
        _, gradients, rows, rules = self.data(kernels)
        for empty in (rows.partition(slice(0, 0)), kernels.RowPartition(rows.layout, [], 2)):
            assert empty.n_rows == 0
            assert empty.start(np.empty(0, dtype=np.uint8), gradients.format(kernels), 0).tolist() == [0, 0, 0]
            assert empty.leaf_sums(np.array([0]), np.empty(0, dtype=np.uint8), 1).tolist() == [[0], [0], [0]]
            grower = SummedGrower(kernels.SplitSearch(rows.layout, 1, 1 << 20), empty, SERIAL)
            none = Gradients(WIDE, np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
            assert none.start(grower) <= 0
            search = kernels.SplitSearch(rows.layout, 1, 1 << 20)
            settings = kernels.TreeSettings(gradients.format(kernels), rules, 0, 0)
            assert search.start(empty, np.empty(0, dtype=np.uint8), settings) <= 0

    def test_pages_are_shared(self, kernels):
        _, gradients, rows, _ = self.data(kernels)
        pages = native_pages(kernels, rows.layout, [rows.codes])
        search, other = (kernels.SplitSearch(rows.layout, 1, 1 << 20) for _ in range(2))
        a, b = (LocalGrower(s, kernels.RowPartition(rows.layout, pages, 1)) for s in (search, other))
        assert_the_same(grow(a, gradients), grow(b, gradients))
        assert (pages[0].n_rows, pages[0].first_row) == (400, 0)


class TestBadArguments:
    def data(self, kernels):
        rng = np.random.default_rng(12)
        table, gradients = Binned.random(rng, 60, 5, most_bins=4), Gradients.random(rng, 60, WIDE)
        return Rows.plain(kernels, table), gradients

    def test_pages(self, kernels):
        rows, _ = self.data(kernels)
        other = Rows.plain(kernels, Binned.random(np.random.default_rng(1), 60, 4))
        a, b = native_pages(kernels, rows.layout, [rows.codes, rows.codes])
        kernels.RowPartition(rows.layout, [a, b], 1)
        for pages in ([b, a], [a, a], native_pages(kernels, other.layout, [other.codes])):
            with pytest.raises(ValueError):
                kernels.RowPartition(rows.layout, pages, 1)

    @pytest.mark.parametrize("n_rows", [1, 5, 16, 64, 77])
    @pytest.mark.parametrize(("n_features", "width", "stride"), [(3, 3, 4), (5, 5, 8), (5, 5, 12), (9, 4, 4), (70, 64, 64)])
    def test_every_code_is_one_that_its_column_has(self, kernels, n_rows, n_features, width, stride):
        n_bins = np.arange(n_features, dtype=np.int32) % 7 + 2
        layout = kernels.BinLayout(n_bins, np.zeros(n_features, dtype=np.uint8), n_bins, width, stride)
        n_groups = -(-n_features // width)
        largest = np.zeros((n_groups, n_rows, stride), dtype=np.uint8)
        for feature in range(n_features):
            largest[feature // width, :, feature % width] = n_bins[feature] - 1
        kernels.Page(layout, largest.reshape(-1), n_rows, None, 0)
        for group, row, column in np.ndindex(*largest.shape):
            codes = largest.copy()
            codes[group, row, column] += 1
            if column < -(-width // 4) * 4:  # beyond that, no kernel reads
                with pytest.raises(ValueError, match="a page holds a bin that its feature does not have"):
                    kernels.Page(layout, codes.reshape(-1), n_rows, None, 0)
            else:
                kernels.Page(layout, codes.reshape(-1), n_rows, None, 0)

    def test_steps_of_another_tree(self, kernels):
        """Steps that would be the next of this partition by the number of nodes."""
        rows, gradients = self.data(kernels)
        first, second = rows.summed(1), rows.summed(1)
        for grower, nodes in ((first, [0, 1]), (second, [0, 2])):
            gradients.start(grower)
            for node in nodes:
                grower.advance([node], True)
        (partition,) = first.partition.parts
        with pytest.raises(ValueError, match="node cannot be split"):
            partition.apply(second.search.begin([1], True))
        third = rows.summed(1)
        (other,) = third.partition.parts
        sums = other.start(gradients.records(), gradients.format(kernels), 0)
        with pytest.raises(ValueError, match="no such node"):
            partition.apply(third.search.start(sums, kernels.TreeSettings(gradients.format(kernels), kernels.SplitRules(), 0, 0)))

    def test_samples_are_rows_of_the_partition(self, kernels):
        rows, gradients = self.data(kernels)
        partition = rows.partition(slice(0, 60), n_pages=3, first_row=100)
        start = gradients.records(), gradients.format(kernels), 0
        assert partition.start(*start, np.array([100, 120, 159]))[2] == 3
        assert partition.start(*start, np.empty(0, dtype=np.int64))[2] == 0
        for sample in ([99], [160], [120, 120], [121, 120], [0]):
            with pytest.raises(ValueError, match="sample"):
                partition.start(*start, np.array(sample))

    def test_steps_in_another_order(self, kernels):
        rows, gradients = self.data(kernels)
        grower = rows.summed(1)
        (partition,), search = grower.partition.parts, grower.search
        gradients.start(grower)
        batch = search.begin([0], True)
        with pytest.raises(ValueError, match="not taken"):
            search.best(batch)
        words = partition.apply(batch)
        with pytest.raises(ValueError, match="partition"):
            partition.apply(batch)
        for wrong in (words[:-1], np.append(words, 0)):
            with pytest.raises(ValueError, match="fit"):
                search.take(batch, wrong)
        search.take(batch, words)
        with pytest.raises(ValueError, match="latest"):
            search.take(batch, words)
        search.best(batch)
        with pytest.raises(ValueError, match="latest"):
            search.best(batch)
        stale = search.begin_again(1)
        search.begin_again(2)
        with pytest.raises(ValueError, match="latest"):
            search.take(stale, partition.apply(stale))

    def test_a_batch_of_another_tree(self, kernels):
        rows, gradients = self.data(kernels)
        grower, fresh = rows.summed(1), rows.partition(slice(0, 60))
        gradients.start(grower)
        batch = grower.search.begin([0], True)
        with pytest.raises(ValueError, match="begun"):
            fresh.apply(batch)
        fresh.start(gradients.records(), kernels.HistogramFormat(WIDE, 30), 0)
        with pytest.raises(ValueError, match="begun"):
            fresh.apply(batch)
        other = Rows.plain(kernels, Binned.random(np.random.default_rng(1), 60, 4)).partition(slice(0, 60))
        other.start(gradients.records(), gradients.format(kernels), 0)
        with pytest.raises(ValueError, match="layouts"):
            other.apply(batch)

    def test_a_tree_of_summed_words_does_not_advance_on_a_partition(self, kernels):
        """One native call trusts that all numbers are those of its partition."""
        rows, gradients = self.data(kernels)
        summed, local = rows.summed(1), rows.local()
        gradients.start(summed)
        gradients.start(local)
        (partition,) = summed.partition.parts
        calls = [
            lambda: summed.search.advance(partition, [0], True),
            lambda: summed.search.advance(local.partition, [0], True),
            lambda: local.search.advance(partition, [0], True),
            lambda: local.search.force(partition, 0, 4, 1, False),
            lambda: local.search.search_again(partition, 0),
        ]
        for call in calls:
            with pytest.raises(ValueError, match="partition"):
                call()
        assert local.search.force(0, 4, 1, False, np.array([[1, 1, 50], [2, 2, 60]]))
        with pytest.raises(ValueError, match="partition"):
            local.advance([0], True)

    def test_sums(self, kernels):
        rows, gradients = self.data(kernels)
        search = kernels.SplitSearch(rows.layout, 1, 1 << 20)
        settings = kernels.TreeSettings(kernels.HistogramFormat(WIDE, 10), kernels.SplitRules(), 0, 0)
        for sums in ([1, 2], [0, 0, -1], [0, 0, 1 << 10]):
            with pytest.raises(ValueError):
                search.start(np.array(sums), settings)
        grower = rows.summed(1)
        gradients.start(grower)
        (partition,) = grower.partition.parts
        assert partition.split_sums(0, 4, 1, False).shape == (2, 3)
        for split in ((1, 4, 1, False), (-1, 4, 1, False), (0, 5, 1, False), (0, -1, 1, False), (0, 4, -1, False)):
            with pytest.raises(ValueError):
                partition.split_sums(*split)
            with pytest.raises(ValueError):
                grower.search.force(*split, np.ones((2, 3), dtype=np.int64))
        with pytest.raises(ValueError):
            grower.search.force(0, 4, 1, False, np.ones((3, 2), dtype=np.int64))
