import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import expit, logsumexp, softmax

from tests.reference import gradients as twin

PAIR = np.dtype([("gradient", "i4"), ("hessian", "u4")])
SCALES = 2.0**20, 2.0**22
losses = pytest.mark.parametrize("name", twin.FORMULAS)
weighted = pytest.mark.parametrize("is_weighted", [False, True], ids=["plain", "weighted"])
# Around four rows at a time, and around the 8192 rows of a task.
sizes = pytest.mark.parametrize("n", [1, 3, 4, 5, 8191, 8193, 20_001])


def rows_of(name, n, is_weighted, seed=0):
    """Targets, raw predictions and weights that fit a loss."""
    rng = np.random.default_rng(seed)
    labels, counts = rng.integers(0, 2, n).astype(float), rng.poisson(2.0, n).astype(float)
    y = {"log_loss": labels, "focal": labels, "poisson": counts, "tweedie": counts}.get(name, rng.gamma(2.0, size=n))
    raw = rng.normal(size=n)
    if name in ("absolute_error", "quantile", "mape", "huber"):
        raw[::5] = y[::5]  # where the gradient is zero
    return y, raw, rng.uniform(0, 2, n) if is_weighted else None


def loss_of(kernels, name):
    return kernels.Loss(twin.KINDS[name], twin.FORMULAS[name].parameter)


def times(values, weight):
    return values if weight is None else values * weight


def assert_within_a_unit(got, values):
    """Fixed-point numbers of these floats: to the nearest, but for what the last bit of exp can move."""
    assert np.abs(got.astype(np.int64) - values).max() <= 0.5 + 1e-6


def assert_sums(sums, gradient, hessian):
    gradient, hessian = gradient.astype(np.int64), hessian.astype(np.int64)
    assert sums == (np.abs(gradient).sum(), gradient.sum(), hessian.sum())


