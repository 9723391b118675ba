"""The separate branch for missing values: every way to grow tries "missing against all the rest" at every node."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from sapwood import BoostingRegressor

RNG = np.random.default_rng(0)
N = 600
X = RNG.normal(size=(N, 3))
ABSENT = RNG.random(N) < 0.3
X[ABSENT, 0] = np.nan
WAYS = {
    "hist": {},
    "few bins": {"max_bins": 3},
    "depthwise": {"grow_policy": "depthwise"},
    "symmetric": {"grow_policy": "symmetric", "max_depth": 3},
    "exact": {"tree_method": "exact"},
    "approx": {"tree_method": "approx", "max_bins": 4},
    "approx local": {"tree_method": "approx", "max_bins": 4, "approx_proposal": "local"},
    "shaped": {"l1_regularization": 1e-3, "max_step": 100.0},
    "weighted": {"sample_weight": True},
}


def fit(x, y, sample_weight=None, **parameters):
    weight = None if sample_weight is None else np.ones(len(y))
    one_tree = {"max_iter": 1, "learning_rate": 1.0, "min_samples_leaf": 1, "early_stopping": False}
    return BoostingRegressor(**one_tree | parameters).fit(x, y, weight)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_missing_values_are_sent_apart(way):
    fitted = fit(X, np.where(ABSENT, 5.0, -1.0), **way)
    tree = fitted.model_.trees[0]
    assert tree.feature[0] == 0
    assert not tree.missing_left[0]
    assert tree.threshold[0] >= np.nanmax(X[:, 0])
    np.testing.assert_allclose(fitted.predict(X), np.where(ABSENT, 5.0, -1.0), atol=1e-2)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_also_below_other_splits(way):
    """Only in one half of the table does it matter whether a value is missing, and there the values are not those of the other half."""
    half = X[:, 1] > 0
    x = np.column_stack([X[:, 0] + 10 * half, half])
    y = np.where(ABSENT & ~half, 5.0, 0.0) + 20 * half
    fitted = fit(x, y, max_leaf_nodes=4 if way.get("grow_policy") == "symmetric" else 3, **way)
    np.testing.assert_allclose(fitted.predict(x), y, atol=1e-2)


@pytest.mark.parametrize("encoding", ["partition", "onehot"])
@pytest.mark.parametrize("n_levels", [3, 12])
def test_missing_levels_are_sent_apart(encoding, n_levels):
    words = pd.Categorical.from_codes(np.where(ABSENT, -1, RNG.integers(0, n_levels, N)), [f"word {i}" for i in range(n_levels)])
    fitted = fit(pd.DataFrame({"word": words}), np.where(ABSENT, 5.0, -1.0), max_leaf_nodes=2, categorical_encoding=encoding, cat_l2=0.0)
    np.testing.assert_allclose(fitted.predict(pd.DataFrame({"word": words})), np.where(ABSENT, 5.0, -1.0), atol=1e-2)


def test_a_node_of_approx_tries_it_though_its_largest_value_is_not_proposed():
    """Cut points are those of all rows; the node that holds the missing values has none at its end."""
    n = 400
    x = np.column_stack([np.linspace(0, 1, n), np.arange(n) >= 150])
    x[:150:2, 0] = np.nan
    y = np.where(np.isnan(x[:, 0]), 5.0, 0.0) + 100 * x[:, 1]
    fitted = fit(x, y, tree_method="approx", max_bins=3, max_leaf_nodes=3)
    assert_array_equal(fitted.predict(x).round(6), y)
