"""Predicts the rows of a JSON body."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from sapwood.data.columns import Kind
from sapwood.serving.schema import column_names


class BodyError(ValueError):
    """Raised for a body that cannot be predicted."""


class Predictor:
    """Predicts rows given as JSON: an object for one row, or an array of objects."""

    estimator: Any
    names: list[str]

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
        self.names = column_names(estimator)
        self._positional = getattr(estimator, "feature_names_in_", None) is None
        schema = estimator.model_.schema
        self._converters = {name: make for k, name in enumerate(self.names) if (make := _converter(schema.kind(k))) is not None}
        self._classes = _labels(estimator)

    def read(self, body: bytes) -> list[dict[str, Any]] | dict[str, Any]:
        """Return the row or the rows of a body."""
        try:
            rows = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise BodyError(f"the body is not JSON: {error}") from None
        if isinstance(rows, dict):
            return self._row(rows, "")
        if not isinstance(rows, list) or not rows:
            raise BodyError("the body must be an object (one row) or a non-empty array of objects")
        return [self._row(row, f"row {number}: ") for number, row in enumerate(rows)]

    def _row(self, row: Any, where: str) -> dict[str, Any]:
        """Return a row with the columns of the model, and values of their kinds."""
        if not isinstance(row, dict):
            raise BodyError(f"{where}a row must be an object of column names and values; got {str(row)[:60]}")
        try:
            known = {name: row[name] for name in self.names}
        except KeyError as error:
            raise BodyError(f"{where}the column {error.args[0]!r} is missing; null means a missing value") from None
        for name, value in known.items():
            if isinstance(value, (dict, list)):
                raise BodyError(f"{where}the column {name!r} must have a single value; got {str(value)[:60]}")
        for name, convert in self._converters.items():
            if (value := known[name]) is not None:
                try:
                    known[name] = convert(value)
                except (TypeError, ValueError, OverflowError) as error:
                    raise BodyError(f"{where}the column {name!r}: {error}") from None
        return known

    def predict(self, rows: list[dict[str, Any]] | dict[str, Any]) -> dict[str, Any]:
        """Return the answer: predictions, and probabilities of a classifier."""
        single = isinstance(rows, dict)
        X = self._matrix([rows] if isinstance(rows, dict) else rows) if self._positional else rows
        try:
            if self._classes is None:
                return _answer("prediction", self.estimator.predict(X), single)
            probabilities = self.estimator.predict_proba(X)
        except (ValueError, TypeError) as error:
            raise BodyError(str(error)) from None
        if probabilities.ndim == 2 and len(self._classes) == probabilities.shape[1] and hasattr(self.estimator, "classes_"):
            labels = self._most_probable(probabilities)
        else:
            labels = self.estimator.predict(X)
        values = [dict(zip(self._classes, row, strict=True)) for row in probabilities.tolist()]
        answer = _answer("prediction", labels, single)
        answer["probabilities"] = values[0] if single else values
        return answer

    def _matrix(self, rows: list[dict[str, Any]]) -> np.ndarray:
        """Return rows as numbers, for a model that knows no names."""
        return np.array([[row[name] for name in self.names] for row in rows], dtype=np.float64)

    def _most_probable(self, probabilities: np.ndarray) -> np.ndarray:
        """Return the labels that `predict` returns: the first of the most probable classes; of two classes, the second if above a half."""
        classes = self.estimator.classes_
        if self.estimator.model_.link == "logit" and self.estimator.model_.n_outputs > 1:
            return (probabilities > 0.5).astype(np.int64)
        if len(classes) == 2:
            return classes[(probabilities[:, 1] > 0.5).astype(np.intp)]
        return classes[probabilities.argmax(axis=1)]


def _answer(name: str, values: np.ndarray, single: bool) -> dict[str, Any]:
    found = values.tolist()
    return {name: found[0]} if single else {f"{name}s": found}


def _labels(estimator: Any) -> list[str] | None:
    """Return the classes as keys of JSON objects; None for other estimators."""
    if not hasattr(estimator, "predict_proba"):
        return None
    return [str(label) for label in estimator.classes_.tolist()]


def _converter(kind: Kind) -> Callable[[Any], Any] | None:
    """Return the function that converts a JSON value to a value of a column; None if there is nothing to check."""
    if kind.is_category:
        return None
    return {"datetime": _datetime, "duration": _duration, "bool": _bool}.get(kind.name, _number)


def _number(value: Any) -> float:
    if isinstance(value, str):
        raise TypeError(f"must be a number or null; got {value[:60]!r}")
    return float(value)


def _bool(value: Any) -> bool:
    if value not in (True, False):
        raise TypeError(f"must be true, false or null; got {str(value)[:60]!r}")
    return bool(value)


def _datetime(value: Any) -> datetime:
    if not isinstance(value, str):
        raise TypeError(f"must be a date and time in ISO 8601, such as 2024-01-31T12:00:00, or null; got {str(value)[:60]}")
    return datetime.fromisoformat(value)


def _duration(value: Any) -> timedelta:
    return timedelta(seconds=_number(value))
