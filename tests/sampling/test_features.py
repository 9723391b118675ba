import numpy as np
import pytest

from sapwood.sampling.features import FeatureSampler


@pytest.mark.parametrize(
    "n_features, share, n_chosen", [(10, 1.0, 10), (10, 0.3, 3), (10, 0.29, 2), (10, 0.01, 1), (1, 0.5, 1), (3, 0.999, 2)]
)
def test_a_share_of_the_features_for_each_node(n_features, share, n_chosen):
    sampler = FeatureSampler(n_features, share)
    assert sampler.chooses == (n_chosen < n_features)
    allowed = sampler.choose(7, np.arange(20))
    assert allowed.dtype == np.uint8
    assert (allowed.sum(axis=1) == n_chosen).all()


def test_a_choice_depends_on_tree_and_node_only():
    sampler = FeatureSampler(30, 0.5)
    nodes = np.array([0, 5, 1 << 40])
    together = sampler.choose(3, nodes)
    for node, row in zip(nodes, together, strict=True):
        np.testing.assert_array_equal(sampler.choose(3, np.array([node]))[0], row)
    assert len({tuple(row) for row in [*together, *sampler.choose(4, nodes)]}) == 6


def test_every_feature_has_the_same_chance():
    chosen = FeatureSampler(8, 0.25).choose(1, np.arange(4000)).sum(axis=0, dtype=int)
    assert np.abs(chosen - 1000).max() < 4 * np.sqrt(4000 * 0.25 * 0.75)
