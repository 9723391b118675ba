"""Selection of columns by name, position, dtype or callable."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from sapwood.data.reading import Source

SEPARATOR = "__"  # between the names of a transformer and of a column, in scikit-learn's pipelines
SAYS = {  # settings of a FeatureSpec, and the parameters that they stand for
    "categorical": "categorical_features",
    "encoding": "categorical_encoding",
    "monotonic": "monotonic_cst",
    "weight": "feature_weights",
    "max_bins": "max_bins",
    "cut_points": "cut_points",
}
DEFAULTS = ("from_dtype", "auto")  # that give way to a FeatureSpec, as None does, and any single number of max_bins

# Python's and NumPy's types, and the columns of a frame that are meant by them.
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
    """Settings of columns in one object, instead of one parameter for each setting.

    Parameters
    ----------
    columns : dict
        From columns, by name, position, dtype or callable, to a dict of settings: `categorical` (True), `encoding`, `monotonic`, `weight`,
        `max_bins`, `cut_points`. They mean the same as `categorical_features`, `categorical_encoding`, `monotonic_cst`,
        `feature_weights`, `max_bins` and `cut_points` of the estimators.
    interactions : list of lists of columns, "pairwise", "no_interactions" or None, default=None
        As `interaction_cst` of the estimators.

    Examples
    --------
    >>> import pandas as pd
    >>> from sapwood import BoostingRegressor, FeatureSpec
    >>> X = pd.DataFrame({"num__age": range(100), "num__height": [150, 180] * 50})
    >>> spec = FeatureSpec({"age": {"monotonic": 1, "max_bins": 16}})  # written for the table before the pipeline
    >>> BoostingRegressor(feature_spec=spec).fit(X, X["num__age"] ** 2).n_features_in_
    2
    """

    def __init__(self, columns: Mapping[Any, Mapping[str, Any]], interactions: Any = None) -> None:
        for column, said in columns.items():
            unknown = sorted(set(said) - set(SAYS), key=str) if isinstance(said, Mapping) else [said]
            if unknown:
                raise ValueError(
                    f"FeatureSpec has an unknown setting {unknown[0]!r} of the column {column!r}; choose from {', '.join(SAYS)}"
                )
        self.columns: dict[Any, dict[str, Any]] = {column: dict(said) for column, said in columns.items()}
        self.interactions = interactions

    def __repr__(self) -> str:
        more = "" if self.interactions is None else f", interactions={self.interactions!r}"
        return f"FeatureSpec({self.columns!r}{more})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FeatureSpec) and vars(self) == vars(other)

    def of(self, parameter: str) -> Any:
        """Value in place of a parameter; None if there is none."""
        if parameter == "interaction_cst":
            return self.interactions
        word = next(word for word, name in SAYS.items() if name == parameter)
        said = {column: about[word] for column, about in self.columns.items() if word in about}
        if parameter == "categorical_features":
            return [column for column, yes in said.items() if yes] or None
        return said or None


class Features:
    """Columns of a table: their number, their names if it has any, the table itself, and a FeatureSpec."""

    def __init__(self, n_features: int, names: Sequence[str | int] | None = None, X: Any = None, spec: FeatureSpec | None = None) -> None:
        self.n_features = n_features
        self.names: list[str] | None = None if names is None else [str(name) for name in names]
        self.source: Source | None = None if X is None else Source.of(X)
        self.spec = spec

    def said(self, parameter: str, value: Any) -> Any:
        """Value of a parameter, or the setting of the spec in its place."""
        if isinstance(value, FeatureSpec):
            return value.of(parameter)
        by_spec = None if self.spec is None else self.spec.of(parameter)
        if by_spec is None:
            return value
        if value is None or (isinstance(value, str) and value in DEFAULTS) or (parameter == "max_bins" and isinstance(value, Integral)):
            return by_spec
        raise ValueError(f"{parameter} cannot be combined with the same setting in feature_spec: give it in one place")

    def positions(self, columns: Any, parameter: str) -> list[int]:
        """Positions of columns, given by name, position, dtype, boolean mask, a callable of the table that returns any of these (such as
        scikit-learn's `make_column_selector`), or a list of these."""
        if isinstance(columns, str | Integral) and not isinstance(columns, bool):
            return [self.position(columns, parameter)]
        if isinstance(columns, type) or hasattr(columns, "is_numeric") or isinstance(columns, np.dtype) or _is_dtype(columns):
            return self._of_type(columns, parameter)
        if callable(columns):
            return self.positions(columns(None if self.source is None else self.source.X), parameter)
        if isinstance(columns, slice):
            return list(range(self.n_features))[columns]
        if not isinstance(columns, Iterable):
            raise ValueError(f"{parameter} must select columns by name, position, dtype or callable; got {columns!r}")
        given = list(columns)
        if given and all(isinstance(one, bool | np.bool_) for one in given):
            if len(given) != self.n_features:
                raise ValueError(f"{parameter} set as a boolean mask should have shape ({self.n_features},), got: ({len(given)},)")
            return np.flatnonzero(given).tolist()
        return sorted({at for one in given for at in self.positions(one, parameter)})

    def position(self, feature: Any, parameter: str) -> int:
        """Position of a column, given by name or position. A name also matches a column with a pipeline's prefix: `color`, `cat__color`."""
        if isinstance(feature, str):
            if self.names is None:
                raise ValueError(f"{parameter} names the feature {feature!r}, but X had no column names: give its position")
            if feature in self.names:
                return self.names.index(feature)
            ends = [at for at, name in enumerate(self.names) if name.endswith(SEPARATOR + feature)]
            if len(ends) > 1:
                both = ", ".join(repr(self.names[at]) for at in ends)
                raise ValueError(f"{parameter} names the feature {feature!r}, which could be any of {both}: give the whole name")
            if not ends:
                raise ValueError(f"{parameter} names the feature {feature!r}, which X does not have; its columns are {self._columns()}")
            return ends[0]
        if not isinstance(feature, Integral) or isinstance(feature, bool):
            raise ValueError(f"{parameter} must select columns by name or position; got {feature!r}")
        if not 0 <= int(feature) < self.n_features:
            raise ValueError(f"{parameter} gives the feature {feature}, but X has {self.n_features} features: 0 to {self.n_features - 1}")
        return int(feature)

    def _of_type(self, wanted: Any, parameter: str) -> list[int]:
        frame = None if self.source is None else self.source.frame
        if frame is None:
            raise ValueError(f"{parameter} gives the dtype {wanted!r}, but X is not a data frame: give positions")
        if wanted in TYPES:
            return [at for at, series in enumerate(frame.iter_columns()) if TYPES[wanted](series.dtype)]
        found = []
        for at, series in enumerate(frame.iter_columns()):
            native = series.to_native()
            own = getattr(native, "dtype", getattr(native, "type", None))
            if own == wanted or series.dtype == wanted or (isinstance(wanted, type) and isinstance(own, wanted)):
                found.append(at)
        return found

    def _columns(self) -> str:
        assert self.names is not None
        return ", ".join(map(repr, self.names[:20])) + (", ..." if len(self.names) > 20 else "")


def _is_dtype(value: Any) -> bool:
    """Whether it is a dtype of pandas, polars or pyarrow."""
    return type(value).__module__.split(".")[0] in ("pandas", "polars", "pyarrow", "narwhals") and not callable(value)
