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

TOLD_BY = ("loss", "quantile")  # parameters that decide what is predicted
Mergeable = TypeVar("Mergeable", bound="BaseBoosting | Model")


def merge(models: Sequence[Mergeable], weights: ArrayLike | Literal["mean"] | None = None) -> Mergeable:
    """Merge models into one whose raw predictions are the (weighted) sum of theirs.

    Raw predictions are those before the link: log-odds, logarithms of means. The models must have the same columns, matched by name, the
    same loss and outputs, and classifiers the same classes. Levels of categorical columns may differ.

    Parameters
    ----------
    models : list of fitted estimators of one class, or of Models
        Of each, the rounds that it predicts with are used.
    weights : array-like of shape (n_models,), "mean" or None, default=None
        Factors of the raw predictions. None: 1, for models that continue each other, or slices of one model; "mean": 1 / n_models, for
        models of which each predicts the whole.

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
    if not (given := list(models)):
        raise ValueError("merge needs at least one model; got none")
    numbers = _weights(weights, len(given))
    if all(isinstance(model, Model) for model in given):
        return cast("Mergeable", merge_models(cast("list[Model]", given), numbers))
    return _merge_estimators(given, numbers)


def _merge_estimators(models: list[Any], weights: list[float]) -> Any:
    first = models[0]
    for i, model in enumerate(models):
        if not isinstance(model, BaseBoosting) or model._parameters is not first._parameters:
            raise TypeError(f"merge takes Models, or estimators of one kind; got {type(first).__name__} and {type(model).__name__}")
        check_is_fitted(model)
        _refuse_other_targets(first, model, i)
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
    given = np.asarray(weights)
    if given.shape != (n,) or given.dtype.kind not in "iuf" or not np.isfinite(given).all():
        raise ValueError(f"weights must be {n} finite numbers, one for each model, 'mean' or None; got {weights!r}")
    return [float(weight) for weight in given]


def _refuse_other_targets(first: BaseBoosting, other: BaseBoosting, number: int) -> None:
    kinds = [(type(one._known_targets).__name__, as_text(getattr(one, "classes_", None))) for one in (first, other)]
    if kinds[0] != kinds[1]:
        classes = [one.classes_.tolist() for one in (first, other)]
        raise ValueError(f"models cannot be merged: the classes are {classes[0]} in the first, but {classes[1]} in number {number}")
    for name in TOLD_BY:
        own, theirs = (as_text(getattr(one, name, None)) for one in (first, other))
        if own != theirs:
            raise ValueError(f"models cannot be merged: {name} is {own} in the first, but {theirs} in number {number}")


def _only_init(models: Sequence[BaseBoosting], weights: Sequence[float]) -> Any:
    """Where the merged predictions start: there can be one such place, and it has no weight."""
    given = [(model.init_, weight) for model, weight in zip(models, weights, strict=True) if model.init_ is not None]
    if not given:
        return None
    if len(given) > 1 or given[0][1] != 1:
        raise ValueError("models cannot be merged: only one of them may start from an init, with a weight of 1")
    return given[0][0]
