"""Column kinds, levels of categories, and the schema that a model stores of its training table.

Every column is read as numbers. The numbers of a category are codes: positions in a list of levels. Levels are stored by value, in an
order that does not depend on the data frame library, so that a model recognises them in a frame of any library.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np

from sapwood.runtime.caching import cached_property

Name = str | int
Level = str | int | float | bool

KINDS = ("number", "bool", "datetime", "duration", "category")
FIXED_ZONE = re.compile(r"(?:UTC)?([+-])(\d\d):?(\d\d)", re.ASCII)  # time zone with a fixed offset
UNSEEN = -1  # code of missing values and of unseen levels


class ColumnError(ValueError, TypeError):
    """Raised for a column that cannot be read, or whose kind differs from the fit."""


@dataclass(frozen=True)
class Kind:
    """Kind of a column.

    Attributes
    ----------
    name : one of KINDS
    levels : levels of a category (strings, integers, floats or bools), ascending, or in the order of an ordered type
    ordered : whether the order of the levels is meaningful
    zone : name of the time zone of datetimes; None without one
    """

    name: str = "number"
    levels: tuple[Level, ...] = ()
    ordered: bool = False
    zone: str | None = None

    @property
    def is_category(self) -> bool:
        return self.name == "category"

    @cached_property
    def codes(self) -> dict[Level, float]:
        """Code of each level."""
        return {level: float(code) for code, level in enumerate(self.levels)}

    @cached_property
    def level_type(self) -> type | None:
        """Type of the levels: str if all are strings, float if all are numbers; None if there are both, or none."""
        classes = _classes(self.levels)
        return None if len(classes) != 1 else str if classes == {"text"} else float

    def describe(self) -> str:
        """Return the kind as text for error messages."""
        if not self.is_category:
            return self.name if self.zone is None else f"{self.name} in {self.zone}"
        few = ", ".join(map(repr, self.levels[:3])) + (", ..." if len(self.levels) > 3 else "")
        return f"category of {len(self.levels)} levels ({few})" if self.levels else "category without levels"


NUMBER = Kind()


def is_zone(zone: str) -> bool:
    """Whether a string can be a time zone: a name (not looked up), or an offset from UTC of less than a day."""
    fixed = FIXED_ZONE.fullmatch(zone)
    return not fixed or (int(fixed[2]) < 24 and int(fixed[3]) < 60)


@dataclass(frozen=True)
class Column:
    """A column as numbers: 0 and 1 for bools, microseconds for times, codes for categories.

    Attributes
    ----------
    kind : kind of the column
    values : (n_rows,) array that the kernels read. NaN is missing; for a category the dtype is int32 and UNSEEN is missing
    """

    kind: Kind
    values: np.ndarray

    @classmethod
    def of_levels(cls, codes: np.ndarray, levels: Sequence[Any], ordered: bool = False) -> Column:
        """Return a category from codes (negative: missing) and levels. Levels are sorted, and levels without rows are dropped."""
        values = [as_level(level) for level in levels]
        codes = np.asarray(codes)
        used = np.zeros(len(values) + 1, dtype=bool)  # the last entry is for missing values
        used[codes] = True
        kept = [(i, level) for i, level in enumerate(values) if level is not None and (ordered or used[i])]
        if not ordered:
            kept.sort(key=lambda pair: rank(pair[1]))
        order = [i for i, _ in kept]
        to = np.full(len(values) + 1, UNSEEN, dtype=np.int32)
        distinct = tuple(dict.fromkeys([level for _, level in kept]))
        if len(distinct) == len(kept):
            to[order] = np.arange(len(kept), dtype=np.int32)
        else:
            code_of = {level: code for code, level in enumerate(distinct)}
            to[order] = [code_of[level] for _, level in kept]
            check_merged(levels, kept)
        return cls(Kind("category", distinct, ordered), to[codes])

    def as_category(self) -> Column:
        """Return the column as a category whose levels are its distinct values."""
        if self.kind.is_category:
            return self
        distinct, codes = np.unique(self.values, return_inverse=True)
        n = int(np.count_nonzero(~np.isnan(distinct))) if distinct.dtype.kind == "f" else len(distinct)
        return Column.of_levels(np.where(codes < n, codes, UNSEEN), distinct[:n].tolist())

    def without(self, missing_values: frozenset[Any]) -> Column:
        """Return the column with the values in `missing_values` replaced by missing."""
        if self.kind.is_category:
            levels = [None if level in missing_values else level for level in self.kind.levels]
            return self if None not in levels else Column.of_levels(self.values, levels)
        gone = np.isin(self.values, [float(value) for value in missing_values if isinstance(value, Real)])
        return self if not gone.any() else Column(self.kind, np.where(gone, np.nan, self.values.astype(np.float64)))

    def match(self, kind: Kind, name: str) -> Column:
        """Return the column converted to the kind of the fit; a category is recoded to the levels of the fit."""
        if kind == self.kind:
            return self
        if kind.is_category:
            return Column(kind, self._codes_of(kind, name))
        times = {"datetime", "duration"}
        if self.kind.is_category or (self.kind.name != kind.name and {self.kind.name, kind.name} & times):
            if self.is_missing:
                return Column(kind, np.full(len(self.values), np.nan))
            raise ColumnError(f"Column {name} had kind {kind.describe()} when the model was fitted; now it has kind {self.kind.describe()}")
        if (kind.zone is None) != (self.kind.zone is None):
            which = [f"a time zone ({zone})" if zone else "no time zone" for zone in (kind.zone, self.kind.zone)]
            raise ColumnError(f"Column {name} had {which[0]} when the model was fitted; now it has {which[1]}")
        return self

    def _codes_of(self, kind: Kind, name: str) -> np.ndarray:
        """Codes with respect to the levels of another kind, (n_rows,) int32."""
        own = self if self.kind.is_category else self.as_category()
        known = {level: code for code, level in enumerate(kind.levels)}
        comparable = _classes(kind.levels) == _classes(own.kind.levels) or not own.kind.levels
        if not comparable and kind.levels:
            raise ColumnError(f"Column {name} had kind {kind.describe()} when the model was fitted; now it has kind {own.kind.describe()}")
        to = np.array([*(known.get(level, UNSEEN) for level in own.kind.levels), UNSEEN], dtype=np.int32)
        return to[own.values]

    @property
    def is_missing(self) -> bool:
        """Whether all rows are missing."""
        return bool((self.values < 0).all() if self.kind.is_category else np.isnan(self.values.astype(np.float64)).all())


def check_merged(levels: Sequence[Any], kept: Iterable[tuple[int, Level]]) -> None:
    """Raise if levels of different types, which are not equal, are read as the same level. `kept` has positions and what is read there."""
    read_as: dict[Level, Any] = {}
    for i, level in kept:
        first = read_as.setdefault(level, levels[i])
        if type(first) is not type(levels[i]) and not bool(first == levels[i]):
            raise ColumnError(
                f"the levels {first!r} ({type(first).__name__}) and {levels[i]!r} ({type(levels[i]).__name__}) would both be read as "
                f"{level!r}: convert them to text or numbers that differ"
            )


def as_level(value: Any) -> Level | None:
    """Return a level as a string, integer, float or bool; other types are converted to strings. Missing values become None."""
    if isinstance(value, str):
        return value if value.isascii() else check_text(value, "a level")
    if value is None:
        return None
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real | Decimal):
        number = float(value)
        return None if number != number else int(number) if number.is_integer() else number
    return str(value)


def check_text(text: str, what: str) -> str:
    """Return text, or raise if it has lone surrogates, which no file can hold."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ColumnError(f"{what}, {text!r}, is not valid Unicode: position {error.start} is a lone surrogate; rename it") from None
    return text


