import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.cluster.messages import decode, encode


@given(
    st.integers(0, 2_000),
    st.sampled_from([1, 100, 30_000, 2**31 - 1, 2**31, 2**63 - 1]),
    st.floats(0, 1),
    st.integers(0, 2**32),
)
def test_integers_survive(n, largest, density, seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(-largest, largest, n) * (rng.random(n) < density)
    np.testing.assert_array_equal(decode(encode(values), values.dtype, n), values)


@pytest.mark.parametrize("values", [np.array([np.nan, np.inf, -0.0]), np.array([-(2**63), 2**63 - 1] * 600), np.zeros(0, np.int64)])
def test_other_values_survive(values):
    np.testing.assert_array_equal(decode(encode(values), values.dtype, len(values)), values)


def test_small_numbers_and_zeros_take_fewer_bytes():
    n, rng = 10_000, np.random.default_rng(0)
    assert len(encode(rng.integers(-100, 100, n))) == n + 1
    assert len(encode(rng.integers(1, 2**62, n))) == 8 * n + 1
    few = np.where(rng.random(n) < 0.1, rng.integers(1, 2**62, n), 0)
    assert len(encode(few)) == 8 * np.count_nonzero(few) + n // 8 + 1
