"""The scikit-learn estimators: check what the user gave, train, and keep the model."""

from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import BaseHistGradientBoosting

from sapwood.estimators.base import BaseBoosting
from sapwood.estimators.classifier import BoostingClassifier
from sapwood.estimators.loading import load
from sapwood.estimators.merging import merge
from sapwood.estimators.ranker import BoostingRanker
from sapwood.estimators.regressor import BoostingRegressor

__all__ = ["BoostingClassifier", "BoostingRanker", "BoostingRegressor", "load", "merge"]

# `sklearn.inspection` asks for "recursion" by class, not by method.
BaseHistGradientBoosting.register(BaseBoosting)
