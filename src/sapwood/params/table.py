"""Each parameter once: its default, its range, what it means."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Integral, Real
from os import PathLike
from typing import Any

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt, StrOptions

from sapwood.encoding import ENCODERS
from sapwood.losses import DEPRECATED_NAMES, RANKING, REGRESSION, TWO_CLASSES, Loss
from sapwood.losses.aft import DISTRIBUTIONS
from sapwood.losses.ranking import MEASURES
from sapwood.losses.registry import REGISTERED
from sapwood.model import Model
from sapwood.params.columns import FeatureSpec
from sapwood.sampling.rows import SAMPLINGS
from sapwood.training.line_search import STEPS
from sapwood.training.modes import BOOSTING
from sapwood.training.multi_output import STRATEGIES
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


class LossNames(StrOptions):
    """The names of a table of losses, and of those that users registered."""

    def is_satisfied_by(self, value: Any) -> bool:
        return super().is_satisfied_by(value) or (isinstance(value, str) and value in REGISTERED)

    def __str__(self) -> str:
        return str(StrOptions(self.options | set(REGISTERED)))


def _positive(kind: type, closed: str = "left", low: float = 1, high: float | None = None) -> Number:
    return Number(kind, low, high, closed=closed)


REGRESSION_LOSSES = {*REGRESSION, "least_squares", "least_absolute_deviation"}
CLASSIFICATION_LOSSES = {*TWO_CLASSES, *(old for old, new in DEPRECATED_NAMES.items() if new == "log_loss")}

COMMON = {
    "learning_rate": Parameter(0.1, [_positive(Real, "neither", 0)], "What each tree's leaf values are multiplied by."),
    "max_iter": Parameter(100, [_positive(Integral)], "The number of rounds; a round is one tree, or some for several outputs or more than two classes (multi_strategy, shared_trees)."),
    "max_leaf_nodes": Parameter(31, [_positive(Integral, low=2), None], "The most leaves of a tree; None for no limit."),
    "max_depth": Parameter(None, [_positive(Integral), None], "The most splits from root to leaf; None for no limit."),
    "min_samples_leaf": Parameter(20, [_positive(Integral)], "The fewest training rows in a leaf."),
    "l2_regularization": Parameter(0.0, [_positive(Real, low=0)], "Added to a leaf's hessian: larger means smaller steps."),
    "max_features": Parameter(1.0, [_positive(Real, "right", 0, 1)], "The share of features, drawn at random, that each node may split on."),
    "max_bins": Parameter(255, [Number(Integral, 2, 65_535, closed="both"), dict, "array-like", FeatureSpec], "The most bins of a feature, besides the one for missing values; or a number for each feature (a dict: for some)."),
    "categorical_features": Parameter("from_dtype", ["array-like", StrOptions({"from_dtype"}), callable, FeatureSpec, None], "Which columns are categories: 'from_dtype': those of text, categories or enums; or names, positions, types, a function that picks them, or a mask; None: none."),
    "categorical_encoding": Parameter("auto", [StrOptions({"auto", *ENCODERS}), list, tuple, dict, FeatureSpec], "How categories become features: onehot, partition, target, count, or a list of them; or a dict from names or positions, the rest being auto: partition up to 255 levels, target above."),
    "datetime_features": Parameter(None, [list, tuple, dict, StrOptions({"auto"}), None], "Calendar parts of datetimes that are features beside the ordered number: year, quarter, month, week (ISO), day, dayofyear, weekday (Monday is 0), hour, minute, second, on the clock of the column's time zone; 'auto': year, month, day, weekday, hour and minute, where they differ; or a dict from columns to one of these."),
    "cat_smooth": Parameter(30.0, [_positive(Real, low=0)], "partition: hessian that each level's gradient is shared with where a node puts its levels in order."),
    "cat_l2": Parameter(30.0, [_positive(Real, low=0)], "partition: more l2_regularization for splits that are found in that order."),
    "min_samples_level": Parameter(50, [_positive(Integral)], "partition: levels with fewer rows in a node are put in order as one."),
    "target_prior": Parameter(1.0, [_positive(Real, "neither", 0)], "target: how many rows the mean of all counts for in a level's mean."),
    "target_permutations": Parameter(1, [_positive(Integral)], "target: orders of the rows in which those before a row give its mean; means are averaged."),
    "max_combination": Parameter(1, [Number(Integral, 1, 3, closed="both")], "target: the most categories that are combined; above 1, each pair (triple) of them has a mean of its own."),
    "monotonic_cst": Parameter(None, ["array-like", dict, FeatureSpec, None], "1 where predictions must not fall as a feature rises, -1 where they must not rise, 0 else: for each feature, or a dict from columns: names, positions, types, or functions such as scikit-learn's make_column_selector."),
    "interaction_cst": Parameter(None, [list, tuple, set, StrOptions({"pairwise", "no_interactions"}), FeatureSpec, None], "Groups of features that may meet on a path; 'pairwise', 'no_interactions'."),
    "feature_spec": Parameter(None, [FeatureSpec, None], "All that is to be said of columns, in one object, instead of categorical_features, categorical_encoding, monotonic_cst, interaction_cst, feature_weights, max_bins and cut_points."),
    "missing": Parameter(None, [Real, str, list, tuple, None], "A value, or several, that mean missing, besides NaN, None, NA and what is masked."),
    "sparse_absent": Parameter("zero", [StrOptions({"zero", "missing"})], "What entries mean that a sparse table does not have: zero, or missing."),
    "init": Parameter(None, [None, Model, HasMethods(["fit", "predict"])], "An estimator or model whose raw predictions are the start, when predicting too; fitted to the training rows if it is not yet."),
    "warm_start": Parameter(False, ["boolean"], "Whether `fit` goes on from the last model."),
    "early_stopping": Parameter("auto", [StrOptions({"auto"}), "boolean"], "Whether to stop when the score no longer improves; 'auto': with X_val, or above 10,000 rows if there is something to watch."),
    "scoring": Parameter("loss", [str, callable, None], "What early stopping watches: 'loss', the name of a metric (sapwood.metrics), or any scikit-learn scorer; None for the estimator's own."),
    "validation_fraction": Parameter(0.1, [_positive(RealNotInt, "neither", 0, 1), _positive(Integral), None], "The share (or number) of rows kept aside for early stopping; None: watch the training score."),
    "validation_split": Parameter(None, ["cv_object"], "A splitter of scikit-learn (or an iterable of pairs) whose last split says which rows are kept aside, instead of validation_fraction; `fit` takes `groups` for it."),
    "n_iter_no_change": Parameter(10, [_positive(Integral)], "How many rounds without improvement end training."),
    "tol": Parameter(1e-7, [_positive(Real, low=0)], "What counts as improvement must exceed this."),
    "verbose": Parameter(0, ["verbose"], "1: a progress bar, in a terminal or notebook; 2 or more: a line a round."),
    "random_state": Parameter(None, ["random_state"], "The seed of all that is random; None is a fixed seed of its own, so that fits repeat."),
    "n_jobs": Parameter(None, [Integral, None], "Threads: None or -1 for all available CPUs. The model never depends on it."),
    "grow_policy": Parameter("leafwise", [StrOptions(set(FRONTIERS))], "Split the best leaf next, or all leaves of a level."),
    "l1_regularization": Parameter(0.0, [_positive(Real, low=0)], "Taken off the size of a leaf's gradient sum: small ones become zero."),
    "min_gain": Parameter(0.0, [_positive(Real, low=0)], "What a split must gain, in G^2 / (H + l2) of the children less the parent's."),
    "min_hessian": Parameter(None, [_positive(Real, low=0), None], "The least sum of hessians in a leaf; None for what suits the loss."),
    "max_step": Parameter(None, [_positive(Real, "neither", 0), None], "The most that a leaf's value may be before the learning rate; None for what suits the loss."),
    "step": Parameter("newton", [StrOptions(set(STEPS))], "newton: each leaf's own step; line_search: a tree is also multiplied by what is best for all training rows, before the learning rate."),
    "path_smooth": Parameter(0.0, [_positive(Real, low=0)], "How many rows a parent's value counts for in its children's."),
    "extra_trees": Parameter(False, ["boolean"], "Whether each node tries one random threshold a feature instead of all."),
    "score_noise": Parameter(0.0, [_positive(Real, low=0)], "Noise, relative, of features' gains where they are compared."),
    "feature_weights": Parameter(None, ["array-like", dict, FeatureSpec, None], "What features' gains are multiplied by where they are compared: for each feature, or a dict from names or positions."),
    "max_features_level": Parameter(1.0, [_positive(Real, "right", 0, 1)], "The share of features drawn for each level of a tree."),
    "max_features_tree": Parameter(1.0, [_positive(Real, "right", 0, 1)], "The share of features drawn for each tree."),
    "subsample": Parameter(1.0, [_positive(Real, "right", 0, 1)], "The share of rows that each tree is grown on (sampling='uniform' and 'mvs')."),
    "sampling": Parameter("uniform", [StrOptions(set(SAMPLINGS))], "How rows are drawn: uniform; goss: the largest gradients and some others, after the first 1 / learning_rate rounds; mvs: with minimal variance; bayesian: all, with random weights. For mvs and bayesian only splits are sought on what is drawn: leaves get their values from all rows."),
    "goss_top": Parameter(0.2, [_positive(Real, "neither", 0, 1)], "sampling='goss': the share of rows with the largest gradients that are kept."),
    "goss_other": Parameter(0.1, [_positive(Real, "neither", 0, 1)], "sampling='goss': the share of rows drawn from the others."),
    "bagging_temperature": Parameter(1.0, [_positive(Real, low=0)], "sampling='bayesian': 0 for equal weights, 1 for exponential ones."),
    "boosting": Parameter("plain", [StrOptions(set(BOOSTING))], "plain; ordered: for small data: splits are sought and kept by rows that had no part in the predictions they are judged by; dart: some trees are left out while the next one is grown; forest: trees do not know of each other."),
    "boosting_permutations": Parameter(4, [_positive(Integral)], "boosting='ordered': orders of the rows, each of which says by which rows a row is predicted."),
    "drop_rate": Parameter(0.1, [_positive(Real, low=0, high=1, closed="both")], "boosting='dart': the share of rounds left out."),
    "skip_drop": Parameter(0.5, [_positive(Real, low=0, high=1, closed="both")], "boosting='dart': the share of rounds in which none is left out."),
    "max_drop": Parameter(50, [_positive(Integral), None], "boosting='dart': the most rounds left out at once."),
    "forced_splits": Parameter(None, [dict, str, PathLike, None], "Splits at the top of every tree: {'feature': ..., 'threshold': ..., 'left': {...}, 'right': {...}}, or JSON."),
    "cut_points": Parameter(None, [dict, FeatureSpec, None], "From names or positions of features to their cut points, instead of those found in the data."),
    "min_rows_in_bin": Parameter(1, [_positive(Integral)], "The fewest rows in a bin."),
    "bin_sample_rows": Parameter(200_000, [_positive(Integral), None], "The most rows that decide on cut points; None: all, by a sketch of their quantiles."),
    "monotonic_method": Parameter("basic", [StrOptions({"basic", "neighbours"})], "How monotonic_cst is kept: basic: both sides of a split stay apart by the middle of their values; neighbours: leaves are bounded by the leaves next to them, which leaves more room and takes longer."),
    "tree_method": Parameter("hist", [StrOptions({"hist", "exact", "approx", "auto"})], "How splits are found: hist: on bins; exact: on every value; approx: on quantiles, weighted by hessians, proposed anew for each tree; auto: hist."),
    "multi_strategy": Parameter("auto", [StrOptions(set(STRATEGIES))], "Several outputs, or more than two classes: one_output_per_tree: each has its own trees; multi_output_tree: trees are shared, their leaves hold a value for each; auto: shared by classes and quantiles."),
    "shared_trees": Parameter("auto", [_positive(Integral, high=1000, closed="both"), StrOptions({"auto"})], "Shared trees in a round; auto: 1 below 10,000 rows, then n_outputs - 1, at most 3."),
    "approx_proposal": Parameter("global", [StrOptions({"global", "local"})], "tree_method='approx': whether max_bins quantiles are proposed once for a tree or again for each node."),
}  # fmt: skip

REGRESSOR = {
    "loss": Parameter("squared_error", [LossNames(REGRESSION_LOSSES), Loss, callable], f"{', '.join(REGRESSION)}, a registered name, a `Loss`, or a function (y, raw) -> (gradient, hessian)."),
    "quantile": Parameter(None, [None, Number(Real, 0, 1, closed="both"), list, tuple, np.ndarray], "loss='quantile': which; None is the median. Several, ascending: a column is predicted for each, and they never cross."),
    "expectile": Parameter(0.5, [Number(Real, 0, 1, closed="neither")], "loss='expectile': the weight of targets above the prediction."),
    "huber_delta": Parameter(1.0, [_positive(Real, "neither", 0)], "loss='huber': where squared error ends and absolute error begins."),
    "tweedie_power": Parameter(1.5, [Number(Real, 1, 2, closed="neither")], "loss='tweedie': variance is the mean to this power: near 1 as poisson's, near 2 as gamma's."),
    "aft_distribution": Parameter("normal", [StrOptions(set(DISTRIBUTIONS))], "loss='aft': the distribution of the logarithm of times around its prediction."),
    "aft_sigma": Parameter(1.0, [_positive(Real, "neither", 0)], "loss='aft': the scale of that distribution."),
    **COMMON,
}  # fmt: skip
CLASSIFIER = {
    "loss": Parameter("log_loss", [LossNames(CLASSIFICATION_LOSSES), Loss, callable], "log_loss or focal, for two classes or more, a registered name, a `Loss`, or a function (y, raw) -> (gradient, hessian)."),
    "focal_gamma": Parameter(2.0, [_positive(Real, low=0)], "loss='focal': 0 is log_loss; the larger, the less rows count that are nearly right."),
    **COMMON,
    "stratified": Parameter(False, ["boolean"], "sampling='uniform': whether the share `subsample` holds for the rows of each class."),
    "class_weight": Parameter(None, [dict, StrOptions({"balanced"}), None], "Weights of classes; 'balanced': inverse to their frequency."),
}  # fmt: skip
RANKER = {
    "loss": Parameter(
        "lambdamart",
        [StrOptions(set(RANKING))],
        "lambdamart: pairs of rows, weighed by what their swap would change in rank_metric; pairwise: all pairs alike; xendcg: cross-entropy of whole queries, a bound of NDCG.",
    ),
    "rank_metric": Parameter(
        "ndcg",
        [StrOptions(set(MEASURES))],
        "loss='lambdamart': ndcg; map: mean average precision; mrr: mean reciprocal rank (map and mrr: relevant are rows with y > 0).",
    ),
    "lambdarank_truncation": Parameter(
        30, [_positive(Integral)], "loss='lambdamart': pairs count that have a row among so many at the top of a query."
    ),
    "lambdarank_norm": Parameter(
        True,
        ["boolean"],
        "loss='lambdamart': whether pairs count less the further apart their scores are, and queries by the logarithm of their pairs.",
    ),
    "label_gain": Parameter(None, ["array-like", None], "What a relevance of 0, 1, 2, ... is worth; None for 2^y - 1."),
    **COMMON,
    "sampling_unit": Parameter(
        "row", [StrOptions({"row", "query"})], "sampling='uniform': whether `subsample` draws rows or whole queries."
    ),
}


def changed(parameters: dict[str, Parameter], values: dict[str, Any]) -> dict[str, Any]:
    """The values that are not the defaults: those need no check."""

    def same(name: str, value: Any) -> bool:
        default = parameters[name].default
        return type(value) is type(default) and bool(value == default)

    return {name: value for name, value in values.items() if name not in parameters or not same(name, value)}


def constraints(parameters: dict[str, Parameter]) -> dict[str, list[Any]]:
    """In the form that scikit-learn checks."""
    return {name: parameter.allowed for name, parameter in parameters.items()}


def constructor(parameters: dict[str, Parameter]) -> Callable[..., None]:
    """An `__init__` that takes these parameters, the first by position too, and keeps them as they are, as scikit-learn wants it."""
    kinds = [inspect.Parameter.POSITIONAL_OR_KEYWORD] + [inspect.Parameter.KEYWORD_ONLY] * (len(parameters) - 1)
    me = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    takes = [inspect.Parameter(name, kind, default=p.default) for (name, p), kind in zip(parameters.items(), kinds, strict=True)]
    signature = inspect.Signature([me, *takes])

    def __init__(*args: Any, **kwargs: Any) -> None:
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        self, *values = given.arguments.values()
        vars(self).update(zip(parameters, values, strict=True))

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__


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
