"""scikit-learn's own checks of an estimator, as it runs them on its own estimators that hold rows out: integer weights differ from repeated
rows, since other rows are held out and `min_samples_leaf` counts rows."""

import pytest
from sklearn.utils import estimator_checks

from sapwood import BoostingClassifier, BoostingRegressor
from sapwood.uncertainty import CalibratedClassifier, ConformalClassifier, ConformalRegressor

SMALL = {"max_iter": 10, "min_samples_leaf": 5}
ESTIMATORS = [
    ConformalRegressor(BoostingRegressor(**SMALL)),
    ConformalRegressor(BoostingRegressor(**SMALL), method="cv+", cv=2),
    ConformalClassifier(BoostingClassifier(**SMALL)),
    ConformalClassifier(BoostingClassifier(**SMALL), method="cv+", cv=2),
    ConformalRegressor(),
    ConformalClassifier(),
    CalibratedClassifier(),
    CalibratedClassifier(BoostingClassifier(**SMALL)),
    CalibratedClassifier(BoostingClassifier(**SMALL), method="isotonic"),
]


@pytest.fixture(autouse=True)
def array_api(monkeypatch):
    """scikit-learn leaves its array API checks out unless this is set."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")


OTHER_ROWS = dict.fromkeys([f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")], "other rows are held out")


@estimator_checks.parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda estimator: OTHER_ROWS)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "estimator", [ConformalRegressor(), ConformalClassifier(), CalibratedClassifier()], ids=lambda estimator: type(estimator).__name__
)
def test_parameters_are_checked(estimator):
    estimator_checks.check_param_validation(type(estimator).__name__, estimator)
