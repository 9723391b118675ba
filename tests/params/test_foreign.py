"""Names of other libraries: all are in the table, and errors say which parameter is meant."""

import inspect

import catboost
import lightgbm
import pytest
import xgboost
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)

from sapwood import BoostingClassifier, BoostingRanker, BoostingRegressor
from sapwood.params.foreign import LIBRARIES
from sapwood.params.names import FIT_ARGUMENTS
from sapwood.params.table import TABLES

OURS = {name for table in TABLES.values() for name in table} | set(FIT_ARGUMENTS)
X, Y = [[0.0], [1.0]], [0, 1]


def names_of(*functions):
    return {name for function in functions for name in inspect.signature(function).parameters} - {"self", "kwargs", "X", "y"}


THEIRS = {
    "xgboost": set(xgboost.XGBRegressor().get_params())
    | names_of(xgboost.XGBClassifier.fit, xgboost.XGBRegressor.fit, xgboost.XGBRanker.fit, xgboost.XGBRanker),
    "lightgbm": set(lightgbm.LGBMClassifier().get_params())
    | {name for main, names in lightgbm.basic._ConfigAliases._get_all_param_aliases().items() for name in (main, *names)}
    | names_of(lightgbm.LGBMClassifier.fit, lightgbm.LGBMRegressor.fit, lightgbm.LGBMRanker.fit),
    "catboost": names_of(
        catboost.CatBoostClassifier.__init__,
        catboost.CatBoostRegressor.__init__,
        catboost.CatBoostRanker.__init__,
        catboost.CatBoostClassifier.fit,
        catboost.CatBoostRegressor.fit,
        catboost.CatBoostRanker.fit,
    ),
    "sklearn": {
        name
        for kind in (
            GradientBoostingClassifier,
            GradientBoostingRegressor,
            HistGradientBoostingClassifier,
            HistGradientBoostingRegressor,
            RandomForestClassifier,
            ExtraTreesClassifier,
        )
        for name in names_of(kind.__init__, kind.fit)
    },
}


@pytest.mark.parametrize("library", THEIRS)
def test_every_name_of_the_library_is_known(library):
    assert sorted(THEIRS[library] - set(LIBRARIES[library].names)) == []


@pytest.mark.parametrize("library", THEIRS)
def test_counterparts_exist(library):
    table = LIBRARIES[library]
    assert {one.ours for one in table.names.values()} - OURS - {""} == set()
    assert {key for values in table.losses.values() for key in values} <= {"loss", "rank_metric"}
    assert set(table.defaults) <= OURS


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"n_estimators": 500}, "it is a parameter of XGBoost, LightGBM, CatBoost and scikit-learn: use max_iter=500."),
        ({"num_leaves": 63}, "use max_leaf_nodes=63."),
        ({"num_leaves": -1}, "use max_leaf_nodes=None."),
        ({"reg_lambda": 2.0}, "use l2_regularization=2.0."),
        ({"colsample_bytree": 0.5}, "it is a parameter of XGBoost and LightGBM: use max_features_tree=0.5."),
        ({"iterations": 10}, "it is a parameter of CatBoost: use max_iter=10."),
        ({"depth": 6}, "use max_depth=6, max_leaf_nodes=64, grow_policy='symmetric'."),
        ({"early_stopping_rounds": 50}, "use early_stopping=True, n_iter_no_change=50."),
        ({"objective": "reg:squarederror"}, "it is a parameter of XGBoost: use loss='squared_error'."),
        ({"objective": "lambdarank"}, "it is a parameter of LightGBM: use loss='lambdamart'."),
        ({"objective": "nonsense"}, "XGBoost, LightGBM and CatBoost: use loss, for example 'squared_error'"),
        ({"alpha": 0.9}, "of XGBoost: use l1_regularization=0.9; of LightGBM and scikit-learn: use quantile=0.9."),
        ({"eval_metric": "rmse"}, "it is an argument of fit."),
        ({"device_type": "cuda"}, "it is a parameter of LightGBM: use device='gpu'."),
        ({"task_type": "GPU"}, "it is a parameter of CatBoost: use device='gpu'."),
        ({"gpu_id": 1}, "leave it out: device='opencl:PLATFORM.DEVICE' selects one of several devices"),
        ({"max_itr": 5}, "did you mean 'max_iter'?"),
        ({"nonsense_of_all": 5}, "has no parameter 'nonsense_of_all'."),
    ],
)
def test_the_error_of_a_constructor_translates(given, expected):
    for call in (lambda: BoostingRegressor(**given), lambda: BoostingRegressor().set_params(**given)):
        with pytest.raises((TypeError, ValueError)) as error:
            call()
        assert expected in str(error.value)


@pytest.mark.parametrize(
    ("method", "given", "expected"),
    [
        ("fit", {"eval_set": [(X, Y)]}, "use fit(eval_sets=...), with the same (X, y) pairs"),
        ("fit", {"early_stopping_rounds": 5}, "use early_stopping=True, n_iter_no_change=5 in the constructor."),
        ("fit", {"max_iter": 5}, "it is a parameter of the constructor: BoostingClassifier(max_iter=...)."),
        ("fit", {"cat_features": ["a"]}, "use categorical_features=['a'] in the constructor."),
        ("fit", {"init_score": Y}, "use fit(offset=...), with the initial raw predictions"),
        (
            "partial_fit",
            {"sample_wight": Y},
            "BoostingClassifier.partial_fit has no argument 'sample_wight'; did you mean 'sample_weight'?",
        ),
        ("fit", {"qid": Y}, "BoostingClassifier.fit has no argument 'qid'."),
    ],
)
def test_the_error_of_fit_translates(method, given, expected):
    with pytest.raises(TypeError) as error:
        getattr(BoostingClassifier(), method)(X, Y, **given)
    assert expected in str(error.value)


def test_a_class_weight_is_not_advised_where_there_is_none():
    with pytest.raises(TypeError, match=r"BoostingRanker has no parameter 'scale_pos_weight'\."):
        BoostingRanker(scale_pos_weight=3.0)


def test_signatures_stay_visible():
    assert "eval_sets" in inspect.signature(BoostingRegressor.fit).parameters
    assert BoostingRegressor.fit.__doc__.startswith("Fit the model.")
