"""Partial dependence, by averaging predictions ("brute") or, faster, from the trees alone ("recursion").

`sklearn.inspection.partial_dependence` and `PartialDependenceDisplay` also accept Sapwood estimators, with both methods.
"""

from sapwood.inspection.dependence import Dependence, partial_dependence

__all__ = ["Dependence", "partial_dependence"]
