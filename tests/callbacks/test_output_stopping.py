"""Early stopping of each output: `early_stopping='per_output'`."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sapwood import BoostingClassifier, BoostingRegressor
from sapwood.model.trimming import rounds_by_output
from sapwood.sampling.held_out import hold_out
from tests.partitions import assert_same_bytes

rng = np.random.default_rng(2)
X = rng.integers(0, 40, size=(600, 4)).astype(float)
NOISE = rng.normal(size=600)
Y = np.column_stack([np.sin(X[:, 0] / 6) + 0.02 * X[:, 1] + 0.1 * NOISE, rng.normal(size=600), 0.1 * X[:, 2] + 0.5 * NOISE])
TRAIN, HELD_OUT = slice(0, 450), slice(450, 600)
SETTINGS = {"max_iter": 60, "n_iter_no_change": 5, "min_samples_leaf": 5, "max_leaf_nodes": 6}


def test_outputs_have_the_rounds_of_models_of_their_own():
    held_out = {"X_val": X[HELD_OUT], "y_val": Y[HELD_OUT]}
    model = BoostingRegressor(early_stopping="per_output", **SETTINGS).fit(X[TRAIN], Y[TRAIN], **held_out)
    rounds = rounds_by_output(model.model_)
    assert max(rounds) == model.best_iteration_
    assert len(set(rounds)) == 3
    for output, n_rounds in enumerate(rounds):
        alone = BoostingRegressor(early_stopping=True, **SETTINGS)
        alone.fit(X[TRAIN], Y[TRAIN, output], X_val=X[HELD_OUT], y_val=Y[HELD_OUT, output])
        assert alone.best_iteration_ == n_rounds
        assert_allclose(model.predict(X)[:, output], alone.predict(X), rtol=1e-12)


def test_a_replay_adds_rounds_to_each_output():
    settings = SETTINGS | {"early_stopping": "per_output", "random_state": 0}
    stopped, replayed = BoostingRegressor(**settings).fit(X, Y), BoostingRegressor(refit_all=True, **settings).fit(X, Y)
    before, after = rounds_by_output(stopped.model_), rounds_by_output(replayed.model_)
    more = [round(own * (1 / 0.9 - 1)) for own in before]
    assert [len(tree.feature) > 1 for tree in replayed.model_.trees[1::3]].count(True) == before[1] + more[1]
    assert max(after) == round(max(before) / 0.9)


def test_presets_choose_it_for_outputs_with_trees_of_their_own():
    few = X[:300], Y[:300]
    assert BoostingRegressor(learning_rate=0.5).fit(*few).resolved_params_["early_stopping"] == "per_output"
    for given in ({"multi_strategy": "multi_output_tree"}, {"scoring": "r2"}):
        assert BoostingRegressor(learning_rate=0.5, **given).fit(*few).resolved_params_["early_stopping"] is True
    assert BoostingRegressor(learning_rate=0.5).fit(X[:300], Y[:300, 0]).resolved_params_["early_stopping"] is True


def test_threads_and_partitions_give_the_same_bytes():
    settings = SETTINGS | {"early_stopping": "per_output", "n_models": 2, "refit_all": True, "subsample": 0.7}
    assert_same_bytes(partial(BoostingRegressor, **settings), X, Y)


def test_a_checkpoint_resumes_with_the_best_rounds(tmp_path):
    settings, path = SETTINGS | {"early_stopping": "per_output"}, tmp_path / "fit.checkpoint"
    expected = BoostingRegressor(**settings).fit(X, Y)
    BoostingRegressor(**settings | {"max_iter": 4}).fit(X, Y, checkpoint=path)
    resumed = BoostingRegressor(**settings).fit(X, Y, checkpoint=path)
    assert resumed.model_.to_bytes() == expected.model_.to_bytes()


def test_missing_targets():
    y = Y.copy()
    y[::3, 1] = np.nan
    model = BoostingRegressor(early_stopping="per_output", **SETTINGS).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert rounds_by_output(model.model_)[0] > 0


def test_an_output_without_validation_targets_has_as_many_rounds_as_any():
    y = Y.copy()
    y[hold_out(np.arange(600), 0.1, None, 0)[1], 2] = np.nan
    model = BoostingRegressor(early_stopping="per_output", **SETTINGS).fit(X, y)
    rounds = rounds_by_output(model.model_)
    assert rounds[2] == rounds[0] == model.best_iteration_ > rounds[1]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"scoring": "r2"}, "scoring='r2'"),
        ({"multi_strategy": "multi_output_tree"}, "multi_strategy='multi_output_tree'"),
        ({"boosting": "dart"}, "boosting='dart'"),
    ],
)
def test_refused_combinations(parameters, message):
    with pytest.raises(ValueError, match=f"early_stopping='per_output' cannot be combined with {message}"):
        BoostingRegressor(early_stopping="per_output", **parameters).fit(X, Y)


def test_one_target_is_refused():
    stops = {"early_stopping": "per_output"}
    quantiles = BoostingRegressor(loss="quantile", quantile=[0.1, 0.9], **stops)
    for estimator, y in ((BoostingRegressor(**stops), Y[:, 0]), (BoostingClassifier(**stops), Y[:, 0] > 0), (quantiles, Y[:, 0])):
        with pytest.raises(ValueError, match="needs several targets"):
            estimator.fit(X, y)