def as_plain(level: Any) -> Any:
    """Return a level as JSON data; infinities become objects."""
    return {"number": str(level)} if isinstance(level, float) and not math.isfinite(level) else level


def _from_plain(values: Any) -> list[Any]:
    if not isinstance(values, list):
        raise ValueError("levels must be a list")
    infinite = ({"number": "inf"}, {"number": "-inf"})
    return [float(value["number"]) if isinstance(value, dict) and value in infinite else value for value in values]


def is_float(number: Any) -> bool:
    """Whether a number can be converted to a float: an integer of 400 digits cannot."""
    try:
        float(number)
    except OverflowError:
        return False
    return True


def rank(level: Any) -> tuple[int, Any]:
    """Sort key of levels: numbers before strings."""
    return (1, level) if isinstance(level, str) else (0, level)


def _classes(levels: Iterable[Level]) -> set[str]:
    return {"text" if isinstance(level, str) else "numbers" for level in levels}


@dataclass(frozen=True)
class Schema:
    """Names and kinds of the columns of a table.

    Attributes
    ----------
    n_features : number of columns
    names : names of the columns; None if the table has none
    kinds : kinds of the columns that are not plain numbers, by position
    missing_values : values treated as missing, in addition to NaN and null
    sparse_missing : whether entries that a sparse table does not store are missing rather than zero
    """

    n_features: int
    names: tuple[Name, ...] | None = None
    kinds: Mapping[int, Kind] = field(default_factory=dict)
    missing_values: frozenset[float | str] = frozenset()
    sparse_missing: bool = False

    def kind(self, feature: int) -> Kind:
        return self.kinds.get(feature, NUMBER)

    def name(self, feature: int) -> str:
        """Return the name (quoted) or position of a column, for error messages."""
        return repr(self.names[feature]) if self.names else str(feature)

    @cached_property
    def text_names(self) -> list[str] | None:
        """Names of the columns if all are strings, as in scikit-learn; else None."""
        names = [name for name in self.names or () if isinstance(name, str)]
        return names if names and len(names) == len(self.names or ()) else None

    @property
    def categories(self) -> list[int]:
        """Positions of the categorical columns."""
        return [f for f, kind in sorted(self.kinds.items()) if kind.is_category]

    @classmethod
    def union(cls, schemas: Sequence[Schema]) -> Schema:
        """Return the schema of partitions of a table. A category has the levels of all partitions."""
        first = schemas[0]
        for other in schemas[1:]:
            if (other.n_features, other.names) != (first.n_features, first.names):
                raise ColumnError("partitions must have the same columns in the same order")
        kinds = {f: _union_of_kinds([schema.kind(f) for schema in schemas], first.name(f)) for f in {f for s in schemas for f in s.kinds}}
        return replace(first, kinds={f: kind for f, kind in sorted(kinds.items()) if kind != NUMBER})

    def to_json(self) -> dict[str, Any]:
        """Return the schema as JSON data."""
        kinds: dict[str, Any] = {}
        for feature, kind in sorted(self.kinds.items()):
            about: dict[str, Any] = {"kind": kind.name}
            if kind.is_category:
                about |= {"levels": [as_plain(level) for level in kind.levels], "ordered": kind.ordered}
            if kind.zone is not None:
                about["zone"] = kind.zone
            kinds[str(feature)] = about
        names = None if self.names is None else list(self.names)
        missing_values = [as_plain(value) for value in sorted(self.missing_values, key=rank)]
        return {"names": names, "kinds": kinds, "absent": missing_values, "sparse_missing": self.sparse_missing}

    @classmethod
    def from_json(cls, data: Any, n_features: int) -> Schema:
        """Restore a schema from the data of `to_json`. Raises ValueError for anything else."""
        if not isinstance(data, dict) or set(data) != {"names", "kinds", "absent", "sparse_missing"} or not isinstance(data["kinds"], dict):
            raise ValueError("the description of the features is incomplete")
        names, missing_values, sparse_missing = data["names"], _from_plain(data["absent"]), data["sparse_missing"]
        if not all(type(value) is str or (type(value) in (int, float) and is_float(value)) for value in missing_values):
            raise ValueError("a missing value is neither a string nor a float")
        if type(sparse_missing) is not bool:
            raise ValueError("sparse_missing must be true or false")
        if names is not None:
            if not isinstance(names, list) or len(names) != n_features or not all(type(name) in (str, int) for name in names):
                raise ValueError("names must be strings or integers, one for each feature")
            if len(set(names)) < n_features:
                raise ValueError("names must be unique")
        kinds = {}
        for key, about in data["kinds"].items():
            if not key.isdecimal() or int(key) >= n_features:
                raise ValueError(f"{key!r} is not the number of a feature")
            kinds[int(key)] = _kind_of_json(about)
        return cls(n_features, None if names is None else tuple(names), kinds, frozenset(missing_values), sparse_missing)


