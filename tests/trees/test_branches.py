"""Branches of symmetric trees against a plain recursion, and the trees of an estimator that has them."""

from dataclasses import replace

import numpy as np
import pytest

from sapwood import BoostingRegressor
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
        branches = Branches.of_levels(list(range(n_levels)), sums, lambda sums: sums[2] >= least)
        found = {frozenset(np.flatnonzero(branches.groups == group).tolist()) for group in branches.groups}
        assert found == groups_of(counts, least)
        for part, whole in zip(sums, branches.sums, strict=True):
            np.testing.assert_array_equal(whole[branches.of_leaf], np.bincount(branches.groups, part)[branches.groups])
            inner = branches.left >= 0
            np.testing.assert_array_equal(whole[inner], whole[branches.left[inner]] + whole[branches.right[inner]])


def test_a_side_without_rows_leaves_the_levels_below_alone():
    counts = np.array([5, 7, 0, 0])  # the first level sends all rows left, the second divides them
    branches = Branches.of_levels([0, 1], (counts, counts, counts), lambda sums: sums[2] >= 1)
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
