"""Determinism and concurrency (39, 41, 42)."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from sapwood import BoostingClassifier, BoostingRegressor
from tests.hostile import holds

X = np.random.default_rng(0).normal(size=(2000, 5))
X[::7, 2] = np.nan
Y = np.nan_to_num(X[:, 0] * X[:, 1] + X[:, 2])


@holds(39)
def test_rows_alone_and_together():
    for model in (BoostingRegressor(max_iter=20).fit(X, Y), BoostingClassifier(max_iter=20).fit(X, np.digitize(Y, [-0.5, 0.5]))):
        raw = model.model_.predict(X, raw=True)
        np.testing.assert_array_equal([model.model_.predict(X[i : i + 1], raw=True)[0] for i in range(0, 2000, 50)], raw[::50])
    staged = BoostingRegressor(max_iter=20).fit(X, Y)
    np.testing.assert_array_equal(list(staged.staged_predict(X))[-1], staged.predict(X))


@holds(41)
def test_many_threads_predict_with_one_model():
    model = BoostingRegressor(max_iter=20).fit(X, Y)
    expected = model.predict(X)
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: model.predict(X), range(32)):
            np.testing.assert_array_equal(found, expected)


@holds(42)
def test_threads_fit_at_once():
    def fit(seed):
        return BoostingRegressor(max_iter=10, subsample=0.5, random_state=seed).fit(X, Y).to_bytes()

    alone = [fit(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(fit, range(4))) == alone