class TestLossRecords:
    @losses
    @weighted
    @sizes
    def test_pairs(self, kernels, name, is_weighted, n):
        y, raw, weight = rows_of(name, n, is_weighted)
        out = np.zeros(n, dtype=PAIR)
        target = kernels.GradientTarget(*SCALES, out.view(np.uint8))
        sums = kernels.loss_fixed_gradients(loss_of(kernels, name), kernels.LossRows(y, raw, weight), target, 2)
        assert_within_a_unit(out["gradient"], times(twin.FORMULAS[name].gradient(y, raw), weight) * SCALES[0])
        assert_within_a_unit(out["hessian"], times(twin.FORMULAS[name].hessian(y, raw), weight) * SCALES[1])
        assert_sums(sums, out["gradient"], out["hessian"])

    @losses
    @sizes
    def test_singles(self, kernels, name, n):
        y, raw, _ = rows_of(name, n, False)
        out = np.zeros(n, dtype=np.int32)
        target = kernels.GradientTarget(SCALES[0], 0.0, out.view(np.uint8))
        sums = kernels.loss_fixed_gradients(loss_of(kernels, name), kernels.LossRows(y, raw, None), target, 2)
        assert_within_a_unit(out, twin.FORMULAS[name].gradient(y, raw) * SCALES[0])
        assert_sums(sums, out, np.zeros(n))

    @losses
    @weighted
    @sizes
    def test_extent(self, kernels, name, is_weighted, n):
        y, raw, weight = rows_of(name, n, is_weighted)
        extent = kernels.loss_extent(loss_of(kernels, name), kernels.LossRows(y, raw, weight), 2)
        expected = [np.abs(times(f(y, raw), weight)).max() for f in twin.FORMULAS[name][1:3]]
        np.testing.assert_allclose(extent, expected, rtol=2e-14)

    @pytest.mark.parametrize("n", [3, 4, 20_001])
    @pytest.mark.parametrize("row", [0, -1])
    def test_extent_tells_of_what_is_not_finite(self, kernels, n, row):
        for broken in (np.nan, np.inf, -np.inf):
            y, raw = np.zeros(n), np.zeros(n)
            y[row] = broken
            gradient, _ = kernels.loss_extent(loss_of(kernels, "squared_error"), kernels.LossRows(y, raw, None), 2)
            assert not np.isfinite(gradient)

    @losses
    @weighted
    def test_values(self, kernels, name, is_weighted):
        for n in (1, 3, 4, 5, 20_001):
            y, raw, weight = rows_of(name, n, is_weighted)
            out = np.full(n, np.nan)
            kernels.loss_values(loss_of(kernels, name), kernels.LossRows(y, raw, weight), out, 2)
            np.testing.assert_allclose(out, times(twin.FORMULAS[name].value(y, raw), weight), rtol=1e-13, atol=1e-15)

    @losses
    @weighted
    def test_gradients(self, kernels, name, is_weighted):
        for n in (1, 3, 4, 5, 20_001):
            y, raw, weight = rows_of(name, n, is_weighted)
            gradient, hessian = np.full((2, n), np.nan)
            kernels.loss_gradients(loss_of(kernels, name), kernels.LossRows(y, raw, weight), gradient, hessian, 2)
            np.testing.assert_allclose(gradient, times(twin.FORMULAS[name].gradient(y, raw), weight), rtol=1e-12, atol=4e-15)
            np.testing.assert_allclose(hessian, times(twin.FORMULAS[name].hessian(y, raw), weight), rtol=1e-11, atol=4e-15)

    @losses
    def test_a_row_does_not_depend_on_its_neighbours(self, kernels, name):
        y, raw, weight = rows_of(name, 11, True)
        out, one = np.zeros(11, dtype=PAIR), np.zeros(1, dtype=PAIR)
        loss, targets = loss_of(kernels, name), [kernels.GradientTarget(*SCALES, records.view(np.uint8)) for records in (out, one)]
        kernels.loss_fixed_gradients(loss, kernels.LossRows(y, raw, weight), targets[0], 1)
        for i in range(11):
            row = slice(i, i + 1)
            kernels.loss_fixed_gradients(loss, kernels.LossRows(y[row], raw[row], weight[row]), targets[1], 1)
            assert one[0] == out[i]

    @pytest.mark.parametrize("call", ["records", "extent", "values", "gradients"])
    def test_bad_arguments(self, kernels, call):
        y, raw, records, values = np.zeros(4), np.zeros(4), np.zeros(32, dtype=np.uint8), np.zeros(4)

        def run(kind=0, y=y, raw=raw, weight=None, records=records, values=values):
            loss, rows = kernels.Loss(kind), kernels.LossRows(y, raw, weight)
            if call == "records":
                return kernels.loss_fixed_gradients(loss, rows, kernels.GradientTarget(1.0, 1.0, records), 1)
            if call == "extent":
                return kernels.loss_extent(loss, rows, 1)
            if call == "gradients":
                return kernels.loss_gradients(loss, rows, values, values.copy(), 1)
            return kernels.loss_values(loss, rows, values, 1)

        run()
        bad = [{"kind": -1}, {"kind": len(twin.FORMULAS)}, {"y": np.zeros(3)}, {"raw": np.zeros(5)}, {"weight": np.zeros(3)}]
        bad += [{"raw": np.zeros((2, 4))}, {"raw": np.zeros((1, 1, 4))}]
        bad += {
            "records": [{"records": np.zeros(31, dtype=np.uint8)}],
            "values": [{"values": np.zeros(3)}],
            "gradients": [{"values": np.zeros(3)}],
        }.get(call, [])
        for change in bad:
            with pytest.raises(ValueError):
                run(**change)


class TestArrayRecords:
    @pytest.mark.parametrize("n", [1, 5, 20_001])
    def test_pairs_and_singles(self, kernels, n):
        rng = np.random.default_rng(n)
        gradient, hessian = rng.normal(size=n), rng.random(n)
        pairs, singles = np.zeros(n, dtype=PAIR), np.zeros(n, dtype=np.int32)
        sums = kernels.fix_gradients(gradient, hessian, kernels.GradientTarget(*SCALES, pairs.view(np.uint8)), 2)
        np.testing.assert_array_equal(pairs["gradient"], np.rint(gradient * SCALES[0]))
        np.testing.assert_array_equal(pairs["hessian"], np.rint(hessian * SCALES[1]))
        assert_sums(sums, pairs["gradient"], pairs["hessian"])
        sums = kernels.fix_gradients(gradient, None, kernels.GradientTarget(SCALES[0], 0.0, singles.view(np.uint8)), 2)
        np.testing.assert_array_equal(singles, pairs["gradient"])
        assert_sums(sums, singles, np.ones(n))

    def test_bad_arguments(self, kernels):
        with pytest.raises(ValueError, match="same length"):
            kernels.fix_gradients(np.zeros(3), np.zeros(2), kernels.GradientTarget(1.0, 1.0, np.zeros(24, dtype=np.uint8)), 1)
        with pytest.raises(ValueError, match="4 or 8 bytes"):
            kernels.fix_gradients(np.zeros(3), None, kernels.GradientTarget(1.0, 1.0, np.zeros(20, dtype=np.uint8)), 1)
        for wrong in (np.zeros(24), np.zeros(48, dtype=np.uint8)[::2]):  # a copy would be written, not the array
            with pytest.raises(TypeError):
                kernels.GradientTarget(1.0, 1.0, wrong)


