"""Presets: values of the parameters that are 'auto', chosen from the shape of the data.

A preset is a function of the shape of a fit that returns choices: a value for each parameter that may be 'auto', and why. An explicit value
of a parameter is never changed. The choices of a fit, given explicitly, give the same model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from sapwood.data.binning import MAX_CUTS
from sapwood.params.columns import FeatureSpec
from sapwood.params.signatures import CommonParameters, ResolvedParameters

AUTO = "auto"
PER_OUTPUT = "per_output"  # early stopping of each output
NONE_IS_AUTO = frozenset({"min_hessian"})  # parameters whose default is None, which presets may replace
TINY_ROWS = 100  # below, rows are too few for folds
VERY_FEW_ROWS = 1_000  # below, trees are smaller
FEW_ROWS = 5_000  # below, models of folds are averaged; from here on, rows are held out once
MANY_ROWS = 20_000
VERY_MANY_ROWS = 50_000  # from here on, fewer and larger steps bound the time of a fit to that of about 1,000 rounds
MANY_FEATURES = 200  # from here on, models of folds have fewer and larger steps
MIN_HESSIAN_ROWS = 0.004  # rows of mean hessian that a leaf must have: 0.001 for two classes of equal size
LONGEST = 60  # characters of a parameter and its value as text

# Values of scikit-learn's HistGradientBoosting, and of parameters that it does not have.
CLASSIC: dict[str, Any] = {
    "learning_rate": 0.1,
    "max_iter": 100,
    "grow_policy": "leafwise",
    "max_leaf_nodes": 31,
    "max_depth": None,
    "min_samples_leaf": 20,
    "l2_regularization": 0.0,
    "subsample": 1.0,
    "max_features_tree": 1.0,
    "extra_trees": False,
    "cat_smooth": 30.0,
    "cat_l2": 30.0,
    "min_samples_level": 50,
    "early_stopping": AUTO,
    "validation_folds": None,
    "refit_all": False,
    "n_models": 1,
    "n_iter_no_change": 10,
    "cross_features": None,
}


@dataclass(frozen=True)
class Shape:
    """Facts about the data and the arguments of a fit that presets decide by.

    Attributes
    ----------
    kind : 'regression', 'count' (log link), 'binary', 'multiclass', 'ranking' or 'survival'
    measure_hessian : computes the mean hessian of a row at the base score: what a row is worth in units of `l2_regularization`
    validates : whether the user gave validation rows
    single : why there can be one training run only; '' if there can be several
    leafwise : why trees cannot be symmetric; '' if they can
    policy : growth policy that the user gave; '' for none
    stops : whether rounds can be chosen by held-out rows
    separate_outputs : whether each of several outputs has a loss of its own
    """

    n_rows: int
    n_features: int
    kind: str
    n_outputs: int = 1
    measure_hessian: Callable[[], float] = lambda: 1.0
    validates: bool = False
    single: str = ""
    leafwise: str = ""
    policy: str = ""
    stops: bool = True
    separate_outputs: bool = False


@dataclass(frozen=True)
class Choice:
    """Value of a parameter, and why it was chosen."""

    value: Any
    reason: str


class ResolvedParams(dict[str, Any]):
    """Values chosen for parameters that were 'auto'. `reasons` says why.

    The same estimator with these values as parameters, fitted to the same data, gives the same model.
    """

    reasons: dict[str, str]

    def __init__(self, choices: Mapping[str, Choice]) -> None:
        super().__init__({name: choice.value for name, choice in choices.items()})
        self.reasons = {name: choice.reason for name, choice in choices.items()}

    def __repr__(self) -> str:
        lines = {name: f"{name}={value!r}" for name, value in self.items()}
        lines = {name: line if len(line) <= LONGEST else f"{line[:LONGEST]}..." for name, line in lines.items()}
        width = max(map(len, lines.values()), default=0)
        return "\n".join(f"{line:<{width}}  {self.reasons[name]}" for name, line in lines.items())

    def __reduce__(self) -> Any:
        return ResolvedParams, ({name: Choice(value, self.reasons[name]) for name, value in self.items()},)


def classic(shape: Shape) -> dict[str, Choice]:
    """Defaults of scikit-learn's HistGradientBoosting."""
    return {name: Choice(value, "preset='classic'") for name, value in CLASSIC.items()}


