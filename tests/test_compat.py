"""Parameters of other libraries, translated, train the same or a similar model; methods of the migration tables exist on both sides."""

from __future__ import annotations

import re
import warnings

import catboost
import lightgbm
import numpy as np
import pytest
import sklearn.ensemble
import sklearn.inspection
import sklearn.model_selection
import xgboost
from threadpoolctl import threadpool_limits

import sapwood
from sapwood import BoostingClassifier, BoostingRegressor, Model
from sapwood.compat import params_from
from sapwood.params.foreign import LIBRARIES

rng = np.random.default_rng(0)
N_ROWS = 1500
X = rng.integers(0, 40, size=(N_ROWS, 5)).astype(float)  # few values: all libraries have the same candidate thresholds
MEAN = X[:, 0] / 10 + np.sin(X[:, 1] / 6) * 2 + X[:, 2] * X[:, 3] / 400
NUMBERS = MEAN + rng.normal(size=N_ROWS) * 0.3
TARGETS = {
    "numbers": NUMBERS,
    "amounts": np.exp(NUMBERS / 4),
    "two classes": ((np.median(MEAN) < MEAN) ^ (rng.random(N_ROWS) < 0.1)).astype(int),
    "three classes": np.digitize(MEAN, np.quantile(MEAN, [0.33, 0.66])),
}
THEIRS = {
    "xgboost": (xgboost.XGBRegressor, xgboost.XGBClassifier, {"n_jobs": 1}),
    "lightgbm": (lightgbm.LGBMRegressor, lightgbm.LGBMClassifier, {"n_jobs": 1, "verbose": -1}),
    "catboost": (
        catboost.CatBoostRegressor,
        catboost.CatBoostClassifier,
        {"thread_count": 1, "verbose": False, "allow_writing_files": False},
    ),
    "sklearn": (sklearn.ensemble.HistGradientBoostingRegressor, sklearn.ensemble.HistGradientBoostingClassifier, {}),
}
ROUNDS = {
    "xgboost": {"n_estimators": 20},
    "lightgbm": {"n_estimators": 20},
    "catboost": {
        "iterations": 20,
        "learning_rate": 0.3,
        "random_strength": 0,
        "bootstrap_type": "No",
        "boosting_type": "Plain",
        "score_function": "L2",
    },
    "sklearn": {"max_iter": 20},
}
SAME, SIMILAR = 1e-9, 0.1  # mean squared difference of predictions in units of their variance
CASES = [
    ("xgboost", {}, "numbers", SAME),
    ("xgboost", {"max_depth": 3}, "numbers", SAME),
    ("xgboost", {"eta": 0.1}, "numbers", SAME),
    ("xgboost", {"reg_lambda": 10.0}, "numbers", SAME),
    ("xgboost", {"reg_alpha": 5.0}, "numbers", SAME),
    ("xgboost", {"gamma": 5.0}, "numbers", SAME),
    ("xgboost", {"min_child_weight": 30}, "numbers", SAME),
    ("xgboost", {"max_delta_step": 0.3}, "numbers", SAME),
    ("xgboost", {"grow_policy": "lossguide", "max_leaves": 8, "max_depth": 0}, "numbers", SAME),
    ("xgboost", {"tree_method": "exact"}, "numbers", SAME),
    ("xgboost", {"monotone_constraints": (1, 0, 0, 0, 0)}, "numbers", SAME),
    ("xgboost", {"interaction_constraints": "[[0, 1], [2, 3, 4]]"}, "numbers", SAME),
    ("xgboost", {"objective": "reg:absoluteerror"}, "numbers", SAME),
    ("xgboost", {"objective": "reg:quantileerror", "quantile_alpha": 0.8}, "numbers", SIMILAR),
    ("xgboost", {"subsample": 0.5, "random_state": 0}, "numbers", SIMILAR),
    ("xgboost", {"colsample_bytree": 0.5, "random_state": 0}, "numbers", SIMILAR),
    ("xgboost", {"objective": "count:poisson"}, "amounts", SIMILAR),
    ("xgboost", {"objective": "reg:gamma"}, "amounts", SIMILAR),
    ("xgboost", {"objective": "reg:tweedie", "tweedie_variance_power": 1.3}, "amounts", SIMILAR),
    ("xgboost", {}, "two classes", SAME),
    ("xgboost", {"scale_pos_weight": 3}, "two classes", SIMILAR),
    ("xgboost", {}, "three classes", SIMILAR),
    ("lightgbm", {}, "numbers", SAME),
    ("lightgbm", {"num_leaves": 8}, "numbers", SAME),
    ("lightgbm", {"max_depth": 3}, "numbers", SAME),
    ("lightgbm", {"learning_rate": 0.3}, "numbers", SAME),
    ("lightgbm", {"min_child_samples": 60}, "numbers", SAME),
    ("lightgbm", {"interaction_constraints": [[0, 1], [2, 3, 4]]}, "numbers", SAME),
    ("lightgbm", {"objective": "mae"}, "numbers", SAME),
    ("lightgbm", {"subsample": 0.5}, "numbers", SAME),  # LightGBM ignores it unless subsample_freq is given
    ("lightgbm", {"subsample": 0.5, "subsample_freq": 1}, "numbers", SIMILAR),
    ("lightgbm", {"reg_lambda": 10.0}, "numbers", SIMILAR),
    ("lightgbm", {"reg_alpha": 5.0}, "numbers", SIMILAR),
    ("lightgbm", {"min_split_gain": 5.0}, "numbers", SIMILAR),
    ("lightgbm", {"path_smooth": 5.0}, "numbers", SIMILAR),
    ("lightgbm", {"max_delta_step": 0.3}, "numbers", SIMILAR),
    ("lightgbm", {"monotone_constraints": [1, 0, 0, 0, 0]}, "numbers", SIMILAR),
    ("lightgbm", {"objective": "quantile", "alpha": 0.8}, "numbers", SIMILAR),
    ("lightgbm", {"data_sample_strategy": "goss"}, "numbers", SIMILAR),
    ("lightgbm", {"extra_trees": True}, "numbers", SIMILAR),
    ("lightgbm", {"linear_tree": True}, "numbers", SIMILAR),
    ("lightgbm", {"objective": "gamma"}, "amounts", SIMILAR),
    ("lightgbm", {"objective": "tweedie", "tweedie_variance_power": 1.3}, "amounts", SIMILAR),
    ("lightgbm", {}, "two classes", SIMILAR),
    ("lightgbm", {"is_unbalance": True}, "two classes", SIMILAR),
    ("lightgbm", {}, "three classes", SIMILAR),
    ("catboost", {}, "numbers", SAME),
    ("catboost", {"depth": 3}, "numbers", SAME),
    ("catboost", {"l2_leaf_reg": 30.0}, "numbers", SAME),
    ("catboost", {"grow_policy": "Depthwise"}, "numbers", SAME),
    ("catboost", {"grow_policy": "Lossguide", "max_leaves": 8}, "numbers", SAME),
    ("catboost", {"grow_policy": "Depthwise", "min_data_in_leaf": 50}, "numbers", SIMILAR),
    ("catboost", {"bootstrap_type": "Bernoulli", "subsample": 0.5}, "numbers", SIMILAR),
    ("catboost", {"loss_function": "MAE"}, "numbers", SIMILAR),
    ("catboost", {"loss_function": "Quantile:alpha=0.8"}, "numbers", SIMILAR),
    ("catboost", {"monotone_constraints": [1, 0, 0, 0, 0]}, "numbers", SIMILAR),
    ("catboost", {"loss_function": "Poisson"}, "amounts", SIMILAR),
    ("catboost", {"leaf_estimation_iterations": 1}, "two classes", SIMILAR),
    ("catboost", {"leaf_estimation_iterations": 1}, "three classes", SIMILAR),
    ("sklearn", {}, "numbers", SAME),
    ("sklearn", {"max_leaf_nodes": 8, "learning_rate": 0.3}, "numbers", SAME),
    ("sklearn", {"max_depth": 3}, "numbers", SAME),
    ("sklearn", {"min_samples_leaf": 60}, "numbers", SAME),
    ("sklearn", {"l2_regularization": 5.0}, "numbers", SAME),
    ("sklearn", {"interaction_cst": "pairwise"}, "numbers", SAME),
    ("sklearn", {"loss": "absolute_error"}, "numbers", SAME),
    ("sklearn", {"loss": "quantile", "quantile": 0.8}, "numbers", SIMILAR),
    ("sklearn", {"monotonic_cst": [1, 0, 0, 0, 0]}, "numbers", SIMILAR),
    ("sklearn", {"max_bins": 16}, "numbers", SIMILAR),
    ("sklearn", {"loss": "poisson"}, "amounts", SAME),
    ("sklearn", {"loss": "gamma"}, "amounts", SAME),
    ("sklearn", {}, "two classes", SIMILAR),
    ("sklearn", {}, "three classes", SIMILAR),
]


