"""Encoding: from the columns of a table to the features of a model."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sapwood.data.binning import NUMBER
from sapwood.data.columns import Schema
from sapwood.data.tables import Table
from sapwood.encoding.base import CategoryKeys, Encoder, EncodingTargets
from sapwood.encoding.calendar import PARTS, CalendarPart
from sapwood.encoding.cross import CENTERED, OPERATIONS, Cross
from sapwood.encoding.lookup import MAX_KEYS, Lookup, combine, key_space
from sapwood.runtime.caching import cached_property
from sapwood.runtime.execution import Execution


@dataclass(frozen=True)
class Encoding:
    """Features of a model. Feature f is column f of the table, or its encoded values; additional features follow the columns.

    Attributes
    ----------
    n_columns : number of columns of the table
    lookups : lookup tables of encoded features, by feature
    parts : additional features that are calendar parts of datetime columns, by feature
    crosses : additional features that are computed from two columns, by feature
    """

    n_columns: int
    lookups: Mapping[int, Lookup] = field(default_factory=dict)
    parts: Mapping[int, CalendarPart] = field(default_factory=dict)
    crosses: Mapping[int, Cross] = field(default_factory=dict)

    @cached_property
    def computed(self) -> Mapping[int, CalendarPart | Lookup | Cross]:
        """Features that are not columns as they are, by feature."""
        return {**self.lookups, **self.parts, **self.crosses}

    @property
    def n_features(self) -> int:
        return max(self.n_columns, max(self.computed, default=-1) + 1)

    @property
    def is_plain(self) -> bool:
        """Whether the features are the columns, unchanged."""
        return not self.computed

    def columns_of(self, feature: int) -> tuple[int, ...]:
        """Return the columns that a feature is computed from."""
        return self.computed[feature].columns if feature in self.computed else (feature,)

    def feature(self, number: int, columns: Sequence[np.ndarray]) -> np.ndarray:
        """Return the values of a feature, (n_rows,), from the values of its columns."""
        return self.computed[number].read(columns) if number in self.computed else columns[0]

    def with_parts(self, parts: Sequence[CalendarPart]) -> Encoding:
        """Return the encoding with calendar parts as additional features."""
        return replace(self, parts=dict(enumerate(parts, self.n_features)))

    def with_crosses(self, crosses: Sequence[Cross]) -> Encoding:
        """Return the encoding with cross features as additional features."""
        return replace(self, crosses=dict(enumerate(crosses, self.n_features)))

    @property
    def kinds(self) -> np.ndarray:
        """Type of the splits of each feature, (n_features,) uint8."""
        return np.array([self.lookups[f].kind if f in self.lookups else NUMBER for f in range(self.n_features)], dtype=np.uint8)

    @property
    def n_levels(self) -> np.ndarray:
        """Number of codes of each feature that is split by levels, 0 for others, (n_features,) int64."""
        kinds = self.kinds
        return np.array([int(self.lookups[f].values.max(initial=0)) + 1 if kinds[f] else 0 for f in range(self.n_features)])

    def to_features(self, of_columns: np.ndarray) -> np.ndarray:
        """Return a value per feature from a value per column; a feature of several columns has the minimum of theirs."""
        if self.is_plain:
            return of_columns
        return np.array([of_columns[list(self.columns_of(f))].min() for f in range(self.n_features)], dtype=of_columns.dtype)

    def sum_by_column(self, of_features: np.ndarray) -> np.ndarray:
        """Return sums over the features of each column, (n_columns,) float64; a feature of several columns is divided equally."""
        out = np.zeros(self.n_columns)
        for f, value in enumerate(of_features):
            columns = list(self.columns_of(f))
            out[columns] += value / len(columns)
        return out

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the concatenated lookup tables, in the order of the features."""
        lookups = [self.lookups[f] for f in sorted(self.lookups)]
        return {
            "lookup_begin": np.cumsum([0] + [len(lookup.keys) for lookup in lookups], dtype=np.int64),
            "lookup_keys": np.concatenate([np.empty(0, dtype=np.int64), *(lookup.keys for lookup in lookups)]),
            "lookup_values": np.concatenate([np.empty(0), *(lookup.values for lookup in lookups)]),
            "lookup_other": np.array([lookup.other for lookup in lookups], dtype=np.float64),
        }

    def to_json(self) -> dict[str, Any]:
        """Return everything except the arrays as JSON data."""
        about = {f: {"columns": list(lookup.columns), "n_levels": list(lookup.n_levels)} for f, lookup in self.lookups.items()}
        out: dict[str, Any] = {"n_columns": self.n_columns, "lookups": {str(f): about[f] for f in sorted(about)}}
        if self.parts:
            out["parts"] = {str(f): {"column": part.column, "part": part.part} for f, part in sorted(self.parts.items())}
        if self.crosses:
            out["crosses"] = {str(f): _cross_data(cross) for f, cross in sorted(self.crosses.items())}
        return out

    @classmethod
    def from_data(cls, about: Any, arrays: dict[str, np.ndarray], n_features: int) -> Encoding:
        """Restore an encoding from the results of `to_json` and `arrays`, without time zones. Raises ValueError for invalid data."""
        n_columns, described, parts, crosses = _parse(about, n_features)
        begin, keys, values, other = (arrays[f"lookup_{name}"] for name in ("begin", "keys", "values", "other"))
        if len(begin) != len(described) + 1 or len(other) != len(described) or len(keys) != len(values):
            raise ValueError("the arrays of the lookups have different lengths")
        if begin[0] != 0 or begin[-1] != len(keys) or (begin[:-1] > begin[1:]).any():
            raise ValueError("the lookups do not cover their values")
        lookups = {}
        for i, (f, (columns, n_levels)) in enumerate(described.items()):
            own = slice(begin[i], begin[i + 1])
            lookups[f] = Lookup(columns, n_levels, keys[own], values[own], float(other[i]), int(arrays["kinds"][f]))
            _check(lookups[f], int(arrays["cuts_begin"][f + 1] - arrays["cuts_begin"][f]) + 1)
        if not set(np.flatnonzero(arrays["kinds"] != NUMBER).tolist()) <= set(lookups):
            raise ValueError("a category has no lookup")
        return cls(n_columns, lookups, parts, crosses)

    def with_zones(self, schema: Schema) -> Encoding:
        """Return the encoding with the time zones of a schema."""
        return replace(self, parts={f: replace(part, zone=schema.kind(part.column).zone) for f, part in self.parts.items()})

    def check(self, schema: Schema) -> None:
        """Raise ValueError if the encoding does not match the schema."""
        if any(schema.kind(part.column).name != "datetime" for part in self.parts.values()):
            raise ValueError("a column with calendar parts is not a datetime")
        for cross in self.crosses.values():
            first, second = (schema.kind(c) for c in cross.columns)
            centered = cross.operation == CENTERED
            if first.is_category or second.is_category != centered or (centered and len(cross.means) != 1 + len(second.levels)):
                raise ValueError(f"a cross feature ({cross.operation}) does not match its columns")
        for feature in {*self.lookups, *schema.categories}:
            levels = [len(schema.kind(c).levels) if schema.kind(c).is_category else None for c in self.columns_of(feature)]
            if feature not in self.lookups or levels != list(self.lookups[feature].n_levels):
                raise ValueError(f"the lookup of feature {feature} does not match the levels of its columns")

    def apply(self, table: Table, training: Mapping[int, np.ndarray] | None = None) -> Table:
        """Return the table of features. `training` are the values of features in the training rows, (n_rows,), by feature."""
        return table if self.is_plain else EncodedTable(table, self, training or {})


