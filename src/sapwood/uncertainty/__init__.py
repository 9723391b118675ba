"""Prediction intervals and prediction sets with guaranteed coverage, and calibrated probabilities.

`ConformalRegressor` and `ConformalClassifier` share `conformal` (training and held-out rows) and `scores` (conformity scores of held-out
rows). `CalibratedClassifier` maps raw predictions to probabilities with one of the `calibrators`.
"""

from sapwood.uncertainty.calibrated import CalibratedClassifier
from sapwood.uncertainty.classifier import ConformalClassifier
from sapwood.uncertainty.regressor import ConformalRegressor

__all__ = ["CalibratedClassifier", "ConformalClassifier", "ConformalRegressor"]
