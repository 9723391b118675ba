import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels.views import VIEWS, view_of
from tests.reference import predict as twin

INF = np.inf


def random_tree(rng, n_leaves, n_features, thresholds, n_values=None):
    """A tree of random shape; its thresholds are drawn from a list. Its leaves hold one value, or several."""
    n_nodes = 2 * n_leaves - 1
    feature, left, right = np.full(n_nodes, -1, dtype=np.int32), np.zeros(n_nodes, dtype=np.int32), np.zeros(n_nodes, dtype=np.int32)
    leaves, n = [0], 1
    while n < n_nodes:
        node = leaves.pop(rng.integers(len(leaves)))
        feature[node], left[node], right[node] = rng.integers(n_features), n, n + 1
        leaves += [n, n + 1]
        n += 2
    swap = rng.random(n_nodes) < 0.5  # the left child need not come first
    left[swap], right[swap] = right[swap], left[swap]
    return twin.Tree(
        feature=feature,
        threshold=rng.choice(thresholds, n_nodes),
        left=left,
        right=right,
        missing_left=rng.integers(0, 2, n_nodes).astype(np.uint8),
        value=np.where(feature < 0, rng.normal(size=n_nodes if n_values is None else (n_values, n_nodes)), 0.0).T.copy(),
    )


def scorer_of(kernels, value, n_features, n_outputs, n_levels=None, **nodes):
    """A scorer from all arrays by name."""
    trees = kernels.TreeArrays(**{"bin": np.zeros(len(nodes["feature"]), dtype=np.int32), **nodes})
    return kernels.Scorer(trees, kernels.LeafArrays(value=value), n_features, n_outputs, n_levels)


def make_scorer(kernels, trees, n_features, n_outputs=1, n_levels=None):
    begin = np.concatenate([[0], np.cumsum([len(tree.feature) for tree in trees])]).astype(np.int64)
    arrays = {name: np.concatenate([getattr(tree, name) for tree in trees]) for name in twin.Tree._fields if name not in ("bin", "sets")}
    if n_levels is not None:
        starts = np.cumsum([0] + [len(tree.sets) for tree in trees])
        arrays["bin"] = np.concatenate([tree.bin + start for tree, start in zip(trees, starts, strict=False)]).astype(np.int32)
        arrays["sets"] = np.concatenate([tree.sets for tree in trees])
    return scorer_of(kernels, n_features=n_features, n_outputs=n_outputs, n_levels=n_levels, begin=begin, **arrays)


def table(rng, n_rows, n_features, n_distinct=50):
    """Numbers that repeat, some infinite, some missing."""
    x = rng.choice(np.concatenate([rng.normal(size=n_distinct), [INF, -INF, 0.0, -0.0]]), (n_rows, n_features))
    x[rng.random(x.shape) < 0.1] = np.nan
    return x


def thresholds_for(rng, x, n=40):
    """Thresholds between, beside and on the values of a table."""
    known = x[~np.isnan(x)]
    return np.concatenate([rng.normal(size=n), rng.choice(known, n), np.nextafter(rng.choice(known, 5), -INF), [INF, -INF, 0.0, -0.0]])


def check(kernels, trees, x, n_outputs=1, first=0, last=None, n_threads=1, n_levels=None):
    """Kernel and twin: the same bits, for sums and for leaves."""
    last = len(trees) if last is None else last
    start = np.random.default_rng(0).normal(size=(len(x), n_outputs))
    got, reached = start.copy(), np.full((len(x), last - first), -1, dtype=np.int32)
    scorer = make_scorer(kernels, trees, x.shape[1], n_outputs, n_levels=n_levels)
    scorer.add(x, first, last, got, n_threads)
    scorer.leaves(x, first, last, reached, n_threads)
    np.testing.assert_array_equal(reached, twin.leaves(trees[first:last], x, n_levels))
    np.testing.assert_array_equal(got, twin.add(trees[first:last], x, start.copy(), first, n_levels))


