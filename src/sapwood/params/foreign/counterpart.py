"""Counterpart of a parameter of another library, and the counterparts that several libraries share."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Counterpart:
    """Counterpart of a parameter of another library.

    Attributes
    ----------
    ours : name of the parameter of Sapwood, or of the argument of `fit`; empty if there is none
    note : how the value translates, or why there is no counterpart
    convert : function of the value that returns parameters of Sapwood with their values; None if there is no rule
    in_fit : whether `ours` is an argument of `fit`
    harmless : whether the model is the same without the parameter
    """

    ours: str
    note: str = "with the same value"
    convert: Callable[[Any], Mapping[str, Any]] | None = None
    in_fit: bool = False
    harmless: bool = False

    def translate(self, value: Any) -> Mapping[str, Any]:
        """Return the parameters of Sapwood for a value; empty if there is no rule for it."""
        return self.try_to_translate(value) or {}

    def try_to_translate(self, value: Any) -> Mapping[str, Any] | None:
        """Return the parameters of Sapwood for a value, which may be none at all; None if there is no rule for it."""
        if self.convert is None:
            return None
        try:
            return self.convert(value)
        except (TypeError, ValueError, KeyError, AttributeError):
            return None

    def describe(self, of_fit: bool = False) -> str:
        """Return advice that does not depend on the value. `of_fit`: whether the parameter was passed to `fit`."""
        where = f"fit({self.ours}=...)" if self.in_fit else f"{self.ours} of the constructor" if of_fit else self.ours
        return f"use {where}, {self.note}" if self.ours else self.note


@dataclass(frozen=True)
class Method:
    """Counterpart of a class, function, method or attribute of another library."""

    theirs: str
    ours: str
    note: str = ""


@dataclass(frozen=True)
class Library:
    """Names of another library.

    Attributes
    ----------
    name : name of the library
    names : counterparts of its parameters and arguments of `fit`, by name
    losses : parameters of Sapwood for each name of a loss
    methods : counterparts of its classes, functions, methods and attributes
    defaults : parameters of Sapwood that correspond to the library's defaults
    adjust : changes translated parameters that depend on several given ones: a function of the given parameters and of the translated ones
    """

    name: str
    names: Mapping[str, Counterpart]
    losses: Mapping[str, Mapping[str, Any]]
    methods: Sequence[Method] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)
    adjust: Callable[[Mapping[str, Any], dict[str, Any]], None] = lambda given, ours: None


def same(ours: str, note: str = "with the same value") -> Counterpart:
    """Return a counterpart with the same values."""
    return Counterpart(ours, note, lambda value: {ours: value})


def near(ours: str, note: str) -> Counterpart:
    """Return a counterpart whose value the user has to choose."""
    return Counterpart(ours, note)


def fit_argument(ours: str, note: str = "with the same value") -> Counterpart:
    """Return a counterpart that is an argument of `fit`."""
    return Counterpart(ours, note, lambda value: {ours: value}, in_fit=True)


def none(why: str) -> Counterpart:
    """Return the entry of a parameter that has no counterpart."""
    return Counterpart("", why)


def needless(why: str) -> Counterpart:
    """Return the entry of a parameter that has no counterpart because it does not change the model."""
    return Counterpart("", why, harmless=True)


def limit(ours: str) -> Counterpart:
    """Return the counterpart of a limit for which 0 and negative values mean no limit in the other library."""
    note = "with the same value; None where the other library has 0 or -1"
    return Counterpart(ours, note, lambda value: {ours: value if value is not None and value > 0 else None})


def mapped(ours: str, table: Mapping[str, Mapping[str, Any]], note: str) -> Counterpart:
    """Return a counterpart whose values are listed in a table."""
    return Counterpart(ours, note, lambda value: table[str(value)])


def losses(table: Mapping[str, Mapping[str, Any]]) -> Counterpart:
    """Return the counterpart of the loss."""
    return Counterpart("loss", "for example 'squared_error', 'log_loss' or 'lambdamart'", lambda value: _loss(table, str(value)))


def with_synonyms(entries: Mapping[str | tuple[str, ...], Counterpart]) -> dict[str, Counterpart]:
    """Return the counterparts by name; several names of one entry are a tuple."""
    return {name: entry for names, entry in entries.items() for name in ((names,) if isinstance(names, str) else names)}


LOSS_OPTIONS = {
    ("quantile", "alpha"): "quantile",
    ("expectile", "alpha"): "expectile",
    ("huber", "delta"): "huber_delta",
    ("tweedie", "variance_power"): "tweedie_power",
    ("focal", "focal_gamma"): "focal_gamma",
    ("aft", "dist"): "aft_distribution",
    ("aft", "scale"): "aft_sigma",
}


def _loss(table: Mapping[str, Mapping[str, Any]], value: str) -> dict[str, Any]:
    """Return the parameters of a loss such as 'Quantile:alpha=0.9'."""
    name, _, options = (value, "", "") if value in table else value.partition(":")
    ours = dict(table[name])
    for option in filter(None, options.split(";")):
        key, _, text = option.partition("=")
        if (own := LOSS_OPTIONS.get((ours["loss"], key))) is not None:
            ours[own] = text.lower() if own == "aft_distribution" else float(text)
    return ours


def _rounds(value: Any) -> dict[str, Any]:
    return {"early_stopping": True, "n_iter_no_change": value} if value else {"early_stopping": False}


def _listed(ours: str) -> Counterpart:
    """Return the counterpart of constraints, which may be written as text: '(1, 0, -1)'."""

    def convert(value: Any) -> dict[str, Any]:
        return {ours: json.loads(value.replace("(", "[").replace(")", "]")) if isinstance(value, str) else value}

    return Counterpart(ours, "with the same value", convert)


def _device(value: str) -> str:
    return "cpu" if value == "cpu" else {"gpu": "gpu", "cuda": "gpu", "sycl": "gpu"}[value.partition(":")[0]]


def _bins(value: int) -> dict[str, Any]:
    return {"max_bins": 255 if value == 256 else min(value, 65_535)}


ROUNDS = same("max_iter")
RATE = same("learning_rate")
SEED = same("random_state")
THREADS = same("n_jobs")
LEAVES = limit("max_leaf_nodes")
DEPTH = limit("max_depth")
L1, L2 = same("l1_regularization"), same("l2_regularization")
GAIN = same("min_gain", "with the same value: both are G^2 / (H + l2) of the children minus that of the parent")
HESSIAN = same("min_hessian")
LEAF_ROWS = same("min_samples_leaf")
SUBSAMPLE = same("subsample", "with the same value; a new sample is drawn for every tree")
EVERY_TREE = needless("leave it out: a new sample is drawn for every tree")
BY_TREE, BY_LEVEL, BY_NODE = same("max_features_tree"), same("max_features_level"), same("max_features")
BINS = Counterpart("max_bins", "with the same value; 255 instead of 256", _bins)
MAX_STEP = Counterpart("max_step", "with the same value; None instead of 0", lambda value: {"max_step": value or None})
STOPPING = Counterpart("n_iter_no_change", "with the same value, and early_stopping=True", _rounds)
MIN_DELTA = same("tol")
CATEGORIES = same("categorical_features", "which takes names, positions, dtypes or a mask; categorical columns of data frames are found")
MONOTONIC, INTERACTION = _listed("monotonic_cst"), _listed("interaction_cst")
VERBOSE = Counterpart("verbose", "0 for none, 1 for a progress bar, 2 for a line per round", lambda value: {"verbose": max(0, int(value))})
DEVICE = Counterpart("device", "'cpu', 'gpu' or 'opencl:PLATFORM.DEVICE'", lambda value: {"device": _device(str(value).lower())})
DEVICE_DETAIL = needless("leave it out: device='opencl:PLATFORM.DEVICE' selects one of several devices; the model does not depend on it")
AUTOMATIC = needless("leave it out: it is chosen automatically, and does not change the model")
REPRODUCIBLE = needless("leave it out: fits are always reproducible")
NO_FILES = needless("leave it out: fit takes tables, and no files are written unless asked for")
CLASS_COUNT = needless("leave it out: the number of classes is that of y")
ALWAYS_TREES = needless("leave it out: the model is always made of trees; leaf_model='linear' has linear functions in the leaves")
EVAL_METRIC = fit_argument("eval_metric")
CALLBACKS = fit_argument("callbacks", "with callbacks of sapwood.callbacks")
WEIGHT, GROUP, QID = fit_argument("sample_weight"), fit_argument("group"), fit_argument("qid")
OFFSET = fit_argument("offset", "with the initial raw predictions")
EVAL_SETS = fit_argument("eval_sets", "with the same (X, y) pairs; a single set decides on early stopping. Or fit(X_val=..., y_val=...)")
IN_EVAL_SETS = fit_argument("eval_sets", "whose sets are (X, y, sample_weight, offset), or dicts of the arguments of fit")
INIT_MODEL = fit_argument("init_model", "with a fitted estimator, a Model or a path")
NO_NAMES = needless("leave it out: names are those of the columns of a data frame")
IMPORTANCE = needless("leave it out, and call importances('gain'), importances('split') or importances('cover')")
WEIGHT_OF_POSITIVES = Counterpart(
    "class_weight", "a dict of class to weight", lambda value: {"class_weight": {0: 1.0, 1: float(value)}} if value != 1 else {}
)
QUANTILE_OR_HUBER = same("quantile", "with the same value for loss='quantile'; huber_delta for loss='huber'")
DART_SCALE = none("leave it out: dropped trees are drawn uniformly, and scaled as in the DART paper")

BOOSTING = mapped(
    "boosting",
    {
        **{key: {"boosting": "plain"} for key in ("gbtree", "gbdt", "traditional", "Plain")},
        "dart": {"boosting": "dart"},
        "Ordered": {"boosting": "ordered"},
        **{key: {"boosting": "forest"} for key in ("rf", "random_forest")},
        "goss": {"sampling": "goss"},
    },
    "'plain', 'ordered', 'dart' or 'forest'",
)
POLICY = mapped(
    "grow_policy",
    {
        **{key: {"grow_policy": "depthwise"} for key in ("depthwise", "Depthwise")},
        **{key: {"grow_policy": "leafwise"} for key in ("lossguide", "Lossguide")},
        "SymmetricTree": {"grow_policy": "symmetric"},
    },
    "'symmetric', 'depthwise' or 'leafwise'",
)
SAMPLING = mapped(
    "sampling",
    {
        "uniform": {"sampling": "uniform"},
        "gradient_based": {"sampling": "mvs"},
        "goss": {"sampling": "goss"},
        "bagging": {"sampling": "uniform"},
        "Bayesian": {"sampling": "bayesian"},
        "Bernoulli": {"sampling": "uniform"},
        "MVS": {"sampling": "mvs"},
        "No": {"sampling": "uniform", "subsample": 1.0},
    },
    "'uniform', 'goss', 'mvs' or 'bayesian'",
)
