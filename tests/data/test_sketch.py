import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.data.sketch import QuantileSketch

SHARES = np.linspace(0.01, 1.0, 37)


def rank_error(values, weights, found, fractions):
    """Distance of the rank of each quantile from its fraction, as a fraction of the weight; 0 within the weight of its value."""
    order = np.argsort(values)
    values, upto = values[order], np.cumsum(weights[order]) / weights.sum()
    below = np.array([upto[np.searchsorted(values, v, "left") - 1] if v > values[0] else 0.0 for v in found])
    at = np.array([upto[np.searchsorted(values, v, "right") - 1] for v in found])
    return np.maximum(np.maximum(below - fractions, fractions - at), 0)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_blocks=st.integers(1, 30),
    block=st.integers(1, 400),
    size=st.integers(2, 100),
    n_values=st.sampled_from([3, 50, 10**9]),
)
def test_quantiles_are_within_the_error_bound(seed, n_blocks, block, size, n_values):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, n_values, n_blocks * block).astype(float)
    weights = rng.exponential(size=len(values)) ** 2 + 1e-9
    sketch = QuantileSketch(size)
    for part in np.array_split(np.arange(len(values)), n_blocks):
        sketch.add(values[part], weights[part])
    assert sketch.weight == pytest.approx(weights.sum())
    assert sketch.error <= np.ceil(np.log2(n_blocks) + 1) / size
    assert rank_error(values, weights, sketch.quantiles(SHARES), SHARES).max() <= sketch.error + 1e-9


def test_merged_sketches_are_within_the_error_bound():
    rng = np.random.default_rng(0)
    values, weights = rng.normal(size=60_000), rng.random(60_000)
    sketches = []
    for worker in np.array_split(np.arange(60_000), 5):
        sketch = QuantileSketch(200)
        for part in np.array_split(worker, 7):
            sketch.add(values[part], weights[part])
        sketches.append(sketch)
    whole = QuantileSketch(200)
    for sketch in sketches:
        whole.merge(sketch)
    assert 0 < whole.error < 0.05
    assert rank_error(values, weights, whole.quantiles(SHARES), SHARES).max() <= whole.error


def test_exact_while_nothing_is_dropped():
    values = np.array([3.0, 1.0, 2.0, np.nan, 2.0])
    sketch = QuantileSketch(10)
    sketch.add(values, np.array([1.0, 1.0, 1.0, 5.0, 0.0]))
    assert sketch.error == 0
    assert sketch.quantiles([0.1, 1 / 3, 0.5, 1.0]).tolist() == [1, 1, 2, 3]
    assert sketch.cut_points(255).tolist() == [1.5, 2.5]


def test_cut_points_of_many_values_are_quantiles():
    values = np.random.default_rng(1).normal(size=50_000)
    sketch = QuantileSketch(1_000)
    for part in np.array_split(values, 10):
        sketch.add(part)
    cuts = sketch.cut_points(64)
    assert len(cuts) == 63
    fractions = np.bincount(np.searchsorted(cuts, values), minlength=64) / len(values)
    assert np.abs(fractions - 1 / 64).max() <= 2 * sketch.error + 1e-4


def test_errors():
    with pytest.raises(ValueError, match="size must be at least 1"):
        QuantileSketch(0)
    with pytest.raises(ValueError, match="the sketch is empty"):
        QuantileSketch().quantiles([0.5])