def fast(shape: Shape) -> dict[str, Choice]:
    """One training run of 100 rounds."""
    out = {name: Choice(value, "preset='fast'") for name, value in CLASSIC.items()}
    out["early_stopping"] = Choice(shape.validates, "validation rows are given" if shape.validates else "preset='fast'")
    return out | _categories(shape.measure_hessian())


def auto(shape: Shape) -> dict[str, Choice]:
    """Early stopping on rows of the training set, which are used again afterwards."""
    if shape.n_rows < TINY_ROWS:
        return {name: Choice(value, f"fewer than {TINY_ROWS} rows") for name, value in CLASSIC.items()}
    few, row_hessian = shape.n_rows < FEW_ROWS, shape.measure_hessian()
    size, of_rows = f"{shape.n_rows} rows, {shape.kind}", 3.0 if few else 1.0
    shared = shape.kind == "multiclass"  # a tree serves all classes: it needs all rows and features
    out = {
        "learning_rate": Choice(_learning_rate(shape), size),
        "max_iter": Choice(_max_iter(shape), "maximum; early stopping chooses the number of rounds"),
        "min_samples_leaf": Choice(_min_samples_leaf(shape), size),
        "l2_regularization": Choice(of_rows * row_hessian, f"{of_rows:g} rows of mean hessian"),
        "subsample": Choice(1.0 if shared else 0.8 if few else 0.75, size),
        "max_features_tree": Choice(1.0 if shared else 0.8, size),
        "extra_trees": Choice(0.5 if few and not shared else 0.0, size),
        "n_iter_no_change": Choice(50, "validation scores are noisy"),
        "cross_features": Choice(None, "not better on held-out rows" if compares_crosses(shape) else size),
    }
    if shape.kind in ("binary", "multiclass"):  # lower than the default of the loss: early stopping ends training in time
        out["min_hessian"] = Choice(MIN_HESSIAN_ROWS * row_hessian, f"{MIN_HESSIAN_ROWS:g} rows of mean hessian")
    return out | _growth(shape) | _categories(row_hessian) | _validation(shape, few)


def best(shape: Shape) -> dict[str, Choice]:
    """As 'auto', with smaller steps, and models of folds averaged for any number of rows."""
    out = auto(shape)
    if shape.n_rows < TINY_ROWS:
        return out
    out["learning_rate"] = Choice(out["learning_rate"].value / 2, "preset='best'")
    out["max_iter"] = Choice(4000, "maximum; early stopping chooses the number of rounds")
    out["n_iter_no_change"] = Choice(100, "small steps")
    if not (shape.single or shape.validates):
        out["validation_folds"], out["refit_all"] = Choice(8, "preset='best'"), Choice(False, "models of folds are averaged")
    return out


def compares_crosses(shape: Shape) -> bool:
    """Return whether cross features are compared with none on held-out rows."""
    return FEW_ROWS <= shape.n_rows < VERY_MANY_ROWS and not (shape.single or shape.validates) and not shape.separate_outputs


