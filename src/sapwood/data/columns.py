"""Kinds of columns, the levels of categories, and the schema: what a model remembers of the table it was made from.

A column is read as numbers. Of a category these are its codes: positions in a list of levels. Levels are kept by value, in an order that
does not depend on the library that the table came from, so a model knows them again in any other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any

import numpy as np

Name = str | int
Level = str | int | float | bool

KINDS = ("number", "bool", "datetime", "duration", "category")
UNSEEN = -1  # the code of a missing level, and of one that the fit did not see


class ColumnError(ValueError, TypeError):
    """A column that cannot be read, or is not what it was when the model was fitted."""


@dataclass(frozen=True)
class Kind:
    """What a column holds.

    Attributes
    ----------
    name : one of KINDS
    levels : of a category, by value: strings, integers, floats or bools, ascending, or in the order of a type that has one
    ordered : whether their order means something
    zone : of datetimes with a time zone, its name
    """

    name: str = "number"
    levels: tuple[Level, ...] = ()
    ordered: bool = False
    zone: str | None = None

    @property
    def is_category(self) -> bool:
        return self.name == "category"

    def describe(self) -> str:
        """For people."""
        if not self.is_category:
            return self.name if self.zone is None else f"{self.name} in {self.zone}"
        few = ", ".join(map(repr, self.levels[:3])) + (", ..." if len(self.levels) > 3 else "")
        return f"category of {len(self.levels)} levels ({few})" if self.levels else "category without levels"


NUMBER = Kind()


@dataclass(frozen=True)
class Column:
    """A column as numbers: its own, 0 and 1 for bools, microseconds for times, codes for a category.

    Attributes
    ----------
    values : (n_rows,) array that the kernels read; NaN is missing; of a category int32, UNSEEN is missing
    """

    kind: Kind
    values: np.ndarray

    @classmethod
    def of_levels(cls, codes: np.ndarray, levels: Sequence[Any], ordered: bool = False) -> Column:
        """A category from codes (negative: missing) and what they stand for: in canonical order, without levels that no row has."""
        values = [as_level(level) for level in levels]
        codes = np.asarray(codes)
        used = np.zeros(len(values) + 1, dtype=bool)  # the last one takes what is missing
        used[codes] = True
        kept = [(i, level) for i, level in enumerate(values) if level is not None and (ordered or used[i])]
        if not ordered:
            kept.sort(key=lambda pair: rank(pair[1]))
        distinct: dict[Level, int] = {}
        to = np.full(len(values) + 1, UNSEEN, dtype=np.int32)
        for i, level in kept:
            to[i] = distinct.setdefault(level, len(distinct))
        return cls(Kind("category", tuple(distinct), ordered), to[codes])

    def as_category(self) -> Column:
        """The same column, each of its values a level."""
        if self.kind.is_category:
            return self
        distinct, codes = np.unique(self.values, return_inverse=True)
        n = int(np.count_nonzero(~np.isnan(distinct))) if distinct.dtype.kind == "f" else len(distinct)
        return Column.of_levels(np.where(codes < n, codes, UNSEEN), distinct[:n].tolist())

    def without(self, absent: frozenset[Any]) -> Column:
        """The same column, with these values missing too."""
        if self.kind.is_category:
            levels = [None if level in absent else level for level in self.kind.levels]
            return self if None not in levels else Column.of_levels(self.values, levels)
        gone = np.isin(self.values, [float(value) for value in absent if isinstance(value, Real)])
        return self if not gone.any() else Column(self.kind, np.where(gone, np.nan, self.values.astype(np.float64)))

    def match(self, kind: Kind, name: str) -> Column:
        """This column read as the kind it had when the model was fitted: of a category, codes of the fitted levels."""
        if kind == self.kind:
            return self
        if kind.is_category:
            return Column(kind, self._codes_of(kind, name))
        times = {"datetime", "duration"}
        if self.kind.is_category or (self.kind.name != kind.name and {self.kind.name, kind.name} & times):
            if self.is_missing:
                return Column(kind, np.full(len(self.values), np.nan))
            raise ColumnError(f"Column {name} held {kind.describe()} when the model was fitted; now it holds {self.kind.describe()}")
        if (kind.zone is None) != (self.kind.zone is None):
            which = [f"a time zone ({zone})" if zone else "no time zone" for zone in (kind.zone, self.kind.zone)]
            raise ColumnError(f"Column {name} had {which[0]} when the model was fitted; now it has {which[1]}")
        return self

    def _codes_of(self, kind: Kind, name: str) -> np.ndarray:
        """(n_rows,) int32: positions among the levels of another kind."""
        own = self if self.kind.is_category else self.as_category()
        known = {level: code for code, level in enumerate(kind.levels)}
        comparable = _classes(kind.levels) == _classes(own.kind.levels) or not own.kind.levels
        if not comparable and kind.levels:
            raise ColumnError(f"Column {name} held {kind.describe()} when the model was fitted; now it holds {own.kind.describe()}")
        to = np.array([*(known.get(level, UNSEEN) for level in own.kind.levels), UNSEEN], dtype=np.int32)
        return to[own.values]

    @property
    def is_missing(self) -> bool:
        """Whether no row has a value."""
        return bool((self.values < 0).all() if self.kind.is_category else np.isnan(self.values.astype(np.float64)).all())


def as_level(value: Any) -> Level | None:
    """A level in the form that a model keeps: anything but text, numbers and bools by its text."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        number = float(value)
        return None if number != number else int(number) if number.is_integer() else number
    return str(value)


