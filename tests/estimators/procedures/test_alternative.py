"""Symmetric or leaf-wise trees: the first fold decides, where a preset cannot."""

from functools import partial

import numpy as np
import pytest

from sapwood import BoostingClassifier, BoostingRegressor
from sapwood.sampling.folds import fold_of_units
from tests.partitions import assert_same_bytes

rng = np.random.default_rng(0)
X = rng.integers(0, 30, size=(1200, 4)).astype(float)
ADDITIVE = X @ [1.0, 0.5, 0.25, 0.1] + rng.normal(size=1200)
LOCAL = np.where(X[:, 0] < 15, X[:, 1], np.where(X[:, 2] < 20, X[:, 3] % 7, X[:, 1] % 5)) + 0.1 * rng.normal(size=1200)
SETTINGS = {"learning_rate": 0.3, "n_iter_no_change": 5}


@pytest.mark.parametrize(("y", "winner"), [(ADDITIVE, "symmetric"), (LOCAL, "leafwise")], ids=["additive", "local"])
def test_the_better_one_on_the_first_fold_is_used_for_all(y, winner):
    fitted = BoostingRegressor(**SETTINGS).fit(X, y)
    assert fitted.resolved_params_["grow_policy"] == winner
    assert ("better than symmetric" in fitted.resolved_params_.reasons["grow_policy"]) == (winner == "leafwise")
    explicit = BoostingRegressor(**SETTINGS | fitted.resolved_params_).fit(X, y)
    assert explicit.model_.to_bytes() == fitted.model_.to_bytes()
    fold = fold_of_units(len(X), 5, None, 0)
    own, held_out = (X[fold != 0], y[fold != 0]), {"X_val": X[fold == 0], "y_val": y[fold == 0]}
    trees = {
        "symmetric": {"grow_policy": "symmetric", "max_depth": 6, "max_leaf_nodes": None},
        "leafwise": {"grow_policy": "leafwise", "max_depth": None, "max_leaf_nodes": 31},
    }
    shared = SETTINGS | fitted.resolved_params_ | {"validation_folds": None}
    scores = {name: BoostingRegressor(**shared | of).fit(*own, **held_out).validation_score_.max() for name, of in trees.items()}
    assert max(scores, key=scores.get) == winner


@pytest.mark.parametrize("given", [{"grow_policy": "symmetric"}, {"max_depth": 3}, {"validation_folds": 3}, {"early_stopping": True}])
def test_what_is_given_is_not_decided(given):
    fitted = BoostingRegressor(**SETTINGS, **given).fit(X, LOCAL)
    assert not set(given) & set(fitted.resolved_params_)


@pytest.mark.parametrize("estimator", [BoostingRegressor, BoostingClassifier])
def test_threads_and_partitions_give_the_same_bytes(estimator):
    y = LOCAL if estimator is BoostingRegressor else LOCAL > 8
    assert_same_bytes(partial(estimator, **SETTINGS), X, y)


def test_checkpoints(tmp_path):
    path = tmp_path / "fit.checkpoint"
    fitted = BoostingRegressor(**SETTINGS).fit(X, LOCAL, checkpoint=path)
    assert (tmp_path / "fit.checkpoint.fold1-leafwise").exists()
    assert fitted.to_bytes() == BoostingRegressor(**SETTINGS).fit(X, LOCAL).to_bytes()
    assert BoostingRegressor(**SETTINGS).fit(X, LOCAL, checkpoint=path).to_bytes() == fitted.to_bytes()
