"""One suite for every loss of the table."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood import BoostingClassifier, BoostingRegressor, kernels
from sapwood.boosting import Rows, train
from sapwood.callbacks import Callback
from sapwood.data.binning import Binning
from sapwood.data.pages import Pages
from sapwood.data.tables import ArrayTable
from sapwood.losses import CLASSIFICATION, LOSSES, REGRESSION
from sapwood.sampling.features import FeaturePolicy
from sapwood.trees.frontier import LeafWise
from sapwood.trees.grower import TreeConfig
from sapwood.trees.rules import Rules

every_loss = pytest.mark.parametrize("name", REGRESSION | CLASSIFICATION)  # of rows; for those of queries see test_ranking.py
PAIR = np.dtype([("gradient", "i4"), ("hessian", "u4")])
N_CLASSES = 3


def make(name):
    return LOSSES[name](N_CLASSES if name == "multinomial_log_loss" else 1)


def targets(name, rng, n):
    """Targets that the loss has a meaning for."""
    if name == "multinomial_log_loss":
        return np.concatenate([np.arange(N_CLASSES), rng.integers(0, N_CLASSES, n)])[:n].astype(float)
    if name == "log_loss":
        return np.concatenate([[0, 1], rng.integers(0, 2, n)])[:n].astype(float)
    return {"poisson": rng.integers(0, 5, n) + 0.5, "gamma": rng.uniform(0.5, 5, n)}.get(name, rng.normal(size=n))


def gradients(loss, y, raw, weight=None):
    """Gradients and hessians, (n_outputs, n_rows) each, as floats; they are good to a unit of the scale."""
    all_gradients, all_hessians = [], []
    for records in loss.records(y, raw, weight, 1):
        if records.scale.constant_hessian:
            all_gradients.append(records.data.view(np.int32) / records.scale.gradient)
            all_hessians.append(np.ones(len(y)))
        else:
            pairs = records.data.view(PAIR)
            all_gradients.append(pairs["gradient"] / records.scale.gradient)
            all_hessians.append(pairs["hessian"] / records.scale.hessian)
    return np.array(all_gradients), np.array(all_hessians)


def value(loss, y, raw):
    """The loss of each row."""
    return np.array([loss.mean(y[i : i + 1], np.ascontiguousarray(raw[:, i : i + 1]), None, 1) for i in range(len(y))])


def away_from_kinks(y, raw):
    """Absolute values have no derivative at zero."""
    near = np.abs(raw[0] - y) < 0.01
    raw[0, near] += 0.1
    return raw


@every_loss
class TestEveryLoss:
    def test_its_name_is_its_place_in_the_table(self, name):
        assert make(name).name == name

    def test_gradient_is_the_derivative_of_the_value(self, name):
        loss, rng = make(name), np.random.default_rng(0)
        y = targets(name, rng, 40)
        raw = away_from_kinks(y, rng.normal(size=(loss.n_outputs, 40)))
        gradient, _ = gradients(loss, y, raw)
        step = 1e-5
        for k in range(loss.n_outputs):
            shift = np.zeros_like(raw)
            shift[k] = step
            slope = (value(loss, y, raw + shift) - value(loss, y, raw - shift)) / (2 * step)
            np.testing.assert_allclose(gradient[k], slope, rtol=1e-6, atol=1e-7)

    def test_hessian_is_the_second_derivative(self, name):
        loss, rng = make(name), np.random.default_rng(1)
        y = targets(name, rng, 40)
        raw = away_from_kinks(y, rng.normal(size=(loss.n_outputs, 40)))
        _, hessian = gradients(loss, y, raw)
        if name == "absolute_error":  # it has none: a one stands in, and leaves are renewed
            assert loss.renews_leaves
            assert (hessian == 1).all()
            return
        step = 1e-3
        for k in range(loss.n_outputs):
            shift = np.zeros_like(raw)
            shift[k] = step
            curve = (value(loss, y, raw + shift) - 2 * value(loss, y, raw) + value(loss, y, raw - shift)) / step**2
            np.testing.assert_allclose(hessian[k], curve, rtol=1e-5, atol=1e-6)

    def test_a_constant_hessian_is_one_and_needs_no_room(self, name):
        loss, rng = make(name), np.random.default_rng(2)
        y, weight = targets(name, rng, 20), rng.uniform(0.5, 2, 20)
        raw = rng.normal(size=(loss.n_outputs, 20))
        sizes = {records.scale.record_size for records in loss.records(y, raw, None, 1)}
        assert sizes == ({4} if loss.constant_hessian else {8})
        if loss.constant_hessian:
            np.testing.assert_allclose(gradients(loss, y, raw, weight)[1][0], weight, rtol=1e-8)

    def test_weights_multiply_gradients_and_hessians(self, name):
        loss, rng = make(name), np.random.default_rng(3)
        y, weight = targets(name, rng, 30), rng.uniform(0, 3, 30)
        raw = rng.normal(size=(loss.n_outputs, 30))
        for plain, weighted in zip(gradients(loss, y, raw), gradients(loss, y, raw, weight), strict=True):
            np.testing.assert_allclose(weighted, plain * weight, rtol=1e-6, atol=1e-7)

    def test_sums_are_those_of_the_records(self, name):
        loss, rng = make(name), np.random.default_rng(4)
        y, raw = targets(name, rng, 50), rng.normal(size=(loss.n_outputs, 50))
        for records in loss.records(y, raw, rng.uniform(0, 1, 50), 1):
            pairs = records.data.view(PAIR)
            gradient, hessian = pairs["gradient"].astype(int), pairs["hessian"].astype(int)
            assert records.sums == (np.abs(gradient).sum(), gradient.sum(), hessian.sum())
            assert np.abs(gradient).max() <= kernels.MAX_GRADIENT
            assert hessian.max() <= kernels.MAX_HESSIAN

    def test_bounds_hold(self, name):
        loss, rng = make(name), np.random.default_rng(5)
        raw = rng.normal(scale=10, size=(loss.n_outputs, 500))
        gradient, hessian = gradients(loss, targets(name, rng, 500), raw)
        if loss.bounds is not None:
            assert np.abs(gradient).max() <= loss.bounds[0]
            assert hessian.max() <= loss.bounds[1]
            assert np.abs(gradient).max() > 0.9 * loss.bounds[0]
        else:
            assert name in REGRESSION

    @pytest.mark.parametrize("is_weighted", [False, True], ids=["plain", "weighted"])
    @pytest.mark.parametrize("n", [5, 30, 31])
    def test_base_score_is_the_optimum(self, name, is_weighted, n):
        loss, rng = make(name), np.random.default_rng(n)
        y, weight = targets(name, rng, n), rng.uniform(0.1, 3, n) if is_weighted else None
        base = loss.base_score(y, weight)
        assert base.shape == (loss.n_outputs,)
        best = loss.mean(y, np.repeat(base[:, None], n, axis=1), weight, 1)
        for k in range(loss.n_outputs):
            for step in (-1.0, -1e-3, 1e-3, 1.0):
                other = base.copy()
                other[k] += step
                assert loss.mean(y, np.repeat(other[:, None], n, axis=1), weight, 1) >= best - 1e-15
            if not loss.renews_leaves:  # smooth: no slope at the bottom
                gradient, _ = gradients(loss, y, np.repeat(base[:, None], n, axis=1), weight)
                assert abs(gradient[k].sum()) < 1e-6 * np.abs(gradient[k]).sum()

    @pytest.mark.parametrize("raw", [-1e3, -700.0, -40.0, 40.0, 700.0, 1e3])
    def test_extreme_raw_predictions_stay_finite(self, name, raw):
        loss = make(name)
        y = targets(name, np.random.default_rng(6), 9)
        everywhere = np.zeros((loss.n_outputs, 9))
        everywhere[0] = raw
        gradient, hessian = gradients(loss, y, everywhere)
        assert np.isfinite(gradient).all()
        assert (hessian >= 0).all()
        assert np.isfinite(hessian).all()
        assert np.isfinite(value(loss, y, everywhere)).all()

    def test_weights_are_repetitions(self, name):
        loss, rng = make(name), np.random.default_rng(7)
        y, counts = targets(name, rng, 40), rng.integers(1, 5, 40)
        raw = rng.normal(size=(loss.n_outputs, 40))
        long_y, long_raw, weight = np.repeat(y, counts), np.repeat(raw, counts, axis=1), counts.astype(float)
        np.testing.assert_allclose(loss.base_score(y, weight), loss.base_score(long_y, None), rtol=1e-14, atol=1e-15)
        assert loss.mean(y, raw, weight, 1) == pytest.approx(loss.mean(long_y, long_raw, None, 1), rel=1e-14)

    def test_training_with_weights_is_training_with_repetitions(self, name):
        rng = np.random.default_rng(8)
        y, counts, x = targets(name, rng, 80), rng.integers(1, 4, 80), rng.normal(size=(80, 3))
        estimator = BoostingRegressor(loss=name) if name in REGRESSION else BoostingClassifier()
        estimator.set_params(max_iter=3, min_samples_leaf=1, max_leaf_nodes=6, early_stopping=False)
        predict = "predict" if name in REGRESSION else "predict_proba"
        weighted = getattr(estimator.fit(x, y, sample_weight=counts), predict)(x)
        repeated = getattr(estimator.fit(np.repeat(x, counts, axis=0), np.repeat(y, counts)), predict)(x)
        np.testing.assert_allclose(weighted, repeated, rtol=1e-6, atol=1e-7)

    @settings(max_examples=20)
    @given(seed=st.integers(0, 2**32 - 1), n_rows=st.integers(3, 120), learning_rate=st.sampled_from([0.05, 0.1]))
    def test_training_never_raises_the_loss(self, name, seed, n_rows, learning_rate):
        rng = np.random.default_rng(seed)
        x, y, loss = rng.integers(0, 20, (n_rows, 3)).astype(float), targets(name, rng, n_rows), make(name)
        table = ArrayTable(x)
        binning = Binning.fit(table, 255, None, None, 0, 1)
        config = TreeConfig(LeafWise, FeaturePolicy(3), Rules(min_samples_leaf=2, last_step=loss.max_step), learning_rate)
        losses = []

        class Listen(Callback):
            def before_training(self, state):
                self.after_round(state)

            def after_round(self, state):
                losses.append(loss.mean(y, state.rows.raw, None, 1))
                return False

        train(Rows(Pages.build(table, binning, 1), y, None), {}, loss, config, 10, 0, 1, [Listen()])
        assert len(losses) == 11
        assert (np.diff(losses) <= 1e-12 * np.abs(losses[0])).all()

    def test_good_targets_are_accepted(self, name):
        make(name).check_targets(targets(name, np.random.default_rng(9), 20))

    def test_leaf_values_are_the_optimum_where_renewed(self, name):
        loss, rng = make(name), np.random.default_rng(10)
        y, raw = targets(name, rng, 60), rng.normal(size=(loss.n_outputs, 60))
        leaf_of_row, weight = rng.integers(0, 4, 60).astype(np.uint8), rng.uniform(0.5, 2, 60)
        if not loss.renews_leaves:
            with pytest.raises(TypeError, match=type(loss).__name__):
                loss.leaf_values(y, raw, weight, leaf_of_row, 4, 1)
            return
        for given_weight in (None, weight):
            steps = loss.leaf_values(y, raw, given_weight, leaf_of_row, 4, 1)
            best = loss.mean(y, raw + steps[leaf_of_row], given_weight, 1)
            for leaf in range(4):
                for shift in (-0.5, -1e-3, 1e-3, 0.5):
                    other = steps.copy()
                    other[leaf] += shift
                    assert loss.mean(y, raw + other[leaf_of_row], given_weight, 1) >= best - 1e-15


BAD_TARGETS = {
    "poisson": [([1.0, 2.0, -1.5, 0.0], -1.5, 2), ([0.0, 0.0, 0.0], 0, 0)],
    "gamma": [([1.0, 0.0, 2.0], 0, 1), ([1.0, 2.0, 3.0, -2.5], -2.5, 3)],
}


@pytest.mark.parametrize("name, y, wrong, row", [(name, *case) for name, cases in BAD_TARGETS.items() for case in cases])
def test_bad_targets_are_named(name, y, wrong, row):
    message = rf"loss='{name}' .*y={wrong:g} in row {row}"
    with pytest.raises(ValueError, match=message):
        make(name).check_targets(np.array(y))
    with pytest.raises(ValueError, match=message):
        BoostingRegressor(loss=name).fit(np.zeros((len(y), 1)), y)


@pytest.mark.parametrize("name, y, raw", [("squared_error", 1e308, -1e308), ("gamma", 1e5, -1e3), ("poisson", np.inf, 0.0)])
def test_gradients_that_are_not_finite_are_an_error(name, y, raw):
    with pytest.raises(FloatingPointError, match=name):
        next(make(name).records(np.full(9, y), np.full((1, 9), raw), None, 1))
