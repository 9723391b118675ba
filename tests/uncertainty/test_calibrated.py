import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import softmax
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from sapwood import BoostingClassifier
from sapwood.uncertainty import CalibratedClassifier
from sapwood.uncertainty.calibrators import Isotonic, Temperature, _softmax

OVERCONFIDENT = BoostingClassifier(max_iter=60, learning_rate=0.5, min_samples_leaf=2)


def labels(n_rows, seed, n_classes):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, 5))
    return X, (X[:, :1] * np.arange(n_classes) + generator.gumbel(size=(n_rows, n_classes))).argmax(axis=1)


@pytest.mark.parametrize("method", ["temperature", "isotonic"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_an_overconfident_classifier_becomes_honest(method, n_classes):
    X, y = labels(1600, 0, n_classes)
    X_new, y_new = labels(4000, 1, n_classes)
    model = CalibratedClassifier(OVERCONFIDENT, method=method, calibration_size=0.4).fit(X, y)
    proba = model.predict_proba(X_new)
    assert np.allclose(proba.sum(axis=1), 1) and (proba > 0).all()
    plain = model.estimator_.predict_proba(X_new)
    assert log_loss(y_new, proba) < log_loss(y_new, plain) - 0.3
    said, true = proba.max(axis=1).mean(), (proba.argmax(axis=1) == y_new).mean()
    assert abs(said - true) < 0.05 < plain.max(axis=1).mean() - (plain.argmax(axis=1) == y_new).mean()
    if method == "temperature":
        assert model.calibrator_.temperature > 1.5
        assert (model.predict(X_new) == model.estimator_.predict(X_new)).all()


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("scale", [0.01, 0.3, 1, 8, 300])
def test_the_temperature_is_the_one_of_the_least_loss(n_classes, scale):
    generator = np.random.default_rng(n_classes)
    raw = generator.normal(size=(200, n_classes)) * 2
    y = (raw + generator.gumbel(size=raw.shape)).argmax(axis=1)
    weight = generator.random(200)
    raw *= scale
    fitted = Temperature().fit(raw[:, 1:] - raw[:, :1] if n_classes == 2 else raw, y, weight)

    def loss(logarithm):
        factor = np.exp(logarithm)
        proba = softmax(raw * factor, axis=1)[np.arange(200), y]
        return -(weight * np.log(np.maximum(proba, 1e-300))).sum() + (factor - 1) ** 2 / 2

    best = minimize_scalar(loss, bounds=(np.log(1e-3), np.log(1e3)), method="bounded", options={"xatol": 1e-10})
    assert loss(-np.log(fitted.temperature)) <= best.fun + 1e-9


def test_the_order_of_rows_is_of_no_account():
    generator = np.random.default_rng(0)
    raw, y = generator.normal(size=(500, 3)), generator.integers(0, 3, size=500)
    order = generator.permutation(500)
    assert Temperature().fit(raw, y, None).temperature == Temperature().fit(raw[order], y[order], None).temperature


def test_rows_that_are_all_right_do_not_make_predictions_certain():
    raw = np.array([[-3.0], [3.0]] * 20)
    fitted = Temperature().fit(raw, np.array([0, 1] * 20), None)
    assert 0.9 < fitted.transform(raw).max() < 1 - 1e-4
    against = Temperature().fit(raw, np.array([1, 0] * 20), None)
    assert against.temperature > 100
    assert 0.4 < against.transform(raw).max() < 0.6


def test_isotonic_is_scikit_learns_within_what_rows_can_tell():
    X, y = load_breast_cancer(return_X_y=True)
    X, X_cal, y, y_cal = train_test_split(X, y, random_state=0)
    fitted = BoostingClassifier(max_iter=20).fit(X, y)
    theirs = CalibratedClassifierCV(FrozenEstimator(fitted), method="isotonic").fit(X_cal, y_cal).predict_proba(X)
    ours = CalibratedClassifier(FrozenEstimator(fitted), method="isotonic").fit(X_cal, y_cal).predict_proba(X)
    least = 0.5 / (len(y_cal) + 1)
    assert np.allclose(ours[:, 1], np.clip(theirs[:, 1], least, 1 - least), atol=0.01)  # theirs interpolates raw predictions
    assert (ours[:, 1].min(), ours[:, 1].max()) == (least, 1 - least)


def test_isotonic_steps_rise():
    raw = np.random.default_rng(0).normal(size=(100, 1))
    y = (np.random.default_rng(1).random(100) < 0.5).astype(int)
    rising = np.linspace(-3, 3, 50)[:, None]
    assert (np.diff(Isotonic().fit(raw, y, None).transform(rising)[:, 1]) >= 0).all()


def test_rows_that_early_stopping_watches_calibrate():
    X, y = labels(400, 0, 2)
    estimator = BoostingClassifier(early_stopping=True, learning_rate=0.5, max_iter=200)
    model = CalibratedClassifier(estimator, calibration_size=0.25).fit(X, y)
    assert model.estimator_.do_early_stopping_
    assert model.estimator_.n_iter_ < 200
    rest, held, y_rest, y_held = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)
    given = CalibratedClassifier(estimator).fit(rest, y_rest, X_cal=held, y_cal=y_held)
    by_hand = BoostingClassifier(early_stopping=True, learning_rate=0.5, max_iter=200).fit(rest, y_rest, X_val=held, y_val=y_held)
    assert given.estimator_.n_iter_ == by_hand.n_iter_
    assert (given.estimator_.predict_proba(X) == by_hand.predict_proba(X)).all()
    assert not CalibratedClassifier(BoostingClassifier(max_iter=5)).fit(X, y).estimator_.do_early_stopping_


def test_the_default_estimator_does_not_see_the_rows_of_the_calibration():
    """It has validation rows of its own."""
    X, y = labels(400, 0, 2)
    rest, held, y_rest, y_held = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)
    given = CalibratedClassifier().fit(rest, y_rest, X_cal=held, y_cal=y_held)
    assert (given.estimator_.predict_proba(X) == BoostingClassifier().fit(rest, y_rest).predict_proba(X)).all()


