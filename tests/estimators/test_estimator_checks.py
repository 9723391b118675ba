"""scikit-learn's own checks of an estimator: all pass, none is expected to fail.

Of those that do not run by default, `check_dataframe_column_names_consistency` is not for us: it wants columns in another order refused,
and ours are found by name."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_classification
from sklearn.utils import estimator_checks

from sapwood import BoostingClassifier, BoostingRanker, BoostingRegressor

ESTIMATORS = [BoostingClassifier(), BoostingRegressor()]
ORDERED = {"boosting": "ordered", "max_iter": 10}
OTHERS = [BoostingClassifier(**ORDERED), BoostingRegressor(**ORDERED), BoostingRanker(max_iter=10)]
# What scikit-learn keeps for itself, besides what it runs on every estimator.
MORE_CHECKS = [
    estimator_checks.check_param_validation,
    estimator_checks.check_inplace_ensure_writeable,
]


@pytest.fixture(autouse=True)
def array_api(monkeypatch):
    """scikit-learn leaves its array API checks out unless this is set."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")


@estimator_checks.parametrize_with_checks(ESTIMATORS)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


# Repeated rows of a query are ranked against each other; weights only scale gradients.
PAIRS = dict.fromkeys([f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")], "pairs of rows")


@pytest.mark.filterwarnings("ignore:all .* rows are ranked as one query")
@estimator_checks.parametrize_with_checks(OTHERS, expected_failed_checks=lambda own: PAIRS if isinstance(own, BoostingRanker) else {})
def test_scikit_learns_checks_of_others(estimator, check):
    check(estimator)


@pytest.mark.parametrize("check", MORE_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def test_checks_that_do_not_run_by_default(estimator, check):
    check(type(estimator).__name__, estimator)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_decision_function_agrees_with_predict(n_classes):
    X, y = make_blobs(n_samples=60, centers=n_classes, random_state=0)
    estimator_checks.check_classifiers_predictions(X, y, "BoostingClassifier", BoostingClassifier())


def test_balanced_class_weight_serves_the_rare_class():
    X, y = make_classification(n_samples=2000, class_sep=0.5, random_state=0)
    rare = np.flatnonzero(y[:1000])[50:]  # in the first half nine of ten go
    X_train, y_train = np.delete(X[:1000], rare, axis=0), np.delete(y[:1000], rare)
    classifier = BoostingClassifier(max_leaf_nodes=2, learning_rate=0.01)
    estimator_checks.check_class_weight_balanced_classifiers(
        "BoostingClassifier", classifier, X_train, y_train, X[1000:], y[1000:], [0.9, 0.1]
    )
