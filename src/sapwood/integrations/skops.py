"""skops: names of the types to trust.

skops trusts the types of scikit-learn and NumPy; others have to be named when a file is loaded. The state of a Sapwood estimator is plain
data, so that the class of the estimator is the only one.
"""

from __future__ import annotations

from sapwood import BoostingClassifier, BoostingRanker, BoostingRegressor

TRUSTED = [f"{kind.__module__}.{kind.__qualname__}" for kind in (BoostingClassifier, BoostingRegressor, BoostingRanker)]

__all__ = ["TRUSTED"]
