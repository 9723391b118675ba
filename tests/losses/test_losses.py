"""Tests of every loss in the table."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import xlogy
from sklearn.metrics import (
    log_loss,
    mean_absolute_error,
    mean_absolute_percentage_error,
    mean_gamma_deviance,
    mean_pinball_loss,
    mean_poisson_deviance,
    mean_squared_error,
    mean_tweedie_deviance,
)

from sapwood import BoostingClassifier, BoostingRegressor, Model, check_loss
from sapwood.callbacks import Callback
from sapwood.data.binning import Binning
from sapwood.data.pages import Pages
from sapwood.data.tables import ArrayTable
from sapwood.losses import BINARY, LOSSES, MULTICLASS, RANKING, REGRESSION, SOFT_LABELS, LeafRows
from sapwood.runtime import kernels
from sapwood.runtime.execution import SERIAL
from sapwood.training.boosting import BoostingDataset, TrainingPlan, train
from sapwood.trees.features import FeaturePolicy
from sapwood.trees.frontier import LeafWise
from sapwood.trees.grower import TreeConfig
from sapwood.trees.rules import Rules

every_loss = pytest.mark.parametrize(
    "name", [name for name in LOSSES if name not in RANKING]
)  # of rows; for those of queries see test_ranking.py
PAIR = np.dtype([("gradient", "i4"), ("hessian", "u4")])
N_CLASSES = 3
# Parameters other than the defaults, under which some losses are the same as others.
SETTINGS = {
    "quantile": {"quantile": 0.3},
    "expectile": {"expectile": 0.3},
    "huber": {"huber_delta": 0.7},
    "tweedie": {"tweedie_power": 1.6},
    "aft": {"aft_sigma": 0.8},
}


def is_multiclass(name):
    return name in {loss.name for table in (MULTICLASS, SOFT_LABELS) for loss in table.values()}


def make(name):
    return LOSSES[name](N_CLASSES if is_multiclass(name) else 1, **SETTINGS.get(name, {}))


def make_estimator(name, **parameters):
    """An estimator that trains with the loss."""
    if name in REGRESSION:
        return BoostingRegressor(loss=name, **SETTINGS.get(name, {}), **parameters)
    return BoostingClassifier(loss="focal" if "focal" in name else "log_loss", **parameters)


def predict(estimator, x):
    return estimator.predict(x) if isinstance(estimator, BoostingRegressor) else estimator.predict_proba(x)


def targets(name, rng, n):
    """Valid targets of the loss."""
    if name == "shares_log_loss":
        return rng.dirichlet(np.ones(N_CLASSES), n)
    if is_multiclass(name):
        return np.concatenate([np.arange(N_CLASSES), rng.integers(0, N_CLASSES, n)])[:n].astype(float)
    if name in BINARY:
        return np.concatenate([[0, 1], rng.integers(0, 2, n)])[:n].astype(float)
    times, widths = rng.gamma(2, size=n).round(1) + 0.1, rng.choice([0.0, 0.5, np.inf], n)
    if name == "cox":
        return np.where(rng.random(n) < 0.3, -times, times)
    if name == "aft":
        return np.column_stack([np.where(widths == 0.5, times * (rng.random(n) < 0.7), times), times + widths])
    counts = rng.integers(0, 5, n) + 0.5
    return {"poisson": counts, "tweedie": counts - 0.5 + (counts.sum() == 0), "gamma": rng.uniform(0.5, 5, n)}.get(name, rng.normal(size=n))


def gradients(loss, y, raw, weight=None):
    """Fixed-point gradients and hessians as floats, (n_outputs, n_rows) each."""
    all_gradients, all_hessians = [], []
    for gradients in loss.fixed_gradients(y, raw, weight, SERIAL):
        if gradients.scale.constant_hessian:
            all_gradients.append(gradients.data.view(np.int32) / gradients.scale.gradient)
            all_hessians.append(np.ones(len(y)))
        else:
            pairs = gradients.data.view(PAIR)
            all_gradients.append(pairs["gradient"] / gradients.scale.gradient)
            all_hessians.append(pairs["hessian"] / gradients.scale.hessian)
    return np.array(all_gradients), np.array(all_hessians)


def slopes(function, raw, step):
    """Numerical derivative of a sum, or of the same entry of an array, by each raw prediction."""
    out = np.empty_like(raw)
    for at in np.ndindex(raw.shape):
        shift = np.zeros_like(raw)
        shift[at] = step
        difference = function(raw + shift) - function(raw - shift)
        out[at] = (difference if np.ndim(difference) == 0 else difference[at]) / (2 * step)
    return out


def away_from_kinks(y, raw, size=0.01):
    """Absolute values have no derivative at zero."""
    near = np.abs(raw[0] - (y if y.ndim == 1 else y[:, 0])) < size
    raw[0, near] += 10 * size
    return raw


@every_loss
class TestEveryLoss:
    def test_the_name_is_the_key_in_the_table(self, name):
        assert make(name).name == name

    def test_the_gradient_is_the_derivative_of_the_loss(self, name):
        loss, rng = make(name), np.random.default_rng(0)
        y = targets(name, rng, 40)
        raw = away_from_kinks(y, rng.normal(size=(loss.n_outputs, 40)))
        total = lambda raw: loss.weighted_values(y, raw, None, SERIAL).sum()  # noqa: E731
        np.testing.assert_allclose(gradients(loss, y, raw)[0], slopes(total, raw, 1e-5), rtol=1e-6, atol=1e-7)

    def test_the_hessian_is_the_second_derivative_or_documented(self, name):
        loss, rng = make(name), np.random.default_rng(1)
        y = targets(name, rng, 40)
        raw = away_from_kinks(y, rng.normal(size=(loss.n_outputs, 40)))
        _, hessian = gradients(loss, y, raw)
        second = slopes(lambda raw: loss.weighted_gradients(y, raw, None, SERIAL)[0], raw, 1e-5)
        if loss.exact_hessian:
            np.testing.assert_allclose(hessian, second, rtol=1e-6, atol=1e-7)
            return
        assert "hessian" in loss.__doc__
        assert (hessian > 0).all()
        if not loss.renews_leaves and loss.n_outputs == 1:  # steps are never longer than Newton's
            assert (hessian >= second - 1e-7).all()

    def test_float_and_fixed_point_gradients_agree(self, name):
        loss, rng = make(name), np.random.default_rng(15)
        y, raw, weight = targets(name, rng, 21), rng.normal(size=(loss.n_outputs, 21)), rng.uniform(0, 2, 21)
        for given_weight in (None, weight):
            floats, fixed = loss.weighted_gradients(y, raw, given_weight, SERIAL), gradients(loss, y, raw, given_weight)
            for one, other in zip(floats, fixed, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-8)
        own = loss.gradients(y, raw[0] if loss.n_outputs == 1 else raw.T)
        np.testing.assert_allclose(own[0].T.reshape(raw.shape), loss.weighted_gradients(y, raw, None, SERIAL)[0], rtol=1e-12, atol=1e-15)
        values = loss.loss(y, raw[0] if loss.n_outputs == 1 else raw.T)
        assert values.mean() == pytest.approx(loss.mean(y, raw, None, SERIAL), rel=1e-12)

    def test_a_constant_hessian_is_one_and_is_not_stored(self, name):
        loss, rng = make(name), np.random.default_rng(2)
        y, weight = targets(name, rng, 20), rng.uniform(0.5, 2, 20)
        raw = rng.normal(size=(loss.n_outputs, 20))
        sizes = {gradients.scale.bytes_per_row for gradients in loss.fixed_gradients(y, raw, None, SERIAL)}
        assert sizes == ({4} if loss.constant_hessian else {8})
        if loss.constant_hessian:
            np.testing.assert_allclose(gradients(loss, y, raw, weight)[1][0], weight, rtol=1e-8)

    def test_weights_multiply_gradients_and_hessians(self, name):
        loss, rng = make(name), np.random.default_rng(3)
        y, weight = targets(name, rng, 30), rng.uniform(0, 3, 30)
        raw = rng.normal(size=(loss.n_outputs, 30))
        parts = list(zip(gradients(loss, y, raw), gradients(loss, y, raw, weight), strict=True))
        if not loss.rowwise:  # a weight changes the gradients of other rows, too
            assert abs(parts[0][1].sum()) < 1e-6
            return
        for plain, weighted in parts:
            np.testing.assert_allclose(weighted, plain * weight, rtol=1e-6, atol=1e-7)

    def test_sums_are_those_of_the_fixed_point_gradients(self, name):
        loss, rng = make(name), np.random.default_rng(4)
        y, raw = targets(name, rng, 50), rng.normal(size=(loss.n_outputs, 50))
        for gradients in loss.fixed_gradients(y, raw, rng.uniform(0, 1, 50), SERIAL):
            pairs = gradients.data.view(PAIR)
            gradient, hessian = pairs["gradient"].astype(int), pairs["hessian"].astype(int)
            assert gradients.sums == (np.abs(gradient).sum(), gradient.sum(), hessian.sum())
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

    @pytest.mark.parametrize("is_weighted", [False, True], ids=["plain", "weighted"])
    @pytest.mark.parametrize("n", [5, 30, 31])
    def test_base_score_is_the_optimum(self, name, is_weighted, n):
        loss, rng = make(name), np.random.default_rng(n)
        y, weight = targets(name, rng, n), rng.uniform(0.1, 3, n) if is_weighted else None
        base = loss.base_score(y, weight)
        assert base.shape == (loss.n_outputs,)
        best = loss.mean(y, np.repeat(base[:, None], n, axis=1), weight, SERIAL)
        for k in range(loss.n_outputs):
            for step in (-1.0, -1e-3, 1e-3, 1.0):
                other = base.copy()
                other[k] += step
                assert loss.mean(y, np.repeat(other[:, None], n, axis=1), weight, SERIAL) >= best - 1e-15
            if not loss.renews_leaves:  # no derivative at the minimum
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
        assert np.isfinite(loss.weighted_values(y, everywhere, None, SERIAL)).all()

    def test_weights_are_repetitions(self, name):
        loss, rng = make(name), np.random.default_rng(7)
        y, counts = targets(name, rng, 40), rng.integers(1, 5, 40)
        raw = rng.normal(size=(loss.n_outputs, 40))
        long_y, long_raw, weight = np.repeat(y, counts, axis=0), np.repeat(raw, counts, axis=1), counts.astype(float)
        np.testing.assert_allclose(loss.base_score(y, weight), loss.base_score(long_y, None), rtol=1e-14, atol=1e-15)
        assert loss.mean(y, raw, weight, SERIAL) == pytest.approx(loss.mean(long_y, long_raw, None, SERIAL), rel=1e-14)

    def test_training_with_weights_is_training_with_repetitions(self, name):
        rng = np.random.default_rng(8)
        y, counts, x = targets(name, rng, 80), rng.integers(1, 4, 80), rng.normal(size=(80, 3))
        estimator = make_estimator(name, max_iter=3, min_samples_leaf=1, max_leaf_nodes=6, early_stopping=False)
        weighted = predict(estimator.fit(x, y, sample_weight=counts), x)
        repeated = predict(estimator.fit(np.repeat(x, counts, axis=0), np.repeat(y, counts, axis=0)), x)
        np.testing.assert_allclose(weighted, repeated, rtol=1e-6, atol=1e-7)

    @settings(max_examples=10)
    @given(seed=st.integers(0, 2**32 - 1), n_rows=st.integers(3, 120), learning_rate=st.sampled_from([0.05, 0.1]))
    def test_training_never_raises_the_loss(self, name, seed, n_rows, learning_rate):
        rng = np.random.default_rng(seed)
        x, y, loss = rng.integers(0, 20, (n_rows, 3)).astype(float), targets(name, rng, n_rows), make(name)
        table = ArrayTable(x)
        binning = Binning.fit(table, 255, None, None, 0, SERIAL)
        config = TreeConfig(LeafWise, FeaturePolicy(3), Rules(min_samples_leaf=2, max_final_step=loss.max_step), learning_rate)
        losses = []

        class Listen(Callback):
            def before_training(self, state):
                self.after_round(state)

            def after_round(self, state):
                losses.append(loss.mean(y, state.train_set.raw, None, SERIAL))
                return False

        rows, plan = BoostingDataset(Pages.build(table, binning, SERIAL), y, None), TrainingPlan(loss, config, n_rounds=10)
        train(rows, {}, plan.first_model(rows), plan, SERIAL, [Listen()])
        assert len(losses) == 11
        assert (np.diff(losses) <= 1e-12 * np.abs(losses[0])).all()

    def test_valid_targets_are_accepted(self, name):
        make(name).check_targets(targets(name, np.random.default_rng(9), 20))

    def test_renewed_leaf_values_minimize_the_loss(self, name):
        loss, rng = make(name), np.random.default_rng(10)
        y, raw = targets(name, rng, 60), rng.normal(size=(loss.n_outputs, 60))
        leaf_of_row, weight = rng.integers(0, 4, 60).astype(np.uint8), rng.uniform(0.5, 2, 60)
        if not loss.renews_leaves:
            with pytest.raises(TypeError, match=type(loss).__name__):
                loss.leaf_values(LeafRows(y, raw, weight, leaf_of_row, 4))
            return
        for given_weight in (None, weight):
            steps = loss.leaf_values(LeafRows(y, raw, given_weight, leaf_of_row, 4))
            best = loss.mean(y, raw + steps[leaf_of_row], given_weight, SERIAL)
            for leaf in range(4):
                for shift in (-0.5, -1e-3, 1e-3, 0.5):
                    other = steps.copy()
                    other[leaf] += shift
                    assert loss.mean(y, raw + other[leaf_of_row], given_weight, SERIAL) >= best - 1e-15

    def test_base_score_with_offset_finds_a_shift(self, name):
        loss, rng = make(name), np.random.default_rng(11)
        y, weight = targets(name, rng, 50), rng.uniform(0.5, 2, 50)
        offset = rng.normal(size=(loss.n_outputs, 50)) * 0.3
        start = loss.base_score_with_offset(y, weight, offset)
        best = loss.mean(y, offset + start[:, None], weight, SERIAL)
        for k in range(loss.n_outputs):
            for step in (-0.5, -1e-3, 1e-3, 0.5):
                other = start.copy()
                other[k] += step
                assert loss.mean(y, offset + other[:, None], weight, SERIAL) >= best - 1e-12
        np.testing.assert_allclose(loss.base_score_with_offset(y, weight, None), loss.base_score(y, weight), rtol=0)

    def test_pickle_and_copy(self, name):
        loss, rng = make(name), np.random.default_rng(12)
        y, raw = targets(name, rng, 20), rng.normal(size=(loss.n_outputs, 20))
        before = gradients(loss, y, raw)
        for again in (pickle.loads(pickle.dumps(loss)), copy.copy(loss)):
            assert vars(again).keys() >= {"n_outputs"}
            assert "_kept" not in vars(again)
            np.testing.assert_array_equal(gradients(again, y, raw), before)

    def test_models_save_and_load(self, name):
        rng = np.random.default_rng(13)
        x, y = rng.normal(size=(60, 2)), targets(name, rng, 60)
        fitted = make_estimator(name, max_iter=3, min_samples_leaf=2).fit(x, y)
        again = Model.from_bytes(fitted.model_.to_bytes())
        assert (again.loss, again.link) == (name, make(name).link)
        assert again.to_bytes() == fitted.model_.to_bytes()
        np.testing.assert_array_equal(predict(pickle.loads(pickle.dumps(fitted)), x), predict(fitted, x))

    def test_threads_leave_no_trace(self, name):
        rng = np.random.default_rng(14)
        n = 20_000  # more than a task of the kernels has
        x, y, weight = rng.normal(size=(n, 2)), targets(name, rng, n), rng.uniform(0.5, 2, n)
        for given_weight in (None, weight):
            fits = [make_estimator(name, max_iter=2, early_stopping=False, n_jobs=jobs) for jobs in (1, 2)]
            one, two = (fit.fit(x, y, sample_weight=given_weight).model_.to_bytes() for fit in fits)
            assert one == two

    def test_encoding_targets_are_finite(self, name):
        loss, y = make(name), targets(name, np.random.default_rng(18), 30)
        described = loss.encoding_targets(y)
        assert described.shape[1] == 30
        assert np.isfinite(described).all()
        assert len(described) == loss.n_outputs or name in ("cox", "aft")

    def test_check_loss_accepts_it(self, name):
        check_loss(make(name))


# scikit-learn metrics that equal the mean loss.
METRICS = {
    "squared_error": lambda y, p: mean_squared_error(y, p) / 2,
    "absolute_error": mean_absolute_error,
    "quantile": lambda y, p: mean_pinball_loss(y, p, alpha=0.3),
    "mape": mean_absolute_percentage_error,
    "poisson": lambda y, p: mean_poisson_deviance(y, p) / 2 + np.mean(y - xlogy(y, y)),
    "gamma": lambda y, p: mean_gamma_deviance(y, p) / 2 + np.mean(1 + np.log(y)),
    "tweedie": lambda y, p: mean_tweedie_deviance(y, p, power=1.6) / 2 + np.mean(y**0.4) * (1 / 0.4 + 1 / 0.6),
    "log_loss": log_loss,
    "multinomial_log_loss": log_loss,
}


@pytest.mark.parametrize("name", METRICS)
def test_the_mean_loss_is_scikit_learns_metric(name):
    loss, rng = make(name), np.random.default_rng(16)
    y, raw = targets(name, rng, 100), rng.normal(size=(loss.n_outputs, 100))
    linked = np.array(raw.T, order="C")
    kernels.apply_link(loss.link, linked, 1)
    assert loss.mean(y, raw, None, SERIAL) == pytest.approx(METRICS[name](y, linked if loss.n_outputs > 1 else linked[:, 0]), rel=1e-9)


@pytest.mark.parametrize("name", ["poisson", "gamma", "tweedie"])
@pytest.mark.parametrize("learning_rate", [0.1, 1.0])
def test_heavy_tails_under_a_log_link_do_not_diverge(name, learning_rate):
    """With a few targets a million times larger than the others, an unbounded Newton step would be of that size."""
    rng = np.random.default_rng(17)
    x, tail = rng.normal(size=(3000, 3)), rng.pareto(0.4, 3000) + 1e-6
    y = np.minimum(tail, 1e12) * np.exp(x[:, 0])
    fitted = make_estimator(name, max_iter=60, learning_rate=learning_rate, early_stopping=True, validation_fraction=None).fit(x, y)
    steps = [np.abs(tree.leaves.value).max() for tree in fitted.model_.trees]
    assert max(steps) <= LOSSES[name].max_step * learning_rate
    predictions = fitted.predict(x)
    assert np.isfinite(predictions).all()
    assert fitted.train_score_[-1] > fitted.train_score_[0]
    assert np.isfinite(fitted.train_score_).all()
    assert predictions.max() < 100 * y.max()


BAD_TARGETS = {
    "tweedie": [([1.0, -3.0, 2.0], -3.0, 1)],
    "mape": [([1.0, 2.0, 0.0], 0, 2)],
    "log_loss": [([0.0, 0.5, 1.5], 1.5, 2), ([-0.25, 0.5, 1.0], -0.25, 0)],
    "poisson": [([1.0, 2.0, -1.5, 0.0], -1.5, 2), ([0.0, 0.0, 0.0], 0, 0)],
    "gamma": [([1.0, 0.0, 2.0], 0, 1), ([1.0, 2.0, 3.0, -2.5], -2.5, 3)],
}


@pytest.mark.parametrize("name, y, wrong, row", [(name, *case) for name, cases in BAD_TARGETS.items() for case in cases])
def test_invalid_targets_raise(name, y, wrong, row):
    message = rf"loss='{name}' .*y={wrong:g} in row {row}"
    with pytest.raises(ValueError, match=message):
        make(name).check_targets(np.array(y))
    with pytest.raises(ValueError, match=message):
        BoostingRegressor(loss=name).fit(np.zeros((len(y), 1)), y)


@pytest.mark.parametrize("name, y, raw", [("squared_error", 1e308, -1e308), ("gamma", 1e5, -1e3), ("poisson", np.inf, 0.0)])
def test_gradients_that_are_not_finite_raise(name, y, raw):
    with pytest.raises(FloatingPointError, match=name):
        next(make(name).fixed_gradients(np.full(9, y), np.full((1, 9), raw), None, SERIAL))
