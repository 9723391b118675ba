"""The tables that an estimator is given: the fit notes their columns, later ones are matched with those."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from sapwood.data.columns import Schema
from sapwood.data.frames import open_frame
from sapwood.data.reading import filled, plain_array, read_any
from sapwood.data.tables import Table
from sapwood.params import resolve
from sapwood.params.resolve import Features


def first_table(estimator: Any, X: Any) -> Table:
    """X as the table of a fit. What scikit-learn wants to know of its columns is noted in the estimator."""
    table = _read(estimator, X, None)
    features = Features(table.n_features, table.schema.names, X, estimator.feature_spec)
    named = resolve.categories(estimator.categorical_features, features, table.schema.categories)
    if named is None:
        return table
    for f in table.schema.categories:
        if f not in named:
            raise ValueError(
                f"Column {table.schema.name(f)} holds {table.schema.kind(f).describe()}, which is not a number: "
                "name it in categorical_features too, or drop it"
            )
    return table.with_categories(named)


def table_like(estimator: Any, X: Any, schema: Schema) -> Table:
    """X as a table with the columns of a schema."""
    if not hasattr(estimator, "feature_names_in_") and (plain := plain_array(X, schema)) is not None:
        return plain  # which scikit-learn would find nothing wrong with
    return _read(estimator, X, schema).match(schema)


def _read(estimator: Any, X: Any, schema: Schema | None) -> Table:
    frame = open_frame(X)
    if isinstance(X, np.ma.MaskedArray):
        X = filled(X)
    sound = _is_sound(X) and (schema is None or (X.shape[1] == schema.n_features and not hasattr(estimator, "feature_names_in_")))
    if frame is None and not sound:
        own = isinstance(X, np.ndarray) and X.dtype.kind in "OmM" and X.ndim == 2
        dtype = None if own or sparse.issparse(X) else "numeric"
        X = validate_data(estimator, X, reset=schema is None, accept_sparse=True, dtype=dtype, ensure_all_finite=False)
    missing = what_is_missing(estimator) if schema is None else {"absent": schema.absent, "sparse_missing": schema.sparse_missing}
    table = read_any(X if frame is None else frame, **missing)
    if schema is None and (sound or frame is not None):
        note_names(estimator, table.schema)
    elif schema is not None and frame is not None:
        _check_names(estimator, table.schema, schema)
    return table


def _is_sound(X: Any) -> bool:
    """Whether this is a table of numbers that scikit-learn would find nothing wrong with, but would ask whether it is a frame: looking
    through all that is installed for somebody who knows takes longer than a small fit."""
    plain = type(X) is np.ndarray or sparse.issparse(X)
    return plain and X.ndim == 2 and X.dtype.kind in "fiub" and min(X.shape) > 0


def what_is_missing(estimator: Any) -> dict[str, Any]:
    """What the user says is missing, as a schema keeps it."""
    return {"absent": resolve.missing_values(estimator.missing), "sparse_missing": estimator.sparse_absent == "missing"}


def note_names(estimator: Any, schema: Schema) -> None:
    """In scikit-learn's attributes, which know text only."""
    estimator.n_features_in_ = schema.n_features
    if schema.names and all(isinstance(name, str) for name in schema.names):
        estimator.feature_names_in_ = np.array(schema.names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def _check_names(estimator: Any, given: Schema, fitted: Schema) -> None:
    """Without names to match them by, columns go by their number."""
    if fitted.names is None:
        if given.n_features != fitted.n_features:
            what = f"{type(estimator).__name__} is expecting {fitted.n_features} features as input"
            raise ValueError(f"X has {given.n_features} features, but {what}.")
        warnings.warn(f"X has feature names, but {type(estimator).__name__} was fitted without feature names", stacklevel=5)
