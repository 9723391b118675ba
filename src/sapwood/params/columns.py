"""Selection of columns by name, position, dtype or callable."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from sapwood.data.reading import Source

SEPARATOR = "__"  # between the names of a transformer and of a column, in scikit-learn's ColumnTransformer
SETTINGS = {  # settings of a FeatureSpec -> parameters of the estimators
    "categorical": "categorical_features",
    "encoding": "categorical_encoding",
    "monotonic": "monotonic_cst",
    "weight": "feature_weights",
    "max_bins": "max_bins",
    "cut_points": "cut_points",
}
DEFAULTS = ("from_dtype", "auto")  # values that a FeatureSpec overrides, like None and like a single number as max_bins

# Python and NumPy types -> whether a dtype of a data frame is selected by them.
TYPES: dict[Any, Callable[[Any], bool]] = {
    float: lambda dtype: dtype.is_float(),
    np.floating: lambda dtype: dtype.is_float(),
    int: lambda dtype: dtype.is_integer(),
    np.integer: lambda dtype: dtype.is_integer(),
    np.number: lambda dtype: dtype.is_numeric(),
    bool: lambda dtype: str(dtype) == "Boolean",
    np.bool_: lambda dtype: str(dtype) == "Boolean",
    str: lambda dtype: str(dtype).startswith(("String", "Categorical", "Enum")),
    datetime.datetime: lambda dtype: str(dtype).startswith(("Datetime", "Date")),
    datetime.timedelta: lambda dtype: str(dtype).startswith("Duration"),
}


class FeatureSpec:
    """Settings by column in one object, instead of one parameter for each setting.

    Parameters
    ----------
    columns : dict
        Maps columns, by name, position, dtype or callable, to a dict of settings: `categorical` (True), `encoding`, `monotonic`, `weight`,
        `max_bins`, `cut_points`. They correspond to `categorical_features`, `categorical_encoding`, `monotonic_cst`, `feature_weights`,
        `max_bins` and `cut_points` of the estimators.
    interactions : list of lists of columns, "pairwise", "no_interactions" or None, default=None
        As `interaction_cst` of the estimators.

    Examples
    --------
    >>> import pandas as pd
    >>> from sapwood import BoostingRegressor, FeatureSpec
    >>> X = pd.DataFrame({"num__age": range(100), "num__height": [150, 180] * 50})
    >>> spec = FeatureSpec({"age": {"monotonic": 1, "max_bins": 16}})  # the prefix "num__" of a pipeline may be left out
    >>> BoostingRegressor(feature_spec=spec).fit(X, X["num__age"] ** 2).n_features_in_
    2
    """

    def __init__(self, columns: Mapping[Any, Mapping[str, Any]], interactions: Any = None) -> None:
        for column, settings in columns.items():
            unknown = sorted(set(settings) - set(SETTINGS), key=str) if isinstance(settings, Mapping) else [settings]
            if unknown:
                raise ValueError(
                    f"FeatureSpec has an unknown setting {unknown[0]!r} of the column {column!r}; choose from {', '.join(SETTINGS)}"
                )
        self.columns: dict[Any, dict[str, Any]] = {column: dict(settings) for column, settings in columns.items()}
        self.interactions = interactions

    def __repr__(self) -> str:
        more = "" if self.interactions is None else f", interactions={self.interactions!r}"
        return f"FeatureSpec({self.columns!r}{more})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FeatureSpec) and vars(self) == vars(other)

    def of(self, parameter: str) -> Any:
        """Return the value for a parameter of the estimators; None if there is none."""
        if parameter == "interaction_cst":
            return self.interactions
        setting = next(setting for setting, name in SETTINGS.items() if name == parameter)
        values = {column: settings[setting] for column, settings in self.columns.items() if setting in settings}
        if parameter == "categorical_features":
            return [column for column, is_categorical in values.items() if is_categorical] or None
        return values or None


class Features:
    """Columns of a table, for parameters that select columns: their number, names (if any), the table itself, and a FeatureSpec."""

    def __init__(self, n_features: int, names: Sequence[str | int] | None = None, X: Any = None, spec: FeatureSpec | None = None) -> None:
        self.n_features = n_features
        self.names: list[str] | None = None if names is None else [str(name) for name in names]
        self.source: Source | None = None if X is None else Source.of(X)
        self.spec = spec

    def value_of(self, parameter: str, value: Any) -> Any:
        """Return the value of a parameter, or that of the FeatureSpec if it has one."""
        if isinstance(value, FeatureSpec):
            return value.of(parameter)
        of_spec = None if self.spec is None else self.spec.of(parameter)
        if of_spec is None:
            return value
        if value is None or (isinstance(value, str) and value in DEFAULTS) or (parameter == "max_bins" and isinstance(value, Integral)):
            return of_spec
        raise ValueError(f"{parameter} cannot be combined with the same setting in feature_spec: set it in one of them")

    def positions(self, columns: Any, parameter: str) -> list[int]:
        """Return the positions of columns.

        Columns are selected by name, position, dtype, boolean mask, a callable of the table that returns any of these (such as
        scikit-learn's `make_column_selector`), or a list of these.
        """
        if isinstance(columns, str | Integral) and not isinstance(columns, bool):
            return [self.position(columns, parameter)]
        if isinstance(columns, type) or hasattr(columns, "is_numeric") or isinstance(columns, np.dtype) or _is_dtype(columns):
            return self._of_type(columns, parameter)
        if callable(columns):
            return self.positions(columns(None if self.source is None else self.source.head), parameter)
        if isinstance(columns, slice):
            return list(range(self.n_features))[columns]
        if not isinstance(columns, Iterable):
            raise ValueError(f"{parameter} must select columns by name, position, dtype or callable; got {columns!r}")
        items = list(columns)
        if items and all(isinstance(item, bool | np.bool_) for item in items):
            if len(items) != self.n_features:
                raise ValueError(f"{parameter} set as a boolean mask should have shape ({self.n_features},), got: ({len(items)},)")
            return np.flatnonzero(items).tolist()
        return sorted({position for item in items for position in self.positions(item, parameter)})

    def position(self, feature: Any, parameter: str) -> int:
        """Return the position of a column, selected by name or position. A name also matches with the prefix of a pipeline: `color` selects
        `cat__color`."""
        if isinstance(feature, str):
            if self.names is None:
                raise ValueError(f"{parameter} names the feature {feature!r}, but X had no column names: use its position")
            if feature in self.names:
                return self.names.index(feature)
            matches = [position for position, name in enumerate(self.names) if name.endswith(SEPARATOR + feature)]
            if len(matches) > 1:
                names = ", ".join(repr(self.names[position]) for position in matches)
                raise ValueError(f"{parameter} names the feature {feature!r}, which matches {names}: use the full name")
            if not matches:
                raise ValueError(f"{parameter} names the feature {feature!r}, which X does not have; its columns are {self._columns()}")
            return matches[0]
        if not isinstance(feature, Integral) or isinstance(feature, bool):
            raise ValueError(f"{parameter} must select columns by name or position; got {feature!r}")
        if not 0 <= int(feature) < self.n_features:
            raise ValueError(f"{parameter} selects the feature {feature}, but X has {self.n_features} features: 0 to {self.n_features - 1}")
        return int(feature)

    def _of_type(self, dtype: Any, parameter: str) -> list[int]:
        """Return the positions of the columns of a dtype."""
        frame = None if self.source is None else self.source.frame
        if frame is None:
            raise ValueError(f"{parameter} selects columns of dtype {dtype!r}, but X is not a data frame: use positions")
        if dtype in TYPES:
            return [position for position, series in enumerate(frame.iter_columns()) if TYPES[dtype](series.dtype)]
        found = []
        for position, series in enumerate(frame.iter_columns()):
            native = series.to_native()
            own = getattr(native, "dtype", getattr(native, "type", None))
            if own == dtype or series.dtype == dtype or (isinstance(dtype, type) and isinstance(own, dtype)):
                found.append(position)
        return found

    def _columns(self) -> str:
        assert self.names is not None
        return ", ".join(map(repr, self.names[:20])) + (", ..." if len(self.names) > 20 else "")


def _is_dtype(value: Any) -> bool:
    """Return whether a value is a dtype of pandas, polars or pyarrow."""
    return type(value).__module__.split(".")[0] in ("pandas", "polars", "pyarrow", "narwhals") and not callable(value)
