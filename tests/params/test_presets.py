"""Presets choose the parameters that are 'auto', and only these; given explicitly, the choices give the same model."""

import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss

from sapwood import BoostingClassifier, BoostingRanker, BoostingRegressor
from sapwood.params.columns import FeatureSpec
from sapwood.params.presets import CLASSIC, NONE_IS_AUTO, PRESETS, Shape, resolve_parameters
from sapwood.params.table import BY_PRESET, COMMON

rng = np.random.default_rng(0)
N = 400
X = pd.DataFrame(rng.normal(size=(N, 4)), columns=list("abcd"))
X["k"] = pd.Categorical(rng.choice(list("uvwxyz"), N))
SIGNAL = X["a"] + np.sin(2 * X["b"]) + (X["k"] == "u")
TARGETS = {
    "regression": (BoostingRegressor(), SIGNAL + rng.normal(size=N)),
    "count": (BoostingRegressor(loss="poisson"), rng.poisson(np.exp(SIGNAL / 3))),
    "binary": (BoostingClassifier(), (SIGNAL + rng.normal(size=N) > 0).astype(int)),
    "multiclass": (BoostingClassifier(), np.digitize(SIGNAL + rng.normal(size=N), [-0.5, 0.8])),
}


def test_every_preset_chooses_every_parameter():
    allowed = {name for name, parameter in COMMON.items() if any(one == BY_PRESET.allowed for one in parameter.allowed if one)}
    for preset in PRESETS.values():
        for n_rows in (50, 400, 8_000, 100_000):
            for kind in ("regression", "count", "binary", "multiclass", "ranking", "survival"):
                assert set(preset(Shape(n_rows, 5, kind))) - NONE_IS_AUTO == allowed | {"early_stopping"} == set(CLASSIC)


def test_minimum_hessian_of_classification_is_relative_to_the_mean_hessian():
    """So that it follows the scale of the weights, as the default of the loss does."""
    chosen = {kind: PRESETS["auto"](Shape(8_000, 5, kind, measure_hessian=lambda: 0.5)) for kind in ("binary", "multiclass", "regression")}
    assert chosen["binary"]["min_hessian"].value == chosen["multiclass"]["min_hessian"].value == 0.002
    assert "min_hessian" not in chosen["regression"]
    p = BoostingClassifier(min_hessian=3.0)._values()
    resolved, choices = resolve_parameters(p, Shape(8_000, 5, "binary"), continues=False)
    assert resolved.min_hessian == 3.0
    assert "min_hessian" not in choices


def test_separable_classes_are_learnt():
    X = np.random.default_rng(0).integers(0, 4, (6_000, 6)).astype(float)
    y = (X[:, 0] * X[:, 1] > X[:, 2]).astype(int)
    model = BoostingClassifier(random_state=0).fit(X, y)
    assert model.resolved_params_["min_hessian"] < 0.001
    assert log_loss(y, model.predict_proba(X)) < 1e-4


def test_explicit_values_are_kept():
    p = BoostingRegressor(preset="auto", learning_rate=0.3, subsample=1.0)._values()
    resolved, choices = resolve_parameters(p, Shape(8_000, 5, "regression"), continues=False)
    assert (resolved.learning_rate, resolved.subsample) == (0.3, 1.0)
    assert not {"learning_rate", "subsample"} & set(choices)
    assert resolved.max_iter == choices["max_iter"] != 100


@pytest.mark.parametrize(
    "parameters", [{"max_iter": 7}, {"boosting": "dart"}, {"tree_method": "exact"}, {"boosting": "forest", "subsample": 0.5}]
)
def test_explicit_rounds_and_other_modes_take_the_classic_values(parameters):
    p = BoostingRegressor(preset="auto", **parameters)._values()
    _, choices = resolve_parameters(p, Shape(8_000, 5, "regression"), continues=False)
    assert choices == {name: value for name, value in CLASSIC.items() if name not in parameters}


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("preset", PRESETS)
def test_choices_given_explicitly_give_the_same_model(kind, preset):
    estimator, y = TARGETS[kind]
    fitted = clone(estimator).set_params(preset=preset).fit(X, y)
    again = clone(estimator).set_params(**fitted.resolved_params_).fit(X, y)
    assert again.model_.to_bytes() == fitted.model_.to_bytes()
    assert not again.resolved_params_ or set(again.resolved_params_) == {"early_stopping"}


def test_choices_are_saved():
    fitted = BoostingRegressor(preset="auto").fit(X, TARGETS["regression"][1])
    for loaded in (BoostingRegressor.from_bytes(fitted.to_bytes()), pickle.loads(pickle.dumps(fitted))):
        assert loaded.resolved_params_ == fitted.resolved_params_
        assert loaded.resolved_params_.reasons == fitted.resolved_params_.reasons
    lines = repr(fitted.resolved_params_).splitlines()
    assert len(lines) == len(fitted.resolved_params_)
    assert any("validation_folds=5" in line and "rows" in line for line in lines)


def test_units_are_rows_of_the_loss():
    """Targets of small mean have small hessians: penalties of counts shrink with them."""
    y = TARGETS["count"][1]
    l2 = [BoostingRegressor(loss="poisson", preset="auto").fit(X, y * scale).resolved_params_["l2_regularization"] for scale in (1.0, 0.1)]
    assert l2[1] == pytest.approx(l2[0] / 10)


