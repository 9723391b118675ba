import numpy as np
import pytest

from sapwood.runtime import kernels
from sapwood.runtime.execution import SERIAL, Execution
from sapwood.sampling.rows import BayesianBootstrap, MinimalVariance, OneSide, RowSampler, Uniform, _mvs_threshold
from sapwood.trees.gradients import FixedGradients, GradientScale
from tests.reference.histogram import hash_rows


def make(n_rows=20_000, seed=0):
    """Fixed-point gradients like those of the log-loss, with headroom."""
    rng = np.random.default_rng(seed)
    p = 1 / (1 + np.exp(-rng.normal(scale=2, size=n_rows)))
    gradient, hessian = p - (rng.random(n_rows) < p), p * (1 - p)
    scale = GradientScale.covering(1.0, 0.25, headroom=32)
    data = np.zeros(8 * n_rows, dtype=np.uint8)
    sums = kernels.fix_gradients(gradient, hessian, scale.destination(data), 1)
    return FixedGradients(data, n_rows, scale, sums)


def pairs(gradients):
    """Gradients and hessians as floats; exact."""
    whole = gradients.data.view(np.int32).reshape(-1, 2)
    return whole[:, 0].astype(float), whole[:, 1].view(np.uint32).astype(float)


SAMPLERS = [Uniform(0.3), OneSide(0.2, 0.1), MinimalVariance(0.3), BayesianBootstrap(1.0)]
each = pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda sampler: type(sampler).__name__)


@each
def test_the_same_for_any_number_of_threads(sampler):
    once, threaded = make(), make()
    rows = [sampler.draw(gradients, 5, Execution(n)) for gradients, n in ((once, 1), (threaded, 3))]
    np.testing.assert_array_equal(*rows)
    np.testing.assert_array_equal(once.data, threaded.data)
    assert once.sums == threaded.sums


@each
def test_sums_are_unbiased(sampler):
    gradient, hessian = pairs(make())
    found = []
    for key in range(30):
        gradients = make()
        rows = sampler.draw(gradients, key, SERIAL)
        g, h = pairs(gradients)
        rows = slice(None) if rows is None else rows
        factor = 1 / 0.3 if isinstance(sampler, Uniform) else 1.0
        found.append([factor * g[rows].sum(), factor * h[rows].sum()])
    mean, spread = np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(len(found))
    assert (np.abs(mean - [gradient.sum(), hessian.sum()]) < 5 * spread).all()


@each
def test_another_key_another_draw(sampler):
    one, other = make(), make()
    rows = sampler.draw(one, 1, SERIAL), sampler.draw(other, 2, SERIAL)
    assert not np.array_equal(*rows) or not np.array_equal(one.data, other.data)


@pytest.mark.parametrize("sampler", [Uniform(0.3), MinimalVariance(0.3)], ids=["uniform", "mvs"])
def test_a_fraction_of_the_rows(sampler):
    rows = sampler.draw(make(), 3, SERIAL)
    assert (np.diff(rows) > 0).all()
    assert abs(len(rows) - 6_000) < 600


def test_all_rows():
    assert RowSampler().draw(make(), 0, SERIAL) is None


def test_one_side_keeps_the_largest_and_weights_the_others():
    gradients = make()
    gradient, hessian = pairs(gradients)
    rows = OneSide(0.2, 0.1).draw(gradients, 9, SERIAL)
    size = np.abs(gradient) * hessian
    top = np.flatnonzero(size >= np.quantile(size, 0.8) * 1.001)
    assert np.isin(top, rows).all()
    others = np.setdiff1d(rows, np.flatnonzero(size >= np.quantile(size, 0.8) * 0.999))
    assert abs(len(others) - 2_000) < 200
    after = pairs(gradients)[0]
    np.testing.assert_array_equal(after[top], gradient[top])
    np.testing.assert_allclose(after[others], 8 * gradient[others], rtol=1e-6, atol=1)


def test_bayesian_weights():
    gradients = make()
    gradient, _ = pairs(gradients)
    assert BayesianBootstrap(1.0).draw(gradients, 4, SERIAL) is None
    u = (hash_rows(4, 20_000).astype(float) + 0.5) / 2**32
    np.testing.assert_allclose(pairs(gradients)[0], gradient * -np.log(u), rtol=1e-6, atol=1)
    same = make()
    BayesianBootstrap(0.0).draw(same, 4, SERIAL)
    np.testing.assert_array_equal(pairs(same)[0], gradient)


@pytest.mark.parametrize("fraction", [0.05, 0.3, 0.9])
def test_threshold_gives_the_fraction(fraction):
    size = np.sort(np.random.default_rng(0).exponential(size=5_000))[::-1]
    assert np.minimum(1, size / _mvs_threshold(size, fraction)).sum() == pytest.approx(fraction * 5_000)


def test_bad_arguments():
    good = {"kind": 1, "a": 0.5, "b": 0.5, "key": 1}
    kernels.sample_gradients(np.zeros(16, dtype=np.uint8), kernels.RowSampling(**good), 0, 1)
    for change in ({"kind": 4}, {"kind": -1}, {"a": -1.0}, {"b": 0.0}):
        with pytest.raises(ValueError):
            kernels.RowSampling(**{**good, **change})
    with pytest.raises(ValueError, match="8 bytes"):
        kernels.sample_gradients(np.zeros(12, dtype=np.uint8), kernels.RowSampling(**good), 0, 1)