def test_weights_count():
    X, y = labels(300, 0, 2)
    fitted = FrozenEstimator(OVERCONFIDENT.fit(X[:100], y[:100]))
    weight = np.r_[np.ones(100), np.zeros(100)]
    some = CalibratedClassifier(fitted).fit(X[100:200], y[100:200]).calibrator_
    all_ = CalibratedClassifier(fitted).fit(X[100:], y[100:], sample_weight=weight).calibrator_
    assert np.isclose(some.temperature, all_.temperature)


def test_same_seed_same_bits():
    X, y = load_iris(return_X_y=True)
    a, b, c = (CalibratedClassifier(random_state=seed).fit(X, y) for seed in (1, 1, 2))
    assert a.calibrator_.temperature == b.calibrator_.temperature != c.calibrator_.temperature
    assert (a.predict_proba(X) == b.predict_proba(X)).all()


def test_errors_name_what_is_wrong():
    X, y = labels(60, 0, 2)
    with pytest.raises(ValueError, match="X_cal and y_cal must be given together"):
        CalibratedClassifier().fit(X, y, X_cal=X)
    with pytest.raises(ValueError, match="do not pass X_cal"):
        CalibratedClassifier(FrozenEstimator(OVERCONFIDENT.fit(X, y))).fit(X, y, X_cal=X, y_cal=y)
    with pytest.raises(ValueError, match="classes that the estimator was not fitted on: \\[7\\]"):
        CalibratedClassifier().fit(X, y, X_cal=X[:1], y_cal=[7])
    with pytest.raises(ValueError, match="The 'method' parameter of CalibratedClassifier must be a str among"):
        CalibratedClassifier(method="platt").fit(X, y)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_isotonic_steps_are_scikit_learns(n_classes):
    rng = np.random.default_rng(n_classes)
    raw = 3 * rng.normal(size=(300, n_classes))  # those that are not learned from go beyond the others
    y, weight, least = rng.integers(0, n_classes, 200), rng.uniform(0.5, 2, 200), 0.5 / 201
    proba, steps = _softmax(raw), IsotonicRegression(y_min=least, y_max=1 - least, out_of_bounds="clip")
    wanted = np.column_stack([steps.fit(proba[:200, k], y == k, sample_weight=weight).predict(proba[:, k]) for k in range(n_classes)])
    wanted = np.column_stack([1 - wanted[:, 1], wanted[:, 1]]) if n_classes == 2 else wanted / wanted.sum(axis=1, keepdims=True)
    np.testing.assert_array_equal(Isotonic().fit(raw[:200], y, weight).transform(raw), wanted)
