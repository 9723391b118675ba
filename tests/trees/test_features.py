import numpy as np
import pytest

from sapwood.trees.features import FeaturePolicy, InteractionGroups, InteractionOrder


class Splits:
    """Grower whose nodes all split on the same feature."""

    def __init__(self, feature=0):
        self.feature = feature

    def split_features(self, nodes):
        return [self.feature] * len(nodes)


def grow(policy, key, n_splits=30, grower=None):
    """Features that each node may split on, (n_nodes, n_features)."""
    features = policy.tree(key)
    rows = [features.of_root()]
    for node in range(n_splits):
        rows += list(features.of_children([node], grower or Splits()))
    return np.array(rows)


@pytest.mark.parametrize(
    "n_features, fraction, n_chosen", [(10, 1.0, 10), (10, 0.3, 3), (10, 0.29, 2), (10, 0.01, 1), (2, 0.5, 1), (3, 0.999, 2)]
)
def test_a_fraction_of_the_features_for_each_node(n_features, fraction, n_chosen):
    policy = FeaturePolicy(n_features, by_node=fraction)
    assert policy.is_restricted == (n_chosen < n_features)
    if policy.is_restricted:
        allowed = grow(policy, 7)
        assert allowed.dtype == np.uint8
        assert (allowed.sum(axis=1) == n_chosen).all()
        assert len({tuple(row) for row in allowed}) > 1


def test_all_features_are_not_restricted():
    features = FeaturePolicy(5).tree(0)
    assert features.of_root() is None
    assert features.of_children([0], Splits()) is None


def test_a_tree_draws_once():
    allowed = grow(FeaturePolicy(10, by_tree=0.4), 3)
    assert (allowed == allowed[0]).all()
    assert allowed[0].sum() == 4
    assert len({tuple(grow(FeaturePolicy(10, by_tree=0.4), key)[0]) for key in range(20)}) > 10


def test_a_level_draws_once():
    allowed = grow(FeaturePolicy(12, by_level=0.5), 3, n_splits=7)
    for level in ([0], [1, 2], [3, 4, 5, 6]):
        assert (allowed[level] == allowed[level[0]]).all()
    assert len({tuple(allowed[node]) for node in (0, 1, 3, 7)}) == 4


def test_a_node_draws_from_its_level_and_a_level_from_its_tree():
    allowed = grow(FeaturePolicy(64, by_node=0.5, by_level=0.5, by_tree=0.5), 3)
    assert (allowed.sum(axis=1) == 8).all()
    whole = grow(FeaturePolicy(64, by_tree=0.5), 3)
    assert (allowed <= whole).all()


def test_every_feature_has_the_same_probability():
    chosen = np.concatenate([grow(FeaturePolicy(8, by_node=0.25), key) for key in range(100)]).sum(axis=0, dtype=int)
    n = 100 * 61
    assert np.abs(chosen - n / 4).max() < 4 * np.sqrt(n * 0.25 * 0.75)


class TestInteractions:
    def test_none_may_interact(self):
        interactions = InteractionOrder(1)
        assert interactions.root(4).all()
        assert interactions.below(frozenset({2}), 4).tolist() == [False, False, True, False]

    def test_pairs(self):
        interactions = InteractionOrder(2)
        assert interactions.below(frozenset({2}), 4).all()
        assert interactions.below(frozenset({0, 2}), 4).tolist() == [True, False, True, False]

    def test_groups_and_the_rest(self):
        interactions = InteractionGroups([frozenset({0, 1}), frozenset({1, 2})], 5)
        assert interactions.below(frozenset({1}), 5).tolist() == [True, True, True, False, False]
        assert interactions.below(frozenset({0}), 5).tolist() == [True, True, False, False, False]
        assert interactions.below(frozenset({4}), 5).tolist() == [False, False, False, True, True]

    def test_a_draw_is_among_those_that_may_interact(self):
        allowed = grow(FeaturePolicy(6, by_node=0.5, interactions=InteractionGroups([frozenset({0, 1})], 6)), 1)
        assert (allowed[1:, 2:] == 0).all()
        assert (allowed[1:].sum(axis=1) == 1).all()