class TestScorer:
    # Planes of eight, parts of 64; above 512, walking.
    @pytest.mark.parametrize("n_leaves", [1, 2, 7, 8, 9, 31, 33, 64, 65, 128, 300, 511, 512, 513, 900])
    def test_trees_of_any_size(self, kernels, n_leaves):
        rng = np.random.default_rng(n_leaves)
        x = table(rng, 70, 6)
        trees = [random_tree(rng, n_leaves, 6, thresholds_for(rng, x)) for _ in range(5)]
        check(kernels, trees, x)
        check(kernels, trees, x[:3])

    @pytest.mark.parametrize("n_rows", [1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 200])  # around a few, and blocks
    def test_any_number_of_rows(self, kernels, n_rows):
        rng = np.random.default_rng(n_rows)
        x = table(rng, n_rows, 4)
        trees = [random_tree(rng, n, 4, thresholds_for(rng, x)) for n in (1, 5, 31, 50, 2)]
        check(kernels, trees, x)

    def test_rows_are_scored_as_if_alone(self, kernels):
        rng = np.random.default_rng(1)
        x = table(rng, 150, 5)
        trees = [random_tree(rng, n, 5, thresholds_for(rng, x)) for n in (3, 20, 64)]
        scorer = make_scorer(kernels, trees, 5)
        together, alone = np.zeros((2, 150, 1))
        scorer.add(x, 0, 3, together, 1)
        for i in range(150):
            scorer.add(x[i : i + 1], 0, 3, alone[i : i + 1], 1)
        np.testing.assert_array_equal(together, alone)

    @given(seed=st.integers(0, 2**32 - 1), n_rows=st.integers(1, 90), n_features=st.integers(1, 8), n_outputs=st.integers(1, 4))
    def test_anything(self, kernels, seed, n_rows, n_features, n_outputs):
        rng = np.random.default_rng(seed)
        x = table(rng, n_rows, n_features, n_distinct=rng.integers(1, 30))
        if np.isnan(x).all():
            x[0, 0] = 1.0
        trees = [random_tree(rng, rng.integers(1, 65), n_features, thresholds_for(rng, x)) for _ in range(4 * n_outputs)]
        first, last = sorted(rng.integers(0, len(trees) + 1, 2))
        check(kernels, trees, x, n_outputs, first, last)

    @pytest.mark.parametrize("n_outputs", [2, 3, 7])
    @pytest.mark.parametrize("first, last", [(0, 21), (0, 0), (21, 21), (1, 4), (7, 14), (20, 21)])
    def test_outputs_take_turns_in_any_range_of_trees(self, kernels, n_outputs, first, last):
        rng = np.random.default_rng(2)
        x = table(rng, 40, 3)
        trees = [random_tree(rng, rng.integers(1, 20), 3, thresholds_for(rng, x)) for _ in range(21)]
        check(kernels, trees, x, n_outputs, first, last)

    @pytest.mark.parametrize("dtype", ["f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?"])
    @pytest.mark.parametrize("n_rows", [5, 80])
    def test_dtypes(self, kernels, dtype, n_rows):
        rng = np.random.default_rng(3)
        x = rng.normal(scale=3, size=(n_rows, 4)).astype("f4") if dtype == "f4" else rng.integers(0, 100, (n_rows, 4)).astype(dtype)
        values = np.unique(x).astype(float)
        trees = [random_tree(rng, 20, 4, np.concatenate([values, values + 0.5, values * 1.0000001])) for _ in range(6)]
        check(kernels, trees, x)

    @pytest.mark.parametrize("view", VIEWS)
    @pytest.mark.parametrize("n_rows", [12, 160])
    def test_strides(self, kernels, view, n_rows):
        rng = np.random.default_rng(4)
        x = view_of(table(rng, n_rows, 12), view)
        check(kernels, [random_tree(rng, 30, x.shape[1], thresholds_for(rng, x)) for _ in range(4)], x)

    def test_features_used_and_not(self, kernels):
        rng = np.random.default_rng(5)
        x = table(rng, 100, 300)
        trees = [random_tree(rng, 25, 300, thresholds_for(rng, x)) for _ in range(5)]  # some features lie side by side, some alone
        check(kernels, trees, x)

    @pytest.mark.parametrize("n_cuts", [253, 254, 255, 400])  # up to 254 fit a byte
    def test_many_thresholds_of_a_feature(self, kernels, n_cuts):
        rng = np.random.default_rng(6)
        cuts = np.arange(n_cuts, dtype=float)
        trees = [random_tree(rng, 2, 1, cuts[i : i + 1]) for i in range(n_cuts)]
        x = np.concatenate([rng.choice(cuts, 60), rng.choice(cuts, 30) + 0.5, [np.nan, INF, -INF]])[:, None]
        check(kernels, trees, x)

    def test_missing_values_follow_each_nodes_own_way(self, kernels):
        rng = np.random.default_rng(7)
        x = np.full((40, 2), np.nan)
        x[::2, 0] = 1.0
        check(kernels, [random_tree(rng, 30, 2, np.array([0.0, 1.0, 2.0])) for _ in range(10)], x)

    @pytest.mark.parametrize("n_leaves", [20, 100, 600])
    def test_threads_leave_no_trace(self, kernels, n_leaves):
        rng = np.random.default_rng(8)
        x = table(rng, 5000, 4)
        trees = [random_tree(rng, n_leaves, 4, thresholds_for(rng, x)) for _ in range(10)]
        scorer = make_scorer(kernels, trees, 4, 2)
        sums, leaves = np.zeros((3, 5000, 2)), np.zeros((3, 5000, 10), dtype=np.int32)
        for n_threads in (1, 2, 3):
            scorer.add(x, 0, 10, sums[n_threads - 1], n_threads)
            scorer.leaves(x, 0, 10, leaves[n_threads - 1], n_threads)
        for threaded in (1, 2):
            np.testing.assert_array_equal(sums[threaded], sums[0])
            np.testing.assert_array_equal(leaves[threaded], leaves[0])

    @pytest.mark.parametrize("n_leaves", [1, 8, 31, 64, 100, 600])
    @pytest.mark.parametrize("n_outputs", [2, 3, 4, 5, 8, 26])  # whole vectors of four, and not
    def test_a_value_for_each_output(self, kernels, n_leaves, n_outputs):
        rng = np.random.default_rng(n_leaves)
        x = table(rng, 150, 4)
        trees = [random_tree(rng, n_leaves, 4, thresholds_for(rng, x), n_outputs) for _ in range(6)]
        check(kernels, trees, x, n_outputs)
        check(kernels, trees, x[:5], n_outputs)
        check(kernels, trees, x, n_outputs, 1, 4, n_threads=2)

    def test_symmetric_trees_with_a_value_for_each_output(self, kernels):
        rng = np.random.default_rng(12)
        x = table(rng, 100, 3)
        inner = np.repeat(rng.choice(thresholds_for(rng, x), 3), [1, 2, 4])
        tree = twin.Tree(
            feature=np.append(np.repeat([2, 0, 1], [1, 2, 4]), np.full(8, -1)).astype(np.int32),
            threshold=np.append(inner, np.zeros(8)),
            left=np.append(2 * np.arange(7) + 1, np.zeros(8)).astype(np.int32),
            right=np.append(2 * np.arange(7) + 2, np.zeros(8)).astype(np.int32),
            missing_left=np.repeat([1, 0, 1, 0], [1, 2, 4, 8]).astype(np.uint8),
            value=rng.normal(size=(15, 5)),
        )
        check(kernels, [tree], x, 5)

    def test_no_rows_or_no_trees(self, kernels):
        tree = random_tree(np.random.default_rng(9), 5, 2, np.zeros(1))
        make_scorer(kernels, [tree], 2).add(np.empty((0, 2)), 0, 1, np.empty((0, 1)), 1)
        out = np.ones((20, 1))
        types = {"feature": "i4", "threshold": "f8", "left": "i4", "right": "i4", "missing_left": "u1", "value": "f8"}
        empty = {name: np.empty(0, dtype=dtype) for name, dtype in types.items()}
        scorer_of(kernels, **empty, begin=np.zeros(1, dtype=np.int64), n_features=2, n_outputs=1).add(np.zeros((20, 2)), 0, 0, out, 1)
        assert (out == 1).all()