def _max_iter(shape: Shape) -> int:
    """Return the maximum number of rounds: fewer where a round has a tree for each output, or where 5 models have many features."""
    rounds = 1000 if shape.n_rows < VERY_MANY_ROWS else 500
    if shape.n_rows < FEW_ROWS and shape.n_features > MANY_FEATURES:
        rounds = rounds * MANY_FEATURES // shape.n_features
    trees = 1 if shape.kind == "multiclass" else shape.n_outputs
    return max(200, rounds // trees)


def _learning_rate(shape: Shape) -> float:
    if shape.kind == "multiclass":
        return 0.1 if shape.n_rows < FEW_ROWS else 0.05
    if shape.n_outputs > 1:
        return 0.1 if shape.n_rows < MANY_ROWS else 0.05
    if shape.n_rows < FEW_ROWS:  # larger steps where there are fewer
        return min(0.1, 50 / _max_iter(shape))
    return 0.05 if shape.n_rows < MANY_ROWS else 0.07 if shape.n_rows < VERY_MANY_ROWS else 0.1


def _min_samples_leaf(shape: Shape) -> int:
    few = shape.n_rows < FEW_ROWS
    if shape.n_rows < VERY_FEW_ROWS or (few and not shape.separate_outputs):
        return 1
    return 20 if shape.kind == "binary" and not few else 5


def _growth(shape: Shape) -> dict[str, Choice]:
    """Order in which nodes are split, and the size of trees."""
    size = f"{shape.n_rows} rows, {shape.kind}"
    if shape.policy == "symmetric" or (shape.n_rows < FEW_ROWS and not shape.policy and not shape.leafwise):
        levels = (4 if shape.n_rows < VERY_FEW_ROWS else 6) + 2 * (shape.kind == "multiclass")
        policy, depth = Choice("symmetric", size), Choice(levels, size)
        leaves = Choice(None, "max_depth limits the size of symmetric trees")
    else:
        policy, depth = Choice("leafwise", shape.leafwise or size), Choice(None, "max_leaf_nodes limits the size of trees")
        leaves = Choice(_leaves(shape), size)
    return {"grow_policy": policy, "max_depth": depth, "max_leaf_nodes": leaves}


def _leaves(shape: Shape) -> int:
    if shape.n_rows < FEW_ROWS:
        return 16 if shape.kind == "multiclass" else 8
    return 31 if shape.kind == "binary" and shape.n_rows < MANY_ROWS else 64


def _categories(row_hessian: float) -> dict[str, Choice]:
    reason = "5 rows of mean hessian"
    smooth = Choice(5.0 * row_hessian, reason)
    return {"cat_smooth": smooth, "cat_l2": smooth, "min_samples_level": Choice(5, reason)}


def _validation(shape: Shape, few: bool) -> dict[str, Choice]:
    """How rounds are chosen."""
    size = f"{shape.n_rows} rows, {shape.kind}"
    stops = Choice(True, "validation rows are given" if shape.validates else "rounds are chosen by held-out rows")
    single = shape.single or ("validation rows are given" if shape.validates else "")
    folds, again = Choice(None, single or f"at least {FEW_ROWS} rows"), Choice(not single, single or "held-out rows are used again")
    if few and not single:
        folds, again = Choice(5, f"fewer than {FEW_ROWS} rows"), Choice(False, "models of folds are averaged")
    averages = not (few or single) and shape.n_rows < VERY_MANY_ROWS and shape.n_outputs == 1
    models = Choice(2, "the average of two models is better than one") if averages else Choice(1, single or size)
    return {"early_stopping": stops, "validation_folds": folds, "refit_all": again, "n_models": models}


PRESETS: dict[str, Callable[[Shape], dict[str, Choice]]] = {"auto": auto, "fast": fast, "best": best, "classic": classic}


def is_classic(p: CommonParameters, shape: Shape, continues: bool) -> bool:
    """Whether parameters that are 'auto' have the values of 'classic', whatever the preset, since early stopping cannot choose rounds."""
    other_mode = (
        p.boosting != "plain"
        or p.tree_method in ("exact", "approx")
        or max(most_bins(p.max_bins), most_bins(p.feature_spec)) > MAX_CUTS + 1
    )
    return p.max_iter != AUTO or p.early_stopping is False or not shape.stops or continues or p.warm_start or other_mode


def resolve_parameters(p: CommonParameters, shape: Shape, continues: bool) -> tuple[ResolvedParameters, ResolvedParams]:
    """Parameters without 'auto', and the values chosen for those that were.

    A fit with an explicit `max_iter` or without early stopping, one that continues another, and modes and tree methods that scikit-learn
    does not have, take the values of 'classic': automatic choices are made for a number of rounds that is chosen automatically.
    """
    shape = with_given(shape, p)
    return with_choices(p, shape, (classic if is_classic(p, shape, continues) else PRESETS[p.preset])(shape))


def with_given(shape: Shape, p: CommonParameters) -> Shape:
    """Return the shape with what parameters that are given say about it."""
    given = "" if is_auto(p, "grow_policy") else p.grow_policy
    return replace(shape, leafwise=needs_leafwise(p), policy=given, single=shape.single or needs_single_run(p))


def with_choices(p: CommonParameters, shape: Shape, choices: dict[str, Choice]) -> tuple[ResolvedParameters, ResolvedParams]:
    """Parameters with the choices of a preset, where they can be combined with what is given."""
    policy = choices["grow_policy"].value if is_auto(p, "grow_policy") else p.grow_policy
    if policy == "symmetric" and not is_auto(p, "max_depth") and p.max_depth is not None:
        choices["max_leaf_nodes"] = Choice(None, "max_depth of symmetric trees is given")
    if p.sampling in ("goss", "bayesian"):
        choices["subsample"] = Choice(1.0, f"sampling={p.sampling!r} draws the rows")
    if not is_auto(p, "validation_folds") and p.validation_folds is not None:
        choices["refit_all"] = Choice(False, "models of folds are averaged")
        choices["n_models"] = Choice(1, "one model for each fold")
    if not is_auto(p, "n_models") and choices["validation_folds"].value is not None:
        choices["validation_folds"] = Choice(None, "n_models is given")
        choices["refit_all"] = Choice(True, "held-out rows are used again")
    if not is_auto(p, "refit_all"):
        other = "validation_folds" if p.refit_all else "n_models"
        choices[other] = Choice(None if p.refit_all else 1, f"refit_all={p.refit_all} is given")
    if choices["early_stopping"].value is True and stops_outputs(p, shape):
        choices["early_stopping"] = Choice(PER_OUTPUT, f"{shape.n_outputs} outputs with trees of their own")
    chosen = {name: choice for name, choice in choices.items() if is_auto(p, name)}
    values = vars(p) | {name: choice.value for name, choice in chosen.items()}
    return cast(ResolvedParameters, SimpleNamespace(**values)), ResolvedParams(chosen)


def with_value(p: ResolvedParameters, chosen: ResolvedParams, name: str, choice: Choice) -> tuple[ResolvedParameters, ResolvedParams]:
    """Return parameters and choices with another value of a parameter."""
    choices = {name: Choice(value, chosen.reasons[name]) for name, value in chosen.items()}
    return cast(ResolvedParameters, SimpleNamespace(**vars(p) | {name: choice.value})), ResolvedParams(choices | {name: choice})


def stops_outputs(p: CommonParameters, shape: Shape) -> bool:
    """Return whether each output can be stopped early by its own loss."""
    separate = shape.separate_outputs and p.multi_strategy != "multi_output_tree"
    return separate and isinstance(p.scoring, str) and p.scoring == "loss" and p.boosting == "plain" and not p.warm_start


def is_auto(p: CommonParameters, name: str) -> bool:
    """Whether a preset chooses a parameter: it is 'auto', or None if that is its default. Values may be arrays, which cannot be compared
    with a string."""
    value = getattr(p, name)
    return value is None if name in NONE_IS_AUTO else isinstance(value, str) and value == AUTO


def needs_leafwise(p: CommonParameters) -> str:
    """Return why trees cannot be symmetric trees of a depth that is chosen automatically; '' if they can."""
    reasons = {
        "max_leaf_nodes": not is_auto(p, "max_leaf_nodes"),
        "max_depth": not is_auto(p, "max_depth"),
        "forced_splits": p.forced_splits is not None,
        "leaf_model": p.leaf_model != "constant",
        "monotonic_method": p.monotonic_method != "basic",
    }
    return next((f"{name} is given" for name, needs in reasons.items() if needs), "")


def needs_single_run(p: CommonParameters) -> str:
    """Return why there can be one training run only: what several cannot be combined with. '' for nothing."""
    reasons = {
        "validation_split is given": p.validation_split is not None,
        "validation_fraction is None": p.validation_fraction is None,
    }
    return next((reason for reason, needs in reasons.items() if needs), "")


def most_bins(max_bins: Any) -> int:
    """Return the largest number of bins of a feature that is given: as one number, by feature, or in a FeatureSpec; 0 for none."""
    if isinstance(max_bins, FeatureSpec):
        max_bins = max_bins.of("max_bins")
    given = max_bins.values() if isinstance(max_bins, Mapping) else np.atleast_1d(max_bins)
    return max((int(value) for value in given if isinstance(value, Integral)), default=0)
