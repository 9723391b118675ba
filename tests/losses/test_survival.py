"""Survival losses: Cox and AFT, and the forms of their targets."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from sapwood import BoostingRegressor, check_loss
from sapwood.data.survival import signed_times, time_bounds
from sapwood.losses.aft import DISTRIBUTIONS, AcceleratedFailureTime
from sapwood.losses.cox import Cox
from sapwood.metrics.concordance import concordance_index
from sapwood.runtime.execution import SERIAL

rng = np.random.default_rng(0)
N = 300
X = rng.normal(size=(N, 3))
TIME = np.round(rng.exponential(np.exp(-2 * X[:, 0])), 2) + 0.01
EVENT = rng.random(N) < 0.7
SIGNED = np.where(EVENT, TIME, -TIME)
STRUCTURED = np.array(list(zip(EVENT, TIME, strict=True)), dtype=[("event", "?"), ("time", "<f8")])


def regressor(**parameters):
    return BoostingRegressor(**({"max_iter": 20, "min_samples_leaf": 5} | parameters))


FORMS = {
    "two columns": np.column_stack([TIME, EVENT]),
    "frame": pd.DataFrame({"time": TIME, "event": EVENT}),
    "structured": STRUCTURED,
    "time first": STRUCTURED[["time", "event"]],
}
OF_SCIPY = {"normal": stats.norm, "logistic": stats.logistic, "extreme": stats.gumbel_l}


class TestTargets:
    @pytest.mark.parametrize("y", FORMS.values(), ids=FORMS)
    def test_all_forms_of_cox_are_the_same(self, y):
        np.testing.assert_array_equal(signed_times(y, N, "y"), SIGNED)
        assert regressor(loss="cox").fit(X, y).model_.to_bytes() == regressor(loss="cox").fit(X, SIGNED).model_.to_bytes()

    def test_all_forms_of_aft_are_the_same(self):
        bounds = np.column_stack([TIME, np.where(EVENT, TIME, np.inf)])
        for y in (bounds, STRUCTURED, SIGNED, pd.DataFrame(bounds)):
            np.testing.assert_array_equal(time_bounds(y, N, "y"), bounds)
        assert regressor(loss="aft").fit(X, SIGNED).model_.to_bytes() == regressor(loss="aft").fit(X, bounds).model_.to_bytes()

    def test_an_infinite_lower_bound_is_zero(self):
        np.testing.assert_array_equal(time_bounds([[-np.inf, 2.0]], 1, "y"), [[0.0, 2.0]])

    def test_censored_at_time_zero(self):
        np.testing.assert_array_equal(np.signbit(signed_times(np.array([[0.0, 0.0], [0.0, 1.0]]), 2, "y")), [True, False])

    @pytest.mark.parametrize(
        ("loss", "y", "message"),
        [
            ("cox", [-1.0, -2.0, -3.0], "requires at least one event"),
            ("cox", [[1.0, 1.0], [2.0, 2.0], [1.0, 0.0]], r"second column of y must be 1 .* or 0 .*; got 2 in row 1"),
            ("cox", [[1.0, 1.0], [-2.0, 0.0], [1.0, 0.0]], "non-negative times; got -2 in row 1"),
            ("cox", [1.0, np.nan, 2.0], "Input y contains NaN"),
            ("cox", [[1.0, 1.0], [np.nan, 0.0], [1.0, 0.0]], "Input y contains NaN"),
            ("cox", [[1.0, 1.0]] * 2, "inconsistent numbers of samples: X has 3, y has 2"),
            ("aft", [[1.0, 2.0], [3.0, 2.0], [1.0, 1.0]], r"lower bounds that are at most the upper bounds; got y=\(3, 2\) in row 1"),
            ("aft", [[1.0, 2.0], [1.0, 2.0], [0.0, 0.0]], r"positive upper bounds; got y=\(0, 0\) in row 2"),
            ("aft", [[1.0, 2.0], [-1.0, 2.0], [1.0, 1.0]], r"non-negative times; got y=\(-1, 2\) in row 1"),
            ("aft", [[1.0, 2.0], [np.inf, np.inf], [1.0, 1.0]], r"finite lower bounds; got y=\(inf, inf\) in row 1"),
            ("aft", [[1.0, 2.0], [1.0, np.nan], [1.0, 1.0]], r"Input y contains NaN: in row 1 \(\[1.0, nan\]\)"),
            ("aft", [["a", "b"]] * 3, "y must be numeric"),
        ],
    )
    def test_invalid_targets_raise(self, loss, y, message):
        with pytest.raises(ValueError, match=message):
            regressor(loss=loss).fit(np.zeros((3, 1)), y)

    def test_invalid_structured_arrays_raise(self):
        with pytest.raises(ValueError, match="two fields, a bool"):
            signed_times(np.zeros(3, dtype=[("a", "f8"), ("b", "f8")]), 3, "y")


class TestCox:
    def test_is_the_partial_likelihood(self):
        raw = rng.normal(size=N)
        weight = rng.uniform(0.5, 2, N)
        expected = [w * (np.log((weight * np.exp(raw))[TIME[i] <= TIME].sum()) - raw[i]) for i, w in enumerate(weight) if EVENT[i]]
        got = Cox().weighted_values(SIGNED, raw[None], weight, SERIAL)
        np.testing.assert_allclose(got[EVENT], expected, rtol=1e-10)
        assert (got[~EVENT] == 0).all()

    def test_the_order_of_rows_leaves_no_trace(self):
        raw, weight, order = rng.normal(size=N), rng.uniform(0.5, 2, N), rng.permutation(N)
        once = Cox().weighted_gradients(SIGNED, raw[None], weight, SERIAL)
        again = Cox().weighted_gradients(SIGNED[order], raw[order][None], weight[order], SERIAL)
        for one, other in zip(once, again, strict=True):
            np.testing.assert_array_equal(one[0][order], other[0])

    def test_a_constant_changes_nothing(self):
        raw = rng.normal(size=(1, N)).round(3)
        for one, other in zip(
            Cox().weighted_gradients(SIGNED, raw, None, SERIAL), Cox().weighted_gradients(SIGNED, raw + 8, None, SERIAL), strict=True
        ):
            np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-13)

    def test_predictions_order_the_times(self):
        fitted = regressor(loss="cox").fit(X[:200], SIGNED[:200])
        assert fitted.score(X[200:], SIGNED[200:]) == concordance_index(SIGNED[200:], fitted.predict(X[200:])) > 0.65
        assert (fitted.predict(X) > 0).all()


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
class TestAft:
    @pytest.mark.parametrize("sigma", [0.5, 2.0])
    def test_is_the_likelihood(self, distribution, sigma):
        loss, peer = AcceleratedFailureTime(1, distribution, sigma), OF_SCIPY[distribution]
        raw = np.array([0.1, -0.3, 0.2, 0.5, 0.4])
        y = np.array([[1.5, 1.5], [1.0, np.inf], [0.0, 2.0], [1.0, 3.0], [0.0, np.inf]])
        with np.errstate(divide="ignore"):
            z = (np.log(y) - raw[:, None]) / sigma
        expected = np.append(-np.log(peer.pdf(z[0, 0]) / (sigma * 1.5)), -np.log(peer.cdf(z[1:, 1]) - peer.cdf(z[1:, 0])))
        np.testing.assert_allclose(loss.loss(y, raw), expected, rtol=1e-9, atol=1e-12)

    def test_derivatives_for_every_kind_of_censoring(self, distribution):
        t = rng.gamma(2, size=60) + 0.1
        y = np.column_stack([np.where(np.arange(60) % 4 == 1, 0.0, t), t + np.array([0, 1, np.inf, 0.5])[np.arange(60) % 4]])
        for sigma in (0.5, 1.0, 3.0):
            check_loss(AcceleratedFailureTime(1, distribution, sigma), y)

    def test_narrow_bounds_are_an_observed_time(self, distribution):
        loss, raw = AcceleratedFailureTime(1, distribution, 0.7), np.linspace(-3, 3, 9)
        narrow, known = np.tile([[2.0, 2.0 * (1 + 1e-5)]], (9, 1)), np.full((9, 2), 2.0)
        wide = np.tile([[2.0, 2.0 * (1 + 2e-3)]], (9, 1))
        for other in (narrow, wide):
            for one, two in zip(loss.gradients(other, raw), loss.gradients(known, raw), strict=True):
                np.testing.assert_allclose(one, two, rtol=2e-2, atol=5e-3)

    def test_extreme_raw_predictions_stay_finite(self, distribution):
        loss = AcceleratedFailureTime(1, distribution, 0.3)
        y = np.array([[1e-9, 1e-9], [1e9, np.inf], [0.0, 1e-9], [1.0, 1.1], [1e300, 1e301], [0.0, np.inf]])
        for far in (-1e4, -50.0, 0.0, 50.0, 1e4):
            raw = np.full(len(y), far)
            assert np.isfinite(loss.loss(y, raw)).all()
            for part in loss.gradients(y, raw):
                assert np.isfinite(part).all()

    def test_predicts_times(self, distribution):
        fitted = regressor(loss="aft", aft_distribution=distribution).fit(X[:200], SIGNED[:200])
        assert fitted.score(X[200:], SIGNED[200:]) == concordance_index(SIGNED[200:], -fitted.predict(X[200:])) > 0.65
