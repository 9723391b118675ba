"""Branches of symmetric trees against a plain recursion, and the trees of an estimator that has them."""

from dataclasses import replace

import numpy as np
import pytest

from sapwood import BoostingRegressor
from sapwood.runtime.kernels import LeafMinimum, divide_levels
from sapwood.trees.branches import Branches
from sapwood.trees.frontier import level_features

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4_000, 4)).round(1)
Y = X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) + 0.3 * RNG.normal(size=len(X))


def groups_of(counts, least):
    """Sets of leaves that have one value: a branch is a list of leaves, which differ in some of the bits that were ignored."""

    def divide(branch, bit):
        if bit < 0:
            return [frozenset(branch)]
        sides = [[leaf for leaf in branch if leaf >> bit & 1 == side] for side in (0, 1)]
        if all(counts[side].sum() >= least for side in sides):
            return divide(sides[0], bit - 1) + divide(sides[1], bit - 1)
        return divide(branch, bit - 1)

    return set(divide(list(range(len(counts))), int(np.log2(len(counts))) - 1))


def divided_by_numpy(sums, minimum):
    """What the kernel returns, level by level in NumPy."""
    n_levels, of_leaves = int(np.log2(len(sums[0]))), np.array(sums)
    leaf, most = np.arange(1 << n_levels), 2 << n_levels
    of_level, left, right = np.full((3, most), -1)
    whole = np.zeros((3, most), dtype=np.int64)
    whole[:, 0] = of_leaves.sum(axis=1)
    n, ends, of_leaf = 1, np.zeros(1, dtype=np.int64), np.zeros(len(leaf), dtype=np.int64)  # `of_leaf`: position among the ends
    for level in range(n_levels):
        side = leaf >> (n_levels - level - 1) & 1
        halves = np.zeros((2 * len(ends), 3), dtype=np.int64)
        np.add.at(halves, 2 * of_leaf + side, of_leaves.T)
        rows, hessian, scale = minimum
        divided = ((halves[:, 2] >= rows) & (halves[:, 1] / scale >= hessian)).reshape(-1, 2).all(axis=1)
        above, n_below = ends[divided], 2 * int(divided.sum())
        below = np.arange(n, n + n_below)
        of_level[above], left[above], right[above] = level, below[::2], below[1::2]
        whole[:, n : n + n_below] = halves[np.repeat(divided, 2)].T
        place = np.where(divided, (~divided).sum() + 2 * (np.cumsum(divided) - 1), np.cumsum(~divided) - 1)
        of_leaf = place[of_leaf] + side * divided[of_leaf]
        ends, n = np.concatenate([ends[~divided], below]), n + n_below
    return of_level[:n], left[:n], right[:n], whole[:, :n], ends[of_leaf]


