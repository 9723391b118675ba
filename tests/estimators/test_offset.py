"""Where predictions start from: offsets, and other estimators."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.model_selection import cross_validate

from sapwood import BoostingClassifier, BoostingRanker, BoostingRegressor

rng = np.random.default_rng(0)
N = 400
X = rng.normal(size=(N, 3)).round(1)  # few enough values that weights do not move the bins
EXPOSURE = rng.uniform(0.2, 5, N)
COUNTS = rng.poisson(EXPOSURE * np.exp(0.7 * X[:, 0])).astype(float)
Y = 2 * X[:, 0] + X[:, 1] ** 2 + 0.1 * rng.normal(size=N)
LABELS = (Y > 1).astype(int)
WORDS = np.array(["a", "b", "c"])[np.digitize(Y, [0, 1])]


def regressor(**parameters):
    return BoostingRegressor(**({"max_iter": 10} | parameters))


def classifier(**parameters):
    return BoostingClassifier(**({"max_iter": 10} | parameters))


def test_an_exposure_is_a_factor_under_a_log_link():
    fitted = regressor(loss="poisson").fit(X, COUNTS, offset=np.log(EXPOSURE))
    assert_allclose(fitted.model_.base_score, [np.log(COUNTS.sum() / EXPOSURE.sum())], rtol=1e-12)
    assert_allclose(fitted.predict(X, offset=np.log(EXPOSURE)), fitted.predict(X) * EXPOSURE, rtol=1e-12)
    # The same as rates, weighted by the exposure.
    rates = regressor(loss="poisson").fit(X, COUNTS / EXPOSURE, sample_weight=EXPOSURE)
    assert_allclose(fitted.predict(X), rates.predict(X), rtol=1e-5)


def test_an_offset_is_taken_off_the_target_of_squared_error():
    offset = rng.normal(size=N)
    fitted = regressor().fit(X, Y + offset, offset=offset)
    assert_allclose(fitted.predict(X), regressor().fit(X, Y).predict(X), rtol=1e-6)
    assert_allclose(fitted.predict(X, offset=offset), fitted.predict(X) + offset, rtol=1e-12)


@pytest.mark.parametrize(("labels", "shape"), [(LABELS, (N,)), (WORDS, (N, 3))], ids=["two classes", "three classes"])
def test_a_classifiers_methods_take_it(labels, shape):
    offset = rng.normal(size=shape)
    fitted = classifier().fit(X, labels, offset=offset)
    assert_allclose(fitted.decision_function(X, offset=offset), fitted.decision_function(X) + offset, rtol=1e-12)
    for name in ("predict", "predict_proba", "decision_function"):
        *_, last = getattr(fitted, f"staged_{name}")(X, offset=offset)
        assert_array_equal(last, getattr(fitted, name)(X, offset=offset))
    assert fitted.score(X, labels, offset=offset) == (fitted.predict(X, offset=offset) == labels).mean()


@pytest.mark.parametrize(
    "parameters", [{}, {"boosting": "dart"}, {"boosting": "forest", "subsample": 0.5}, {"loss": "absolute_error"}], ids=str
)
def test_training_knows_the_offset(parameters):
    """With the right answer as the offset there is nothing left to learn."""
    fitted = regressor(**parameters).fit(X, Y, offset=Y)
    assert_allclose(fitted.predict(X, offset=Y), Y, atol=1e-9)
    assert np.abs(fitted.predict(X)).max() < 1e-9


def test_validation_rows_have_theirs():
    offset = np.log(EXPOSURE)
    half, rest = slice(0, 200), slice(200, N)
    fit = {"X_val": X[rest], "y_val": COUNTS[rest], "offset_val": offset[rest]}
    fitted = regressor(loss="poisson").fit(X[half], COUNTS[half], offset=offset[half], **fit, eval_metric="poisson_deviance")
    sets = {"rest": {"X": X[rest], "y": COUNTS[rest], "offset": offset[rest]}}
    watched = regressor(loss="poisson").fit(X[half], COUNTS[half], offset=offset[half], eval_sets=sets, eval_metric="poisson_deviance")
    assert fitted.evals_result_["validation"]["poisson_deviance"] == watched.evals_result_["rest"]["poisson_deviance"]
    listed = [(X[rest], COUNTS[rest], None, offset[rest]), (X[rest], COUNTS[rest], np.ones(N - 200), offset[rest])]
    as_tuples = regressor(loss="poisson").fit(X[half], COUNTS[half], offset=offset[half], eval_sets=listed, eval_metric="poisson_deviance")
    for name in ("eval_0", "eval_1"):
        assert as_tuples.evals_result_[name]["poisson_deviance"] == watched.evals_result_["rest"]["poisson_deviance"]
    predicted = fitted.predict(X[rest], offset=offset[rest])
    values = predicted - COUNTS[rest] * np.log(predicted)
    assert_allclose(-fitted.validation_score_[fitted.best_iteration_], values.mean(), rtol=1e-9)
    split = regressor(loss="poisson", early_stopping=True).fit(X, COUNTS, offset=offset)
    assert split.validation_score_[-1] > split.validation_score_[0]


def test_going_on_goes_on_from_the_offset():
    offset = rng.normal(size=N)
    once = regressor(max_iter=8).fit(X, Y, offset=offset)
    twice = regressor(max_iter=4, warm_start=True).fit(X, Y, offset=offset).set_params(max_iter=8).fit(X, Y, offset=offset)
    assert once.model_.to_bytes() == twice.model_.to_bytes()


def test_threads_leave_no_trace():
    offset = rng.normal(size=N)
    one, two = (regressor(loss="gamma", n_jobs=jobs).fit(X, np.exp(Y), offset=offset).model_.to_bytes() for jobs in (1, 2))
    assert one == two


def test_a_ranker_takes_it():
    qid, relevance = np.repeat(np.arange(40), 10), np.digitize(Y, [0, 1])
    offset = rng.normal(size=N)
    fitted = BoostingRanker(max_iter=5).fit(X, relevance, qid=qid, offset=offset)
    assert_allclose(fitted.predict(X, offset=offset), fitted.predict(X) + offset, rtol=1e-12)


def test_metadata_routing_carries_it():
    with config_context(enable_metadata_routing=True):
        estimator = regressor(loss="poisson").set_fit_request(offset=True).set_score_request(offset=True)
        found = cross_validate(estimator, X, COUNTS, params={"offset": np.log(EXPOSURE)}, cv=3)
    plain = cross_validate(regressor(loss="poisson"), X, COUNTS, cv=3)
    assert found["test_score"].mean() > plain["test_score"].mean()


@pytest.mark.parametrize(
    ("offset", "message"),
    [
        (np.zeros(3), r"offset has shape \(3,\), expected \(400,\)"),
        (np.zeros((N, 2)), r"offset has shape \(400, 2\), expected \(400,\)"),
        (np.where(np.arange(N) == 5, np.nan, 0.0), r"Input offset contains NaN.*row 5"),
        (["a"] * N, "offset must be numeric"),
    ],
)
def test_what_is_wrong_is_named(offset, message):
    with pytest.raises(ValueError, match=message):
        regressor().fit(X, Y, offset=offset)
    with pytest.raises(ValueError, match=message):
        regressor().fit(X, Y).predict(X, offset=offset)
    with pytest.raises(ValueError, match=message.replace("offset", "offset_val", 1)):
        regressor().fit(X, Y, X_val=X, y_val=Y, offset_val=offset)


class TestInit:
    def test_an_estimator_that_is_fitted_first(self):
        fitted = regressor(init=LinearRegression()).fit(X, Y)
        linear = LinearRegression().fit(X, Y)
        by_offset = regressor().fit(X, Y, offset=linear.predict(X))
        assert fitted.model_.to_bytes() == by_offset.model_.to_bytes()
        assert_allclose(fitted.predict(X), by_offset.predict(X, offset=linear.predict(X)), rtol=1e-12)
        *_, last = fitted.staged_predict(X)
        assert_array_equal(last, fitted.predict(X))

    def test_a_fitted_one_is_taken_as_it_is(self):
        linear = LinearRegression().fit(X[:50], Y[:50])
        fitted = regressor(init=linear).fit(X, Y)
        assert fitted.init_ is linear

    def test_rows_kept_aside_are_no_part_of_it(self):
        fitted = regressor(init=DummyRegressor(), early_stopping=True, validation_fraction=0.5).fit(X, Y)
        assert fitted.init_.constant_[0, 0] != pytest.approx(Y.mean(), rel=1e-6)

    def test_links(self):
        poisson = PoissonRegressor().fit(X, COUNTS)
        fitted = regressor(loss="poisson", init=poisson).fit(X, COUNTS)
        assert fitted.model_.to_bytes() == regressor(loss="poisson").fit(X, COUNTS, offset=np.log(poisson.predict(X))).model_.to_bytes()
        for labels in (LABELS, WORDS):
            logistic = LogisticRegression().fit(X, labels)
            start = classifier(init=logistic, max_iter=1, learning_rate=1e-9).fit(X, labels)
            assert_allclose(start.predict_proba(X), logistic.predict_proba(X), atol=0.02)

    def test_our_own(self):
        first = regressor(loss="poisson").fit(X, COUNTS)
        for init in (first, first.model_):
            fitted = regressor(loss="poisson", init=init).fit(X, COUNTS)
            raw = np.log(first.predict(X))
            assert_allclose(fitted.predict(X), regressor(loss="poisson").fit(X, COUNTS, offset=raw).predict(X, offset=raw), rtol=1e-9)

    def test_weights_are_passed_on(self):
        weight = rng.uniform(0, 1, N)
        fitted = regressor(init=LinearRegression()).fit(X, Y, sample_weight=weight)
        assert_allclose(fitted.init_.coef_, LinearRegression().fit(X, Y, weight).coef_)

    def test_a_clone_fits_it_again(self):
        fitted = regressor(init=LinearRegression().fit(X[:50], Y[:50])).fit(X, Y)
        assert_allclose(clone(fitted).fit(X, Y).init_.coef_, LinearRegression().fit(X, Y).coef_)
        assert regressor(init=LinearRegression()).set_params(init__fit_intercept=False).init.fit_intercept is False

    def test_what_does_not_fit_is_named(self):
        with pytest.raises(ValueError, match=r"init=.* has the link 'identity' and 1 output\(s\), this model has 'log' and 1"):
            regressor(loss="poisson", init=regressor().fit(X, Y)).fit(X, COUNTS)
        with pytest.raises(ValueError, match=r"must predict numbers > 0.*log link; got -"):
            regressor(loss="poisson", init=LinearRegression().fit(X, Y)).fit(X, COUNTS)
        with pytest.raises(ValueError, match="3 columns are needed"):
            classifier(init=LogisticRegression().fit(X, LABELS)).fit(X, WORDS)
        with pytest.raises(ValueError, match="'init' parameter of BoostingRegressor must be"):
            regressor(init=3).fit(X, Y)


def test_an_offset_of_an_evaluation_set_without_rows():
    with pytest.raises(ValueError, match="offset_val is provided, but X_val was not provided"):
        regressor().fit(X, Y, offset_val=np.zeros(3))