class TestMalformedTrees:
    def tree(self):
        #     0
        #   1   2
        #      3 4
        return {
            "begin": np.array([0, 5], dtype=np.int64),
            "feature": np.array([0, -1, 1, -1, -1], dtype=np.int32),
            "threshold": np.array([0.5, 0, 1.5, 0, 0]),
            "left": np.array([1, 0, 3, 0, 0], dtype=np.int32),
            "right": np.array([2, 0, 4, 0, 0], dtype=np.int32),
            "bin": np.zeros(5, dtype=np.int32),
            "missing_left": np.zeros(5, dtype=np.uint8),
            "value": np.arange(5.0),
            "n_features": 2,
            "n_outputs": 1,
        }

    @pytest.mark.parametrize(
        "name, at, wrong",
        [
            ("feature", 0, 2),
            ("left", 0, 0),  # a cycle
            ("left", 2, 2),
            ("right", 2, 1),  # backwards
            ("left", 0, 5),
            ("left", 0, -1),
            ("right", 0, 2**31 - 1),
            ("left", 0, 2),  # the same child twice
            ("left", 0, 3),  # two parents
            ("feature", 2, -1),  # its children have no parent
            ("threshold", 0, np.nan),
            ("begin", 0, 1),
            ("begin", 0, -1),
            ("begin", 1, 4),
            ("begin", 1, 6),
        ],
    )
    def test_nodes(self, kernels, name, at, wrong):
        arguments = self.tree()
        scorer_of(kernels, **arguments)
        arguments[name][at] = wrong
        with pytest.raises(ValueError):
            scorer_of(kernels, **arguments)

    @pytest.mark.parametrize("name", ["feature", "threshold", "bin", "left", "right", "missing_left", "value", "begin"])
    def test_lengths(self, kernels, name):
        arguments = self.tree()
        arguments[name] = arguments[name][:-1]
        with pytest.raises(ValueError):
            scorer_of(kernels, **arguments)

    @pytest.mark.parametrize("shape", [(5, 2), (5, 4), (4, 3), (10,), (0,)])
    def test_values_for_other_outputs(self, kernels, shape):
        scorer_of(kernels, **{**self.tree(), "n_outputs": 3, "value": np.zeros((5, 3))})
        with pytest.raises(ValueError):
            scorer_of(kernels, **{**self.tree(), "n_outputs": 3, "value": np.zeros(shape)})

    @pytest.mark.parametrize("begin", [[], [0, 0, 5], [0, 5, 5], [0, 6, 5], [0, -1, 5]])
    def test_begin(self, kernels, begin):
        with pytest.raises(ValueError):
            scorer_of(kernels, **{**self.tree(), "begin": np.array(begin, dtype=np.int64)})

    @pytest.mark.parametrize("change", [{"n_features": 0}, {"n_outputs": 0}, {"n_features": -1}, {"n_features": 1}])
    def test_sizes(self, kernels, change):
        with pytest.raises(ValueError):
            scorer_of(kernels, **{**self.tree(), **change})

    @pytest.mark.parametrize("first, last", [(-1, 1), (0, 2), (1, 0)])
    def test_ranges_of_trees(self, kernels, first, last):
        scorer, x = scorer_of(kernels, **self.tree()), np.zeros((3, 2))
        with pytest.raises(ValueError, match="trees out of range"):
            scorer.add(x, first, last, np.zeros((3, 1)), 1)
        with pytest.raises(ValueError, match="trees out of range"):
            scorer.leaves(x, first, last, np.zeros((3, 1), dtype=np.int32), 1)

    def test_tables_and_outputs_of_other_shapes(self, kernels):
        scorer = scorer_of(kernels, **self.tree())
        with pytest.raises(ValueError, match="features"):
            scorer.add(np.zeros((3, 3)), 0, 1, np.zeros((3, 1)), 1)
        with pytest.raises(ValueError, match="features"):
            scorer.leaves(np.zeros((3, 1)), 0, 1, np.zeros((3, 1), dtype=np.int32), 1)
        for shape in ((2, 1), (3, 2)):
            with pytest.raises(ValueError, match="out does not fit"):
                scorer.add(np.zeros((3, 2)), 0, 1, np.zeros(shape), 1)
            with pytest.raises(ValueError, match="out does not fit"):
                scorer.leaves(np.zeros((3, 2)), 0, 1, np.zeros(shape, dtype=np.int32), 1)
        with pytest.raises(ValueError, match="convert it to float64"):
            scorer.add(np.zeros((3, 2), dtype=np.float16), 0, 1, np.zeros((3, 1)), 1)


