"""Warm starts of `fit`, `partial_fit` and `refit`."""

from __future__ import annotations

from numbers import Real
from os import PathLike
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from sapwood.estimators.saving import SavedEstimator, read_path
from sapwood.model import Model
from sapwood.training.refit import Refit
from sapwood.training.warm_start import WarmStart

if TYPE_CHECKING:
    from sapwood.estimators.base import BaseBoosting


def warm_start_of_fit(estimator: BaseBoosting, init_model: Any) -> WarmStart:
    """Return the warm start of `fit`: from the model of the estimator (`warm_start=True`), from `init_model`, or none."""
    how = "warm_start" if estimator.warm_start else ""
    continues = bool(how) and hasattr(estimator, "model_")
    if init_model is None:
        return WarmStart(how, estimator.model_, **_state(estimator), scores=estimator._scores) if continues else WarmStart(how)
    if continues:
        raise ValueError("init_model cannot be combined with warm_start=True: both name a model to continue; leave one of them out")
    if estimator.init is not None:
        raise ValueError("init_model cannot be combined with init: the initial raw predictions are those of init_model; leave init out")
    if isinstance(init_model, str | PathLike):
        init_model = read_path(init_model)
    if isinstance(init_model, Model):
        return WarmStart("init_model", _used(init_model), more_rounds=True)
    if not isinstance(init_model, SavedEstimator) or init_model._parameters is not estimator._parameters:
        raise TypeError(f"init_model must be a fitted {type(estimator).__name__} or a Model; got {type(init_model).__name__}")
    check_is_fitted(init_model)
    return WarmStart("init_model", _used(init_model.model_), more_rounds=True, **_state(init_model))


def warm_start_of_partial_fit(estimator: BaseBoosting) -> WarmStart:
    """Return the warm start of `partial_fit`: from the model of the estimator, if it is fitted."""
    if not hasattr(estimator, "model_"):
        return WarmStart("partial_fit")
    return WarmStart("partial_fit", _used(estimator.model_), more_rounds=True, new_rows=True, **_state(estimator))


def warm_start_of_refit(estimator: BaseBoosting, decay: float) -> Refit:
    """Return the warm start of `refit`: the trees of the estimator get new leaf values."""
    check_is_fitted(estimator)
    if isinstance(decay, bool) or not isinstance(decay, Real) or not 0 <= decay <= 1:
        raise ValueError(f"decay must be a number from 0 to 1; got {decay!r}")
    if estimator.boosting == "dart":
        raise ValueError("boosting='dart' cannot be combined with refit: the leaf values before dropout are not kept; fit a new model")
    return Refit("refit", _used(estimator.model_), new_rows=True, decay=float(decay), **_state(estimator))


def _used(model: Model) -> Model:
    """Return a model with only the rounds that prediction uses."""
    return model[: model.n_rounds_used]


def _state(estimator: Any) -> dict[str, Any]:
    """Return the results of the previous fit besides the model."""
    return {"targets": estimator._known_targets, "init": estimator.init_, "data": estimator._digest}
