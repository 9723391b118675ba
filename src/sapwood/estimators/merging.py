"""Merging of fitted estimators."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sapwood.data.fingerprint import join_digests
from sapwood.estimators.base import BaseBoosting
from sapwood.estimators.fit_result import FitResult
from sapwood.model import Model
from sapwood.model.merging import merge_models
from sapwood.training.fit_signature import as_text

if TYPE_CHECKING:
    from sapwood.typing import ArrayLike

MUST_BE_EQUAL = ("loss", "quantile")  # parameters that determine the meaning of a prediction
Mergeable = TypeVar("Mergeable", bound="BaseBoosting | Model")


def merge(models: Sequence[Mergeable], weights: ArrayLike | Literal["mean"] | None = None) -> Mergeable:
    """Merge models into one. Its raw predictions are the (weighted) sum of those of the models.

    Raw predictions are those before the link: log-odds, logarithms of means. The models must have the same columns, matched by name, and
    the same loss and outputs; classifiers must have the same classes. Levels of categorical columns may differ.

    Parameters
    ----------
    models : list of fitted estimators of one class, or of Models
        Models to merge. Of each, the rounds up to the best one are used.
    weights : array-like of shape (n_models,), "mean" or None, default=None
        Weights of the raw predictions. None: 1, for slices of one model; "mean": 1 / n_models, for the average of independent models.

    Returns
    -------
    estimator with the parameters of the first one, or Model

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sapwood import BoostingRegressor, merge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BoostingRegressor().fit(X, y)
    >>> merge([model[:40], model[40:]]).model_.to_bytes() == model.model_.to_bytes()
    True
    >>> halves = [BoostingRegressor().fit(X[i::2], y[i::2]) for i in range(2)]
    >>> bool(abs(merge(halves, "mean").predict(X) - sum(half.predict(X) for half in halves) / 2).max() < 1e-9)
    True
    """
    if not (listed := list(models)):
        raise ValueError("merge needs at least one model; got none")
    checked = _weights(weights, len(listed))
    if all(isinstance(model, Model) for model in listed):
        return cast("Mergeable", merge_models(cast("list[Model]", listed), checked))
    return _merge_estimators(listed, checked)


def _merge_estimators(models: list[Any], weights: list[float]) -> Any:
    first = models[0]
    for i, model in enumerate(models):
        if not isinstance(model, BaseBoosting) or model._parameters is not first._parameters:
            raise TypeError(f"models must be Models, or estimators of one class; got {type(first).__name__} and {type(model).__name__}")
        check_is_fitted(model)
        _check_targets(first, model, i)
    merged = copy.copy(first)
    provenance = {**first.provenance_, "data": join_digests(str(model._digest) for model in models)}
    model = merge_models([model.model_ for model in models], weights)
    merged._store(FitResult(model, init=_only_init(models, weights), constraints=first._constraints, provenance=provenance))
    return merged


def _weights(weights: Any, n: int) -> list[float]:
    if weights is None:
        return [1.0] * n
    if isinstance(weights, str) and weights == "mean":
        return [1.0 / n] * n
    array = np.asarray(weights)
    if array.shape != (n,) or array.dtype.kind not in "iuf" or not np.isfinite(array).all():
        raise ValueError(f"weights must be {n} finite numbers, one for each model, 'mean' or None; got {weights!r}")
    return [float(weight) for weight in array]


def _check_targets(first: BaseBoosting, model: BaseBoosting, number: int) -> None:
    """Raise a ValueError if a model predicts something else than the first one."""
    kinds = [(type(m._known_targets).__name__, as_text(getattr(m, "classes_", None))) for m in (first, model)]
    if kinds[0] != kinds[1]:
        classes = [m.classes_.tolist() for m in (first, model)]
        raise ValueError(f"models cannot be merged: the classes are {classes[0]} in the first, but {classes[1]} in number {number}")
    for name in MUST_BE_EQUAL:
        of_first, of_model = (as_text(getattr(m, name, None)) for m in (first, model))
        if of_first != of_model:
            raise ValueError(f"models cannot be merged: {name} is {of_first} in the first, but {of_model} in number {number}")


def _only_init(models: Sequence[BaseBoosting], weights: Sequence[float]) -> Any:
    """Return the `init_` of the merged model: at most one of the models may have one, with weight 1."""
    inits = [(model.init_, weight) for model, weight in zip(models, weights, strict=True) if model.init_ is not None]
    if not inits:
        return None
    if len(inits) > 1 or inits[0][1] != 1:
        raise ValueError("models cannot be merged: only one of them may have an init, with a weight of 1")
    return inits[0][0]
