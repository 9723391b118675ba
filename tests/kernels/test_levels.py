import numpy as np
import pytest

from tests.kernels.binned import MODES, WIDE, Binned, Gradients, constrain, native_pages, nodes_of
from tests.kernels.test_scoring import add_tree
from tests.kernels.test_scoring import check as check_scores
from tests.kernels.test_scoring import random_tree as tree_of_numbers
from tests.kernels.test_split_search import assert_same_tree, grow, leaves_of
from tests.reference import levels as twin
from tests.reference import predict

modes = pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
few_and_many = pytest.mark.parametrize("n_rows", [90, 700])  # searched row by row, and from a histogram


def one_category(rng, n_rows, n_levels, missing):
    bins = rng.integers(0, n_levels + missing, (n_rows, 1)).astype(np.uint8)
    return Binned(bins, np.array([n_levels + missing], dtype=np.int32), np.array([missing], dtype=np.uint8))


def categories(grower, n_features=1, kind=twin.PARTITION, **rules):
    return constrain(grower, kinds=np.full(n_features, kind, dtype=np.uint8), **rules)


def parts_of(histogram, missing):
    return (histogram[:-1], histogram[-1]) if missing else (histogram, np.zeros(3, dtype=np.int64))


class TestBestSplit:
    @modes
    @few_and_many
    @pytest.mark.parametrize("n_levels", [1, 2, 3, 4, 7])
    @pytest.mark.parametrize("missing", [0, 1])
    def test_is_the_best_of_all_subsets(self, kernels, mode, n_rows, n_levels, missing):
        """For more than a few levels too: without regularisation the sorted order loses nothing."""
        rng = np.random.default_rng(n_levels)
        table, gradients = one_category(rng, n_rows, n_levels, missing), Gradients.random(rng, n_rows, mode)
        found = gradients.start(categories(table.grower(kernels)), min_count=5)
        cells, absent = parts_of(gradients.histogram(table), missing)
        assert found == pytest.approx(twin.best_gain(cells, absent, twin.subsets(range(n_levels)), min_count=5), rel=1e-9)

    @few_and_many
    @pytest.mark.parametrize("rules", [{"l2": 3.0}, {"min_count": 15}, {"min_hessian": 1e9}])
    def test_rules_hold(self, kernels, n_rows, rules):
        rng = np.random.default_rng(5)
        table, gradients = one_category(rng, n_rows, 4, 1), Gradients.random(rng, n_rows, WIDE)
        found = gradients.start(categories(table.grower(kernels)), **rules)
        cells, absent = parts_of(gradients.histogram(table), 1)
        assert found == pytest.approx(twin.best_gain(cells, absent, twin.subsets(range(4)), **rules), rel=1e-9)

    @few_and_many
    @pytest.mark.parametrize("smooth, min_rows", [(0.0, 1), (3e9, 1), (0.0, 9), (1e10, 12)])
    def test_the_order_is_smoothed_and_rare_levels_are_one(self, kernels, n_rows, smooth, min_rows):
        rng = np.random.default_rng(6)
        table, gradients = one_category(rng, n_rows, 25, 1), Gradients.random(rng, n_rows, WIDE)
        table.bins[table.bins > 12] = np.minimum(table.bins[table.bins > 12], rng.integers(13, 26, (table.bins > 12).sum()))
        grower = categories(table.grower(kernels), category_smooth=smooth, min_level_rows=min_rows)
        found = gradients.start(grower)
        cells, absent = parts_of(gradients.histogram(table), 1)
        assert found == pytest.approx(twin.best_gain(cells, absent, twin.prefixes(cells, smooth, min_rows)), rel=1e-9)

    def test_more_l2_for_the_children_of_sorted_splits(self, kernels):
        rng = np.random.default_rng(7)
        gains = []
        for n_levels in (4, 5):
            table, gradients = one_category(rng, 500, n_levels, 0), Gradients.random(rng, 500, WIDE)
            gains.append([gradients.start(categories(table.grower(kernels), category_l2=l2)) for l2 in (0.0, 1e9)])
        assert gains[0][0] == gains[0][1]
        assert 0 < gains[1][1] < gains[1][0]

    @few_and_many
    @pytest.mark.parametrize("missing", [0, 1])
    def test_one_level_against_the_others(self, kernels, n_rows, missing):
        rng = np.random.default_rng(8)
        table, gradients = one_category(rng, n_rows, 9, missing), Gradients.random(rng, n_rows, WIDE)
        grower = categories(table.grower(kernels), kind=twin.ONE_VS_REST)
        found = gradients.start(grower)
        cells, absent = parts_of(gradients.histogram(table), missing)
        sets = [{level} for level in range(9)] + [set(range(9))]
        assert found == pytest.approx(twin.best_gain(cells, absent, sets), rel=1e-9)

    def test_levels_without_rows_go_where_most_rows_go(self, kernels):
        bins = np.repeat(np.array([2, 9, 5], dtype=np.uint8), [10, 10, 40])[:, None]
        table = Binned(bins, np.array([12], dtype=np.int32), np.array([0], dtype=np.uint8))
        for sign in (-1, 1):
            gradients = Gradients.small(sign * np.where(bins[:, 0] == 5, 1000, -1000), np.full(60, 1000))
            grower = categories(table.grower(kernels))
            assert gradients.start(grower) > 0
            grower.advance([0], False, None)
            left = twin.members(grower.sets()[0])
            assert {2, 9} <= left or {2, 9}.isdisjoint(left)
            assert all((level in left) == (5 in left) for level in set(range(12)) - {2, 9})
            assert bool(nodes_of(grower)["missing_left"][0]) == (5 in left)


