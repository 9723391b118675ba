import numpy as np

from sapwood.importing.float32 import at_most, below

EDGES = np.array([0.0, 1.0, -1.0, 0.1, -0.1, 1 / 3, 1e-45, 1e-40, 16777217.0, 3.4028234663852886e38, -3.4028234663852886e38])


def around(thresholds):
    """(n, n_thresholds): numbers at and beside the thresholds, of float32 and float64."""
    found = [thresholds, *(np.nextafter(thresholds, side) for side in (-np.inf, np.inf))]
    near = thresholds.astype(np.float32)
    for side in (-np.inf, np.inf):
        with np.errstate(over="ignore"):
            beside = np.nextafter(near, np.float32(side)).astype(np.float64)
        middle = near.astype(np.float64) / 2 + np.clip(beside, -(2.0**128), 2.0**128) / 2
        found += [beside, middle, *(np.nextafter(middle, way) for way in (-np.inf, np.inf))]
    return np.array(found)


def rounded(x):
    with np.errstate(over="ignore"):
        return x.astype(np.float32)


def test_at_most():
    thresholds = np.concatenate([EDGES, np.random.default_rng(0).normal(size=200)])
    x = around(thresholds)
    np.testing.assert_array_equal(x <= at_most(thresholds), rounded(x).astype(np.float64) <= thresholds)


def test_below():
    thresholds = np.concatenate([EDGES, np.random.default_rng(0).normal(size=200)]).astype(np.float32)
    x = around(thresholds.astype(np.float64))
    np.testing.assert_array_equal(x <= below(thresholds), rounded(x) < thresholds)


def test_infinite():
    assert at_most(np.array([np.inf]))[0] == np.inf
    assert at_most(np.array([1e39]))[0] >= 3.4028234663852886e38
