"""Reads data frames of any library column by column, through narwhals and Arrow.

A data frame library is imported only if the frame came from it, or if the object supports only the Arrow stream interface.
"""

from __future__ import annotations

import datetime
import importlib.util
from collections.abc import Callable
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse

from sapwood.data.columns import NUMBER, UNSEEN, Column, ColumnError, Kind, Name, check_text, is_zone
from sapwood.data.tables import ArrayTable, FrameTable, Table

ARROW_READERS: tuple[Literal["pyarrow", "polars"], ...] = (
    "pyarrow",
    "polars",
)  # the first installed one reads Arrow streams
SECONDS = {"ms": 1e-3, "s": 1, "m": 60, "h": 3600, "D": 86_400, "W": 604_800}  # units that may exceed int64 microseconds
EPOCH = datetime.datetime(1970, 1, 1)
MICROSECOND = datetime.timedelta(microseconds=1)
UTC_NAMES = ("UTC", "Etc/UTC", "Z", "Zulu", "+00:00")
NO_FIX = "convert it to numbers or drop it"


def open_frame(X: Any) -> nw.DataFrame | None:
    """Return X as a narwhals DataFrame; None if it is not a data frame."""
    if isinstance(X, np.ndarray | list | tuple) or sparse.issparse(X):  # avoids the plugin lookup of narwhals
        return None
    _check_duplicate_names(X)
    frame = nw.from_native(X, pass_through=True, allow_series=True)
    if isinstance(frame, nw.Series):
        return None
    if not isinstance(frame, nw.DataFrame) and hasattr(X, "__arrow_c_stream__"):
        return _from_stream(X)
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(f"X is a lazy frame ({type(X).__module__}.{type(X).__name__}): call .collect() before fit or predict")
    return frame if isinstance(frame, nw.DataFrame) else None


def _from_stream(X: Any) -> nw.DataFrame:
    backend = next((name for name in ARROW_READERS if importlib.util.find_spec(name)), None)
    if backend is None:
        raise TypeError(f"reading X ({type(X).__name__}) through Arrow needs {' or '.join(ARROW_READERS)}: install one of them")
    return nw.from_arrow(X, backend=backend)


def _check_duplicate_names(X: Any) -> None:
    """Raise if two columns have the same name, with a clearer message than that of narwhals."""
    if not hasattr(X, "shape") or not hasattr(X, "columns"):
        return
    names = [column_name(name) for name in getattr(X, "column_names", X.columns)]
    if len(set(names)) < len(names):
        repeated = sorted({name for name in names if names.count(name) > 1}, key=str)
        raise ValueError(f"Column names must be unique; these come more than once: {', '.join(map(repr, repeated))}")


def column_name(name: Any) -> Name:
    """Return a column name as a string or an integer; other types are converted to strings."""
    if isinstance(name, str):
        return check_text(str(name), "a column name")
    return int(name) if isinstance(name, Integral) and not isinstance(name, bool) else str(name)


def frame_table(frame: nw.DataFrame, missing_values: frozenset[Any] = frozenset()) -> FrameTable:
    """Return a data frame as a table. Raises ColumnError for a column that cannot be read. `missing_values` are replaced by missing."""
    names = [column_name(name) for name in frame.columns]
    columns = [_without(_read_series(series, repr(name)), missing_values) for series, name in zip(frame.iter_columns(), names, strict=True)]
    return FrameTable(columns, names)


def array_table(array: np.ndarray, missing_values: frozenset[Any] = frozenset()) -> Table:
    """Return a two-dimensional array of numbers, dates or objects as a table. Columns of objects are read one by one."""
    if array.dtype.kind in "OmM":
        return FrameTable([_without(read_array(column, str(f)), missing_values) for f, column in enumerate(array.T)])
    return ArrayTable(array, frozenset(float(value) for value in missing_values if isinstance(value, Real)))


def _without(column: Column, missing_values: frozenset[Any]) -> Column:
    return column.without(missing_values) if missing_values else column


