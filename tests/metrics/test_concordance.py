import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.metrics.concordance import concordance_index, concordance_of_times


def by_pairs(y, risk):
    """Concordance over all pairs in which the earlier row is an event."""
    time, event = np.abs(y), ~np.signbit(y)
    right = known = 0.0
    for i in np.flatnonzero(event):
        for j in range(len(y)):
            if time[j] > time[i] or (time[j] == time[i] and not event[j]):
                known += 1
                right += (risk[i] > risk[j]) + (risk[i] == risk[j]) / 2
    return right / known if known else np.nan


@given(data=st.data(), n=st.integers(1, 25))
def test_equals_the_count_of_pairs(data, n):
    draw = lambda low, high: np.array(data.draw(st.lists(st.integers(low, high), min_size=n, max_size=n)), dtype=float)  # noqa: E731
    y, risk = draw(-6, 6), draw(-4, 4)
    np.testing.assert_allclose(concordance_index(y, risk), by_pairs(y, risk), rtol=1e-14)


def test_known_answers():
    assert concordance_index([1.0, 2.0, 3.0], [3.0, 2.0, 1.0]) == 1
    assert concordance_index([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]) == 0
    assert concordance_index([1.0, 2.0, 3.0], [0.0, 0.0, 0.0]) == 0.5
    assert np.isnan(concordance_index([-1.0, -2.0], [1.0, 2.0]))
    assert concordance_index(np.array([[1.0, 1], [2.0, 0]]), [2.0, 1.0]) == 1


def test_of_times():
    y = np.array([1.0, -2.0, 3.0, 0.5])
    assert concordance_of_times(y, np.abs(y)) == concordance_index(y, -np.abs(y)) == 1
    bounds = np.array([[1.0, 1.0], [2.0, np.inf], [3.0, 4.0], [0.5, 0.5]])  # the third time is censored at 3
    assert concordance_of_times(bounds, [2.0, 1.0, 3.0, 0.1]) == concordance_index([1.0, -2.0, -3.0, 0.5], [-2.0, -1.0, -3.0, -0.1])


def test_many_rows():
    rng = np.random.default_rng(0)
    y = rng.exponential(size=20_000)
    assert concordance_index(y, -y) == 1
    assert concordance_index(y, rng.normal(size=20_000)) == pytest.approx(0.5, abs=0.01)


def test_bad_arguments():
    with pytest.raises(ValueError, match="finite"):
        concordance_index([1.0, 2.0], [np.nan, 1.0])
    with pytest.raises(ValueError, match="inconsistent"):
        concordance_index([1.0, 2.0], [1.0])
