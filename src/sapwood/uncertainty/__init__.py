"""How sure a prediction is: intervals and sets that hold with a chosen probability, and probabilities that are what they say.

`ConformalRegressor` and `ConformalClassifier` share `conformal` (training and held-out rows) and `scores` (what is learned from those);
`CalibratedClassifier` maps probabilities by one of the `calibrators`.
"""

from sapwood.uncertainty.calibrated import CalibratedClassifier
from sapwood.uncertainty.classifier import ConformalClassifier
from sapwood.uncertainty.regressor import ConformalRegressor

__all__ = ["CalibratedClassifier", "ConformalClassifier", "ConformalRegressor"]