def _read_series(series: Any, name: str) -> Column:
    """Return a series of a data frame as a column."""
    dtype = series.dtype
    if isinstance(dtype, nw.String | nw.Categorical | nw.Enum):
        encode = ENCODERS.get(series.implementation.value)
        try:
            column = read_objects(series.to_numpy(), name) if encode is None else Column.of_levels(*encode(series.to_native()))
        except ColumnError as error:
            raise ColumnError(f"Column {name}: {error}") from None
        if column.kind.levels or not isinstance(dtype, nw.String):
            return column
        return Column(NUMBER, np.full(len(series), np.nan))  # pandas gives an empty or all-missing column a string dtype
    if dtype.is_nested() or isinstance(dtype, nw.Binary):
        raise ColumnError(f"Column {name} has dtype {_native_dtype(series)}, which is not a number: {NO_FIX}")
    if dtype.is_decimal() or isinstance(dtype, nw.Unknown):  # libraries differ in how they round decimals
        return read_objects(_as_objects(series.to_list()), name, str(_native_dtype(series)))
    if dtype == nw.Boolean and series.null_count() > 0:
        return Column(Kind("bool"), series.cast(nw.Float64).to_numpy())
    if dtype.is_numeric() and series.null_count() > 0:
        series = series.cast(nw.Float64)
    return read_array(series.to_numpy(), name, getattr(dtype, "time_zone", None), str(_native_dtype(series)))


def read_array(values: np.ndarray, name: str, zone: str | None = None, dtype: str | None = None) -> Column:
    """Return a one-dimensional NumPy array of any dtype as a column."""
    kind = values.dtype.kind
    if kind == "b":
        return Column(Kind("bool"), values)
    if kind in "iuf":
        return Column(NUMBER, values)
    if kind in "mM":
        zone = "UTC" if zone in UTC_NAMES else zone
        if zone is not None and not is_zone(zone):
            raise ColumnError(f"Column {name} has the time zone {zone!r}; an offset from UTC must be less than 24:00")
        return Column(Kind("datetime" if kind == "M" else "duration", zone=zone), _microseconds(values))
    if kind in "OT":
        return read_objects(values, name, dtype)
    raise ColumnError(f"Column {name} has dtype {dtype or values.dtype}, which is not a number: {NO_FIX}")


def _microseconds(times: np.ndarray) -> np.ndarray:
    """Datetimes or timedeltas as float64 microseconds, NaT as NaN. Whole microseconds are exact within 285 years of 1970."""
    if np.datetime_data(times.dtype) == ("ns", 1):
        whole, rest = np.divmod(times.view(np.int64), 1000)
        out: np.ndarray = whole + rest / 1000
    else:
        unit, step = np.datetime_data(times.dtype)
        size, counts = SECONDS.get(unit, 0) * step * 1e6, times.astype(np.int64)
        if size and len(counts) and max(counts.max(), -counts[~np.isnat(times)].min(initial=0)) * size >= 2.0**63:
            out = counts.astype(np.float64) * float(size)  # int64 microseconds would overflow: beyond 292,000 years
        else:
            out = times.astype(f"{times.dtype.kind}8[us]").astype(np.int64).astype(np.float64)
    out[np.isnat(times)] = np.nan
    return out


def read_objects(values: np.ndarray, name: str, dtype: str | None = None) -> Column:
    """Return an array of Python objects as a column: strings, bools, numbers, dates or durations, possibly with missing values."""
    try:
        return _read_objects(values, name, dtype)
    except OverflowError:
        raise ColumnError(f"Column {name} has a number that is too large for a float; divide it by a constant or drop it") from None


def _read_objects(values: np.ndarray, name: str, dtype: str | None) -> Column:
    types = set(map(type, values))
    if all(issubclass(t, Real) and not issubclass(t, bool) for t in types):
        return Column(NUMBER, values.astype(np.float64))
    missing = np.fromiter((is_missing(value) for value in values), dtype=bool, count=len(values))
    present = values[~missing]
    types = set(map(type, present))
    if types and all(issubclass(t, str) for t in types):
        found: dict[str, int] = {}
        codes = np.full(len(values), UNSEEN, dtype=np.int64)
        codes[~missing] = [found.setdefault(value, len(found)) for value in present]
        return Column.of_levels(codes, list(found))
    out = np.full(len(values), np.nan)
    for kind, accepts, convert in OBJECTS:
        if all(issubclass(t, accepts) for t in types):
            out[~missing] = [convert(value) for value in present]
            return Column(Kind(kind, zone=_zone(present, name) if kind == "datetime" else None), out)
    names = " and ".join(sorted(t.__name__ for t in types))
    raise ColumnError(
        f"Column {name} has dtype {dtype or values.dtype} and holds {names}, which is not a number: every argument must be a string, "
        f"or all values must be numbers, bools, dates or durations; {NO_FIX}"
    )