Parsed = tuple[int, dict[int, tuple[tuple[int, ...], tuple[int, ...]]], dict[int, CalendarPart], dict[int, Cross]]


def _parse(about: Any, n_features: int) -> Parsed:
    """Return the number of columns; the columns and their numbers of levels for each lookup; the calendar parts; the cross features."""
    if (
        not isinstance(about, dict)
        or set(about) - {"parts", "crosses"} != {"n_columns", "lookups"}
        or not isinstance(about["lookups"], dict)
    ):
        raise ValueError("the description of the features is incomplete")
    n_columns = about["n_columns"]
    if type(n_columns) is not int or not 1 <= n_columns <= n_features:
        raise ValueError("n_columns is out of range")
    described = {}
    for key, one in about["lookups"].items():
        if not key.isdecimal() or int(key) >= n_features or not isinstance(one, dict) or set(one) != {"columns", "n_levels"}:
            raise ValueError(f"the description of feature {key!r} is invalid")
        columns, n_levels = one["columns"], one["n_levels"]
        for numbers, most in ((columns, n_columns - 1), (n_levels, MAX_KEYS)):
            if not isinstance(numbers, list) or not numbers or not all(type(n) is int and 0 <= n <= most for n in numbers):
                raise ValueError(f"feature {key!r} has columns or levels out of range")
        if len(columns) != len(n_levels) or key_space(n_levels) > MAX_KEYS or (int(key) < n_columns and columns != [int(key)]):
            raise ValueError(f"feature {key!r} has columns and levels that do not match")
        described[int(key)] = tuple(columns), tuple(n_levels)
    parts = _parse_parts(about.get("parts", {}), n_columns, n_features)
    crosses = _parse_crosses(about.get("crosses", {}), n_columns, n_features)
    all_ = [*described, *parts, *crosses]
    if set(range(n_columns, n_features)) - set(all_) or len(set(all_)) < len(all_):
        raise ValueError("an additional feature is described twice or not at all")
    return n_columns, dict(sorted(described.items())), parts, crosses