@pytest.mark.parametrize("n_levels", [0, 1, 2, 4, 9])
@pytest.mark.parametrize("minimum", [(0, 0.0, 1.0), (1, 0.0, 1.0), (4, 0.0, 1.0), (0, 0.7, 8.0), (5, 1.3, 7.0)])
def test_the_kernel_divides_as_numpy_does(n_levels, minimum):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        rows = rng.poisson(rng.exponential(6, 1 << n_levels)) * rng.integers(0, 2, 1 << n_levels)
        sums = rng.integers(-(10**15), 10**15, len(rows)), rng.integers(0, 9, len(rows)) * rows, rows
        for found, wanted in zip(divide_levels(*sums, LeafMinimum(*minimum)), divided_by_numpy(sums, minimum), strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_arguments_of_the_kernel_are_checked():
    leaves, minimum = np.ones(4, dtype=np.int64), LeafMinimum(1, 0.0, 1.0)
    with pytest.raises(ValueError, match=r"2\^n_levels leaves"):
        divide_levels(leaves[:3], leaves[:3], leaves[:3], minimum)
    with pytest.raises(ValueError, match=r"2\^n_levels leaves"):
        divide_levels(leaves[:0], leaves[:0], leaves[:0], minimum)
    with pytest.raises(ValueError, match="sums must be of the same leaves"):
        divide_levels(leaves, leaves[:2], leaves, minimum)
    with pytest.raises(ValueError, match="sums must be of the same leaves"):
        divide_levels(leaves, leaves, leaves[:2], minimum)
    with pytest.raises(ValueError, match="hessian_scale must be positive"):
        LeafMinimum(1, 0.0, 0.0)


def regressor(**parameters):
    return BoostingRegressor(grow_policy="symmetric", max_depth=6, max_iter=1, learning_rate=1.0, **parameters).fit(X, Y)


def leaves_of(model):
    """The tree of a model, and the leaf of each training row by its decisions."""
    (tree,) = model.model_.trees
    node = np.zeros(len(X), dtype=int)
    for _ in range(6):
        goes_left = X[np.arange(len(X)), tree.feature[node]] <= tree.threshold[node]
        node = np.where(goes_left, tree.left[node], tree.right[node])
    return tree, node


@pytest.mark.parametrize("n_levels", [0, 1, 2, 5, 7])
@pytest.mark.parametrize("least", [1, 3, 20])
def test_branches_are_those_of_a_plain_recursion(n_levels, least):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        counts = rng.poisson(rng.exponential(8, 1 << n_levels)) * rng.integers(0, 2, 1 << n_levels)
        sums = rng.integers(-99, 99, len(counts)), counts, counts
        branches = Branches.of_levels(list(range(n_levels)), sums, LeafMinimum(least, 0.0, 1.0))
        found = {frozenset(np.flatnonzero(branches.groups == group).tolist()) for group in branches.groups}
        assert found == groups_of(counts, least)
        for part, whole in zip(sums, branches.sums, strict=True):
            np.testing.assert_array_equal(whole[branches.of_leaf], np.bincount(branches.groups, part)[branches.groups])
            inner = branches.left >= 0
            np.testing.assert_array_equal(whole[inner], whole[branches.left[inner]] + whole[branches.right[inner]])


def test_a_side_without_rows_leaves_the_levels_below_alone():
    counts = np.array([5, 7, 0, 0])  # the first level sends all rows left, the second divides them
    branches = Branches.of_levels([0, 1], (counts, counts, counts), LeafMinimum(1, 0.0, 1.0))
    np.testing.assert_array_equal(branches.groups, [0, 1, 0, 1])


def test_every_leaf_with_rows_has_their_mean():
    tree, leaf = leaves_of(regressor(min_samples_leaf=1))
    assert (tree.count[tree.feature < 0] == 0).any()
    means = np.bincount(leaf, Y - Y.mean()) / np.maximum(np.bincount(leaf), 1)
    np.testing.assert_allclose(tree.leaves.value[leaf], means[leaf], atol=1e-6)


@pytest.mark.parametrize("parameters", [{}, {"monotonic_cst": [1, 0, 0, -1]}, {"path_smooth": 10.0}, {"loss": "absolute_error"}], ids=str)
@pytest.mark.parametrize("least", [5, 60])
def test_leaves_of_a_group_have_one_value(parameters, least):
    tree, leaf = leaves_of(regressor(min_samples_leaf=least, **parameters))
    counts = np.bincount(leaf, minlength=len(tree.feature))[-64:]
    assert (counts < least).any()
    for group in map(list, groups_of(counts, least)):
        assert counts[group].sum() >= least
        assert len(set(tree.leaves.value[-64:][group].tolist())) == 1


def test_only_symmetric_trees_have_levels():
    tree, _ = leaves_of(regressor())
    assert level_features(tree) == tree.feature[[0, 1, 3, 7, 15, 31]].tolist()
    other = tree.threshold.copy()
    other[5] += 1
    assert level_features(replace(tree, threshold=other)) is None
    for policy in ("leafwise", "depthwise"):
        (tree,) = BoostingRegressor(grow_policy=policy, max_iter=1).fit(X, Y).model_.trees
        assert level_features(tree) is None


def test_refit_of_the_trees_of_another_policy():
    model = BoostingRegressor(max_iter=3, min_samples_leaf=5).fit(X, Y)
    again = model.set_params(grow_policy="symmetric").refit(X, Y, decay=0.0)
    np.testing.assert_allclose(again.predict(X), BoostingRegressor(max_iter=3, min_samples_leaf=5).fit(X, Y).predict(X), atol=1e-6)
