"""Average of several models, each with other held-out rows."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sapwood import BoostingClassifier, BoostingRanker, BoostingRegressor
from sapwood.estimators.fit_data import run_seed
from sapwood.sampling.held_out import hold_out
from tests.partitions import assert_same_bytes

rng = np.random.default_rng(1)
X = rng.integers(0, 40, size=(400, 4)).astype(float)  # few distinct values: bins do not depend on the selection of rows
Y = np.sin(X[:, 0] / 6) + 0.02 * X[:, 1] + 0.3 * rng.normal(size=400)
CLASSES = np.digitize(Y, [0.0, 0.8])
SETTINGS = {"max_iter": 60, "n_iter_no_change": 5, "min_samples_leaf": 5, "max_leaf_nodes": 6}


def test_average_of_models_with_other_held_out_rows():
    model = BoostingRegressor(n_models=3, random_state=4, **SETTINGS).fit(X, Y)
    seed = int(np.random.RandomState(4).randint(np.iinfo(np.uint32).max, dtype=np.uint64))
    parts = [hold_out(np.arange(400), 0.1, None, run_seed(seed, k)) for k in range(3)]
    assert len({held_out.tobytes() for _, held_out in parts}) == 3
    by_hand = [
        BoostingRegressor(early_stopping=True, **SETTINGS).fit(X[kept], Y[kept], X_val=X[held], y_val=Y[held]) for kept, held in parts
    ]
    assert_allclose(model.predict(X), np.mean([one.predict(X) for one in by_hand], axis=0), rtol=1e-12)
    assert model.n_iter_ == sum(one.best_iteration_ for one in by_hand)


def test_the_first_model_is_that_of_a_single_run():
    settings = SETTINGS | {"refit_all": True, "subsample": 0.7, "random_state": 3}
    one, two = BoostingRegressor(n_models=1, **settings).fit(X, Y), BoostingRegressor(n_models=2, **settings).fit(X, Y)
    first = two.model_[: one.n_iter_]
    for expected, tree in zip(one.model_.trees, first.trees, strict=True):
        assert np.array_equal(expected.feature, tree.feature)
        assert np.array_equal(expected.threshold, tree.threshold)


def test_further_models_are_trained_on_all_rows():
    settings = SETTINGS | {"refit_all": True, "max_features_tree": 0.5}
    first = BoostingRegressor(n_models=1, random_state=3, **settings).fit(X, Y)
    model = BoostingRegressor(n_models=3, random_state=3, **settings).fit(X, Y)
    assert model.n_iter_ == 3 * first.n_iter_
    others = [model.model_[k * first.n_iter_ : (k + 1) * first.n_iter_] for k in (1, 2)]
    assert all(tree.count[0] == len(X) for one in others for tree in one.trees)
    assert others[0].to_bytes() != others[1].to_bytes()


@pytest.mark.parametrize("estimator", [BoostingRegressor, BoostingClassifier])
def test_threads_and_partitions_give_the_same_bytes(estimator):
    y = Y if estimator is BoostingRegressor else CLASSES
    settings = SETTINGS | {"n_models": 2, "refit_all": True, "subsample": 0.7, "random_state": 0}
    assert_same_bytes(partial(estimator, **settings), X, y)


def test_queries_stay_whole():
    ranker = BoostingRanker(n_models=2, **SETTINGS).fit(X, np.clip(CLASSES, 0, 2), group=[10] * 40)
    assert np.isfinite(ranker.predict(X)).all()


@pytest.mark.parametrize(
    ("parameters", "arguments", "name"),
    [
        ({"early_stopping": False}, {}, "early_stopping=False"),
        ({"boosting": "dart"}, {}, "boosting='dart'"),
        ({"warm_start": True}, {}, "warm_start"),
        ({"validation_fraction": None}, {}, "validation_fraction=None"),
        ({}, {"X_val": X, "y_val": Y}, "X_val"),
        ({}, {"eval_sets": {"a": (X, Y)}}, "eval_sets"),
    ],
)
def test_refused_combinations(parameters, arguments, name):
    with pytest.raises(ValueError, match=f"n_models=2 cannot be combined with {name}"):
        BoostingRegressor(n_models=2, **parameters).fit(X, Y, **arguments)