def fit_theirs(library, params, target):
    regressor, classifier, quiet = THEIRS[library]
    kind = classifier if "classes" in target else regressor
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # of the other library
        return kind(**params, **quiet).fit(X, TARGETS[target])


def predicted(model, target):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.predict_proba(X)[:, 1] if "classes" in target else np.asarray(model.predict(X))


@pytest.mark.parametrize(("library", "params", "target", "difference"), CASES, ids=lambda value: str(value).replace(" ", ""))
def test_translated_parameters_train_the_same_model(library, params, target, difference):
    params = ROUNDS[library] | params
    kind = BoostingClassifier if "classes" in target else BoostingRegressor
    expected = predicted(fit_theirs(library, params, target), target)
    found = predicted(kind(**params_from(library, params), n_jobs=1).fit(X, TARGETS[target]), target)
    assert ((found - expected) ** 2).mean() < difference * expected.var()


@pytest.mark.parametrize("library", THEIRS)
def test_all_parameters_of_an_estimator_can_be_given(library):
    regressor, _, quiet = THEIRS[library]
    translated = params_from(library, regressor(**quiet).get_params())
    assert BoostingRegressor(**translated).set_params(max_iter=2).fit(X, NUMBERS).n_iter_ == 2


def test_only_given_parameters():
    assert params_from("lightgbm", {"num_leaves": 7, "gpu_use_dp": True, "reg_alpha": None}, defaults=False) == {"max_leaf_nodes": 7}
    assert params_from("xgboost", {"device": "cuda:1"}, defaults=False) == {"device": "gpu"}


