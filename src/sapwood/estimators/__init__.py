"""The scikit-learn estimators: check what the user gave, train, and keep the model."""

from sapwood.estimators.classifier import BoostingClassifier
from sapwood.estimators.loading import load
from sapwood.estimators.merging import merge
from sapwood.estimators.ranker import BoostingRanker
from sapwood.estimators.regressor import BoostingRegressor

__all__ = ["BoostingClassifier", "BoostingRanker", "BoostingRegressor", "load", "merge"]
