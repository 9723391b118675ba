import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.trees.growth import LocalGrower, TreeInput
from tests.kernels.binned import MODES, NARROW, SINGLE, WIDE, Binned, Gradients, nodes_of
from tests.reference import histogram as twin_histogram
from tests.reference import splits as twin

modes = pytest.mark.parametrize("mode", MODES.values(), ids=MODES)


def grow(grower, gradients, n_leaves, at_once=1, **rules):
    """Split the leaves of highest gain until there are n_leaves or none can be split."""
    gains = {0: gradients.start(grower, **rules)}
    n = 1
    while n < n_leaves and (able := sorted((node for node in gains if gains[node] > 0), key=lambda node: (-gains[node], node))):
        chosen = able[: min(at_once, n_leaves - n)]
        first, found = grower.advance(chosen, True, None)
        for node in chosen:
            del gains[node]
        gains |= dict(enumerate(found, first))
        n += len(chosen)
    return grower


def leaves_of(grower, n_rows, leaf_size=4):
    """The leaves, their exact sums (3, n_leaves), and the node that each row ended in."""
    leaves = np.flatnonzero(nodes_of(grower)["feature"] < 0)
    out = np.full(n_rows * leaf_size, 255, dtype=np.uint8)
    sums = grower.leaf_sums(leaves, out, leaf_size)
    return leaves, np.array(sums), leaves[out.view(f"u{leaf_size}")]


def sums_of(grower, node):
    """Gradient, hessian and count of a node, in a histogram's units."""
    return [nodes_of(grower)[name][node] for name in ("gradient", "hessian", "count")]


def walk(nodes, table):
    """The leaf that each row of bins should end in."""
    at = np.zeros(table.n_rows, dtype=np.int64)
    while (inner := np.flatnonzero(nodes["feature"][at] >= 0)).size:
        node = at[inner]
        feature = nodes["feature"][node]
        bins = table.bins[inner, feature]
        absent = (table.missing[feature] == 1) & (bins == table.n_bins[feature] - 1)
        goes_left = np.where(absent, nodes["missing_left"][node] == 1, bins <= nodes["bin"][node])
        at[inner] = np.where(goes_left, nodes["left"][node], nodes["right"][node])
    return at


def assert_same_tree(a, b, n_rows):
    for name, array in nodes_of(a).items():
        np.testing.assert_array_equal(array, nodes_of(b)[name], err_msg=name)
    for x, y in zip(leaves_of(a, n_rows), leaves_of(b, n_rows), strict=True):
        np.testing.assert_array_equal(x, y)


class TestHash:
    @pytest.mark.parametrize("key", [0, 1, 2**64 - 1, 0x9E3779B97F4A7C15])
    def test_equals_twin(self, kernels, key):
        np.testing.assert_array_equal(kernels.hash_rows(1000, key), twin_histogram.hash_rows(key, 1000))


