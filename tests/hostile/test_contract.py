"""The contract of scikit-learn (27 - 33)."""

import copy
import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingRegressor, StackingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_param_validation

from sapwood import BoostingClassifier, BoostingRegressor, load
from tests.hostile import holds, slow

X = np.random.default_rng(0).normal(size=(150, 3))
Y = X[:, 0] * X[:, 1]


@holds(29)
def test_checks_beyond_the_default():
    """Not check_dataframe_column_names_consistency: it wants columns in another order refused, and they are found by name (12)."""
    for estimator in (BoostingRegressor(max_iter=2), BoostingClassifier(max_iter=2)):
        check_param_validation(type(estimator).__name__, estimator)


@holds(30)
def test_copies(tmp_path):
    model = BoostingRegressor(max_iter=3, n_jobs=1).fit(X, Y)
    joblib.dump(model, tmp_path / "dump")
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), joblib.load(tmp_path / "dump")):
        assert twin.to_bytes() == model.to_bytes() and twin.get_params() == model.get_params()
    assert clone(model).get_params() == model.get_params()
    assert BoostingRegressor().set_params(**model.get_params()).fit(X, Y).to_bytes() == model.to_bytes()


@holds(31)
def test_in_other_estimators():
    model = BoostingRegressor(max_iter=3, n_jobs=1)
    made = [
        make_pipeline(StandardScaler(), model),
        BaggingRegressor(model, n_estimators=2),
        StackingRegressor([("a", model)], LinearRegression()),
    ]
    for one in made:
        assert np.isfinite(one.fit(X, Y).predict(X)).all()
    assert permutation_importance(model.fit(X, Y), X, Y, n_repeats=2, random_state=0).importances_mean.argmin() == 2
    calibrated = CalibratedClassifierCV(BoostingClassifier(max_iter=3, n_jobs=1), cv=2).fit(X, Y > 0)
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1)


@slow
@holds(31)
def test_grid_search_in_processes():
    search = GridSearchCV(BoostingRegressor(max_iter=3, n_jobs=1), {"max_depth": [2, 3]}, n_jobs=2, cv=2).fit(X, Y)
    alone = GridSearchCV(BoostingRegressor(max_iter=3, n_jobs=1), {"max_depth": [2, 3]}, n_jobs=1, cv=2).fit(X, Y)
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"])


@holds(32)
@pytest.mark.parametrize("fault", [KeyboardInterrupt, RuntimeError, MemoryError])
def test_a_refit_that_fails_leaves_the_old_model(fault):
    from sapwood.callbacks import Callback

    class Fail(Callback):
        def after_round(self, state):
            raise fault

    model = BoostingRegressor(max_iter=3, n_jobs=1).fit(X, Y)
    before = model.to_bytes()
    with pytest.raises(fault):
        model.fit(X, -Y, callbacks=[Fail()])
    assert model.to_bytes() == before
    with pytest.raises(ValueError, match="inconsistent numbers"):
        model.fit(X, Y[:-1])
    assert model.to_bytes() == before


@holds(33)
def test_before_and_after_a_fit(tmp_path):
    model = BoostingRegressor(max_iter=3)
    for call in (model.predict, model.explain, model.apply):
        with pytest.raises(NotFittedError):
            call(X)
    model.fit(X, Y).save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), model.predict(X))