def _parse_parts(about: Any, n_columns: int, n_features: int) -> dict[int, CalendarPart]:
    if not isinstance(about, dict):
        raise ValueError("the description of the calendar parts is invalid")
    parts = {}
    for key, one in about.items():
        if not key.isdecimal() or not n_columns <= int(key) < n_features or not isinstance(one, dict) or set(one) != {"column", "part"}:
            raise ValueError(f"the description of calendar part {key!r} is invalid")
        column, part = one["column"], one["part"]
        if type(column) is not int or not 0 <= column < n_columns or type(part) is not str or part not in PARTS:
            raise ValueError(f"calendar part {key!r} is unknown, or its column is out of range")
        parts[int(key)] = CalendarPart(column, part)
    return dict(sorted(parts.items()))


def _cross_data(cross: Cross) -> dict[str, Any]:
    data: dict[str, Any] = {"operation": cross.operation, "columns": list(cross.columns)}
    return data | {"means": list(cross.means)} if cross.operation == CENTERED else data


def _parse_crosses(about: Any, n_columns: int, n_features: int) -> dict[int, Cross]:
    if not isinstance(about, dict):
        raise ValueError("the description of the cross features is invalid")
    crosses = {}
    for key, one in about.items():
        if not key.isdecimal() or not n_columns <= int(key) < n_features or not isinstance(one, dict):
            raise ValueError(f"the description of cross feature {key!r} is invalid")
        operation, columns, means = one.get("operation"), one.get("columns"), one.get("means", [])
        centered = operation == CENTERED
        if operation not in OPERATIONS or set(one) != {"operation", "columns"} | ({"means"} if centered else set()):
            raise ValueError(f"cross feature {key!r} has an unknown operation, or other entries than it needs")
        if not isinstance(columns, list) or len(columns) != 2 or not all(type(c) is int and 0 <= c < n_columns for c in columns):
            raise ValueError(f"cross feature {key!r} has columns out of range")
        if not isinstance(means, list) or not all(type(mean) is float and math.isfinite(mean) for mean in means):
            raise ValueError(f"cross feature {key!r} has a mean that is not a finite number")
        crosses[int(key)] = Cross(operation, (columns[0], columns[1]), tuple(means))
    return dict(sorted(crosses.items()))


def _check(lookup: Lookup, n_bins: int) -> None:
    """Raise ValueError if a lookup is invalid."""
    keys, values = lookup.keys, lookup.values
    if len(keys) and (keys[0] < 0 or keys[-1] >= key_space(lookup.n_levels) or (keys[:-1] >= keys[1:]).any()):
        raise ValueError("the keys of a lookup are out of range or not ascending")
    if lookup.kind == NUMBER:
        if not np.isfinite(values).all() or np.isinf(lookup.other):
            raise ValueError("a value of a lookup is not finite")
    elif not (np.isin(values, np.arange(n_bins)).all() and np.isnan(lookup.other)):
        raise ValueError("a level has no bin")


