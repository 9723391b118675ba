"""Initial raw predictions (init score): an offset, and the predictions of another estimator."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from sapwood.data.checks import check_finite, float_array, refuse_mask
from sapwood.data.reading import Source, read_table
from sapwood.data.selection import take_rows
from sapwood.estimators.saving import SavedEstimator
from sapwood.losses.base import EPSILON, Loss
from sapwood.model import Model
from sapwood.runtime.execution import local_execution


def initial_raw(
    init: Any, source: Source, offset: Any, n_rows: int, of: Loss | Model, n_jobs: int | None, reader: str, name: str = "offset"
) -> np.ndarray | None:
    """Return the (n_rows, n_outputs) initial raw predictions: those of `init` plus the offset, without the base score. None for 0.

    `of` is the loss or model that gives the link and the number of outputs. `reader` is the name of the estimator, for error messages.
    """
    checked = check_offset(offset, n_rows, of.n_outputs, name)
    if init is None:
        return checked
    raw = _raw_of_init(init, source, of, n_jobs, reader)
    return raw if checked is None else raw + checked


def _raw_of_init(init: Any, source: Source, of: Loss | Model, n_jobs: int | None, reader: str) -> np.ndarray:
    """Return the (n_rows, n_outputs) raw predictions of a model or an estimator."""
    model = init if isinstance(init, Model) else init.model_ if isinstance(init, SavedEstimator) else None
    if model is None:
        return linked_predictions(init, source.X, of.link, of.n_outputs)
    if (model.link, model.n_outputs) != (of.link, of.n_outputs):
        raise ValueError(
            f"init={init!r} has the link {model.link!r} and {model.n_outputs} output(s), this model has {of.link!r} and {of.n_outputs}: "
            "use an init with the same link and outputs"
        )
    if model is init:
        return model.predict_raw(read_table(source, model.schema, reader), local_execution(n_jobs))
    return init._raw_predict(source)


def check_offset(offset: Any, n_rows: int, n_outputs: int, name: str) -> np.ndarray | None:
    """Return an offset as (n_rows, n_outputs) float64."""
    if offset is None:
        return None
    refuse_mask(offset, name)
    try:
        array = float_array(offset, n_rows, name, ensure_2d=False)
    except ValueError as error:
        raise ValueError(f"{name} must be numeric: {error}") from None
    if array.shape != (n_rows, n_outputs) and not (array.shape == (n_rows,) and n_outputs == 1):
        expected = f"({n_rows},)" if n_outputs == 1 else f"({n_rows}, {n_outputs})"
        raise ValueError(
            f"{name} has shape {array.shape}, expected {expected}: a raw prediction for each row{' and output' * (n_outputs > 1)}"
        )
    array = array.reshape(n_rows, n_outputs)
    check_finite(array.sum(axis=1), name)
    return np.ascontiguousarray(array)


def check_early_exit(margin: Any, offset: Any, init: Any) -> None:
    """Raise a ValueError if early_exit is not a positive number, or is combined with an offset or init."""
    if not isinstance(margin, Real) or not float(margin) > 0:
        raise ValueError(f"early_exit must be a number > 0 (a margin in raw predictions) or None; got {margin!r}")
    if offset is not None or init is not None:
        raise ValueError(
            "early_exit cannot be combined with offset or init: they are added after the trees and may change the margin; leave it out"
        )


def fitted_init(init: Any, X: Any, y: Any, weight: np.ndarray | None, rows: np.ndarray | None) -> Any:
    """Return `init` if it is fitted, otherwise a clone fitted to the training rows."""
    if init is None or isinstance(init, Model):
        return init
    try:
        check_is_fitted(init)
    except NotFittedError:
        weights = {} if weight is None else {"sample_weight": weight if rows is None else weight[rows]}
        if weights and not has_fit_parameter(init, "sample_weight"):
            raise ValueError(f"init={init!r} does not accept sample_weight: fit it first, or leave the weights out") from None
        X_train, y_train = (X, y) if rows is None else (take_rows(X, rows), take_rows(y, rows))
        return clone(init).fit(X_train, y_train, **weights)
    return init


def linked_predictions(init: Any, X: Any, link: str, n_outputs: int) -> np.ndarray:
    """Return the (n_rows, n_outputs) predictions of a scikit-learn estimator, transformed to raw predictions by the link."""
    if link in ("logit", "softmax") and hasattr(init, "predict_proba"):
        probabilities = np.clip(np.asarray(init.predict_proba(X), dtype=np.float64), EPSILON, 1 - EPSILON)
        if probabilities.ndim == 2 and probabilities.shape[1] == max(2, n_outputs):
            logs = np.log(probabilities)
            return logs[:, 1:] - logs[:, :1] if n_outputs == 1 else logs - logs.mean(axis=1, keepdims=True)
        raise ValueError(f"init={init!r} predicts probabilities of shape {probabilities.shape}; {max(2, n_outputs)} columns are needed")
    values = np.asarray(init.predict(X), dtype=np.float64)
    values = values[:, None] if values.ndim == 1 else values
    if values.shape[1] != n_outputs:
        raise ValueError(f"init={init!r} predicts {values.shape[1]} column(s); {n_outputs} are needed")
    if link == "log":
        if not (values > 0).all():
            row = int(np.argmin(values.min(axis=1)))
            raise ValueError(f"init={init!r} must predict numbers > 0 for a loss with a log link; got {values[row].min():g} in row {row}")
        return np.log(values)
    if link == "logit":
        means = np.clip(values, EPSILON, 1 - EPSILON)
        return np.log(means / (1 - means))
    return values