def as_plain(level: Any) -> Any:
    """A level for JSON, which knows no infinity."""
    return {"number": str(level)} if isinstance(level, float) and not math.isfinite(level) else level


def _from_plain(values: Any) -> list[Any]:
    if not isinstance(values, list):
        raise ValueError("levels must be a list")
    infinite = ({"number": "inf"}, {"number": "-inf"})
    return [float(value["number"]) if isinstance(value, dict) and value in infinite else value for value in values]


def rank(level: Any) -> tuple[int, Any]:
    """By which levels are sorted, of whatever types."""
    return (1, level) if isinstance(level, str) else (0, level)


def _classes(levels: Iterable[Level]) -> set[str]:
    return {"text" if isinstance(level, str) else "numbers" for level in levels}


@dataclass(frozen=True)
class Schema:
    """The features of a table.

    Attributes
    ----------
    n_features : int
    names : of the columns, if the table had any
    kinds : of the features that are not plain numbers
    absent : values that mean missing, besides those that always do
    sparse_missing : whether entries that a sparse table does not have are missing, rather than zero
    """

    n_features: int
    names: tuple[Name, ...] | None = None
    kinds: Mapping[int, Kind] = field(default_factory=dict)
    absent: frozenset[float | str] = frozenset()
    sparse_missing: bool = False

    def kind(self, feature: int) -> Kind:
        return self.kinds.get(feature, NUMBER)

    def name(self, feature: int) -> str:
        """For messages."""
        return repr(self.names[feature]) if self.names else str(feature)

    @property
    def categories(self) -> list[int]:
        """The features that are categories."""
        return [f for f, kind in sorted(self.kinds.items()) if kind.is_category]

    @classmethod
    def union(cls, schemas: Sequence[Schema]) -> Schema:
        """Schema of tables that are partitions of one: a category has the levels of all."""
        first = schemas[0]
        for other in schemas[1:]:
            if (other.n_features, other.names) != (first.n_features, first.names):
                raise ColumnError("partitions must have the same columns in the same order")
        kinds = {f: _union_of_kinds([schema.kind(f) for schema in schemas], first.name(f)) for f in {f for s in schemas for f in s.kinds}}
        return replace(first, kinds={f: kind for f, kind in sorted(kinds.items()) if kind != NUMBER})

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        kinds: dict[str, Any] = {}
        for feature, kind in sorted(self.kinds.items()):
            about: dict[str, Any] = {"kind": kind.name}
            if kind.is_category:
                about |= {"levels": [as_plain(level) for level in kind.levels], "ordered": kind.ordered}
            if kind.zone is not None:
                about["zone"] = kind.zone
            kinds[str(feature)] = about
        names = None if self.names is None else list(self.names)
        absent = [as_plain(value) for value in sorted(self.absent, key=rank)]
        return {"names": names, "kinds": kinds, "absent": absent, "sparse_missing": self.sparse_missing}

    @classmethod
    def from_json(cls, data: Any, n_features: int) -> Schema:
        """What `to_json` made; ValueError for anything else."""
        if not isinstance(data, dict) or set(data) != {"names", "kinds", "absent", "sparse_missing"} or not isinstance(data["kinds"], dict):
            raise ValueError("the features are not described")
        names, absent, sparse_missing = data["names"], _from_plain(data["absent"]), data["sparse_missing"]
        if not all(type(value) in (str, int, float) for value in absent) or type(sparse_missing) is not bool:
            raise ValueError("what is missing is not described")
        if names is not None:
            if not isinstance(names, list) or len(names) != n_features or not all(type(name) in (str, int) for name in names):
                raise ValueError("names must be strings or integers, one for each feature")
            if len(set(names)) < n_features:
                raise ValueError("names must differ")
        kinds = {}
        for key, about in data["kinds"].items():
            if not key.isdecimal() or int(key) >= n_features:
                raise ValueError(f"{key!r} is no feature")
            kinds[int(key)] = _kind_of_json(about)
        return cls(n_features, None if names is None else tuple(names), kinds, frozenset(absent), sparse_missing)


def _union_of_kinds(kinds: Sequence[Kind], name: str) -> Kind:
    """Kind of a column of which partitions have these."""
    distinct = list(dict.fromkeys(kinds))
    if len(distinct) == 1:
        return distinct[0]
    names = {kind.name for kind in distinct}
    if names == {"category"} and not any(kind.ordered for kind in distinct):
        return Kind("category", tuple(sorted({level for kind in distinct for level in kind.levels}, key=rank)))
    if names <= {"number", "bool"}:
        return NUMBER
    raise ColumnError(f"Column {name} holds {distinct[0].describe()} in one partition and {distinct[1].describe()} in another")


def _kind_of_json(about: Any) -> Kind:
    if not isinstance(about, dict) or about.get("kind") not in KINDS:
        raise ValueError("a kind is unknown")
    levels, ordered, zone = _from_plain(about.get("levels", [])), about.get("ordered", False), about.get("zone")
    if not all(type(level) in (str, int, float, bool) for level in levels):
        raise ValueError("levels must be strings, numbers or bools")
    if len(set(levels)) < len(levels) or type(ordered) is not bool or not (zone is None or type(zone) is str):
        raise ValueError("a kind makes no sense")
    return Kind(about["kind"], tuple(levels), ordered, zone)