class TestRootHistogram:
    @modes
    @pytest.mark.parametrize("n_rows", [130, 511, 513, 4095, 4096, 9001])
    def test_equals_twin(self, kernels, mode, n_rows):
        rng = np.random.default_rng(n_rows)
        table, gradients = Binned.random(rng, n_rows, 5), Gradients.random(rng, n_rows, mode)
        grower = table.grower(kernels)
        gradients.start(grower)
        expected = gradients.histogram(table)
        np.testing.assert_array_equal(grower.search.histogram(0), expected)
        assert sums_of(grower, 0) == expected[: table.n_bins[0]].sum(axis=0).tolist()

    @modes
    @pytest.mark.parametrize("n_threads", [1, 2, 3])
    @pytest.mark.parametrize("n_pages", [1, 3, 7])
    def test_threads_and_pages_leave_no_trace(self, kernels, mode, n_threads, n_pages):
        rng = np.random.default_rng(n_pages)
        table, gradients = Binned.random(rng, 10_001, 6), Gradients.random(rng, 10_001, mode)
        grower = table.grower(kernels, n_pages, n_threads=n_threads)
        gradients.start(grower)
        np.testing.assert_array_equal(grower.search.histogram(0), gradients.histogram(table))

    @modes
    @pytest.mark.parametrize("n_features, width, stride", [(5, 5, 16), (70, 35, 64), (130, 44, 44), (9, 1, 4), (6, 4, 4), (64, 64, 64)])
    @pytest.mark.parametrize("n_threads", [1, 2])
    def test_groups_of_features(self, kernels, mode, n_features, width, stride, n_threads):
        rng = np.random.default_rng(n_features)
        table, gradients = Binned.random(rng, 5000, n_features), Gradients.random(rng, 5000, mode)
        grower = table.grower(kernels, 2, width, stride, n_threads)
        gradients.start(grower)
        np.testing.assert_array_equal(grower.search.histogram(0), gradients.histogram(table))

    @modes
    def test_every_bin_of_a_byte(self, kernels, mode):
        rng = np.random.default_rng(0)
        n_bins = np.array([256, 256, 255], dtype=np.int32)
        table = Binned(rng.integers(0, n_bins, (3000, 3)).astype(np.uint8), n_bins, np.array([0, 1, 1], dtype=np.uint8))
        gradients = Gradients.random(rng, 3000, mode)
        grower = table.grower(kernels)
        gradients.start(grower)
        np.testing.assert_array_equal(grower.search.histogram(0), gradients.histogram(table))

    @pytest.mark.parametrize("mode, shifts", [(SINGLE, (1, 0)), (SINGLE, (9, 0)), (WIDE, (0, 3)), (WIDE, (5, 7))])
    def test_low_bits_dropped_with_rounding(self, kernels, mode, shifts):
        rng = np.random.default_rng(1)
        gradients = Gradients.random(rng, 800, mode, gradient_shift=shifts[0], hessian_shift=shifts[1])
        table = Binned.random(rng, 800, 4)
        grower = table.grower(kernels)
        gradients.start(grower)
        np.testing.assert_array_equal(grower.search.histogram(0), gradients.histogram(table))

    @modes
    @pytest.mark.parametrize("sign", [-1, 1])
    def test_the_largest_records_in_one_bin(self, kernels, mode, sign):
        n_rows = 3 * kernels.BLOCK_ROWS + 1
        gradients = Gradients.random(np.random.default_rng(0), n_rows, mode)
        gradients.gradient[:] = sign * kernels.MAX_GRADIENT
        gradients.hessian[:] = 1 if mode == SINGLE else kernels.MAX_HESSIAN
        gradients.gradient[-1] = 0  # so that there is a split
        bins = np.zeros((n_rows, 2), dtype=np.uint8)
        bins[-1] = 1
        table = Binned(bins, np.array([2, 2], dtype=np.int32), np.zeros(2, dtype=np.uint8))
        for n_threads in (1, 2):
            grower = table.grower(kernels, n_threads=n_threads)
            gradients.start(grower)
            np.testing.assert_array_equal(grower.search.histogram(0), gradients.histogram(table))

    def test_narrow_rounding_depends_on_the_key_and_is_fair(self, kernels):
        rng = np.random.default_rng(2)
        n = 6000
        table = Binned.random(rng, n, 1)
        sums = []
        for key in range(20):
            gradients = Gradients.random(rng, n, NARROW, key=key)
            gradients.gradient[:], gradients.hessian[:] = 3 << 14, 5 << 16  # 3/4 of a narrow unit, 5/4 of one
            grower = table.grower(kernels)
            gradients.start(grower)
            sums.append((nodes_of(grower)["gradient"][0], nodes_of(grower)["hessian"][0]))
        assert len(set(sums)) > 15
        spread = np.sqrt(n * 0.25 * 0.75)
        assert (np.abs(np.array(sums) - [n * 0.75, n * 1.25]) < 4 * spread).all()

    @pytest.mark.parametrize("n_threads", [1, 2])
    @pytest.mark.parametrize("first", MODES.values(), ids=MODES)
    @modes
    def test_a_new_tree_knows_nothing_of_the_last(self, kernels, first, mode, n_threads):
        rng = np.random.default_rng(3)
        n_rows = 15_000
        table = Binned.random(rng, n_rows, 3, most_bins=6)  # three features: the fourth byte of a row is padding
        grower = table.grower(kernels, n_threads=n_threads)
        grow(grower, Gradients.random(rng, n_rows, first), 9)
        gradients = Gradients.random(rng, n_rows, mode)
        gradients.start(grower)
        np.testing.assert_array_equal(grower.search.histogram(0), gradients.histogram(table))

    @modes
    @pytest.mark.parametrize("n_rows", [2, 127, 128, 129])
    @pytest.mark.parametrize("width", [None, 2])
    def test_sums_of_a_small_root(self, kernels, mode, n_rows, width):
        rng = np.random.default_rng(n_rows)
        table, gradients = Binned.random(rng, n_rows, 5), Gradients.random(rng, n_rows, mode)
        grower = table.grower(kernels, 3, width)
        gradients.start(grower)
        assert sums_of(grower, 0) == gradients.histogram(table)[: table.n_bins[0]].sum(axis=0).tolist()

    def test_too_few_rows_to_split(self, kernels):
        table = Binned.random(np.random.default_rng(4), 399, 3)
        grower = table.grower(kernels)
        assert Gradients.random(np.random.default_rng(4), 399, WIDE).start(grower, min_count=200) < 0
        assert grower.search.histogram(0) is None
        assert nodes_of(grower)["count"].tolist() == [399]