class TestTrees:
    @modes
    @pytest.mark.parametrize("n_pages, n_threads", [(1, 1), (3, 1), (1, 3)])
    def test_rows_go_by_their_levels(self, kernels, mode, n_pages, n_threads):
        rng = np.random.default_rng(9)
        table, gradients = Binned.random(rng, 3000, 5, most_bins=40), Gradients.random(rng, 3000, mode)
        rules = {"category_smooth": 1.0, "category_l2": 1.0, "min_level_rows": 5}
        one = grow(categories(table.grower(kernels), 5, **rules), gradients, 25, min_count=5)
        assert nodes_of(one)["by_levels"].sum() == 24
        np.testing.assert_array_equal(leaves_of(one, 3000)[2], twin.walk(nodes_of(one), one.sets(), table))
        other = grow(categories(table.grower(kernels, n_pages, n_threads=n_threads), 5, **rules), gradients, 25, min_count=5)
        np.testing.assert_array_equal(one.sets(), other.sets())
        assert_same_tree(one, other, 3000)

    @pytest.mark.parametrize("missing_share", [0.0, 1.0])
    def test_a_level_of_nodes_splits_by_one_set(self, kernels, missing_share):
        rng = np.random.default_rng(10)
        table, gradients = Binned.random(rng, 2000, 3, 30, missing_share), Gradients.random(rng, 2000, WIDE)
        grower = categories(table.grower(kernels), 3, symmetric=True)
        gains, level = [gradients.start(grower)], [0]
        for _ in range(3):
            assert max(gains) > 0
            first, gains = grower.advance(level, True, None)
            level = list(range(first, first + 2 * len(level)))
        nodes, sets = nodes_of(grower), grower.sets()
        assert len(sets) == 7
        for depth, own in enumerate((sets[:1], sets[1:3], sets[3:7])):
            assert (own == own[0]).all()
            assert len(set(nodes["feature"][nodes["depth"] == depth])) == 1
        np.testing.assert_array_equal(leaves_of(grower, 2000)[2], twin.walk(nodes, sets, table))
        own = np.bincount(twin.walk(nodes, sets, table), minlength=15)
        np.testing.assert_array_equal(own[7:], nodes["count"][7:])

    def test_the_root_of_a_level_is_an_ordinary_one(self, kernels):
        rng = np.random.default_rng(11)
        table, gradients = Binned.random(rng, 2000, 3, 30), Gradients.random(rng, 2000, WIDE)
        gains = [gradients.start(categories(table.grower(kernels), 3, symmetric=symmetric, category_l2=1e9)) for symmetric in (False, True)]
        assert gains[0] == pytest.approx(gains[1], rel=1e-12)

    def test_sampled_rows(self, kernels):
        rng = np.random.default_rng(12)
        table, gradients = Binned.random(rng, 2000, 4, most_bins=50), Gradients.random(rng, 2000, WIDE)
        sample = np.sort(rng.choice(2000, 900, replace=False))
        grower = grow(categories(table.grower(kernels), 4), gradients, 12, min_count=5, sample=sample)
        np.testing.assert_array_equal(leaves_of(grower, 2000)[2], twin.walk(nodes_of(grower), grower.sets(), table))

    def test_a_finished_tree_sends_rows_the_same_way(self, kernels):
        rng = np.random.default_rng(13)
        table, gradients = Binned.random(rng, 1000, 4, most_bins=50), Gradients.random(rng, 1000, WIDE)
        grower = grow(categories(table.grower(kernels), 4), gradients, 12, min_count=5)
        nodes, layout = nodes_of(grower), kernels.BinLayout(**table.layout())
        bins = nodes["bin"]
        bins[nodes["by_levels"] == 1] = np.arange(len(grower.sets()))
        raw = np.zeros(1000)
        tree = {name: nodes[name] for name in ("feature", "left", "right", "missing_left")} | {"bin": bins, "sets": grower.sets()}
        (page,) = native_pages(kernels, layout, table.pages())
        add_tree(kernels, page, **tree, value=np.arange(len(bins), dtype=np.float64), raw=raw, kinds=np.ones(4, dtype=np.uint8))
        np.testing.assert_array_equal(raw, leaves_of(grower, 1000)[2])


