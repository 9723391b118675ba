"""What a model makes of its features: `partial_dependence`, by averaging predictions or, quicker, from the trees alone (`recursion`).

`sklearn.inspection.partial_dependence` and `PartialDependenceDisplay` take our estimators too, with both methods.
"""

from sapwood.inspection.dependence import Dependence, partial_dependence

__all__ = ["Dependence", "partial_dependence"]