def test_arguments_of_fit_that_need_a_single_run():
    y = TARGETS["regression"][1]
    for arguments in ({"X_val": X, "y_val": y}, {"eval_sets": {"other": (X, y)}}):
        resolved = BoostingRegressor(preset="auto").fit(X, y, **arguments).resolved_params_
        assert (resolved["early_stopping"], resolved["validation_folds"], resolved["refit_all"]) == (True, None, False)
        assert "given" in resolved.reasons["validation_folds"]


def test_continued_training_takes_the_classic_values():
    y = TARGETS["regression"][1]
    model = BoostingRegressor(preset="auto").partial_fit(X, y)
    assert dict(model.resolved_params_) == CLASSIC
    assert BoostingRegressor(preset="auto", warm_start=True).fit(X, y).n_iter_ == 100


def test_ranker():
    ranker = BoostingRanker(preset="auto").fit(X, TARGETS["multiclass"][1], group=[20] * 20)
    assert ranker.resolved_params_["validation_folds"] == 5


@pytest.mark.parametrize("preset", ["auto", "best"])
def test_never_much_worse_than_a_constant(preset):
    """Targets without any relation to the features."""
    noise = rng.normal(size=300)
    model = BoostingRegressor(preset=preset).fit(X[:300], noise)
    assert np.mean(model.predict(X[300:]) ** 2) < 0.05


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({}, ("symmetric", 4, None)),
        ({"grow_policy": "depthwise"}, ("depthwise", None, 8)),
        ({"max_leaf_nodes": 5}, ("leafwise", None, 5)),
        ({"max_depth": 3}, ("leafwise", 3, 8)),
        ({"max_depth": 3, "grow_policy": "symmetric"}, ("symmetric", 3, None)),
        ({"forced_splits": {"feature": 0, "threshold": 0.0}}, ("leafwise", None, 8)),
        ({"max_bins": 1000}, ("leafwise", None, 31)),
        ({"leaf_model": "linear"}, ("leafwise", None, 8)),
    ],
    ids=str,
)
def test_parameters_that_are_given_decide_how_trees_grow(parameters, expected):
    p = BoostingRegressor(**parameters)._values()
    resolved, _ = resolve_parameters(p, Shape(500, 5, "regression"), continues=False)
    assert (resolved.grow_policy, resolved.max_depth, resolved.max_leaf_nodes) == expected


@pytest.mark.parametrize("parameters", [{"early_stopping": False}, {"warm_start": True}], ids=str)
def test_without_early_stopping_the_values_are_classic(parameters):
    p = BoostingRegressor(**parameters)._values()
    _, choices = resolve_parameters(p, Shape(8_000, 5, "regression"), continues=False)
    assert choices == {name: value for name, value in CLASSIC.items() if name not in parameters}


def test_losses_without_values_are_not_stopped_early():
    model = BoostingRegressor(lambda y, raw: (raw - y, np.ones_like(y))).fit(X.drop(columns="k"), TARGETS["regression"][1])
    assert model.n_iter_ == 100 and not model.do_early_stopping_


@pytest.mark.parametrize("n_rows", [400, 5_200])
def test_streams_and_files_give_the_model_of_an_array(n_rows, tmp_path):
    """Folds and replays do not depend on where the rows are."""
    values = np.random.default_rng(5).normal(size=(n_rows, 3))
    table = pa.table({"a": values[:, 0], "b": values[:, 1], "y": values[:, 0] * values[:, 1] + values[:, 2]})
    x, y = table.select(["a", "b"]), table["y"].to_numpy()
    expected = BoostingRegressor(learning_rate=0.3).fit(x, y)
    assert expected.resolved_params_["validation_folds"] == (5 if n_rows < 5_000 else None)
    stream = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=97))
    for other in (
        BoostingRegressor(learning_rate=0.3).fit(stream, "y"),
        BoostingRegressor(learning_rate=0.3, pages_dir=tmp_path, memory_limit="100MB").fit(x, y),
    ):
        assert other.model_.to_bytes() == expected.model_.to_bytes()
        assert other.resolved_params_ == expected.resolved_params_


@pytest.mark.parametrize("n_rows", [300, 5_200])
@pytest.mark.parametrize(
    "parameters",
    [
        {"max_bins": 1000},
        {"max_bins": {0: 300}},
        {"feature_spec": FeatureSpec({0: {"max_bins": 300}})},
        {"sampling": "goss"},
        {"sampling": "bayesian"},
        {"validation_folds": 3},
        {"refit_all": True},
        {"n_models": 1},
        {"n_models": 3},
        {"forced_splits": {"feature": 0, "threshold": 0.0}},
        {"monotonic_cst": [1, 0], "monotonic_method": "neighbours"},
        {"validation_fraction": None},
    ],
    ids=str,
)
def test_choices_can_be_combined_with_what_is_given(parameters, n_rows):
    x = np.random.default_rng(6).normal(size=(n_rows, 2))
    fitted = BoostingRegressor(learning_rate=0.5, **parameters).fit(x, x[:, 0] + np.sin(x[:, 1]))
    assert fitted.score(x, x[:, 0] + np.sin(x[:, 1])) > 0.9
    assert not set(parameters) & set(fitted.resolved_params_)
