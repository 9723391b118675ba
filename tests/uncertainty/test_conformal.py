"""Coverage is a probability, so tests ask whether the number of covered rows is one that a fair coin of that probability throws."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import betabinom, binom
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GroupKFold, ShuffleSplit, train_test_split

from sapwood import BoostingClassifier, BoostingRegressor
from sapwood.uncertainty import ConformalClassifier, ConformalRegressor

SMALL = {"max_iter": 15, "max_leaf_nodes": 8, "learning_rate": 0.3}
REGRESSORS = {"squared": BoostingRegressor(**SMALL), "absolute": BoostingRegressor(loss="absolute_error", **SMALL)}
CLASSIFIER = BoostingClassifier(max_iter=10, max_leaf_nodes=8, learning_rate=0.3)
RARE = 1e-6  # how seldom chance fails a test


def numbers(n_rows, seed, power=1.0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, 4))
    spread = np.exp(X[:, 1] * power / 2)
    return X, X[:, 0] * 2 + np.sin(3 * X[:, 2]) + generator.standard_t(4, size=n_rows) * spread


def labels(n_rows, seed, n_classes=4):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, 4))
    raw = (
        3 * X[:, :1] * np.arange(n_classes)
        - 2 * np.arange(n_classes) % 3
        + generator.gumbel(size=(n_rows, n_classes)) * (1 + (X[:, 1:2] > 0))
    )
    return X, np.array(list("abcdef"))[raw.argmax(axis=1)]


def covers(intervals, y):
    return (intervals[:, 0] <= y) & (y <= intervals[:, 1])


def check_split_coverage(n_covered, n_new, n_held_out, level, exact=True):
    """Given held-out rows, the number of covered new rows is beta-binomial (Vovk 2012)."""
    k = int(np.ceil(level * (n_held_out + 1) - 1e-9))
    law = betabinom(n_new, k, n_held_out + 1 - k)
    assert law.cdf(n_covered) > RARE, f"{n_covered} of {n_new} covered"
    assert not exact or law.sf(n_covered - 1) > RARE, f"{n_covered} of {n_new} covered"


@pytest.mark.parametrize("level", [0.5, 0.9])
@pytest.mark.parametrize("name", REGRESSORS)
@pytest.mark.parametrize("seed", range(3))
def test_split_intervals_cover(name, level, seed):
    X, y = numbers(400, seed)
    X_new, y_new = numbers(4000, seed + 100)
    model = ConformalRegressor(REGRESSORS[name], confidence_level=level, random_state=seed).fit(X, y)
    assert model.n_held_out_ == 100
    check_split_coverage(covers(model.predict_interval(X_new), y_new).sum(), 4000, 100, level)
    assert np.allclose(model.predict_interval(X_new).mean(axis=1), model.predict(X_new))


@pytest.mark.parametrize("seed", range(3))
def test_cv_plus_intervals_cover(seed):
    """At least 1 - 2 * (1 - level), and as a rule the level itself; rows share their held-out rows, so the bounds are wide."""
    X, y = numbers(200, seed)
    X_new, y_new = numbers(3000, seed + 100)
    model = ConformalRegressor(REGRESSORS["squared"], method="cv+", random_state=seed).fit(X, y)
    assert (model.n_held_out_, len(model.folds_)) == (200, 5)
    covered = covers(model.predict_interval(X_new), y_new).mean()
    assert 0.85 < covered < 0.97


@pytest.mark.parametrize("method", ["split", "cv+"])
def test_quantile_estimators_give_intervals_that_follow_the_features(method):
    X, y = numbers(1200, 0, power=2)
    X_new, y_new = numbers(4000, 100, power=2)
    estimator = BoostingRegressor(loss="quantile", max_iter=30, max_leaf_nodes=6, min_samples_leaf=30)
    model = ConformalRegressor(estimator, method=method, cv=3, confidence_level=0.8).fit(X, y)
    intervals = model.predict_interval(X_new)
    if method == "split":
        check_split_coverage(covers(intervals, y_new).sum(), 4000, 300, 0.8)
    else:
        assert 0.75 < covers(intervals, y_new).mean() < 0.88
    widths = intervals[:, 1] - intervals[:, 0]
    assert widths[X_new[:, 1] > 1].mean() > 2 * widths[X_new[:, 1] < -1].mean()
    assert (widths >= 0).all()
    assert (model.predict_interval(X_new, confidence_level=0.05)[:, 1] >= model.predict_interval(X_new, confidence_level=0.05)[:, 0]).all()


@pytest.mark.parametrize("conformity", ["lac", "aps"])
@pytest.mark.parametrize("level", [0.6, 0.9])
@pytest.mark.parametrize("seed", range(2))
def test_split_sets_cover(conformity, level, seed):
    X, y = labels(400, seed)
    X_new, y_new = labels(4000, seed + 100)
    model = ConformalClassifier(CLASSIFIER, conformity=conformity, confidence_level=level, random_state=seed).fit(X, y)
    sets = model.predict_set(X_new)
    assert sets.shape == (4000, 4) and sets.dtype == bool
    covered = sets[np.arange(4000), np.searchsorted(model.classes_, y_new)].sum()
    check_split_coverage(covered, 4000, 100, level)
    assert (sets <= model.predict_set(X_new, confidence_level=0.95)).all()


@pytest.mark.parametrize("conformity", ["lac", "aps"])
def test_sets_that_are_not_empty_add_the_most_probable_class(conformity):
    X, y = labels(400, 0)
    X_new, y_new = labels(4000, 100)
    model = ConformalClassifier(CLASSIFIER, conformity=conformity, confidence_level=0.5, random_state=0).fit(X, y)
    sets = model.predict_set(X_new)
    assert not sets.any(axis=1).all()
    sets[np.arange(4000), model.predict_proba(X_new).argmax(axis=1)] = True
    model.set_params(allow_empty=False)
    assert_array_equal(model.predict_set(X_new), sets)
    check_split_coverage(sets[np.arange(4000), np.searchsorted(model.classes_, y_new)].sum(), 4000, 100, 0.5, exact=False)


@pytest.mark.parametrize("conformity", ["lac", "aps"])
def test_the_coverage_of_an_accurate_classifier_is_the_level(conformity):
    """The accuracy is about 0.97, and the coverage 0.9 nevertheless: the mean over splits has a standard deviation of about 0.01."""
    X, y = load_digits(return_X_y=True)
    covered = []
    for seed in range(4):
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=seed)
        model = ConformalClassifier(BoostingClassifier(max_iter=30), conformity=conformity, random_state=seed).fit(X_train, y_train)
        covered.append(model.predict_set(X_test)[np.arange(len(y_test)), y_test].mean())
    assert abs(np.mean(covered) - 0.9) < 0.04


@pytest.mark.parametrize("conformity", ["lac", "aps"])
def test_cv_plus_sets_cover(conformity):
    X, y = labels(240, 0)
    X_new, y_new = labels(3000, 100)
    model = ConformalClassifier(CLASSIFIER, method="cv+", cv=4, conformity=conformity, confidence_level=0.8).fit(X, y)
    sets = model.predict_set(X_new)
    covered = sets[np.arange(3000), np.searchsorted(model.classes_, y_new)].mean()
    assert 0.75 < covered < 0.95
    assert 0.8 < sets.sum(axis=1).mean() < 4


def test_cv_plus_sets_are_those_of_the_definition():
    X, y = labels(60, 0, n_classes=3)
    X_new, _ = labels(20, 1)
    model = ConformalClassifier(CLASSIFIER, method="cv+", cv=3, confidence_level=0.7).fit(X, y)
    sets = model.predict_set(X_new)
    for row in range(20):
        for k in range(3):
            smaller = sum((fold.scores.values < 1 - fold.estimators[0].predict_proba(X_new[[row]])[0, k]).sum() for fold in model.folds_)
            assert sets[row, k] == (smaller < 0.7 * 61)


def test_weights_make_up_for_rows_drawn_unevenly():
    """Held-out rows come from elsewhere; their weights, and those of the new rows, are the ratio of the two densities."""
    generator = np.random.default_rng(0)

    def draw(n_rows, shift):
        x = generator.normal(shift, 1, size=n_rows)
        return x[:, None], generator.normal(size=n_rows) * np.where(x > 0, 3.0, 1.0), np.exp(x - 0.5)

    X, y, _ = draw(500, 0)
    X_cal, y_cal, ratio = draw(2000, 0)
    X_new, y_new, ratio_new = draw(4000, 1)
    model = ConformalRegressor(REGRESSORS["squared"])
    plain = model.fit(X, y, X_cal=X_cal, y_cal=y_cal).predict_interval(X_new)
    weighted = model.fit(X, y, X_cal=X_cal, y_cal=y_cal, sample_weight_cal=ratio).predict_interval(X_new, sample_weight=ratio_new)
    assert covers(plain, y_new).mean() < 0.86
    assert abs(covers(weighted, y_new).mean() - 0.9) < 0.03


def test_rows_of_weight_zero_are_as_good_as_absent():
    X, y = numbers(120, 0)
    weight = np.ones(120)
    weight[80:] = 0
    fitted = REGRESSORS["squared"].fit(*numbers(100, 1))
    some = ConformalRegressor(FrozenEstimator(fitted)).fit(X[:80], y[:80])
    all_ = ConformalRegressor(FrozenEstimator(fitted)).fit(X, y, sample_weight=weight)
    assert all_.n_held_out_ == 80
    assert (some.predict_interval(X) == all_.predict_interval(X)).all()


def test_frozen_estimators_hold_out_all_rows():
    X, y = numbers(300, 0)
    fitted = clone(REGRESSORS["squared"]).fit(X[:100], y[:100])
    model = ConformalRegressor(FrozenEstimator(fitted)).fit(X[100:], y[100:])
    assert model.n_held_out_ == 200
    assert (model.predict(X) == fitted.predict(X)).all()
    given = ConformalRegressor(REGRESSORS["squared"]).fit(X[:100], y[:100], X_cal=X[100:], y_cal=y[100:])
    assert (model.predict_interval(X) == given.predict_interval(X)).all()
    with pytest.raises(ValueError, match="a FrozenEstimator is not refitted"):
        ConformalRegressor(FrozenEstimator(fitted), method="cv+").fit(X, y)


@pytest.mark.parametrize("n_held_out", [1, 8, 9])
def test_too_few_rows_rule_nothing_out(n_held_out):
    X, y = numbers(50, 0)
    regressor = ConformalRegressor(REGRESSORS["squared"], calibration_size=n_held_out).fit(X, y)
    classifier = ConformalClassifier(CLASSIFIER, calibration_size=n_held_out).fit(X, y > np.median(y)) if n_held_out > 1 else None
    if n_held_out == 9:
        assert np.isfinite(regressor.predict_interval(X)).all()
        return
    with pytest.warns(UserWarning, match=f"needs at least 9 held-out rows of equal weight; there are {n_held_out}"):
        assert (regressor.predict_interval(X) == [-np.inf, np.inf]).all()
    if classifier is not None:
        with pytest.warns(UserWarning, match="needs at least 9 held-out rows"):
            assert classifier.predict_set(X).all()
    assert np.isfinite(regressor.predict_interval(X, confidence_level=0.4)).all()


@pytest.mark.parametrize("method", ["split", "cv+"])
def test_the_same_seed_gives_the_same_answer(method):
    X, y = numbers(150, 0)
    Xc, c = labels(150, 0)

    def answers(seed):
        intervals = ConformalRegressor(REGRESSORS["squared"], method=method, cv=3, random_state=seed).fit(X, y).predict_interval(X)
        sets = ConformalClassifier(CLASSIFIER, method=method, cv=3, random_state=seed).fit(Xc, c).predict_set(Xc, confidence_level=0.6)
        return intervals, sets

    first, again, other = answers(3), answers(3), answers(4)
    assert all((a == b).all() for a, b in zip(first, again, strict=True))
    assert (first[0] != other[0]).any()


def test_a_class_of_one_row_does_no_harm():
    X, y = load_iris(return_X_y=True)
    y = y.copy()
    y[7] = 9
    for method in ("split", "cv+"):
        sets = ConformalClassifier(CLASSIFIER, method=method).fit(X, y).predict_set(X)
        assert sets.shape == (150, 4)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, lambda columns: pl.DataFrame(columns).to_arrow()])
@pytest.mark.parametrize("method", ["split", "cv+"])
def test_frames(frame, method):
    X, y = numbers(100, 0)
    table = frame({name: X[:, f] for f, name in enumerate("abcd")})
    model = ConformalRegressor(REGRESSORS["squared"], method=method).fit(table, y)
    array = ConformalRegressor(REGRESSORS["squared"], method=method).fit(X, y)
    assert (model.predict_interval(table) == array.predict_interval(X)).all()
    assert list(model.feature_names_in_) == list("abcd")


def test_other_libraries_estimators_do_too():
    X, y = labels(300, 0)
    model = ConformalClassifier(LogisticRegression(), conformity="aps").fit(X, y)
    assert model.predict_set(X).any(axis=1).all()
    assert model.score(X, y) > 0.4


def test_splitters_hold_out_each_row_once():
    X, y = numbers(60, 0)
    groups = np.repeat(np.arange(12), 5)
    model = ConformalRegressor(REGRESSORS["squared"], method="cv+", cv=GroupKFold(4)).fit(X, y, groups=groups)
    assert len(model.folds_) == 4
    with pytest.raises(ValueError, match="must hold out every row exactly once; row 0 is held out"):
        ConformalRegressor(REGRESSORS["squared"], method="cv+", cv=ShuffleSplit(3, random_state=1)).fit(X, y)


def test_errors_name_what_is_wrong():
    X, y = numbers(60, 0)
    model = ConformalRegressor(REGRESSORS["squared"])
    with pytest.raises(ValueError, match="X_cal and y_cal must be given together"):
        model.fit(X, y, X_cal=X)
    with pytest.raises(ValueError, match="method='cv\\+' cannot be combined with X_cal"):
        ConformalRegressor(method="cv+").fit(X, y, X_cal=X, y_cal=y)
    with pytest.raises(ValueError, match="calibration_size=100 cannot be held out of n_samples=60 rows"):
        ConformalRegressor(calibration_size=100).fit(X, y)
    with pytest.raises(ValueError, match="cv=80 needs at least 80 rows; got n_samples=60"):
        ConformalRegressor(method="cv+", cv=80).fit(X, y)
    with pytest.raises(ValueError, match="confidence_level must be between 0 and 1; got 90"):
        model.fit(X, y).predict_interval(X, confidence_level=90)
    with pytest.raises(ValueError, match="sample_weight_cal must not be zero for all rows"):
        model.fit(X, y, X_cal=X, y_cal=y, sample_weight_cal=np.zeros(60))
    with pytest.raises(ValueError, match="y_cal has classes that the estimator was not fitted on: \\[5\\]"):
        ConformalClassifier(CLASSIFIER).fit(X, y > 0, X_cal=X[:1], y_cal=[5])


def test_coverage_over_many_small_tables():
    """Over draws of both, a new row is covered with a probability of at least the level: here 5 of 6, exactly."""
    n_covered = 0
    for seed in range(150):
        X, y = numbers(26, seed)
        model = ConformalRegressor(BoostingRegressor(max_iter=3, min_samples_leaf=5), calibration_size=5, confidence_level=5 / 6)
        n_covered += int(covers(model.fit(X[:-1], y[:-1]).predict_interval(X[-1:]), y[-1:])[0])
    assert binom(150, 5 / 6).cdf(n_covered) > RARE
    assert binom(150, 5 / 6).sf(n_covered - 1) > RARE


class TestAdaptive:
    def test_one_argument_conformalizes_quantiles(self):
        rng = np.random.default_rng(0)
        x = rng.uniform(size=(3000, 2))
        y = x[:, 0] + x[:, 1] * rng.normal(size=3000)
        fitted = ConformalRegressor(BoostingRegressor(max_iter=40), adaptive=True).fit(x[:2000], y[:2000])
        (fold,) = fitted.folds_
        assert len(fold.estimators) == 1 and fold.estimators[0].quantile == pytest.approx([0.05, 0.95])
        lower, upper = fitted.predict_interval(x[2000:]).T
        assert 0.87 < np.mean((lower <= y[2000:]) & (y[2000:] <= upper)) < 0.94
        quiet = x[2000:, 1] < 0.2
        assert (upper - lower)[quiet].mean() < 0.4 * (upper - lower)[~quiet].mean()
        again = ConformalRegressor.from_bytes(fitted.to_bytes())
        assert again.adaptive is True
        np.testing.assert_array_equal(again.predict_interval(x[:5]), fitted.predict_interval(x[:5]))

    def test_needs_an_estimator_that_can_be_told(self):
        with pytest.raises(ValueError, match="adaptive=True needs a BoostingRegressor; got LinearRegression"):
            ConformalRegressor(LinearRegression(), adaptive=True).fit(np.arange(20.0)[:, None], np.arange(20.0))