class TestArrayExtent:
    @pytest.mark.parametrize("n", [1, 5, 20_001])
    def test_largest(self, kernels, n):
        rng = np.random.default_rng(n)
        gradient, hessian = rng.normal(size=n), rng.random(n)
        assert kernels.array_extent(gradient, hessian, 2) == (np.abs(gradient).max(), hessian.max())
        for broken in (gradient, hessian):
            broken[-1] = np.nan
            assert not np.isfinite(kernels.array_extent(gradient, hessian, 2)).all()
            broken[-1] = 0.0

    def test_bad_arguments(self, kernels):
        with pytest.raises(ValueError, match="same length"):
            kernels.array_extent(np.zeros(3), np.zeros(2), 1)


class TestSoftmax:
    @weighted
    @pytest.mark.parametrize("n_classes", [2, 3, 10])
    @pytest.mark.parametrize("n", [1, 3, 4, 6, 20_001])
    def test_records_and_values(self, kernels, n_classes, n, is_weighted):
        rng = np.random.default_rng(n)
        y, raw = rng.integers(0, n_classes, n).astype(float), rng.normal(scale=3, size=(n_classes, n))
        weight = rng.uniform(0, 2, n) if is_weighted else None
        out, values = np.zeros((n_classes, n), dtype=PAIR), np.full(n, np.nan)
        thirds = (0, n // 3), (n // 3, n // 3), (n // 3, n)
        rows, target = kernels.LossRows(y, raw, weight), kernels.GradientTarget(*SCALES, out.view(np.uint8))
        found = [kernels.softmax_fixed_gradients(rows, target, *third, 2) for third in thirds]
        all_sums = [tuple(map(sum, zip(*parts, strict=True))) for parts in zip(*found, strict=True)]
        kernels.softmax_values(rows, values, 2)
        value, gradient, hessian = twin.softmax_formulas(y, raw)
        np.testing.assert_allclose(values, times(value, weight), rtol=1e-13, atol=4e-15)
        for k, sums in enumerate(all_sums):
            assert_within_a_unit(out["gradient"][k], times(gradient[k], weight) * SCALES[0])
            assert_within_a_unit(out["hessian"][k], times(hessian[k], weight) * SCALES[1])
            assert_sums(sums, out["gradient"][k], out["hessian"][k])

    def test_bad_arguments(self, kernels):
        y, raw, out, values = np.zeros(4), np.zeros((3, 4)), np.zeros((3, 32), dtype=np.uint8), np.zeros(4)
        rows, target = kernels.LossRows(y, raw, None), kernels.GradientTarget(1.0, 1.0, out)
        kernels.softmax_fixed_gradients(rows, target, 0, 4, 1)
        kernels.softmax_values(rows, values, 1)
        with pytest.raises(ValueError):
            kernels.LossRows(np.zeros(3), raw, None)
        with pytest.raises(ValueError):
            kernels.LossRows(y, raw, np.zeros(3))
        with pytest.raises(ValueError):
            kernels.softmax_fixed_gradients(rows, kernels.GradientTarget(1.0, 1.0, out[:2]), 0, 4, 1)
        for part in ((-1, 4), (0, 5), (3, 2)):
            with pytest.raises(ValueError, match="rows out of range"):
                kernels.softmax_fixed_gradients(rows, target, *part, 1)
        with pytest.raises(ValueError):
            kernels.softmax_values(rows, values[:3], 1)
        for wrong in (-1.0, 3.0, np.nan):
            with pytest.raises(ValueError, match="class numbers"):
                kernels.softmax_values(kernels.LossRows(np.array([0, 1, 2, wrong]), raw, None), values, 1)


class TestLinks:
    """The inverse links, and with them the kernels' own exp; their log shows in the values of log-losses."""

    def link(self, kernels, name, raw, n_threads=1):
        out = np.array(raw, dtype=float).reshape(len(raw), -1)
        kernels.apply_link(name, out, n_threads)
        return out

    def test_exp_to_the_last_bits(self, kernels):
        x = np.concatenate([np.linspace(-708, 708, 20_001), np.random.default_rng(0).normal(size=5000), [0.0, -0.0, 1e-300, -1e-20]])
        np.testing.assert_allclose(self.link(kernels, "log", x)[:, 0], np.exp(x), rtol=1e-15)

    @pytest.mark.parametrize("x", [709.0, 1e6, 1e308, np.inf, -709.0, -1e6, -np.inf])
    def test_exp_never_overflows(self, kernels, x):
        assert self.link(kernels, "log", [x]) == pytest.approx(math.exp(math.copysign(708, x)), rel=1e-15)

    def test_logistic(self, kernels):
        x = np.concatenate([np.linspace(-700, 700, 2001), np.random.default_rng(1).normal(scale=5, size=2000)])
        np.testing.assert_allclose(self.link(kernels, "logit", x)[:, 0], expit(x), rtol=1e-15)
        np.testing.assert_array_equal(self.link(kernels, "logit", [np.inf, 1e9, 0.0])[:, 0], [1.0, 1.0, 0.5])
        assert 0 < self.link(kernels, "logit", [-np.inf]) < 1e-300

    @pytest.mark.parametrize("n_classes", [2, 3, 4, 5, 9])
    def test_softmax(self, kernels, n_classes):
        raw = np.random.default_rng(2).normal(scale=20, size=(301, n_classes))
        raw[0] = 1e300 * np.arange(n_classes)
        got = self.link(kernels, "softmax", raw)
        np.testing.assert_allclose(got, np.maximum(softmax(raw, axis=1), np.exp(-708)), rtol=1e-13)
        np.testing.assert_allclose(got.sum(axis=1), 1.0, rtol=1e-15)

    def test_identity(self, kernels):
        raw = np.random.default_rng(3).normal(size=(10, 2))
        np.testing.assert_array_equal(self.link(kernels, "identity", raw), raw)

    @pytest.mark.parametrize("name", ["log", "logit", "softmax"])
    def test_threads_leave_no_trace(self, kernels, name):
        raw = np.random.default_rng(4).normal(size=(20_001, 3))
        np.testing.assert_array_equal(self.link(kernels, name, raw), self.link(kernels, name, raw, n_threads=3))

    def test_log_near_one(self, kernels):
        raw = np.concatenate([np.linspace(-745, 745, 4001), np.random.default_rng(5).normal(size=4000)])
        out = np.empty(len(raw))
        kernels.loss_values(loss_of(kernels, "log_loss"), kernels.LossRows(np.zeros(len(raw)), raw, None), out, 1)
        np.testing.assert_allclose(out, np.logaddexp(0, raw), rtol=1e-13, atol=2.3e-16)  # log(1 + e): e keeps 2^-53 beside the 1

    def test_log_far_from_one(self, kernels):
        n_classes = 1000
        raw = -np.random.default_rng(6).exponential(scale=np.linspace(1e-3, 10, 200), size=(n_classes, 200))
        raw[0] = 0.0
        out = np.empty(200)
        kernels.softmax_values(kernels.LossRows(np.zeros(200), raw, None), out, 1)
        np.testing.assert_allclose(out, logsumexp(raw, axis=0), rtol=1e-13)


class TestExactSum:
    @given(arrays(np.float64, st.integers(0, 60), elements=st.floats(-1e6, 1e6)), st.randoms(use_true_random=False))
    def test_equals_fsum_whatever_the_order(self, kernels, x, random):
        total = kernels.exact_sum(x)
        unit = np.abs(x).max(initial=0) * 2.0**-60
        assert abs(total - math.fsum(x)) <= len(x) * unit + math.ulp(total)
        shuffled = x.tolist()
        random.shuffle(shuffled)
        assert kernels.exact_sum(np.array(shuffled)).hex() == total.hex()

    @pytest.mark.parametrize("scale", [1e-310, 1e-300, 1.0, 1e300])
    def test_any_magnitude(self, kernels, scale):
        x = np.random.default_rng(0).uniform(-1, 1, 999) * scale
        assert kernels.exact_sum(x) == pytest.approx(math.fsum(x), rel=1e-13)

    def test_cancellation_is_exact(self, kernels):
        x = np.array([1e16, 1.0, -1e16, 2.0, 3.0])
        assert kernels.exact_sum(x) == 6.0
        assert kernels.exact_sum(np.zeros(3)) == 0.0
        assert kernels.exact_sum(np.empty(0)) == 0.0

    def test_threads_leave_no_trace(self, kernels):
        x = np.random.default_rng(1).standard_cauchy(200_000)
        assert kernels.exact_sum(x, 3) == kernels.exact_sum(x, 1) == kernels.exact_sum(np.sort(x), 2)
        assert kernels.exact_sum(x) == pytest.approx(math.fsum(x), rel=1e-12)

    def test_what_is_not_finite_shows(self, kernels):
        assert kernels.exact_sum(np.array([1.0, np.inf])) == np.inf
        assert math.isnan(kernels.exact_sum(np.array([1.0, np.nan])))


class TestLeafQuantiles:
    def quantiles(self, kernels, leaf, y, raw, weight, share, n_leaves, n_threads=1):
        out = np.full(n_leaves, np.nan)
        kernels.leaf_quantiles(np.asarray(leaf, dtype=np.uint32), kernels.LossRows(y, raw, weight), share, out, n_threads)
        return out

    @pytest.mark.parametrize("n", [1, 2, 3, 10, 11, 500])
    def test_median(self, kernels, n):
        y, raw = np.random.default_rng(n).normal(size=(2, n))
        got = self.quantiles(kernels, np.zeros(n), y, raw, None, 0.5, 1)
        np.testing.assert_allclose(got, np.median(y - raw), rtol=1e-15)

    @given(data=st.data(), share=st.sampled_from([0.1, 0.25, 0.5, 0.9]))
    def test_equals_twin_in_each_leaf(self, kernels, data, share):
        n = data.draw(st.integers(1, 40))
        draw = lambda kind: np.array(data.draw(st.lists(kind, min_size=n, max_size=n)))  # noqa: E731
        leaf, y, raw = draw(st.integers(0, 3)), draw(st.integers(-5, 5)).astype(float), draw(st.floats(-4, 4))
        weight = draw(st.integers(1, 5)).astype(float)
        for given_weight in (None, weight):
            got = self.quantiles(kernels, leaf, y, raw, given_weight, share, 4)
            for k in range(4):
                inside = leaf == k
                own = np.ones(n) if given_weight is None else weight
                expected = twin.quantile((y - raw)[inside], own[inside], share) if inside.any() else 0.0
                assert got[k] == expected

    @given(data=st.data())
    def test_weights_are_repetitions(self, kernels, data):
        n = data.draw(st.integers(1, 30))
        y = np.array(data.draw(st.lists(st.floats(-9, 9, allow_subnormal=False), min_size=n, max_size=n)))
        counts = np.array(data.draw(st.lists(st.integers(1, 4), min_size=n, max_size=n)))
        weighted = self.quantiles(kernels, np.zeros(n), y, np.zeros(n), counts.astype(float), 0.5, 1)
        long = np.repeat(y, counts)
        repeated = self.quantiles(kernels, np.zeros(len(long)), long, np.zeros(len(long)), None, 0.5, 1)
        np.testing.assert_array_equal(weighted, repeated)
        np.testing.assert_allclose(weighted, np.median(long), rtol=1e-15)

    def test_order_and_threads_leave_no_trace(self, kernels):
        rng = np.random.default_rng(0)
        leaf, y, weight = rng.integers(0, 30, 2000), rng.normal(size=2000), rng.random(2000)
        order = rng.permutation(2000)
        once = self.quantiles(kernels, leaf, y, np.zeros(2000), weight, 0.5, 30)
        again = self.quantiles(kernels, leaf[order], y[order], np.zeros(2000), weight[order], 0.5, 30, n_threads=3)
        np.testing.assert_array_equal(once, again)

    def test_bad_arguments(self, kernels):
        y = np.zeros(3)
        with pytest.raises(ValueError, match="leaf out of range"):
            self.quantiles(kernels, [0, 1, 2], y, y, None, 0.5, 2)
        with pytest.raises(ValueError, match="same length"):
            self.quantiles(kernels, [0, 0], y, y, None, 0.5, 1)


class TestLeafHuber:
    def steps(self, kernels, leaf, y, raw, weight, delta, n_leaves, n_threads=1):
        out = np.full(n_leaves, np.nan)
        kernels.leaf_huber(np.asarray(leaf, dtype=np.uint32), kernels.LossRows(y, raw, weight), delta, out, n_threads)
        return out

    @given(data=st.data(), delta=st.sampled_from([0.1, 1.0, 5.0, 1e100]))
    def test_equals_twin_in_each_leaf(self, kernels, data, delta):
        n = data.draw(st.integers(1, 40))
        rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
        leaf, y, raw, weight = rng.integers(0, 3, n), rng.normal(size=n) * 3, rng.normal(size=n), rng.uniform(0.1, 4, n)
        for given_weight in (None, weight):
            got = self.steps(kernels, leaf, y, raw, given_weight, delta, 3)
            for k in range(3):
                inside = leaf == k
                own = np.ones(n) if given_weight is None else weight
                if not inside.any():
                    assert got[k] == 0
                    continue
                loss = lambda step, inside=inside, own=own: (own[inside] * huber((y - raw)[inside] - step, delta)).sum()  # noqa: E731
                best = loss(twin.huber_step((y - raw)[inside], own[inside], delta))
                assert loss(got[k]) <= best * (1 + 1e-12) + 1e-15

    def test_order_and_threads_leave_no_trace(self, kernels):
        rng = np.random.default_rng(0)
        leaf, y, weight = rng.integers(0, 30, 2000), rng.normal(size=2000), rng.random(2000)
        order = rng.permutation(2000)
        for given_weight in (None, weight):
            once = self.steps(kernels, leaf, y, np.zeros(2000), given_weight, 0.5, 30)
            turned = given_weight if given_weight is None else weight[order]
            again = self.steps(kernels, leaf[order], y[order], np.zeros(2000), turned, 0.5, 30, n_threads=3)
            np.testing.assert_array_equal(once, again)

    def test_bad_arguments(self, kernels):
        y = np.zeros(3)
        for leaf, delta, message in (([0, 1, 2], 1.0, "leaf out of range"), ([0, 0], 1.0, "same length"), ([0, 0, 0], 0.0, "positive")):
            with pytest.raises(ValueError, match=message):
                self.steps(kernels, leaf, y, y, None, delta, 2)


def huber(d, delta):
    size = np.abs(d)
    return np.where(size <= delta, d**2 / 2, delta * (size - delta / 2))


class TestAddLeafValues:
    @pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
    def test_adds_the_value_of_each_rows_leaf(self, kernels, dtype):
        rng = np.random.default_rng(0)
        leaf, values, raw = rng.integers(0, 200, 20_001).astype(dtype), rng.normal(size=200), rng.normal(size=20_001)
        expected = raw + values[leaf]
        kernels.add_leaf_values(leaf.view(np.uint8), leaf.itemsize, values, raw, 2)
        np.testing.assert_array_equal(raw, expected)

    def test_adds_a_value_for_each_output(self, kernels):
        rng = np.random.default_rng(1)
        leaf, values, raw = rng.integers(0, 9, 20_001).astype(np.uint8), rng.normal(size=(9, 3)), rng.normal(size=(3, 20_001))
        expected = raw + values[leaf].T
        kernels.add_leaf_values(leaf, 1, values, raw, 2)
        np.testing.assert_array_equal(raw, expected)

    def test_bad_arguments(self, kernels):
        leaf, values, raw = np.zeros(4, dtype=np.uint8), np.zeros(2), np.zeros(4)
        for size, out in ((3, raw), (2, raw), (1, raw[:3]), (1, np.zeros((3, 4))), (1, np.zeros((0, 4))), (1, np.zeros((4, 2)).T)):
            with pytest.raises(ValueError):
                kernels.add_leaf_values(leaf, size, values, out, 1)