class TestAdvance:
    @modes
    @pytest.mark.parametrize("n_pages, n_threads, width", [(1, 1, None), (3, 2, None), (1, 2, 4), (4, 1, 3)])
    @pytest.mark.parametrize("min_count", [1, 200])
    def test_every_node_counts_its_rows(self, kernels, mode, n_pages, n_threads, width, min_count):
        rng = np.random.default_rng(5)
        n_rows = 12_000
        table, gradients = Binned.random(rng, n_rows, 9), Gradients.random(rng, n_rows, mode)
        grower = table.grower(kernels, n_pages, width, n_threads=n_threads)
        nodes = nodes_of(grow(grower, gradients, 20, at_once=3, min_count=min_count))
        at = walk(nodes, table)
        leaves, sums, leaf_of_row = leaves_of(grower, n_rows)
        assert len(leaves) == 20
        np.testing.assert_array_equal(leaf_of_row, at)
        n_kept = 0
        for k, leaf in enumerate(leaves):
            rows = at == leaf
            assert rows.sum() >= min_count
            assert sums[:, k].tolist() == [gradients.gradient[rows].sum(), gradients.hessian[rows].sum(), rows.sum()]
            expected = gradients.histogram(table, rows)
            assert sums_of(grower, leaf) == expected[: table.n_bins[0]].sum(axis=0).tolist()
            if (kept := grower.search.histogram(leaf)) is not None:
                np.testing.assert_array_equal(kept, expected)
                n_kept += 1
        assert n_kept >= 3

    @modes
    @pytest.mark.parametrize("width", [None, 3])
    def test_a_parent_is_the_sum_of_its_children(self, kernels, mode, width):
        rng = np.random.default_rng(6)
        table, gradients = Binned.random(rng, 6000, 7), Gradients.random(rng, 6000, mode)
        grower = table.grower(kernels, width=width)
        gains = [gradients.start(grower, min_count=300)]
        n_compared = 0
        for node in range(6):
            parent = grower.search.histogram(node)
            if parent is None:
                continue
            first, more = grower.advance([node], True, None)
            gains += more
            nodes = nodes_of(grower)
            assert grower.search.histogram(node) is None  # given to a child
            assert np.add(sums_of(grower, first), sums_of(grower, first + 1)).tolist() == sums_of(grower, node)
            assert [nodes[name][node] for name in ("left", "right")] == [first, first + 1]
            assert nodes["depth"][first : first + 2].tolist() == [nodes["depth"][node] + 1] * 2
            children = [grower.search.histogram(first + side) for side in (0, 1)]
            if min(more) > 0:
                np.testing.assert_array_equal(children[0] + children[1], parent)
                n_compared += 1
        assert n_compared >= 2

    @modes
    @pytest.mark.parametrize("at_once", [1, 4])
    @pytest.mark.parametrize("width", [None, 3])
    def test_dropped_histograms_change_nothing(self, kernels, mode, at_once, width):
        rng = np.random.default_rng(7)
        table, gradients = Binned.random(rng, 12_000, 6), Gradients.random(rng, 12_000, mode)
        kept = grow(table.grower(kernels, 2, width), gradients, 24, at_once, min_count=130)
        dropped = grow(table.grower(kernels, 2, width, max_histogram_bytes=0), gradients, 24, at_once, min_count=130)
        able = [node for node in range(47) if kept.search.histogram(node) is not None]
        n_dropped = sum(dropped.search.histogram(node) is None for node in able)
        assert n_dropped >= 2
        assert_same_tree(kept, dropped, 12_000)

    @modes
    def test_large_pages_split_by_columns(self, kernels, mode):
        rng = np.random.default_rng(8)
        n_rows = 40_000
        table, gradients = Binned.random(rng, n_rows, 5), Gradients.random(rng, n_rows, mode)
        columns = grow(table.grower(kernels, stride=32, n_threads=2), gradients, 8)  # 1.2 MB: above the bound for a copy
        rows = grow(table.grower(kernels, n_pages=5), gradients, 8)
        assert_same_tree(columns, rows, n_rows)
        np.testing.assert_array_equal(leaves_of(columns, n_rows)[2], walk(nodes_of(columns), table))

    @modes
    def test_pages_without_rows(self, kernels, mode):
        rng = np.random.default_rng(9)
        table, gradients = Binned.random(rng, 30, 4), Gradients.random(rng, 30, mode)
        many = grow(table.grower(kernels, n_pages=50), gradients, 6)
        assert_same_tree(many, grow(table.grower(kernels), gradients, 6), 30)

    @pytest.mark.parametrize("leaf_size", [1, 2, 4])
    def test_leaf_numbers_of_any_size(self, kernels, leaf_size):
        rng = np.random.default_rng(10)
        table, gradients = Binned.random(rng, 2000, 4), Gradients.random(rng, 2000, WIDE)
        grower = grow(table.grower(kernels), gradients, 50)
        np.testing.assert_array_equal(leaves_of(grower, 2000, leaf_size)[2], walk(nodes_of(grower), table))

    def test_a_tree_of_one_leaf(self, kernels):
        gradients = Gradients.small([1, 2, 3, 4], [1, 1, 2, 2])
        table = Binned(np.zeros((4, 1), dtype=np.uint8), np.array([3], dtype=np.int32), np.zeros(1, dtype=np.uint8))
        grower = table.grower(kernels)
        assert gradients.start(grower) <= 0
        leaves, sums, at = leaves_of(grower, 4)
        assert (leaves.tolist(), sums[:, 0].tolist(), at.tolist()) == ([0], [10, 6, 4], [0, 0, 0, 0])

    def test_without_search_children_promise_nothing(self, kernels):
        rng = np.random.default_rng(11)
        table, gradients = Binned.random(rng, 500, 4), Gradients.random(rng, 500, WIDE)
        grower = table.grower(kernels)
        gradients.start(grower)
        first, gains = grower.advance([0], False, None)
        assert first == 1
        assert max(gains) <= 0
        np.testing.assert_array_equal(leaves_of(grower, 500)[2], walk(nodes_of(grower), table))

    @modes
    @pytest.mark.parametrize("width", [None, 3])
    def test_down_to_single_rows(self, kernels, mode, width):
        rng = np.random.default_rng(13)
        table, gradients = Binned.random(rng, 700, 7, most_bins=40), Gradients.random(rng, 700, mode)
        grower = grow(table.grower(kernels, 2, width), gradients, 10_000)
        nodes = nodes_of(grower)
        assert (nodes["feature"] < 0).sum() > 600
        leaves, sums, at = leaves_of(grower, 700)
        np.testing.assert_array_equal(at, walk(nodes, table))
        np.testing.assert_array_equal(sums[2], np.bincount(at, minlength=len(nodes["feature"]))[leaves])
        np.testing.assert_array_equal(sums[0], np.bincount(at, gradients.gradient, len(nodes["feature"]))[leaves])
        np.testing.assert_array_equal(sums[2], nodes["count"][leaves])

    @modes
    def test_max_depth(self, kernels, mode):
        rng = np.random.default_rng(12)
        table, gradients = Binned.random(rng, 2000, 5), Gradients.random(rng, 2000, mode)
        grower = grow(table.grower(kernels), gradients, 1000, max_depth=3)
        depth = nodes_of(grower)["depth"]
        assert depth.max() == 3
        assert len(depth) == 15