@pytest.mark.parametrize(
    ("library", "params", "message"),
    [
        ("xgboost", {"eval_metric": "rmse"}, r"eval_metric='rmse': use fit\(eval_metric=...\)"),
        ("xgboost", {"max_cat_to_onehot": 4}, "max_cat_to_onehot=4: use categorical_encoding"),
        ("lightgbm", {"fair_c": 2.0}, "fair_c=2.0: there is no counterpart"),
        ("xgboost", {"objective": "reg:nonsense"}, "objective='reg:nonsense': use loss"),
    ],
)
def test_a_warning_names_what_was_not_translated(library, params, message):
    with pytest.warns(UserWarning, match=message):
        params_from(library, params)


def test_unknown_names():
    with pytest.raises(ValueError, match="library='h2o' is unknown; choose from xgboost, lightgbm"):
        params_from("h2o", {})
    with pytest.raises(ValueError, match="XGBoost has no parameter 'n_estimator'; did you mean 'n_estimators'"):
        params_from("xgboost", {"n_estimator": 5})


def exists(name, places):
    """Whether one of the objects has a name such as `predict(rounds=10)`, `plots.plot_tree` or `Model.to_json`."""
    dotted = re.match(r"[\w.]+", name).group()
    for place in places:
        for part in dotted.split("."):
            if not hasattr(place, part):
                break
            place = getattr(place, part)
        else:
            return True
    return False


@pytest.mark.parametrize("library", THEIRS)
def test_methods_exist_on_both_sides(library):
    modules = {"xgboost": xgboost, "lightgbm": lightgbm, "catboost": catboost, "sklearn": sklearn.ensemble}
    ours = BoostingClassifier(max_iter=2).fit(X, TARGETS["two classes"])
    theirs = fit_theirs(library, {key: value for key, value in ROUNDS[library].items() if key != "score_function"}, "two classes")
    if library == "xgboost":  # attributes that exist after early stopping
        theirs = xgboost.XGBClassifier(n_estimators=2, early_stopping_rounds=1, n_jobs=1)
        theirs.fit(X, TARGETS["two classes"], eval_set=[(X, TARGETS["two classes"])], verbose=False)
    classic = sklearn.ensemble.GradientBoostingClassifier(n_estimators=2).fit(X, TARGETS["two classes"])
    place = type("Place", (), {"GradientBoostingClassifier": classic})
    theirs_places = [theirs, place if library == "sklearn" else theirs, modules[library], sklearn]
    our_places = [ours, sapwood, type("Place", (), {"Model": Model})]
    for method in LIBRARIES[library].methods:
        assert exists(method.theirs, theirs_places), method
        assert not method.ours or exists(method.ours, our_places), method


def test_methods_agree():
    target = "two classes"
    params = {"n_estimators": 20, "early_stopping_rounds": 3}
    theirs = xgboost.XGBClassifier(n_jobs=1, eval_metric="logloss", **params)
    theirs.fit(X[:1000], TARGETS[target][:1000], eval_set=[(X[1000:], TARGETS[target][1000:])], verbose=False)
    ours = BoostingClassifier(**params_from("xgboost", params), tol=0, n_jobs=1)
    ours.fit(X[:1000], TARGETS[target][:1000], eval_sets={"validation_0": (X[1000:], TARGETS[target][1000:])}, eval_metric="log_loss")
    assert ours.best_iteration_ == theirs.best_iteration + 1
    np.testing.assert_allclose(ours.evals_result_["validation_0"]["log_loss"], theirs.evals_result()["validation_0"]["logloss"], rtol=1e-5)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    np.testing.assert_allclose(ours.decision_function(X), theirs.predict(X, output_margin=True), atol=1e-5)
    np.testing.assert_array_equal(ours.predict(X, rounds=2), theirs.predict(X, iteration_range=(0, 2)))
    assert ours.apply(X).shape == (N_ROWS, ours.best_iteration_)


def test_contributions_agree():
    theirs = fit_theirs("xgboost", {"n_estimators": 5}, "numbers")
    ours = BoostingRegressor(**params_from("xgboost", {"n_estimators": 5}), n_jobs=1).fit(X, NUMBERS)
    contributions = theirs.get_booster().predict(xgboost.DMatrix(X[:20]), pred_contribs=True)
    np.testing.assert_allclose(ours.explain(X[:20]).values, contributions[:, :-1], atol=1e-5)
