import numpy as np
import pytest
from scipy import special

NUMBERS = np.concatenate([np.linspace(-40, 40, 8001), np.random.default_rng(0).normal(size=2001), [0.0, -0.0, 1e-300, -1e-20, 1e-9]])
POSITIVE = np.concatenate([np.abs(NUMBERS), 10.0 ** np.linspace(-320, 308, 3001)])


def apply(kernels, name, x, n_threads=1):
    out = np.array(x, dtype=np.float64)
    kernels.apply_function(name, out, n_threads)
    return out


@pytest.mark.parametrize(
    ("name", "function", "x", "rtol"),
    [
        ("exp", np.exp, np.concatenate([NUMBERS, np.linspace(-708, 708, 2001)]), 1e-15),
        ("expm1", np.expm1, NUMBERS, 2e-15),
        ("log", np.log, POSITIVE[POSITIVE > 0], 2e-15),
        ("log1p", np.log1p, np.concatenate([POSITIVE, np.linspace(-0.999, 0, 2001)]), 2e-15),
        ("tanh", np.tanh, NUMBERS, 4e-15),
        ("log_expit", special.log_expit, np.concatenate([NUMBERS, np.linspace(-600, 600, 2001)]), 2e-15),
        ("log_ndtr", special.log_ndtr, np.concatenate([NUMBERS, np.linspace(-1e4, 30, 2001)]), 1e-13),
    ],
)
def test_as_numpy_and_scipy(kernels, name, function, x, rtol):
    np.testing.assert_allclose(apply(kernels, name, x), function(x), rtol=rtol, atol=1e-30 if name == "log_ndtr" else 1e-307)


@pytest.mark.parametrize(
    ("name", "x", "expected"),
    [
        ("exp", [-np.inf, -709.0, np.nan, 0.0], [0.0, 0.0, np.nan, 1.0]),
        ("log", [0.0, -1.0, np.inf, np.nan, 1.0, 5e-324], [-np.inf, np.nan, np.inf, np.nan, 0.0, np.log(5e-324)]),
        ("log1p", [-1.0, np.inf, np.nan], [-np.inf, np.inf, np.nan]),
        ("expm1", [-np.inf, -100.0, np.nan, 1e-30], [-1.0, -1.0, np.nan, 1e-30]),
        ("tanh", [-np.inf, np.inf, -50.0, np.nan], [-1.0, 1.0, -1.0, np.nan]),
        ("log_expit", [np.nan, 800.0, -800.0], [np.nan, 0.0, -800.0]),
        ("log_ndtr", [np.nan, 0.0, 40.0], [np.nan, np.log(0.5), 0.0]),
    ],
)
def test_at_the_ends(kernels, name, x, expected):
    np.testing.assert_allclose(apply(kernels, name, x), expected, rtol=1e-15)


@pytest.mark.parametrize("name", ["exp", "expm1", "log", "log1p", "tanh", "log_expit", "log_ndtr"])
def test_a_number_does_not_depend_on_its_neighbours_and_threads(kernels, name):
    x = np.random.default_rng(1).normal(size=20_003)
    whole = apply(kernels, name, x, n_threads=3)
    np.testing.assert_array_equal(whole, apply(kernels, name, x))
    for n in (1, 2, 3, 5):
        np.testing.assert_array_equal(apply(kernels, name, x[:n]), whole[:n])
    np.testing.assert_array_equal(apply(kernels, name, x.reshape(83, 241)).ravel(), whole)


def test_bad_arguments(kernels):
    with pytest.raises(ValueError, match="no such function"):
        kernels.apply_function("sin", np.zeros(3))
    for wrong in (np.zeros(3, dtype=np.float32), np.zeros((4, 4))[:, ::2]):
        with pytest.raises(TypeError):
            kernels.apply_function("exp", wrong)
