"""Views of an estimator in training: scorers get the answers that the estimator would give if training ended there."""

import numpy as np
import pytest
from sklearn.base import is_classifier, is_regressor
from sklearn.metrics import get_scorer, make_scorer, mean_absolute_error

from sapwood import BoostingClassifier, BoostingRegressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
Y = X[:, 0] + 0.1 * RNG.normal(size=300)
CLASSES = np.array(["low", "high"])[(Y > 0).astype(int)]
X_VAL, Y_VAL, CLASSES_VAL = X[200:], Y[200:], CLASSES[200:]


def scores(estimator, scoring, y, y_val):
    fitted = estimator.set_params(scoring=scoring, max_iter=5, early_stopping=True).fit(X[:200], y[:200], X_val=X_VAL, y_val=y_val)
    return fitted, fitted.validation_score_


def all_stages(fitted):
    """The estimator after each round, the best one or not."""
    stages = [fitted[:n] for n in range(1, 6)]
    for one in stages:
        one.model_.best_round = None
    return stages


@pytest.mark.parametrize("scoring", ["accuracy", "roc_auc", "neg_log_loss", "balanced_accuracy", None])
def test_classifiers(scoring):
    fitted, found = scores(BoostingClassifier(), scoring, CLASSES, CLASSES_VAL)
    stages = all_stages(fitted)
    expected = [one.score(X_VAL, CLASSES_VAL) if scoring is None else get_scorer(scoring)(one, X_VAL, CLASSES_VAL) for one in stages]
    np.testing.assert_allclose(found[1:], expected, rtol=1e-12)


@pytest.mark.parametrize("scoring", ["r2", "neg_mean_absolute_error", None])
def test_regressors(scoring):
    fitted, found = scores(BoostingRegressor(), scoring, Y, Y_VAL)
    stages = all_stages(fitted)
    expected = [one.score(X_VAL, Y_VAL) if scoring is None else get_scorer(scoring)(one, X_VAL, Y_VAL) for one in stages]
    np.testing.assert_allclose(found[1:], expected, rtol=1e-12)


def test_they_look_like_the_fitted_estimator():
    seen = []

    def scorer(estimator, X, y):
        seen.append(estimator.n_iter_)
        assert is_classifier(estimator) and not is_regressor(estimator)
        assert estimator.classes_.tolist() == ["high", "low"]
        assert estimator.n_features_in_ == X.shape[1] == 3
        assert estimator.predict_proba(X).shape == (len(y), 2)
        assert estimator.decision_function(X[:7]).shape == (7,)
        assert estimator.get_params()["max_iter"] == 5
        assert estimator.n_iter_ == estimator.model_.n_rounds
        return float((estimator.predict(X) == y).mean())

    scores(BoostingClassifier(), scorer, CLASSES, CLASSES_VAL)
    assert sorted(set(seen)) == [0, 1, 2, 3, 4, 5]


def test_regressors_have_no_probabilities():
    with pytest.raises(AttributeError, match="predict_proba"):
        scores(BoostingRegressor(), lambda estimator, X, y: estimator.predict_proba(X), Y, Y_VAL)


def test_rows_can_be_chosen():
    half = make_scorer(mean_absolute_error, greater_is_better=False)
    _, found = scores(BoostingRegressor(), lambda estimator, X, y: half(estimator, X[::2], y[::2]), Y, Y_VAL)
    assert (np.diff(found) > 0).all()
