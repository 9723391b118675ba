"""Survival functions: Breslow's estimate for loss='cox', the error distribution for loss='aft'."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sksurv.linear_model import CoxPHSurvivalAnalysis
from sksurv.metrics import brier_score as sksurv_brier_score
from sksurv.metrics import concordance_index_censored
from sksurv.metrics import integrated_brier_score as sksurv_integrated_brier_score
from sksurv.util import Surv

from sapwood import BoostingRegressor
from sapwood.metrics.concordance import concordance_index
from sapwood.metrics.survival import brier_scores, integrated_brier_score

RNG = np.random.default_rng(0)
N = 400
X = RNG.normal(size=(N, 3))
TIME = np.round(RNG.exponential(np.exp(-X[:, 0])), 2) + 0.01
EVENT = RNG.random(N) < 0.7
Y = np.column_stack([TIME, EVENT])
OF_SKSURV = Surv.from_arrays(EVENT, TIME)
TIMES = np.quantile(TIME, [0.1, 0.3, 0.5, 0.7, 0.9])
SMALL = {"max_iter": 20, "min_samples_leaf": 5}
COX = BoostingRegressor(loss="cox", **SMALL).fit(X, Y).fit_baseline(X, Y)


def test_arrays_of_scikit_survival_are_read():
    assert BoostingRegressor(loss="cox", **SMALL).fit(X, OF_SKSURV).model_.to_bytes() == COX.model_.to_bytes()
    bounds = np.column_stack([TIME, np.where(EVENT, TIME, np.inf)])
    aft = [BoostingRegressor(loss="aft", **SMALL).fit(X, y).model_.to_bytes() for y in (OF_SKSURV, bounds)]
    assert aft[0] == aft[1]
    assert COX.score(X, OF_SKSURV) == COX.score(X, Y)


class TestCox:
    def test_without_trees_it_is_the_nelson_aalen_estimate(self):
        flat = BoostingRegressor(loss="cox", max_iter=1, min_samples_leaf=N).fit(X, Y).fit_baseline(X, Y)
        at_risk = np.array([(t <= TIME).sum() for t in TIMES])
        expected = [sum(((t == TIME) & EVENT).sum() / (t <= TIME).sum() for t in np.unique(TIME) if t <= until) for until in TIMES]
        assert (at_risk > 0).all()
        assert_allclose(flat.predict_cumulative_hazard(X[:1], TIMES)[0], expected, rtol=1e-12)

    def test_the_baseline_of_a_linear_model_is_that_of_scikit_survival(self):
        linear = CoxPHSurvivalAnalysis(ties="breslow").fit(X, OF_SKSURV)
        raw = linear.predict(X)
        zero = BoostingRegressor(loss="cox", max_iter=1, min_samples_leaf=N).fit(X, Y).fit_baseline(X, Y, offset=raw)
        expected = np.array([function(TIMES) for function in linear.predict_cumulative_hazard_function(X[:5])])
        assert_allclose(zero.predict_cumulative_hazard(X[:5], TIMES, offset=raw[:5]), expected, rtol=1e-9)

    def test_weights_are_repetitions(self):
        weight = RNG.integers(1, 4, N)
        rows = np.repeat(np.arange(N), weight)
        weighted = COX.fit_baseline(X, Y, weight).predict_cumulative_hazard(X[:3], TIMES)
        repeated = COX.fit_baseline(X[rows], Y[rows]).predict_cumulative_hazard(X[:3], TIMES)
        COX.fit_baseline(X, Y)
        assert_allclose(weighted, repeated, rtol=1e-12)

    def test_survival_falls_from_one_and_follows_the_hazard(self):
        survival = COX.predict_survival_function(X, [0.0, *TIMES])
        assert (survival[:, 0] == 1).all() and (np.diff(survival) <= 0).all()
        assert_allclose(survival, np.exp(-COX.predict_cumulative_hazard(X, [0.0, *TIMES])))
        assert_array_equal(np.argsort(survival[:, 3], kind="stable"), np.argsort(-COX.predict(X), kind="stable"))
        assert COX.predict_survival_function(X[:2]).shape == (2, len(COX.baseline_hazard_.times))

    def test_it_is_saved_and_forgotten_by_the_next_fit(self):
        loaded = BoostingRegressor.from_bytes(COX.to_bytes())
        assert_array_equal(loaded.predict_survival_function(X, TIMES), COX.predict_survival_function(X, TIMES))
        with pytest.raises(ValueError, match=r"call fit_baseline\(X, y\) first"):
            loaded.fit(X, Y).predict_survival_function(X, TIMES)

    def test_other_losses_have_none(self):
        with pytest.raises(ValueError, match="survival functions are for loss='cox' and loss='aft'"):
            BoostingRegressor(max_iter=1).fit(X, TIME).predict_survival_function(X, TIMES)
        with pytest.raises(ValueError, match="fit_baseline is for loss='cox'"):
            BoostingRegressor(max_iter=1).fit(X, TIME).fit_baseline(X, TIME)
        with pytest.raises(ValueError, match="times must be a list of non-negative numbers"):
            COX.predict_survival_function(X, [-1.0])


@pytest.mark.parametrize(("name", "scipy_name"), [("normal", "norm"), ("logistic", "logistic"), ("extreme", "gumbel_l")])
def test_accelerated_failure_times(name, scipy_name):
    fitted = BoostingRegressor(loss="aft", aft_distribution=name, aft_sigma=0.7, **SMALL).fit(X, OF_SKSURV)
    raw = np.log(fitted.predict(X[:20]))
    expected = getattr(stats, scipy_name).sf((np.log(TIMES) - raw[:, None]) / 0.7)
    assert_allclose(fitted.predict_survival_function(X[:20], TIMES), expected, rtol=1e-9)
    assert (fitted.predict_survival_function(X[:3], [0.0]) == 1).all()
    with pytest.raises(ValueError, match="loss='aft' has no times of its own"):
        fitted.predict_survival_function(X)


def test_scores_are_those_of_scikit_survival():
    train, test = np.arange(N) < 250, np.arange(N) >= 250
    fitted = BoostingRegressor(loss="cox", **SMALL).fit(X[train], Y[train]).fit_baseline(X[train], Y[train])
    survival = fitted.predict_survival_function(X[test], TIMES)
    _, expected = sksurv_brier_score(OF_SKSURV[train], OF_SKSURV[test], survival, TIMES)
    assert_allclose(brier_scores(Y[train], Y[test], survival, TIMES), expected, rtol=1e-12)
    whole = sksurv_integrated_brier_score(OF_SKSURV[train], OF_SKSURV[test], survival, TIMES)
    assert integrated_brier_score(OF_SKSURV[train], OF_SKSURV[test], survival, TIMES) == pytest.approx(whole, rel=1e-12)
    risk = fitted.predict(X[test])
    assert concordance_index(Y[test], risk) == pytest.approx(concordance_index_censored(EVENT[test], TIME[test], risk)[0], rel=1e-12)
