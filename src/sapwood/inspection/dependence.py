"""Partial dependence: the average prediction as a function of some features, with the other features unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sapwood.data.columns import Kind, Name
from sapwood.data.tables import ArrayTable
from sapwood.estimators.tables import table_like
from sapwood.inspection.recursion import expected_raw, torn_feature
from sapwood.runtime.execution import Execution, local_execution

METHODS = ("auto", "recursion", "brute")
KINDS = ("average", "individual", "both")


@dataclass(frozen=True)
class Dependence:
    """Result of `partial_dependence`.

    Attributes
    ----------
    features : names of the features
    values : grid values of each feature, ascending; levels for a category, datetime64 for dates
    average : (n_outputs, n_values, ...) float64, with one axis of values per feature; None if not requested
    individual : (n_outputs, n_rows, n_values, ...) float64, one curve per row (ICE); None if not requested
    raw : whether the values are raw predictions
    """

    features: list[str]
    values: list[np.ndarray]
    average: np.ndarray | None
    individual: np.ndarray | None
    raw: bool


def partial_dependence(
    estimator: Any,
    X: Any,
    features: Name | Sequence[Name],
    *,
    kind: str = "average",
    method: str = "auto",
    raw: bool = False,
    grid_resolution: int = 50,
    percentiles: tuple[float, float] = (0.05, 0.95),
) -> Dependence:
    """Compute the partial dependence of a fitted Sapwood estimator on one or more features.

    Parameters
    ----------
    estimator : fitted Sapwood estimator
    X : table with the columns of the fit
        Defines the grid. "brute" averages over its rows; a few hundred are enough.
    features : name or position of a column, or a list of them (plots take one or two)
    kind : "average", "individual" (one curve per row: ICE) or "both"
    method : "brute" predicts all rows of X for each grid point. "recursion" traverses each tree once and weights branches of other features
        by the number of training rows. It is fast, supports only averages of raw predictions, and differs a little from "brute" if
        features are correlated. "auto" uses "recursion" if possible: for averages, with raw=True or an identity link (squared error).
    raw : average raw predictions (log-odds, logarithms of means) instead of predictions
    grid_resolution : number of grid values, evenly spaced between the percentiles; all distinct values if there are fewer
    percentiles : lower and upper end of the grid, as fractions between 0 and 1

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sapwood import BoostingRegressor
    >>> from sapwood.inspection import partial_dependence
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> found = partial_dependence(BoostingRegressor().fit(X, y), X, "bmi", grid_resolution=20)
    >>> found.average.shape
    (1, 20)
    """
    check_is_fitted(estimator)
    for name, choice, known in (("kind", kind, KINDS), ("method", method, METHODS)):
        if choice not in known:
            raise ValueError(f"{name}={choice!r} is unknown; choose from {', '.join(known)}")
    model = estimator.model_
    table, execution = table_like(estimator, X, model.schema), local_execution(estimator.n_jobs)
    chosen = [find_feature(model.schema, one) for one in ([features] if isinstance(features, Name) else features)]
    raw = raw or model.link == "identity"
    if method == "recursion" and (kind != "average" or not raw):
        raise ValueError("method='recursion' supports only averages of raw predictions: use kind='average' and raw=True, or method='brute'")
    rows = np.array(table.dense(slice(0, table.n_rows)), dtype=np.float64)
    kinds = [model.schema.kind(f) for f in chosen]
    grids = [_grid(rows[:, f], kind_of, grid_resolution, percentiles) for f, kind_of in zip(chosen, kinds, strict=True)]
    shape = tuple(map(len, grids))
    points = np.stack([axis.ravel() for axis in np.meshgrid(*grids, indexing="ij")], axis=1)
    average, individual = None, None
    if method == "recursion" or (method == "auto" and kind == "average" and raw and torn_feature(model, chosen) is None):
        average = expected_raw(model, points, np.array(chosen)).reshape(-1, *shape)
    else:
        found = np.stack(
            [_predict(model, rows, chosen, point, raw, execution) for point in points], axis=-1
        )  # (n_outputs, n_rows, n_points)
        average = found.mean(axis=1).reshape(-1, *shape) if kind != "individual" else None
        individual = found.reshape(*found.shape[:2], *shape) if kind != "average" else None
    named = [model.schema.names[f] if model.schema.names else f"feature {f}" for f in chosen]
    return Dependence([str(name) for name in named], list(map(_shown, grids, kinds)), average, individual, raw)


def _predict(model: Any, rows: np.ndarray, features: list[int], point: np.ndarray, raw: bool, execution: Execution) -> np.ndarray:
    """Predictions with the features set to a grid point, (n_outputs, n_rows)."""
    kept = rows[:, features]
    rows[:, features] = point
    predicted = model.predict_raw(ArrayTable(rows), execution)
    rows[:, features] = kept
    return (predicted if raw else model.apply_link(predicted, execution)).T


def find_feature(schema: Any, feature: Name) -> int:
    """Return the position of a column, given its name or position."""
    if schema.names and feature in schema.names:
        return schema.names.index(feature)
    if isinstance(feature, int) and 0 <= feature < schema.n_features:
        return feature
    raise ValueError(f"feature {feature!r} is unknown; choose the name of a column, or a position from 0 to {schema.n_features - 1}")


def _grid(column: np.ndarray, kind: Kind, resolution: int, percentiles: tuple[float, float]) -> np.ndarray:
    if kind.is_category:
        return np.arange(len(kind.levels), dtype=np.float64)
    low, high = percentiles
    if not 0 <= low < high <= 1:
        raise ValueError(f"percentiles must be two increasing numbers between 0 and 1; got {percentiles}")
    if resolution < 2:
        raise ValueError(f"grid_resolution must be at least 2; got {resolution}")
    known = column[~np.isnan(column)]
    distinct = np.unique(known)
    if not len(distinct):
        return np.array([np.nan])
    if len(distinct) <= resolution:
        return distinct
    first, last = np.quantile(known, [low, high])
    return np.unique(np.linspace(first, last, resolution))


def _shown(values: np.ndarray, kind: Kind) -> np.ndarray:
    if kind.is_category:
        return np.array([kind.levels[int(code)] for code in values], dtype=object)
    if kind.name in ("datetime", "duration"):
        return values.astype(np.int64).astype("datetime64[us]" if kind.name == "datetime" else "timedelta64[us]")
    return values