def _union_of_kinds(kinds: Sequence[Kind], name: str) -> Kind:
    """Return the kind of a column from its kinds in the partitions."""
    distinct = list(dict.fromkeys(kinds))
    if len(distinct) == 1:
        return distinct[0]
    names = {kind.name for kind in distinct}
    if names == {"category"} and not any(kind.ordered for kind in distinct):
        return Kind("category", tuple(sorted({level for kind in distinct for level in kind.levels}, key=rank)))
    if names <= {"number", "bool"}:
        return NUMBER
    raise ColumnError(f"Column {name} has kind {distinct[0].describe()} in one partition and {distinct[1].describe()} in another")


def _kind_of_json(about: Any) -> Kind:
    if not isinstance(about, dict) or about.get("kind") not in KINDS:
        raise ValueError("unknown kind of a feature")
    levels, ordered, zone = _from_plain(about.get("levels", [])), about.get("ordered", False), about.get("zone")
    if not all(type(level) in (str, int, float, bool) for level in levels):
        raise ValueError("levels must be strings, numbers or bools")
    if len(set(levels)) < len(levels) or type(ordered) is not bool or not (zone is None or (type(zone) is str and is_zone(zone))):
        raise ValueError("invalid kind of a feature")
    return Kind(about["kind"], tuple(levels), ordered, zone)