class TestScorer:
    @pytest.mark.parametrize("n_leaves, n_rows", [(2, 40), (30, 100), (64, 5), (64, 70), (90, 40), (600, 70)])
    @pytest.mark.parametrize("n_levels", [1, 2, 9, 128, 129, 255])
    def test_sets_are_looked_up(self, kernels, n_leaves, n_rows, n_levels):
        rng = np.random.default_rng(n_leaves + n_levels)
        x = np.column_stack([rng.integers(0, n_levels, n_rows), rng.normal(size=n_rows).round(1), rng.integers(0, n_levels, n_rows)])
        x[rng.random(x.shape) < 0.1] = np.nan
        trees = [random_tree(rng, n_leaves) for _ in range(4)]
        n_of = np.array([n_levels, 0, n_levels], dtype=np.int32)
        check_scores(kernels, trees, x, n_levels=n_of)

    def test_symmetric_trees(self, kernels):
        rng = np.random.default_rng(0)
        x = rng.integers(0, 200, (100, 2)).astype(np.float64)
        x[::7] = np.nan
        sets = rng.integers(0, 2**32, (3, 8), dtype=np.uint32)
        left = np.array([1, 3, 5, 7, 9, 11, 13] + [0] * 8, dtype=np.int32)
        feature = np.array([0, 1, 1, 0, 0, 0, 0] + [-1] * 8, dtype=np.int32)
        value = np.where(feature < 0, rng.normal(size=15), 0.0)
        tree = predict.Tree(
            feature, np.zeros(15), left, left + (left > 0), np.repeat([0, 1, 0, 0], [1, 2, 4, 8]).astype(np.uint8), value,
            np.array([0, 1, 1, 2, 2, 2, 2] + [0] * 8), sets,
        )  # fmt: skip
        check_scores(kernels, [tree], x, n_levels=np.array([200, 200], dtype=np.int32))


def random_tree(rng, n_leaves):
    """On the categories 0 and 2 and the number 1."""
    tree = tree_of_numbers(rng, n_leaves, 3, rng.normal(size=20).round(1))
    by_levels = (tree.feature == 0) | (tree.feature == 2)
    sets = rng.integers(0, 2**32, (int(by_levels.sum()), 8), dtype=np.uint32)
    return tree._replace(bin=np.where(by_levels, np.cumsum(by_levels) - 1, 0), sets=sets)


class TestBadArguments:
    @pytest.mark.parametrize(
        "change, match",
        [
            ({"kinds": np.array([3], dtype=np.uint8)}, "kind"),
            ({"kinds": np.array([1, 1], dtype=np.uint8)}, "kind"),
            ({"kinds": np.array([1], dtype=np.uint8), "monotonic": np.array([1], dtype=np.int8)}, "monotonic"),
            ({"category_smooth": -1.0}, "negative"),
        ],
    )
    def test_rules(self, kernels, change, match):
        grower = one_category(np.random.default_rng(0), 50, 4, 0).grower(kernels)
        with pytest.raises(ValueError, match=match):
            constrain(grower, **change)

    def test_a_category_is_not_forced(self, kernels):
        rng = np.random.default_rng(0)
        grower = categories(one_category(rng, 50, 4, 0).grower(kernels))
        Gradients.random(rng, 50, WIDE).start(grower)
        assert not grower.force(0, 0, 1, False)


class TestSumBefore:
    def test_equals_twin(self, kernels):
        rng = np.random.default_rng(1)
        order = rng.permutation(300).astype(np.uint32)
        keys, targets, weights = rng.integers(0, 7, 300).astype(np.uint32), rng.integers(-9, 9, 300), rng.integers(0, 5, 300)
        before, totals = np.zeros((300, 2), dtype=np.int64), np.zeros((7, 2), dtype=np.int64)
        kernels.sum_before(order, keys, targets, weights, before, totals)
        place = np.argsort(order)
        for row in range(300):
            earlier = (keys == keys[row]) & (place < place[row])
            assert before[row].tolist() == [targets[earlier].sum(), weights[earlier].sum()]
        for key in range(7):
            assert totals[key].tolist() == [targets[keys == key].sum(), weights[keys == key].sum()]

    @pytest.mark.parametrize("change", [{"keys": 9}, {"order": 9}])
    def test_out_of_range(self, kernels, change):
        arrays = {"order": np.arange(4, dtype=np.uint32), "keys": np.zeros(4, dtype=np.uint32)}
        for name, value in change.items():
            arrays[name][2] = value
        with pytest.raises(ValueError, match="out of range"):
            kernels.sum_before(**arrays, targets=np.zeros(4, np.int64), weights=None, before=None, totals=np.zeros((2, 2), np.int64))
