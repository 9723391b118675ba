"""The estimators, with scikit-learn's API."""

from sapwood.estimators.classifier import BoostingClassifier
from sapwood.estimators.merging import merge
from sapwood.estimators.ranker import BoostingRanker
from sapwood.estimators.regressor import BoostingRegressor

__all__ = ["BoostingClassifier", "BoostingRanker", "BoostingRegressor", "merge"]
