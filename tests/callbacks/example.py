"""Data and estimators of the callback tests."""

import numpy as np

from sapwood import BoostingRegressor

rng = np.random.default_rng(0)
X = rng.normal(size=(600, 4))
Y = X[:, 0] + np.sin(3 * X[:, 1]) + 0.3 * rng.normal(size=600)
NEW, NEW_Y = X[400:], Y[400:]


def regressor(**parameters):
    return BoostingRegressor(**{"max_iter": 12, "max_leaf_nodes": 6, "early_stopping": False, **parameters})
