"""Tests with libraries that use models (extra `clients`): `make clients`. `make test` does not collect this folder."""

from __future__ import annotations

import matplotlib
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

from sapwood import BoostingClassifier, BoostingRegressor

matplotlib.use("agg")


@pytest.fixture(scope="session")
def cancer():
    return load_breast_cancer(return_X_y=True, as_frame=True)


@pytest.fixture(scope="session")
def diabetes():
    return load_diabetes(return_X_y=True, as_frame=True)


@pytest.fixture(scope="session")
def classifier(cancer):
    return BoostingClassifier(max_iter=20).fit(*cancer)


@pytest.fixture(scope="session")
def regressor(diabetes):
    return BoostingRegressor(max_iter=20).fit(*diabetes)
