import numpy as np
import pytest

from sapwood.data import binning as module
from sapwood.data.binning import Binning
from sapwood.data.tables import ArrayTable
from sapwood.runtime.execution import SERIAL, Execution
from tests.reference import binning as twin


def cuts_of(binning):
    return [binning.cuts[a:b] for a, b in zip(binning.begin[:-1], binning.begin[1:], strict=True)]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])  # the last is converted
@pytest.mark.parametrize("n_features", [1, 16, 17, 40])
def test_fit_equals_twin(dtype, n_features):
    rng = np.random.default_rng(n_features)
    x = rng.normal(size=(300, n_features)).astype(dtype)
    x[rng.random(x.shape) < 0.05] = np.nan
    weight, rows = rng.integers(1, 9, 300) / 4, np.flatnonzero(rng.random(300) < 0.6)
    for given_weight, given_rows in ((None, None), (weight, None), (None, rows), (weight, rows)):
        binning = Binning.fit(ArrayTable(x), 30, given_weight, given_rows, 0, Execution(2))
        chosen = slice(None) if given_rows is None else given_rows
        own = None if given_weight is None else weight[chosen]
        assert binning.n_features == n_features
        for f, cuts in enumerate(cuts_of(binning)):
            np.testing.assert_array_equal(cuts, twin.cut_points(x[chosen, f], 30, own))


def test_many_rows_are_sampled():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4000, 2))
    for rows in (None, np.flatnonzero(rng.random(4000) < 0.5)):
        n = 4000 if rows is None else len(rows)
        picked = module.kernels.sample_rows(n, 0, 500 / n, 7)
        assert 400 < len(picked) < 600
        chosen = x[picked if rows is None else rows[picked]]
        for f, cuts in enumerate(cuts_of(Binning.fit(ArrayTable(x), 30, None, rows, 7, SERIAL, sample_rows=500))):
            np.testing.assert_array_equal(cuts, twin.cut_points(chosen[:, f], 30))


def test_thresholds():
    binning = Binning([np.array([1.0, 2.0]), np.empty(0), np.array([5.0])])
    np.testing.assert_array_equal(
        binning.thresholds(np.array([0, 0, 0, 1, 2, 2]), np.array([0, 1, 2, 0, 0, 1])), [1.0, 2.0, np.inf, np.inf, 5.0, np.inf]
    )
    np.testing.assert_array_equal(binning.missing_bins, [3, 1, 2])
    np.testing.assert_array_equal(Binning([np.empty(0)]).thresholds(np.array([0]), np.array([0])), [np.inf])
