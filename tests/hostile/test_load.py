"""Load and shapes (67, 68)."""

import resource
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from sapwood import BoostingClassifier, BoostingRegressor
from tests.hostile import holds, slow


@slow
@holds(67)
def test_requests_of_one_row_from_eight_threads():
    """20,000 of them: the same answers, and memory stays flat."""
    x = np.random.default_rng(0).normal(size=(2000, 10))
    model = BoostingRegressor(max_iter=100).fit(x, x[:, 0] * x[:, 1])
    expected = model.predict(x)

    def answer(i):
        return model.predict(x[i % 2000 : i % 2000 + 1])[0] == expected[i % 2000]

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(answer, range(2000)))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert all(pool.map(answer, range(20_000)))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000  # KiB


@slow
@holds(68)
def test_wide_tables_many_classes_many_trees():
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(1000, 10_000))
    assert np.isfinite(BoostingRegressor(max_iter=3).fit(wide, wide[:, 0]).predict(wide)).all()
    x = rng.normal(size=(5000, 3))
    classes = rng.integers(0, 1000, 5000)
    assert BoostingClassifier(max_iter=2).fit(x, classes).predict_proba(x).shape == (5000, len(np.unique(classes)))
    assert BoostingRegressor(max_iter=5000, max_leaf_nodes=4).fit(x[:500], x[:500, 0]).n_iter_ == 5000
    long = rng.normal(size=(5_000_000, 5)).astype(np.float32)
    assert BoostingRegressor(max_iter=3).fit(long, long[:, 0]).n_iter_ == 3
