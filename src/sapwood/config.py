"""Each parameter once: its default, its range, what it means."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions

from sapwood.losses import OLDER_NAMES, REGRESSION
from sapwood.trees.frontier import FRONTIERS


@dataclass(frozen=True)
class Parameter:
    """A constructor's parameter."""

    default: Any
    allowed: list[Any]
    doc: str


class Number(Interval):
    """An interval of numbers. True and False are not among them, though Python counts them as 1 and 0."""

    def is_satisfied_by(self, value: Any) -> bool:
        return not isinstance(value, bool) and super().is_satisfied_by(value)


def _positive(kind: type, closed: str = "left", low: float = 1, high: float | None = None) -> Number:
    return Number(kind, low, high, closed=closed)


REGRESSION_LOSSES = {*REGRESSION, "least_squares", "least_absolute_deviation"}
CLASSIFICATION_LOSSES = {"log_loss", *(old for old, new in OLDER_NAMES.items() if new == "log_loss")}

COMMON = {
    "learning_rate": Parameter(0.1, [_positive(Real, "neither", 0)], "What each tree's leaf values are multiplied by."),
    "max_iter": Parameter(100, [_positive(Integral)], "The number of rounds; a round is one tree, or one tree a class."),
    "max_leaf_nodes": Parameter(31, [_positive(Integral, low=2), None], "The most leaves of a tree; None for no limit."),
    "max_depth": Parameter(None, [_positive(Integral), None], "The most splits from root to leaf; None for no limit."),
    "min_samples_leaf": Parameter(20, [_positive(Integral)], "The fewest training rows in a leaf."),
    "l2_regularization": Parameter(0.0, [_positive(Real, low=0)], "Added to a leaf's hessian: larger means smaller steps."),
    "max_features": Parameter(1.0, [_positive(Real, "right", 0, 1)], "The share of features, drawn at random, that each node may split on."),
    "max_bins": Parameter(255, [Number(Integral, 2, 255, closed="both")], "The most bins of a feature, besides the one for missing values."),
    "categorical_features": Parameter("from_dtype", ["array-like", StrOptions({"from_dtype"}), None], "Not yet: leave at the default."),
    "monotonic_cst": Parameter(None, ["array-like", dict, None], "Not yet: leave at None."),
    "interaction_cst": Parameter(None, [list, tuple, StrOptions({"pairwise", "no_interactions"}), None], "Not yet: leave at None."),
    "warm_start": Parameter(False, ["boolean"], "Whether `fit` goes on from the last model."),
    "early_stopping": Parameter("auto", [StrOptions({"auto"}), "boolean"], "Whether to stop when the score no longer improves; 'auto': with X_val, or above 10,000 rows."),
    "scoring": Parameter("loss", [str, callable, None], "What early stopping watches: 'loss', or any scikit-learn scorer; None for the estimator's own."),
    "validation_fraction": Parameter(0.1, [_positive(RealNotInt, "neither", 0, 1), _positive(Integral), None], "The share (or number) of rows kept aside for early stopping; None: watch the training score."),
    "n_iter_no_change": Parameter(10, [_positive(Integral)], "How many rounds without improvement end training."),
    "tol": Parameter(1e-7, [_positive(Real, low=0)], "What counts as improvement must exceed this."),
    "verbose": Parameter(0, ["verbose"], "Print a line a round."),
    "random_state": Parameter(None, ["random_state"], "The seed of all that is random; None is a fixed seed of its own, so that fits repeat."),
    "n_jobs": Parameter(None, [Integral, None], "Threads: None or -1 for all available CPUs. The model never depends on it."),
    "grow_policy": Parameter("leafwise", [StrOptions(set(FRONTIERS))], "Split the best leaf next, or all leaves of a level."),
}  # fmt: skip

REGRESSOR = {
    "loss": Parameter("squared_error", [StrOptions(REGRESSION_LOSSES)], "squared_error, absolute_error, poisson or gamma."),
    "quantile": Parameter(None, [None, Number(Real, 0, 1, closed="both")], "Not yet: leave at None."),
    **COMMON,
}
CLASSIFIER = {
    "loss": Parameter("log_loss", [StrOptions(CLASSIFICATION_LOSSES)], "log_loss, for two classes or more."),
    **COMMON,
    "class_weight": Parameter(None, [dict, StrOptions({"balanced"}), None], "Weights of classes; 'balanced': inverse to their frequency."),
}


def constraints(parameters: dict[str, Parameter]) -> dict[str, list[Any]]:
    """In the form that scikit-learn checks."""
    return {name: parameter.allowed for name, parameter in parameters.items()}


def describe(parameters: dict[str, Parameter]) -> str:
    """The parameter section of a docstring."""
    return "\n".join(f"    {name} : default {p.default!r}\n        {p.doc}" for name, p in parameters.items())


def check_names(cls: type, given: Iterable[str], parameters: dict[str, Parameter], error: type[Exception]) -> None:
    """Raise for a name that is no parameter, with the nearest one that is."""
    for name in given:
        if name not in parameters:
            near = difflib.get_close_matches(name, parameters, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else "."
            raise error(f"{cls.__name__} has no parameter {name!r}{hint} The parameters are: {', '.join(parameters)}")
