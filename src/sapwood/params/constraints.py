"""Constraints on parameter values, as scikit-learn checks them.

scikit-learn has no public module for them; this is the only place that imports the private one. Its own estimator checks recognize
these classes.
"""

from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt, StrOptions, validate_parameter_constraints

__all__ = ["HasMethods", "Interval", "RealNotInt", "StrOptions", "validate_parameter_constraints"]