def _zone(moments: np.ndarray, name: str) -> str | None:
    """Return the time zone of dates and datetimes; UTC if there are several."""
    zones = {getattr(moment, "tzinfo", None) for moment in moments}
    if None in zones:
        if len(zones) > 1:
            raise ColumnError(f"Column {name} mixes datetimes with and without a time zone: use a time zone for all of them, or for none")
        return None
    found = str(zones.pop())
    return "UTC" if zones or found in UTC_NAMES else found


def _as_objects(values: list[Any]) -> np.ndarray:
    """Return a list as an array of objects. Arrow intervals become timedeltas unless they contain months."""
    out = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        span = type(value).__name__ == "MonthDayNano" and value.months == 0
        out[i] = datetime.timedelta(days=value.days, microseconds=value.nanoseconds / 1000) if span else value
    return out


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or NA."""
    if value is None or isinstance(value, str):
        return value is None
    return type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, Real | Decimal | np.generic) and bool(value != value))


def _date_microseconds(value: Any) -> float:
    if not isinstance(value, datetime.datetime):
        return (value.toordinal() - EPOCH.toordinal()) * 86_400e6
    start = EPOCH if value.tzinfo is None else EPOCH.replace(tzinfo=datetime.UTC)
    return (value - start) // MICROSECOND


def _time_microseconds(value: Any) -> float:
    if isinstance(value, datetime.time):
        value = datetime.timedelta(hours=value.hour, minutes=value.minute, seconds=value.second, microseconds=value.microsecond)
    return value // MICROSECOND


# Kinds of Python objects: the first one whose types cover all values of a column is used.
OBJECTS: list[tuple[str, Any, Callable[[Any], float]]] = [
    ("number", (), float),
    ("bool", (bool, np.bool_), float),
    ("number", (Real, Decimal, np.bool_), float),
    ("datetime", datetime.date, _date_microseconds),
    ("duration", (datetime.timedelta, datetime.time), _time_microseconds),
]


# Codes, levels and orderedness of string and categorical series. narwhals has no common interface for them.


def _encode_pandas(series: Any) -> tuple[np.ndarray, list[Any], bool]:
    dtype = series.dtype
    if hasattr(dtype, "categories"):
        return series.cat.codes.to_numpy(), dtype.categories.tolist(), bool(dtype.ordered)
    arrow = getattr(dtype, "pyarrow_dtype", None)
    if getattr(arrow, "ordered", False):
        return _encode_arrow(series.array.__arrow_array__())
    codes, levels = series.factorize()
    return codes, levels.tolist(), False


def _encode_polars(series: Any) -> tuple[np.ndarray, list[Any], bool]:
    import polars as pl

    if isinstance(series.dtype, pl.Enum):
        return _filled(series.to_physical()), series.dtype.categories.to_list(), True
    text = series.cast(pl.String)
    levels = text.unique().drop_nulls().sort()
    return _filled(text.cast(pl.Enum(levels)).to_physical()), levels.to_list(), False


def _filled(codes: Any) -> np.ndarray:
    import polars as pl

    return codes.cast(pl.Int64).fill_null(UNSEEN).to_numpy()


def _encode_arrow(column: Any) -> tuple[np.ndarray, list[Any], bool]:
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = column.unify_dictionaries().combine_chunks() if pa.types.is_dictionary(column.type) else column.combine_chunks()
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    codes = encoded.indices.cast(pa.int64()).fill_null(UNSEEN).to_numpy(zero_copy_only=False)
    return codes, encoded.dictionary.to_pylist(), bool(encoded.type.ordered)


ENCODERS: dict[str, Callable[[Any], tuple[np.ndarray, list[Any], bool]]] = {
    "pandas": _encode_pandas,
    "polars": _encode_polars,
    "pyarrow": _encode_arrow,
}


def _native_dtype(series: Any) -> Any:
    native = series.to_native()
    return getattr(native, "dtype", series.dtype)
