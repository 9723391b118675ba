import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from sapwood import BoostingClassifier, BoostingRegressor
from tests.reference import shap as twin


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 5))
    x[rng.random(x.shape) < 0.1] = np.nan
    whole = np.nan_to_num(x)
    return x, whole @ np.arange(5) + 3 * whole[:, 0] * whole[:, 1]


@pytest.fixture(scope="module", params=["constant", "linear"])
def two_trees(table, request):
    return BoostingRegressor(max_iter=2, max_leaf_nodes=14, min_samples_leaf=5, leaf_model=request.param).fit(*table)


class TestTwin:
    """By the definition of Shapley values."""

    def test_path_dependent(self, two_trees, table):
        found = two_trees.explain(table[0][:8])
        expected = np.array([sum(twin.shapley(tree, row, 5) for tree in two_trees.model_.trees) for row in table[0][:8]])
        np.testing.assert_allclose(found.values, expected[:, :-1], atol=1e-12)
        np.testing.assert_allclose(found.base_values, expected[:, -1] + two_trees.model_.base_score, atol=1e-12)

    def test_interventional(self, two_trees, table):
        background = table[0][100:107]
        found = two_trees.explain(table[0][:5], background=background)
        expected = [
            [sum(twin.shapley(tree, row, 5, other) for tree in two_trees.model_.trees) for other in background] for row in table[0][:5]
        ]
        np.testing.assert_allclose(found.values, np.mean(expected, axis=1)[:, :-1], atol=1e-12)
        np.testing.assert_allclose(found.base_values, np.mean(two_trees.predict(background)), atol=1e-12)

    def test_interactions(self, two_trees, table):
        found = two_trees.explain(table[0][:5], interactions=True).values
        expected = np.array([sum(twin.interactions(tree, row, 5) for tree in two_trees.model_.trees) for row in table[0][:5]])
        own = np.eye(5, dtype=bool)
        np.testing.assert_allclose(found[:, ~own], expected[:, ~own], atol=1e-12)


WAYS = {
    "leafwise": {},
    "symmetric": {"grow_policy": "symmetric", "max_depth": 5},
    "deep": {"max_leaf_nodes": None, "min_samples_leaf": 1, "max_iter": 3},
    "dart": {"boosting": "dart"},
    "forest": {"boosting": "forest", "subsample": 0.5},
    "exact": {"tree_method": "exact"},
    "sampled": {"sampling": "goss"},
    "one leaf": {"min_samples_leaf": 400},
    "linear": {"leaf_model": "linear", "multi_strategy": "one_output_per_tree"},
}


def rows_of(n_features, n_rows=500):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(n_rows, n_features))
    x[rng.random(x.shape) < 0.05] = np.nan
    return x, np.nan_to_num(x).sum(axis=1) + rng.normal(size=n_rows)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_values_add_up_to_the_raw_prediction(way, n_classes):
    x, y = rows_of(20)
    parameters = {"max_iter": 8, "min_samples_leaf": 5, **way}
    if n_classes:
        model = BoostingClassifier(**parameters).fit(x, np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes)))
        raw = model.decision_function(x)
    else:
        model = BoostingRegressor(**parameters).fit(x, y)
        raw = model.predict(x)
    for background in (None, x[:20]):
        found = model.explain(x, background=background)
        np.testing.assert_allclose(found.values.sum(axis=1) + found.base_values, raw, atol=1e-9)
    pairs = model.explain(x[:10], interactions=True).values
    np.testing.assert_allclose(pairs.sum(axis=2), model.explain(x[:10]).values, atol=1e-9)
    np.testing.assert_allclose(pairs, np.swapaxes(pairs, 1, 2), atol=1e-12)


def test_paths_of_more_features_than_are_tabulated():
    """A chain: every split takes one row of the rest off, each time on another feature."""
    n = 20
    x = np.eye(n)
    y = 2.0 ** np.arange(n)
    model = BoostingRegressor(max_iter=1, learning_rate=1.0, max_leaf_nodes=None, min_samples_leaf=1).fit(x, y)
    tree = model.model_.trees[0]
    assert len(set(tree.feature[tree.feature >= 0].tolist())) > 12
    found = model.explain(x)
    np.testing.assert_allclose(found.values.sum(axis=1) + found.base_values, model.predict(x), rtol=1e-9)


def test_threads_and_blocks_leave_no_trace():
    x, y = rows_of(8, 5000)
    model = BoostingRegressor(max_iter=10, early_stopping=False).fit(x, y)
    one = model.set_params(n_jobs=1).explain(x)
    two = model.set_params(n_jobs=2).explain(x)
    np.testing.assert_array_equal(one.values, two.values)
    np.testing.assert_array_equal(model.explain(x[:7]).values, one.values[:7])


def test_a_feature_that_no_tree_asks_for_adds_nothing():
    x, y = rows_of(3)
    model = BoostingRegressor(max_iter=3).fit(np.column_stack([x, np.ones(len(x))]), y)
    assert (model.explain(np.column_stack([x, np.arange(len(x))])).values[:, 3] == 0).all()


def test_early_stopping_explains_the_rounds_that_predict():
    x, y = rows_of(5)
    model = BoostingRegressor(max_iter=200, early_stopping=True, n_iter_no_change=3, learning_rate=0.5).fit(x, y)
    assert model.best_iteration_ < model.n_iter_
    found = model.explain(x)
    np.testing.assert_allclose(found.values.sum(axis=1) + found.base_values, model.predict(x), atol=1e-9)


def test_shapes_and_names():
    x, y = rows_of(4)
    frame = pd.DataFrame(x, columns=list("abcd"))
    model = BoostingClassifier(max_iter=3).fit(frame, np.digitize(y, [-1, 1]))
    found = model.explain(frame[:6])
    assert (found.values.shape, found.base_values.shape, found.feature_names) == ((6, 4, 3), (6, 3), list("abcd"))
    assert model.explain(frame[:6], interactions=True).values.shape == (6, 4, 4, 3)


def test_interactions_against_a_background_are_refused(two_trees, table):
    with pytest.raises(ValueError, match=r"background cannot be combined with interactions=True"):
        two_trees.explain(table[0], background=table[0], interactions=True)


def test_columns_of_categories_and_sparse_tables():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {"colour": rng.choice(list("abcdefg"), 800), "x": rng.normal(size=800), "town": rng.integers(0, 200, 800).astype(str)}
    )
    y = frame.x + (frame.colour == "c") + frame.town.astype(int) % 3
    model = BoostingRegressor(max_iter=20, categorical_encoding={"colour": "partition", "town": "target"}).fit(frame, y)
    found = model.explain(frame)
    assert found.values.shape == (800, 3)
    np.testing.assert_allclose(found.values.sum(axis=1) + found.base_values, model.predict(frame), atol=1e-9)
    assert (np.abs(found.values).mean(axis=0) > 0.05).all()
    x = sparse.random(500, 30, 0.1, format="csr", random_state=0)
    model = BoostingRegressor(max_iter=5).fit(x, np.asarray(x.sum(axis=1)).ravel())
    np.testing.assert_array_equal(model.explain(x).values, model.explain(x.toarray()).values)