class TestSample:
    """Growing on some of the rows."""

    @modes
    @pytest.mark.parametrize("n_rows, stride, n_pages", [(300, 8, 1), (3_000, 8, 4), (40_000, 32, 1), (70_000, 32, 2)])
    @pytest.mark.parametrize("n_leaves", [1, 9, 64, 70])
    def test_grows_as_on_these_rows_alone_and_finds_the_leaves_of_all(self, kernels, mode, n_rows, stride, n_pages, n_leaves):
        rng = np.random.default_rng(n_rows)
        table, gradients = Binned.random(rng, n_rows, 6), Gradients.random(rng, n_rows, mode)
        chosen = np.flatnonzero(rng.random(n_rows) < 0.4)
        grower = grow(table.grower(kernels, n_pages, stride=stride, n_threads=2), gradients, n_leaves, sample=chosen)
        nodes = nodes_of(grower)
        leaves, sums, reached = leaves_of(grower, n_rows, leaf_size=1)
        np.testing.assert_array_equal(reached, walk(nodes, table))
        if mode != NARROW:  # whose rounding depends on the rows' ids
            part = Binned(table.bins[chosen], table.n_bins, table.missing)
            alone = Gradients(mode, gradients.gradient[chosen], gradients.hessian[chosen], gradients.count_bits)
            other = grow(part.grower(kernels), alone, n_leaves)
            for name, array in nodes.items():
                np.testing.assert_array_equal(array, nodes_of(other)[name], err_msg=name)
        of_leaves = np.searchsorted(leaves, reached[chosen])
        for found, weights in zip(sums, (gradients.gradient, gradients.hessian, np.ones(n_rows, dtype=np.int64)), strict=True):
            expected = np.zeros(len(leaves), dtype=np.int64)
            np.add.at(expected, of_leaves, weights[chosen])
            np.testing.assert_array_equal(found, expected)

    @modes
    def test_the_histogram_sees_what_it_would_in_all_rows(self, kernels, mode):
        rng = np.random.default_rng(3)
        table, gradients = Binned.random(rng, 2_000, 6), Gradients.random(rng, 2_000, mode)
        chosen = np.flatnonzero(rng.random(2_000) < 0.5)
        grower = table.grower(kernels, n_pages=3, n_threads=2)
        gradients.start(grower, sample=chosen)
        np.testing.assert_array_equal(grower.search.histogram(0), gradients.histogram(table, chosen))


