"""What a classifier's y may be: labels, several at once, shares of classes."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import log_loss
from sklearn.utils import compute_sample_weight

from sapwood import BoostingClassifier, BoostingRegressor, Loss

rng = np.random.default_rng(0)
N = 300
X = rng.normal(size=(N, 3))
SETS = np.column_stack([X[:, 0] > 0, X[:, 1] + X[:, 0] > 0.5, rng.random(N) < 0.3]).astype(int)
SHARES = np.exp(X * 1.5) / np.exp(X * 1.5).sum(axis=1, keepdims=True)


def classifier(**parameters):
    return BoostingClassifier(**({"max_iter": 10} | parameters))


class TestSeveralLabels:
    @pytest.mark.parametrize("loss", ["log_loss", "focal"])
    def test_each_label_is_a_classifier_of_its_own(self, loss):
        fitted = classifier(loss=loss).fit(X, SETS)
        assert fitted.multilabel_
        assert_array_equal(fitted.classes_, [0, 1, 2])
        chances = np.column_stack([classifier(loss=loss).fit(X, SETS[:, k]).predict_proba(X)[:, 1] for k in range(3)])
        assert_allclose(fitted.predict_proba(X), chances, rtol=1e-12)
        assert_array_equal(fitted.predict(X), (chances > 0.5).astype(int))
        assert fitted.decision_function(X).shape == (N, 3)
        assert fitted.score(X, SETS) == (fitted.predict(X) == SETS).all(axis=1).mean()

    def test_early_stopping_and_pickle(self):
        fitted = classifier(early_stopping=True).fit(X, SETS, X_val=X, y_val=SETS)
        assert fitted.validation_score_[-1] > fitted.validation_score_[0]
        assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))
        assert classifier(early_stopping=True, scoring="accuracy").fit(X, SETS).best_iteration_ >= 0

    def test_weights_of_classes_are_scikit_learns(self):
        weight = compute_sample_weight("balanced", SETS)
        assert_array_equal(
            classifier(class_weight="balanced").fit(X, SETS).predict_proba(X),
            classifier().fit(X, SETS, sample_weight=weight).predict_proba(X),
        )

    def test_a_loss_of_ones_own_is_for_each_label(self):
        class Odds(Loss):
            link = "logit"
            max_step = 4.0
            min_hessian_per_sample = 0.1

            def gradients(self, y, raw):
                p = 1 / (1 + np.exp(-raw))
                return p - y, p * (1 - p)

        assert_allclose(classifier(loss=Odds()).fit(X, SETS).predict_proba(X), classifier().fit(X, SETS).predict_proba(X), rtol=1e-6)

    def test_threads_leave_no_trace(self):
        one, two = (classifier(n_jobs=jobs).fit(X, SETS).model_.to_bytes() for jobs in (1, 2))
        assert one == two

    def test_a_frame_of_booleans(self):
        assert classifier().fit(X, pd.DataFrame(SETS.astype(bool))).model_.to_bytes() == classifier().fit(X, SETS).model_.to_bytes()


class TestShares:
    def test_are_learned(self):
        fitted = classifier(max_iter=60).fit(X, SHARES)
        assert not fitted.multilabel_
        chances = fitted.predict_proba(X)
        assert_allclose(chances.sum(axis=1), 1)
        assert np.abs(chances - SHARES).mean() < 0.03
        assert (fitted.predict(X) == SHARES.argmax(axis=1)).mean() > 0.9

    def test_of_two_classes_are_a_regression_of_log_loss(self):
        share = SHARES[:, 0]
        fitted = classifier(min_samples_leaf=5).fit(X, np.column_stack([1 - share, share]))
        regressor = BoostingRegressor(loss="log_loss", max_iter=10, min_samples_leaf=5).fit(X, share)
        assert_array_equal(fitted.predict_proba(X)[:, 1], regressor.predict(X))

    def test_shares_are_rows_of_each_class(self):
        """A row with shares is the same as a row for each class with its share as weight."""
        chances = classifier().fit(X, SHARES).predict_proba(X)
        long_X, labels = np.repeat(X, 3, axis=0), np.tile(np.arange(3), N)
        repeated = classifier(min_samples_leaf=60).fit(long_X, labels, sample_weight=SHARES.ravel()).predict_proba(X)
        assert log_loss(labels, np.repeat(chances, 3, axis=0), sample_weight=SHARES.ravel()) == pytest.approx(
            log_loss(labels, np.repeat(repeated, 3, axis=0), sample_weight=SHARES.ravel()), rel=0.02
        )

    def test_names_of_columns_are_the_classes(self):
        fitted = classifier().fit(X, pd.DataFrame(SHARES, columns=["a", "b", "c"]))
        assert fitted.classes_.tolist() == ["a", "b", "c"]
        assert set(fitted.predict(X)) == {"a", "b", "c"}

    def test_weights_of_classes(self):
        by_hand = SHARES @ (N / (3 * SHARES.sum(axis=0)))
        assert_array_equal(
            classifier(class_weight="balanced").fit(X, SHARES).predict_proba(X),
            classifier().fit(X, SHARES, sample_weight=by_hand).predict_proba(X),
        )
        one = classifier(class_weight={0: 2.0}).fit(X, SHARES).predict_proba(X)
        assert one[:, 0].mean() > classifier().fit(X, SHARES).predict_proba(X)[:, 0].mean()

    def test_early_stopping(self):
        fitted = classifier(early_stopping=True).fit(X, SHARES)
        assert fitted.validation_score_[-1] > fitted.validation_score_[0]

    def test_what_is_wrong_is_named(self):
        wrong = SHARES.copy()
        wrong[7] *= 2
        with pytest.raises(
            ValueError, match=r"y with several columns must be multilabel indicators \(0 or 1\), or probabilities .*; got \[.*\] in row 7"
        ):
            classifier().fit(X, wrong)
        with pytest.raises(ValueError, match="loss='focal' is not available for this kind of target; choose from log_loss"):
            classifier(loss="focal").fit(X, SHARES)
        with pytest.raises(ValueError, match="y_val has 2 columns, but y has 3"):
            classifier().fit(X, SHARES, X_val=X, y_val=SHARES[:, :2])
        with pytest.raises(ValueError, match="y_val must contain only 0 and 1, as y does"):
            classifier().fit(X, SETS, X_val=X, y_val=SHARES)
        with pytest.raises(ValueError, match="class_weight has classes that y does not have"):
            classifier(class_weight={"a": 1.0}).fit(X, SHARES)
        wrong[3, 1] = np.nan
        with pytest.raises(ValueError, match=r"Input y contains NaN.*row 3"):
            classifier().fit(X, wrong)


def test_soft_targets_of_a_regressor():
    fitted = BoostingRegressor(loss="log_loss", max_iter=60).fit(X, SHARES[:, 0])
    assert ((fitted.predict(X) > 0) & (fitted.predict(X) < 1)).all()
    assert np.abs(fitted.predict(X) - SHARES[:, 0]).mean() < 0.03


@pytest.mark.parametrize("dtype", [np.int64, np.float64, str])
def test_a_class_for_every_other_row_is_warned_of(dtype):
    y = np.arange(60).repeat(5)[:N].astype(dtype)
    with pytest.warns(UserWarning, match=r"50 classes in 60 rows|greater than 50%"):
        classifier(max_iter=1).fit(X[:60], np.r_[y[::5][:50], y[::5][:10]])