def add_tree(kernels, page, feature, bin, left, right, missing_left, value, raw, sets=None, kinds=None, n_threads=1):
    """One tree over binned rows, from all arrays by name."""
    n = len(feature)
    nodes = {"feature": feature, "bin": bin, "left": left, "right": right, "missing_left": missing_left, "sets": sets}
    tree = kernels.TreeArrays(begin=np.array([0, n], dtype=np.int64), threshold=np.zeros(n), **nodes)
    kernels.add_tree(page, tree, kernels.LeafArrays(value=value), kinds, raw, n_threads)


class TestAddTree:
    """One tree over binned rows: the same leaves as over the numbers."""

    @pytest.mark.parametrize("width, stride", [(5, 8), (2, 4)])
    @pytest.mark.parametrize("n_rows, n_threads", [(50, 1), (20_000, 3)])
    def test_equals_a_walk_over_bins(self, kernels, width, stride, n_rows, n_threads):
        rng = np.random.default_rng(10)
        bins, missing_bin = rng.integers(0, 11, (n_rows, 5)).astype(np.uint8), np.full(5, 10, dtype=np.int32)
        page = np.zeros((-(-5 // width), n_rows, stride), dtype=np.uint8)
        for f in range(5):
            page[f // width, :, f % width] = bins[:, f]
        tree = random_tree(rng, 40, 5, np.arange(10.0))
        nodes = {"feature": tree.feature, "bin": tree.threshold.astype(np.int32), "left": tree.left, "right": tree.right}
        nodes |= {"missing_left": tree.missing_left}
        layout = kernels.BinLayout(missing_bin + 1, np.ones(5, dtype=np.uint8), missing_bin, width, stride)
        native = kernels.Page(layout, page.reshape(-1), n_rows)
        raw = rng.normal(size=n_rows)
        some = rng.choice(n_rows, 50, replace=False)
        x = np.where(bins == 10, np.nan, bins.astype(float))
        expected = twin.add([tree], x[some], raw[some, None].copy())[:, 0]
        add_tree(kernels, native, **nodes, value=tree.value, raw=raw, n_threads=n_threads)
        np.testing.assert_array_equal(raw[some], expected)
        # A value for each output, to some columns of a larger array.
        values, planes = rng.normal(size=(len(tree.feature), 3)), rng.normal(size=(3, n_rows + 9))
        before = planes.copy()
        part = planes[:, 4 : 4 + n_rows]
        add_tree(kernels, native, **nodes, value=values, raw=part, n_threads=n_threads)
        expected = twin.add([tree._replace(value=values)], x[some], before[:, 4 : 4 + n_rows].T[some].copy())
        np.testing.assert_array_equal(part.T[some], expected)
        np.testing.assert_array_equal(planes[:, [0, 1, 2, 3, -5, -4, -3, -2, -1]], before[:, [0, 1, 2, 3, -5, -4, -3, -2, -1]])

    @pytest.mark.parametrize(
        "change",
        [
            {"raw": np.zeros(19)},
            {"kinds": np.zeros(1, dtype=np.uint8)},
            {"kinds": np.ones(2, dtype=np.uint8)},  # a category without sets of levels
            {"feature": np.array([2, -1, -1], dtype=np.int32)},
            {"left": np.array([0, 0, 0], dtype=np.int32)},
            {"right": np.array([3, 0, 0], dtype=np.int32)},
            {"value": np.zeros(2)},
            {"value": np.zeros((3, 2))},
            {"raw": np.zeros((2, 20))},
            {"raw": np.zeros((20, 2)).T, "value": np.zeros((3, 2))},
            {"feature": np.empty(0, dtype=np.int32)},
        ],
        ids=lambda change: "-".join(change),
    )
    def test_bad_arguments(self, kernels, change):
        five = np.array([5, 5], dtype=np.int32)
        layout = kernels.BinLayout(five, np.zeros(2, dtype=np.uint8), five, 2, 4)
        good = {
            "page": kernels.Page(layout, np.zeros(80, dtype=np.uint8), 20),
            "feature": np.array([1, -1, -1], dtype=np.int32),
            "bin": np.zeros(3, dtype=np.int32),
            "left": np.array([1, 0, 0], dtype=np.int32),
            "right": np.array([2, 0, 0], dtype=np.int32),
            "missing_left": np.zeros(3, dtype=np.uint8),
            "value": np.zeros(3),
            "raw": np.zeros(20),
        }
        add_tree(kernels, **good)
        with pytest.raises(ValueError):
            add_tree(kernels, **{**good, **change})