def best_of(found):
    return max((c.gain for c in found), default=-1.0)


def check_best_split(kernels, table, gradients, min_gain=0.0, allowed=None, **rules):
    """Split the root, and compare with the best of all candidates; returns whether it was split."""
    grower = table.grower(kernels)
    gain = gradients.start(grower, min_gain=min_gain, allowed=allowed, **rules)
    names = ("min_count", "min_hessian", "l2", "hessian_unit")
    found = twin.candidates(
        gradients.histogram(table), table.n_bins, table.missing, allowed=allowed, **{n: rules[n] for n in names if n in rules}
    )
    rounding = 1e-11 * max((c.score for c in found), default=0.0)  # gains are differences of scores
    best = best_of(found)
    if best <= min_gain - rounding:
        assert gain <= 0
    if gain <= 0:
        assert best <= min_gain + rounding
        return False
    assert gain == pytest.approx(best, rel=1e-12, abs=rounding)
    grower.advance([0], True, None)
    nodes = nodes_of(grower)
    feature, bin_ = nodes["feature"][0], nodes["bin"][0]
    left = [nodes[name][1] for name in ("gradient", "hessian", "count")]
    cells = gradients.histogram(table)[np.cumsum(table.n_bins)[feature] - table.n_bins[feature] :][: table.n_bins[feature]]
    any_missing = table.missing[feature] and cells[-1, 2] > 0
    if not any_missing:  # a missing value goes where most rows go
        assert nodes["missing_left"][0] == (2 * nodes["count"][1] > nodes["count"][0])
    own = [c for c in found if (c.feature, c.bin) == (feature, bin_) and (not any_missing or c.missing_left == nodes["missing_left"][0])]
    assert len(own) == 1
    assert own[0].left.tolist() == left
    assert own[0].gain == pytest.approx(best, rel=1e-12, abs=rounding)
    return True


# Up to 128 rows are searched one by one, more by their histogram.
few_and_many = pytest.mark.parametrize("n_rows", [(2, 128), (129, 300)], ids=["few", "many"])