class EncodedTable(Table):
    """Table of the features of an encoding. Encoded features are computed when they are read."""

    table: Table
    encoding: Encoding
    given: Mapping[int, np.ndarray]
    n_rows: int
    n_features: int

    def __init__(self, table: Table, encoding: Encoding, given: Mapping[int, np.ndarray]) -> None:
        self.table, self.encoding, self.given = table, encoding, given
        self.n_rows, self.n_features = table.n_rows, encoding.n_features

    def feature_blocks(self, max_features: int) -> list[tuple[int, int]]:
        out = []
        for first, last in self.table.feature_blocks(max_features):
            begin = first
            for f in range(first, last):
                if f in self.encoding.lookups:
                    out += [(begin, f)] * (begin < f) + [(f, f + 1)]
                    begin = f + 1
            out += [(begin, last)] * (begin < last)
        return out + [(f, f + 1) for f in range(self.encoding.n_columns, self.n_features)]

    def read(self, rows: slice | np.ndarray, first: int, last: int) -> np.ndarray:
        if first in self.given:
            return self.given[first][rows, None]
        if first in self.encoding.computed:
            columns = [self.table.read(rows, c, c + 1)[:, 0] for c in self.encoding.columns_of(first)]
            return self.encoding.feature(first, columns)[:, None]
        return self.table.read(rows, first, last)

    @property
    def random_access(self) -> bool:  # type: ignore[override]
        return self.table.random_access

    def release(self) -> None:
        self.table.release()

    def digest(self, first_row: int, execution: Execution) -> bytes:
        encoding, hashes = self.encoding, hashlib.sha256(self.table.digest(first_row, execution))
        hashes.update(json.dumps(encoding.to_json()).encode())
        for array in (*encoding.arrays().values(), encoding.kinds, *(self.given[f] for f in sorted(self.given))):
            hashes.update(np.ascontiguousarray(array).data)
        return hashes.digest()

    def sample(self, rows: np.ndarray | None, first: int, last: int) -> np.ndarray:
        if first in self.given:
            return self.given[first][slice(None) if rows is None else rows, None]
        if first in self.encoding.computed:
            columns = [self.table.sample(rows, c, c + 1)[:, 0] for c in self.encoding.columns_of(first)]
            return self.encoding.feature(first, columns)[:, None]
        return self.table.sample(rows, first, last)

    def dense(self, rows: slice) -> np.ndarray:
        if rows.stop - rows.start > 1 or self.given or self.encoding.parts:
            return super().dense(rows)
        columns = self.table.dense(rows)[0].tolist()  # one row, value by value: faster than arrays of length 1
        features = columns + [np.nan] * (self.n_features - len(columns))
        for sources in (self.encoding.lookups, self.encoding.crosses):
            for feature, source in sources.items():
                features[feature] = source.value([columns[c] for c in source.columns])
        return np.array([features])


@dataclass(frozen=True)
class ColumnEncoders:
    """Encoders of the categorical columns of a table.

    Attributes
    ----------
    encoders : encoders by column; the first feature replaces the column, others are appended
    combinations : groups of columns that are encoded together, with their encoder
    """

    encoders: Mapping[int, Sequence[Encoder]]
    combinations: Sequence[tuple[tuple[int, ...], Encoder]] = ()

    def fit(self, table: Table, n_levels: Mapping[int, int], targets: EncodingTargets, rows: np.ndarray | None) -> FittedEncoding:
        """Fit the encoders to the given rows of a table (None for all), whose targets are `targets`."""
        codes = {c: table.column(c) for c in self.encoders}
        lookups: dict[int, Lookup] = {}
        training: dict[int, np.ndarray] = {}
        n_features = table.n_features
        work = [((c,), encoder) for c, encoders in sorted(self.encoders.items()) for encoder in encoders]
        for columns, encoder in [*work, *self.combinations]:
            levels = tuple(n_levels[c] for c in columns)
            keys = combine([codes[c] for c in columns], levels)
            own = CategoryKeys(columns, levels, keys if rows is None else keys[rows])
            for encoded in encoder.fit(own, targets):
                feature = columns[0]
                if len(columns) > 1 or feature in lookups:
                    feature, n_features = n_features, n_features + 1
                lookups[feature] = encoded.lookup
                if encoded.training is not None:
                    training[feature] = encoded.training
        return FittedEncoding(Encoding(table.n_features, lookups), table, training, rows)


@dataclass(frozen=True)
class FittedEncoding:
    """Encoding with the table that it was fitted on."""

    encoding: Encoding
    table: Table
    training: Mapping[int, np.ndarray] = field(default_factory=dict)  # values in the training rows of features that are not looked up there
    rows: np.ndarray | None = None

    @cached_property
    def features(self) -> Table:
        """Features of the table: training values in the training rows, looked-up values in all other rows."""
        given = {}
        for feature, values in self.training.items():
            if self.rows is not None:
                own = values
                values = self.encoding.apply(self.table).column(feature)
                values[self.rows] = own
            given[feature] = values
        return self.encoding.apply(self.table, given)

    def continue_with(self, encoding: Encoding, how: str) -> FittedEncoding:
        """Return the result with the encoding of an existing model, whose lookups are kept. `how` names the argument in error messages."""
        if encoding.parts != self.encoding.parts:
            raise ValueError(f"{how} continues a model with other calendar parts: do not change datetime_features")
        crosses = [[(cross.operation, cross.columns) for _, cross in sorted(e.crosses.items())] for e in (encoding, self.encoding)]
        if crosses[0] != crosses[1]:
            raise ValueError(f"{how} continues a model with other cross features: do not change cross_features")
        columns = [{f: e.columns_of(f) for f in range(e.n_features)} for e in (encoding, self.encoding)]
        if columns[0] != columns[1] or not np.array_equal(encoding.kinds, self.encoding.kinds):
            raise ValueError(f"{how} continues a model with other encoders: do not change the parameters of categorical columns")
        return replace(self, encoding=encoding)
