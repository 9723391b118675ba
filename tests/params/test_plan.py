"""Plan of a fit: parameters are resolved once, before training, and nothing below sees the estimator."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from sapwood import BoostingClassifier, BoostingRegressor
from sapwood.data.binning import Binning
from sapwood.data.columns import Schema
from sapwood.data.dataset import BinnedDataset
from sapwood.data.pages import Pages
from sapwood.data.tables import ArrayTable
from sapwood.encoding.encoding import Encoding
from sapwood.losses import REGRESSION
from sapwood.params import resolve
from sapwood.params.columns import Features
from sapwood.params.plan import make_plan
from sapwood.params.presets import Shape, resolve_parameters
from sapwood.runtime.execution import SERIAL
from sapwood.training.warm_start import WarmStart

RNG = np.random.default_rng(0)
X = pd.DataFrame({"a": RNG.normal(size=200), "b": RNG.normal(size=200), "c": RNG.choice(["x", "y", "z"], 200)})
Y = X["a"].to_numpy() + (X["c"] == "x")
NOTHING = WarmStart()
PARAMETERS = {
    "monotonic_cst": {"a": 1},
    "cut_points": {"b": [-1.0, 0.0, 1.0]},
    "max_bins": {"a": 16},
    "interaction_cst": [["a", "b"], ["c"]],
    "feature_weights": {"a": 2.0},
    "forced_splits": {"feature": "a", "threshold": 0.1},
    "categorical_encoding": {"c": ["target", "count"]},
}


def plan_of(n_features=3, loss="squared_error", start=NOTHING, **parameters):
    values, _ = resolve_parameters(BoostingRegressor(loss=loss, **parameters)._values(), Shape(100, n_features, "regression"), False)
    return make_plan(values, Features(n_features), Schema(n_features), REGRESSION[loss](), 100, start)


def test_it_cannot_be_changed():
    plan = plan_of()
    for part in (plan, plan.columns, plan.encoding, plan.binning, plan.trees):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(part, dataclasses.fields(part)[0].name, None)


@pytest.mark.parametrize(
    "function", ["monotonic", "cut_points", "bins_of_features", "interactions", "feature_weights", "forced_splits", "encodings"]
)
def test_every_parameter_is_resolved_once(function, monkeypatch):
    calls, original = [], getattr(resolve, function)
    monkeypatch.setattr(resolve, function, lambda *args: calls.append(args) or original(*args))
    BoostingRegressor(max_iter=2, **PARAMETERS).fit(X, Y, eval_sets=[(X, Y)])
    assert len(calls) == 1


def test_values_by_column():
    plan = plan_of(monotonic_cst=[0, -1, 0], max_bins={0: 8}, cut_points={2: [3.0, 1.0]})
    np.testing.assert_array_equal(plan.columns.monotonic, [0, -1, 0])
    np.testing.assert_array_equal(plan.columns.max_bins, [8, 255, 255])
    np.testing.assert_array_equal(plan.columns.cut_points[2], [1.0, 3.0])
    assert plan.columns.describe() == ["", "falls", "2 cut points"]


def test_rules_follow_weights():
    table, trees = ArrayTable(RNG.normal(size=(4, 3))), plan_of().trees
    pages = Pages.build(table, Binning([np.zeros(1)] * 3), SERIAL)

    def least_hessian(weight):
        return trees.config(Schema(3), Encoding(3), BinnedDataset(pages, np.zeros(4), weight), SERIAL).rules.min_hessian

    least = [least_hessian(weight) for weight in (None, np.full(4, 0.25), np.full(4, 3.0))]
    assert least[0] == least[2] == pytest.approx(4 * least[1])


def test_rounds_of_a_warm_start():
    model = BoostingRegressor(max_iter=7).fit(RNG.normal(size=(50, 3)), RNG.normal(size=50)).model_
    assert plan_of(max_iter=10).n_rounds == 10
    assert plan_of(max_iter=10, start=WarmStart("init_model", model, more_rounds=True)).n_rounds == 17


class TestTheEstimatorStaysAsItIs:
    """Until a fit has ended; and its parameters for ever."""

    def test_while_training(self):
        estimator, seen = BoostingClassifier(max_iter=3, early_stopping=True, scoring="accuracy"), []

        def scorer(given, X, y):
            seen.append((dict(vars(estimator)), given))
            return given.score(X, y)

        before = dict(vars(estimator.set_params(scoring=scorer)))
        estimator.fit(X, X["c"])
        assert all(state == before for state, _ in seen)
        assert len({id(given) for _, given in seen}) == len(seen) > 3

    def test_after_an_error(self):
        estimator = BoostingRegressor(max_iter=3).fit(X, Y)
        before = dict(vars(estimator))
        with pytest.raises(ValueError, match="Input y contains NaN"):
            estimator.fit(X[["a"]], np.full(200, np.nan))
        assert vars(estimator) == before