@st.composite
def small_tables(draw, fewest, most):
    n_rows, n_features = draw(st.integers(fewest, most)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return Binned.random(rng, n_rows, n_features, most_bins=draw(st.integers(1, 9)))


@st.composite
def small_gradients(draw, n_rows, mode):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if mode == NARROW:
        return Gradients.random(rng, n_rows, mode)
    most = draw(st.sampled_from([1, 5, 1000]))
    hessian = np.ones(n_rows) if mode == SINGLE else rng.integers(0, most + 1, n_rows)
    return Gradients.small(rng.integers(-most, most + 1, n_rows), hessian, mode)


class TestBestSplit:
    @modes
    @few_and_many
    @given(data=st.data())
    def test_is_the_best_of_all(self, kernels, mode, n_rows, data):
        table = data.draw(small_tables(*n_rows))
        gradients = data.draw(small_gradients(table.n_rows, mode))
        check_best_split(
            kernels,
            table,
            gradients,
            min_count=data.draw(st.integers(0, 6)),
            min_hessian=data.draw(st.sampled_from([0.0, 1e-3, 3.0, 2000.0])),
            l2=data.draw(st.sampled_from([0.0, 0.5, 100.0])),
            hessian_unit=data.draw(st.sampled_from([1.0, 0.25, 2.0**-10])),
            min_gain=data.draw(st.sampled_from([0.0, 1.0, 1e4])),
        )

    @modes
    @few_and_many
    @given(data=st.data())
    def test_only_allowed_features(self, kernels, mode, n_rows, data):
        table = data.draw(small_tables(*n_rows))
        gradients = data.draw(small_gradients(table.n_rows, mode))
        allowed = np.array(data.draw(st.lists(st.integers(0, 1), min_size=table.n_features, max_size=table.n_features)), dtype=np.uint8)
        check_best_split(kernels, table, gradients, allowed=allowed)

    def test_most_random_tables_can_be_split(self, kernels):
        rng = np.random.default_rng(0)
        n_split = 0
        for _ in range(50):
            table = Binned.random(rng, 30, 4)
            n_split += check_best_split(kernels, table, Gradients.random(rng, 30, WIDE), min_count=3)
        assert n_split > 40

    def test_children_too(self, kernels):
        rng = np.random.default_rng(1)
        table, gradients = Binned.random(rng, 900, 6), Gradients.random(rng, 900, WIDE)
        allowed = np.array([[1, 0, 0, 1, 1, 0], [0, 1, 1, 0, 0, 1]], dtype=np.uint8)
        grower = table.grower(kernels)
        gradients.start(grower, min_count=10)
        _, gains = grower.advance([0], True, allowed)
        at = walk(nodes_of(grower), table)
        grower.advance([1, 2], False, None)
        for child, gain in enumerate(gains):
            found = twin.candidates(
                gradients.histogram(table, at == child + 1), table.n_bins, table.missing, min_count=10, allowed=allowed[child]
            )
            assert gain == pytest.approx(best_of(found), rel=1e-9)
            assert allowed[child][nodes_of(grower)["feature"][child + 1]]

    def test_missing_values_go_where_they_fit(self, kernels):
        bins = np.array([[0], [0], [1], [1], [2], [2]], dtype=np.uint8)  # bin 2: missing
        table = Binned(bins, np.array([3], dtype=np.int32), np.ones(1, dtype=np.uint8))
        for gradient, missing_left, bin_ in (([9, 9, -9, -9, 9, 9], 1, 0), ([9, 9, -9, -9, -9, -9], 0, 0), ([9, 9, 9, 9, -9, -9], 0, 1)):
            grower = grow(table.grower(kernels), Gradients.small(gradient, [1] * 6), 2)
            nodes = nodes_of(grower)
            assert (nodes["missing_left"][0], nodes["bin"][0]) == (missing_left, bin_)
            assert nodes["gradient"][1:].tolist() == [sum(g for g in gradient if g > 0), sum(g for g in gradient if g < 0)]

    def test_ties_go_to_the_lower_feature_and_bin(self, kernels):
        bins = np.array([[0, 0], [0, 0], [1, 1], [2, 2], [3, 3], [3, 3]], dtype=np.uint8)
        table = Binned(bins, np.array([4, 4], dtype=np.int32), np.zeros(2, dtype=np.uint8))
        # The same gain after bin 0 and after bin 2; and the same for both features.
        grower = grow(table.grower(kernels), Gradients.small([6, 6, -3, 3, -6, -6], [1] * 6), 2)
        assert (nodes_of(grower)["feature"][0], nodes_of(grower)["bin"][0]) == (0, 0)

    def test_a_pure_node_is_left_alone(self, kernels):
        rng = np.random.default_rng(2)
        table = Binned.random(rng, 200, 5)
        assert Gradients.small(np.full(200, 7), np.full(200, 3)).start(table.grower(kernels)) <= 0
        assert Gradients.small(np.zeros(200), np.zeros(200)).start(table.grower(kernels)) <= 0

    @pytest.mark.parametrize("noise, splits", [(0.0, True), (50.0, False)])
    def test_gain_below_the_noise_is_none(self, kernels, noise, splits):
        table = Binned(np.array([[0], [1]], dtype=np.uint8), np.array([2], dtype=np.int32), np.zeros(1, dtype=np.uint8))
        # gain = 3^2 + 3^2 = 18; the noise's floor = noise * 2 rows / hessian 2
        assert (Gradients.small([3, -3], [1, 1]).start(table.grower(kernels), noise=noise) > 0) == splits


@modes
@pytest.mark.parametrize("more_bins", [0, 3], ids=["alone", "among others"])
@pytest.mark.parametrize("n_rows", [90, 700, 9_000])
class TestFeaturesOfTwoBins:
    """They are searched together, unless features are drawn: then one by one."""

    def table(self, rng, n_rows, more_bins):
        n_bins = np.full(41, 2, dtype=np.int32)
        n_bins[:: 7 if more_bins else 99] += more_bins
        bins = rng.integers(0, n_bins, (n_rows, 41)).astype(np.uint8)
        bins[:, 20:33] &= rng.random((n_rows, 13)) < 0.1
        bins[:, 35] = bins[:, 3]  # a tie
        return Binned(bins, n_bins, np.zeros(41, dtype=np.uint8))

    @pytest.mark.parametrize("n_threads", [1, 3])
    def test_together_and_one_by_one(self, kernels, mode, more_bins, n_rows, n_threads):
        rng = np.random.default_rng(n_rows)
        table, gradients = self.table(rng, n_rows, more_bins), Gradients.random(rng, n_rows, mode)
        gradients.gradient += (table.bins[:, 3].astype(np.int64) * 8000 - 4000) << 16
        np.clip(gradients.gradient, -kernels.MAX_GRADIENT, kernels.MAX_GRADIENT, out=gradients.gradient)
        rules = {"min_count": 5, "l2": 0.5, "min_hessian": 1.0, "noise": 0.01}
        together, single = (table.grower(kernels, 1, 21, 24, n_threads) for _ in range(2))
        everything = np.ones((2, 41), dtype=np.uint8)
        gains = {0: gradients.start(together, **rules)}
        assert gradients.start(single, allowed=everything[0], **rules) == gains[0]
        for _ in range(20):
            node = max(gains, key=gains.get)
            if gains.pop(node) <= 0:
                break
            first, found = together.advance([node], True, None)
            assert single.advance([node], True, everything) == (first, found)
            gains |= dict(enumerate(found, first))
        assert_same_tree(together, single, n_rows)
        assert nodes_of(together)["feature"][0] == 3

    def test_the_best_of_all(self, kernels, mode, more_bins, n_rows):
        rng = np.random.default_rng(n_rows)
        table, gradients = self.table(rng, n_rows, more_bins), Gradients.random(rng, n_rows, mode)
        assert check_best_split(kernels, table, gradients, min_count=3, l2=1.0)


class TestBadArguments:
    """Whatever is wrong is told; nothing crashes."""

    def make(self, kernels, **change):
        """A grower of 20 rows, with other arguments of its layout or its page."""
        table = Binned.random(np.random.default_rng(0), 20, 5, most_bins=4)
        (codes,) = table.pages()
        form = table.layout()
        layout = kernels.BinLayout(**{name: change.pop(name, value) for name, value in form.items()})
        page = kernels.Page(**{"layout": layout, "codes": codes.reshape(-1), "n_rows": 20, **change})
        return LocalGrower(kernels.SplitSearch(layout, 1, 1 << 20), kernels.RowPartition(layout, [page], 1))

    def start(self, kernels, grower, gradients=None, form=WIDE, allowed=None, sample=None, rules=None, **change):
        histograms = kernels.HistogramFormat(**{"gradients": form, "count_bits": 10, "gradient_shift": 0, "hessian_shift": 0, **change})
        gradients = np.zeros(160, dtype=np.uint8) if gradients is None else gradients
        settings = kernels.TreeSettings(histograms, kernels.SplitRules(**(rules or {})), 0, 0)
        return grower.start(TreeInput(gradients, settings, allowed, sample))

    def started(self, kernels):
        grower = self.make(kernels)
        rng = np.random.default_rng(1)
        assert Gradients.random(rng, 20, WIDE).start(grower) > 0
        return grower

    @pytest.mark.parametrize(
        "change",
        [
            {"n_bins": np.empty(0, dtype=np.int32)},
            {"n_bins": np.full(5, 257, dtype=np.int32)},
            {"n_bins": np.zeros(5, dtype=np.int32)},
            {"n_bins": np.ones(5, dtype=np.int32)},  # so that bins are out of range
            {"missing": np.zeros(4, dtype=np.uint8)},
            {"missing": np.ones(5, dtype=np.uint8), "missing_bin": np.zeros(5, dtype=np.int32)},
            {"missing_bin": np.full(5, 256, dtype=np.int32)},
            {"missing_bin": np.full(5, -1, dtype=np.int32)},
            {"missing_bin": np.full(6, 1, dtype=np.int32)},
            {"width": 0},
            {"width": -1},
            {"width": 2},  # three groups need a longer page
            {"stride": 7},
            {"stride": 12},
            {"n_rows": 21},
            {"n_rows": -1},
            {"n_rows": 1 << 60},
            {"first_row": -1},
            {"first_row": 1 << 62},
            {"codes": np.full(160, 255, dtype=np.uint8)},
            {"codes": np.zeros(159, dtype=np.uint8)},
            {"lists": (np.zeros(21, dtype=np.uint32), np.empty(0, dtype=np.uint32))},
        ],
        ids=lambda change: "-".join(change),
    )
    def test_layout_and_pages(self, kernels, change):
        with pytest.raises(ValueError):
            self.make(kernels, **change)

    def test_padding_must_be_empty(self, kernels):
        table = Binned.random(np.random.default_rng(0), 20, 5, most_bins=4)
        (page,) = table.pages()
        page[0, 7, 6] = 1
        with pytest.raises(ValueError, match="bin"):
            self.make(kernels, codes=page.reshape(-1))

    @pytest.mark.parametrize(
        "change",
        [
            {"gradients": np.zeros(159, dtype=np.uint8)},
            {"gradients": np.zeros(80, dtype=np.uint8)},
            {"form": SINGLE},
            {"form": -1},
            {"form": 3},
            {"count_bits": 4},
            {"count_bits": 0},
            {"count_bits": 48},
            {"gradient_shift": -1},
            {"gradient_shift": 31},
            {"hessian_shift": -1},
            {"hessian_shift": 31},
            {"allowed": np.ones(4, dtype=np.uint8)},
            {"sample": np.empty(0, dtype=np.int64)},
            {"sample": np.array([3, 2])},
            {"sample": np.array([3, 3])},
            {"sample": np.array([-1, 3])},
            {"sample": np.array([3, 20])},
            {"rules": {"gradient_unit": 0.0}},
        ],
        ids=lambda change: "-".join(change),
    )
    def test_start(self, kernels, change):
        grower = self.make(kernels)
        self.start(kernels, grower)
        with pytest.raises(ValueError):
            self.start(kernels, grower, **change)

    def test_nothing_before_start(self, kernels):
        grower = self.make(kernels)
        with pytest.raises(ValueError):
            grower.advance([0], True, None)
        with pytest.raises(ValueError):
            grower.leaf_sums(np.array([0]), np.zeros(20, dtype=np.uint8), 1)
        with pytest.raises(ValueError):
            grower.search.histogram(0)
        assert len(nodes_of(grower)["feature"]) == 0

    @pytest.mark.parametrize("nodes", [[-1], [1], [0, 0], [0, 5]])
    def test_nodes_that_cannot_be_split(self, kernels, nodes):
        with pytest.raises(ValueError):
            self.started(kernels).advance(nodes, True, None)

    def test_a_node_is_split_once(self, kernels):
        grower = self.started(kernels)
        grower.advance([0], False, None)
        for node in (0, 1, 2):  # split already, and never searched
            with pytest.raises(ValueError, match="cannot be split"):
                grower.advance([node], True, None)

    def test_a_failed_call_changes_nothing(self, kernels):
        grower = self.started(kernels)
        before = nodes_of(grower)
        with pytest.raises(ValueError):
            grower.advance([0, 0], True, None)
        for name, array in nodes_of(grower).items():
            np.testing.assert_array_equal(array, before[name])

    @pytest.mark.parametrize("shape", [(1, 5), (2, 4), (3, 5)])
    def test_allowed_of_another_shape(self, kernels, shape):
        with pytest.raises(ValueError, match="allowed"):
            self.started(kernels).advance([0], True, np.ones(shape, dtype=np.uint8))

    @pytest.mark.parametrize("leaves, size, leaf_size", [([0], 19, 1), ([0], 20, 2), ([0], 60, 3), ([1], 20, 1), ([-1], 20, 1)])
    def test_finish(self, kernels, leaves, size, leaf_size):
        with pytest.raises(ValueError):
            self.started(kernels).leaf_sums(np.array(leaves), np.zeros(size, dtype=np.uint8), leaf_size)

    def test_inner_nodes_are_no_leaves(self, kernels):
        grower = self.started(kernels)
        grower.advance([0], True, None)
        with pytest.raises(ValueError, match="not a leaf"):
            grower.leaf_sums(np.array([0, 1, 2]), np.zeros(20, dtype=np.uint8), 1)

    @pytest.mark.parametrize("node", [-1, 1])
    def test_histogram(self, kernels, node):
        with pytest.raises(ValueError, match="no such node"):
            self.started(kernels).search.histogram(node)
