"""Early stopping on held-out rows, then a replay on all rows."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sapwood import BoostingClassifier, BoostingRegressor
from tests.partitions import assert_same_bytes

rng = np.random.default_rng(1)
X = rng.integers(0, 40, size=(400, 4)).astype(float)  # few distinct values: bins do not depend on the selection of rows
Y = np.sin(X[:, 0] / 6) + 0.02 * X[:, 1] + 0.3 * rng.normal(size=400)
CLASSES = np.digitize(Y, [0.0, 0.8])
SETTINGS = {"max_iter": 80, "n_iter_no_change": 5, "min_samples_leaf": 5, "max_leaf_nodes": 6, "random_state": 0}


def test_splits_are_kept_and_rounds_are_added():
    stopped = BoostingRegressor(early_stopping=True, **SETTINGS).fit(X, Y)
    replayed = BoostingRegressor(refit_all=True, **SETTINGS).fit(X, Y)
    best = stopped.best_iteration_
    assert replayed.n_iter_ == replayed.best_iteration_ == round(best * 400 / 360)
    assert replayed.n_iter_ > best > 5
    for old, new in zip(stopped.model_.trees[:best], replayed.model_.trees, strict=False):
        assert_array_equal(old.feature, new.feature)
        assert_array_equal(old.threshold, new.threshold)
    assert_array_equal(replayed.validation_score_, stopped.validation_score_)


def test_leaf_values_are_those_of_refit():
    stopped = BoostingRegressor(early_stopping=True, **SETTINGS).fit(X, Y)
    replayed = BoostingRegressor(refit_all=True, **SETTINGS).fit(X, Y)
    best = stopped.best_iteration_
    refitted = stopped[:best].refit(X, Y, decay=0.0)
    assert_array_equal(replayed[:best].predict(X), refitted.predict(X))


def test_further_rounds_are_those_of_continued_training():
    replayed = BoostingRegressor(refit_all=True, **SETTINGS).fit(X, Y)
    stopped = BoostingRegressor(early_stopping=True, **SETTINGS).fit(X, Y)
    best = stopped.best_iteration_
    more = BoostingRegressor(**SETTINGS | {"max_iter": replayed.n_iter_ - best}).fit(X, Y, init_model=stopped[:best].refit(X, Y, decay=0.0))
    assert_array_equal(replayed.predict(X), more.predict(X))


@pytest.mark.parametrize("parameters", [{}, {"subsample": 0.7}, {"sampling": "mvs", "subsample": 0.7}, {"grow_policy": "symmetric"}])
@pytest.mark.parametrize("estimator", [BoostingRegressor, BoostingClassifier])
def test_threads_and_partitions_give_the_same_bytes(estimator, parameters):
    y = Y if estimator is BoostingRegressor else CLASSES
    settings = SETTINGS | {"refit_all": True} | parameters
    assert_same_bytes(partial(estimator, **settings), X, y)


def test_no_round_helps():
    y = rng.normal(size=400)
    model = BoostingRegressor(refit_all=True, **SETTINGS | {"learning_rate": 5.0}).fit(X, y)
    assert model.n_iter_ == 0
    assert_array_equal(model.predict(X), np.full(400, model.model_.base_score[0]))


@pytest.mark.parametrize("parameters", [{"boosting": "ordered"}, {"validation_fraction": None}, {"early_stopping": False}])
def test_refused_combinations(parameters):
    with pytest.raises(ValueError, match="refit_all=True cannot be combined with"):
        BoostingRegressor(refit_all=True, **parameters).fit(X, Y)
