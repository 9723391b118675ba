"""Table of a stream: its rows are read in passes, from the first to the last."""

from __future__ import annotations

import os
import tempfile
import weakref
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse

from sapwood.data.columns import NUMBER, UNSEEN, Column, ColumnError, Kind, Level, Name, Schema, rank
from sapwood.data.frames import array_table, column_name, frame_table, open_frame
from sapwood.data.sparse import SparseTable
from sapwood.data.sparse_formats import check_sparse
from sapwood.data.streams import Stream
from sapwood.data.tables import FrameTable, Table, match_names
from sapwood.runtime import kernels
from sapwood.runtime.execution import Execution

CHANGED = (
    "a stream must give the same rows in the same order each time it is read; write it to a file first, or sort it, if it is a query "
    "without an order"
)


@dataclass(frozen=True)
class InspectedStream:
    """Stream with everything that is known after its first pass, which reads only the columns whose kind depends on their values.

    Attributes
    ----------
    stream : the stream
    names : columns that are features; None if the columns have no names
    n_rows : number of rows
    columns : kinds of the features; a category has its codes, all others have no values
    values : values of other columns, such as targets, by name
    """

    stream: Stream
    names: tuple[str, ...] | None
    n_rows: int
    columns: tuple[Column, ...]
    values: Mapping[str, np.ndarray] = field(default_factory=dict)


def inspect_stream(stream: Stream, values: Sequence[str] = ()) -> InspectedStream:
    """Read the columns `values`, and the kinds, levels and codes of all other columns, which become features."""
    names = None if stream.names is None else tuple(name for name in stream.names if name not in set(values))
    n_features = stream.n_columns if names is None else len(names)
    if n_features == 0:
        raise ValueError("Found array with 0 feature(s) while a minimum of 1 is required.")
    fixed = _fixed_kinds(stream, names)
    unknown = [f for f in range(n_features) if f not in fixed]
    kinds: list[_KindOfBatches] = [_KindOfBatches() for _ in unknown]
    wanted = None if names is None else [*values, *(names[f] for f in unknown)]
    n_rows = stream.count() if wanted == [] else None
    parts: dict[str, list[np.ndarray]] = {name: [] for name in values}
    texts: dict[Any, Any] = {}
    if n_rows is None:
        n_rows = 0
        for batch in stream.batches(wanted or (None if names is None else names[:1])):
            table = batch_table(batch)
            frame, schema = open_frame(batch) if values else None, table.schema
            for name in values:
                assert frame is not None
                parts[name].append(_shared(frame[name].to_numpy(), texts))
            for i, kind in enumerate(kinds):
                label = str(unknown[i]) if names is None else repr(names[unknown[i]])
                kind.add(_column_of(table, schema, unknown[i] if names is None else len(values) + i), label)
            n_rows += table.n_rows
    if n_rows == 0:
        raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required: the stream has no rows")
    columns = fixed | {f: kind.column() for f, kind in zip(unknown, kinds, strict=True)}
    arrays = {name: np.concatenate(of_name) for name, of_name in parts.items()}
    return InspectedStream(stream, names, n_rows, tuple(columns[f] for f in range(n_features)), arrays)


def _shared(values: np.ndarray, known: dict[Any, Any]) -> np.ndarray:
    """Return objects with one object for all equal texts, which would take memory for each row."""
    if values.dtype.kind == "O":
        values[:] = [known.setdefault(value, value) if isinstance(value, str) else value for value in values]
    return values


def _fixed_kinds(stream: Stream, names: tuple[str, ...] | None) -> dict[int, Column]:
    """Return the columns, without values, whose kind follows from their type."""
    empty = stream.empty()
    frame = None if empty is None or names is None else open_frame(empty)
    if frame is None or names is None:
        return {}
    plain = (nw.Boolean, nw.Datetime, nw.Date, nw.Duration)
    found = {}
    for f, name in enumerate(names):
        dtype = frame[name].dtype
        if dtype.is_integer() or dtype.is_float() or isinstance(dtype, plain):
            found[f] = frame_table(frame.select(name)).columns[0]
    return found


@dataclass
class _KindOfBatches:
    """Kind of a column, and codes of its levels, from batch to batch."""

    kind: Kind | None = None
    levels: dict[Level, int] = field(default_factory=dict)
    codes: list[np.ndarray | int] = field(default_factory=list)  # of each batch; the number of rows of a batch without levels

    def add(self, column: Column, label: str) -> None:
        is_unknown = column.kind == NUMBER and column.is_missing  # also a batch of text that is all missing
        if not is_unknown:
            self.kind = column.kind if self.kind is None else _common(self.kind, column.kind, label)
        if not column.kind.is_category:
            self.codes.append(len(column.values))
            return
        to = np.array([*(self.levels.setdefault(level, len(self.levels)) for level in column.kind.levels), UNSEEN], dtype=np.int32)
        self.codes.append(to[column.values])

    def column(self) -> Column:
        """Return the column: with codes if it is a category, else without values."""
        if self.kind is None or not self.kind.is_category:
            return Column(self.kind or NUMBER, np.empty(0))
        levels = self.kind.levels if self.kind.ordered else tuple(sorted(self.levels, key=rank))
        at = {level: code for code, level in enumerate(levels)}
        to = np.array([*(at[level] for level in self.levels), UNSEEN], dtype=np.int32)
        codes = np.full(sum(part if isinstance(part, int) else len(part) for part in self.codes), UNSEEN, dtype=np.int32)
        start = 0
        for part in self.codes:
            if isinstance(part, int):
                start += part
                continue
            codes[start : start + len(part)] = to[part]
            start += len(part)
        self.codes.clear()
        return Column(Kind("category", levels, self.kind.ordered), codes)


def _common(first: Kind, other: Kind, label: str) -> Kind:
    """Return the kind of a column that has these kinds in two batches."""
    if first == other or (first.is_category and other.is_category and not first.ordered and not other.ordered):
        return first
    if {first.name, other.name} <= {"number", "bool"}:
        return NUMBER
    raise ColumnError(f"Column {label} has kind {first.describe()} in one batch of the stream and {other.describe()} in another")


def batch_table(batch: Any, sparse_missing: bool = False) -> Table:
    """Return a batch as a table."""
    if sparse.issparse(batch):
        return SparseTable(check_sparse(batch), sparse_missing, frozenset())
    frame = open_frame(batch)
    return array_table(np.asarray(batch)) if frame is None else frame_table(frame)


def _column_of(table: Table, schema: Schema, feature: int) -> Column:
    """Return a column of a batch. `schema` is that of the batch."""
    if isinstance(table, FrameTable):
        return table.columns[feature]
    return Column(schema.kind(feature), table.read(slice(0, table.n_rows), feature, feature + 1)[:, 0])


class SampleFile:
    """Sampled rows in a temporary file without a name, one feature after the other."""

    def __init__(self, n_rows: int, folder: str | None) -> None:
        self.n_rows, self.folder = n_rows, folder or tempfile.gettempdir()
        self.file, path = tempfile.mkstemp(prefix="sapwood-sample-", dir=folder)
        os.unlink(path)  # the space is free when the file is closed
        weakref.finalize(self, os.close, self.file)

    def write(self, feature: int, first: int, values: np.ndarray) -> None:
        data, at = np.ascontiguousarray(values, dtype=np.float64).tobytes(), 8 * (feature * self.n_rows + first)
        try:
            while data:
                n_written = os.pwrite(self.file, data, at)
                data, at = data[n_written:], at + n_written
        except OSError as error:
            raise OSError(error.errno, f"cannot store a sample of the rows of X: {error.strerror}", self.folder) from error

    def __getitem__(self, feature: int) -> np.ndarray:
        values, n_read = np.empty(8 * self.n_rows, dtype=np.uint8), 0
        while n_read < len(values):
            n_read += os.preadv(self.file, [values[n_read:].data], 8 * feature * self.n_rows + n_read)
        return values.view(np.float64)[:, None]


class StreamTable(Table):
    """Table of the features of a stream.

    Rows are read in ascending order, in a window of batches that moves forward; reading earlier rows starts another pass. The first
    complete pass records a hash of each column, and every other one must give the same.
    """

    random_access = False
    stream: Stream
    n_rows: int
    n_features: int

    def __init__(self, inspected: InspectedStream, missing_values: frozenset[Any] = frozenset(), sparse_missing: bool = False) -> None:
        self.inspected, self.stream, self.n_rows = inspected, inspected.stream, inspected.n_rows
        self.names: tuple[Name, ...] | None = None if inspected.names is None else tuple(column_name(name) for name in inspected.names)
        self.missing_values, self.sparse_missing = missing_values, sparse_missing
        columns = inspected.columns
        self.n_features = len(columns)
        known = [column.without(missing_values) if missing_values and column.kind.is_category else column for column in columns]
        self.kinds: list[Kind] = [column.kind for column in known]
        self.codes: dict[int, np.ndarray] = {f: column.values for f, column in enumerate(known) if column.kind.is_category}
        self._hashes: np.ndarray | None = None
        self._window: deque[tuple[int, FrameTable]] = deque()
        self._pass: Iterator[tuple[int, FrameTable]] = iter(())
        self._sampled: tuple[np.ndarray | None, list[np.ndarray] | SampleFile] | None = None
        self._folder: str | None = None
        self._is_limited = False

    @property
    def schema(self) -> Schema:
        return Schema(self.n_features, self.names, {f: kind for f, kind in enumerate(self.kinds) if kind != NUMBER})

    def feature_blocks(self, max_features: int) -> list[tuple[int, int]]:
        return [(feature, feature + 1) for feature in range(self.n_features)]

    def row_blocks(self) -> list[slice]:
        step = self.stream.n_batch_rows
        return [slice(start, min(start + step, self.n_rows)) for start in range(0, self.n_rows, step)]

    # Passes

    def read(self, rows: slice | np.ndarray, first: int, last: int) -> np.ndarray:
        if first in self.codes:
            return self.codes[first][rows, None]
        begin, end = (
            rows.indices(self.n_rows)[:2] if isinstance(rows, slice) else (int(rows[0]), int(rows[-1]) + 1) if len(rows) else (0, 0)
        )
        if begin >= end:
            return np.empty((0, last - first))
        self._move(begin, end)
        parts = []
        for start, table in self._window:
            if start >= end:
                break
            if isinstance(rows, slice):
                own: slice | np.ndarray = slice(max(0, begin - start), end - start)
            else:
                low, high = np.searchsorted(rows, [start, start + table.n_rows])
                own = rows[low:high] - start
            parts.append(table.read(own, first, last))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _move(self, begin: int, end: int) -> None:
        """Move the window to the rows [begin, end)."""
        if not self._window or begin < self._window[0][0]:
            self._window.clear()
            self._pass, self._sampled = self._batches(), None
        while self._window and self._window[0][0] + self._window[0][1].n_rows <= begin:
            self._window.popleft()
        while not self._window or self._window[-1][0] + self._window[-1][1].n_rows < end:
            start, table = next(self._pass)
            if start + table.n_rows > begin:
                self._window.append((start, table))

    def _batches(self) -> Iterator[tuple[int, FrameTable]]:
        """Yield the first row and the features of each batch, in one pass. Categories have no values: see `codes`."""
        names, schema, start = self.inspected.names, self.schema, 0
        wanted = [f for f in range(self.n_features) if f not in self.codes]
        hashes = self._code_hashes()
        if not wanted:
            return self._check(hashes)
        for batch in self.stream.batches(None if names is None else [names[f] for f in wanted]):
            table = batch_table(batch, self.sparse_missing)
            of_batch = table.schema
            columns = [Column(NUMBER, np.empty(table.n_rows, dtype=np.uint8))] * self.n_features
            for i, f in enumerate(wanted):
                own = _column_of(table, of_batch, f if names is None else i)
                columns[f] = (own.without(self.missing_values) if self.missing_values else own).match(self.kinds[f], schema.name(f))
            frame = FrameTable(columns)
            if start + frame.n_rows > self.n_rows:
                raise ValueError(f"X had {self.n_rows} rows when it was first read, now it has more: {CHANGED}")
            for f in wanted:
                kernels.hash_columns(frame.read(slice(0, frame.n_rows), f, f + 1), start, hashes[f : f + 1], 1)
            if start + frame.n_rows == self.n_rows:
                self._check(hashes)
            yield start, frame
            start += frame.n_rows
        if start < self.n_rows:
            raise ValueError(f"X had {self.n_rows} rows when it was first read, now it has {start}: {CHANGED}")

    def _code_hashes(self, first_row: int = 0) -> np.ndarray:
        """Return the hash sums of the categories, and 0 for other columns, (n_features,) uint64."""
        hashes = np.zeros(self.n_features, dtype=np.uint64)
        for f, codes in self.codes.items():
            kernels.hash_columns(codes[:, None], first_row, hashes[f : f + 1], 1)
        return hashes

    def _check(self, hashes: np.ndarray) -> None:
        if self._hashes is None:
            self._hashes = hashes.copy()
        elif (changed := np.flatnonzero(hashes != self._hashes)).size:
            raise ValueError(f"Column {self.schema.name(int(changed[0]))} of X has other values than when it was first read: {CHANGED}")

    def hash_sums(self, first_row: int, execution: Execution) -> np.ndarray:
        if first_row:
            sums = self._code_hashes(first_row)
            for rows in self.row_blocks():
                for f in range(self.n_features):
                    if f not in self.codes:
                        kernels.hash_columns(self.read(rows, f, f + 1), first_row + rows.start, sums[f : f + 1], 1)
            return sums
        if self._hashes is None:
            for _ in self._batches():
                pass
        assert self._hashes is not None
        return self._hashes

    def column(self, feature: int) -> np.ndarray:
        if feature in self.codes:
            return self.codes[feature]
        return np.concatenate([self.read(rows, feature, feature + 1)[:, 0] for rows in self.row_blocks()])

    def sample(self, rows: np.ndarray | None, first: int, last: int) -> np.ndarray:
        """Return rows of a feature. The first call reads them for all features, in one pass."""
        if first in self.codes:
            return self.codes[first][slice(None) if rows is None else rows, None]
        if self._sampled is None or self._sampled[0] is not rows:
            self._sampled = rows, self._sample_to_file(rows) if self._is_limited else self._sample_to_memory(rows)
        return self._sampled[1][first]

    def _sample_to_memory(self, rows: np.ndarray | None) -> list[np.ndarray]:
        parts: list[list[np.ndarray]] = [[] for _ in range(self.n_features)]
        for _, f, values in self._sampled_parts(rows):
            parts[f].append(np.array(values))
        return [np.concatenate(of_feature) if of_feature else np.empty((0, 1)) for of_feature in parts]

    def _sample_to_file(self, rows: np.ndarray | None) -> SampleFile:
        file = SampleFile(self.n_rows if rows is None else len(rows), self._folder)
        for at, f, values in self._sampled_parts(rows):
            file.write(f, at, values)
        return file

    def _sampled_parts(self, rows: np.ndarray | None) -> Iterator[tuple[int, int, np.ndarray]]:
        """Yield the sampled rows of each batch and feature: position of the first one in the sample, feature, values."""
        for start, table in self._batches():
            at, own = start, np.arange(table.n_rows)
            if rows is not None:
                at, end = np.searchsorted(rows, [start, start + table.n_rows]).tolist()
                own = rows[at:end] - start
            for f in range(self.n_features):
                if f not in self.codes:
                    yield at, f, table.read(own, f, f + 1)

    def release(self) -> None:
        self._window.clear()
        self._pass, self._sampled = iter(()), None

    def limit_memory(self, folder: str | None) -> None:
        self._is_limited, self._folder = True, folder

    # Other schemas

    def match(self, schema: Schema) -> StreamTable:
        """Return the table with the features of a schema. Columns that the schema does not have are not read."""
        names = self.inspected.names
        if self.names and schema.names:
            extra = set(self.names) - set(schema.names)
            given = [name for name in self.names if name not in extra]
            order = [self.names.index(given[at]) for at in match_names(given, schema.names)]
        else:
            order = list(range(schema.n_features))
        columns = []
        for f, at in enumerate(order):
            own = Column(self.kinds[at], self.codes.get(at, np.empty(0)))
            if not own.kind.is_category and schema.kind(f).is_category:
                own = self._as_category(at)
            columns.append(own.match(schema.kind(f), schema.name(f)))
        inspected = replace(self.inspected, names=None if names is None else tuple(names[at] for at in order), columns=tuple(columns))
        matched = StreamTable(inspected, self.missing_values, self.sparse_missing)
        matched.names = schema.names or matched.names
        return matched

    def with_categories(self, features: Sequence[int]) -> StreamTable:
        columns = [Column(kind, self.codes.get(f, np.empty(0))) for f, kind in enumerate(self.kinds)]
        for f in features:
            if self.kinds[f].name in ("datetime", "duration"):
                raise ColumnError(f"Column {self.schema.name(f)} has kind {self.kinds[f].describe()}, which cannot be a category")
            columns[f] = self._as_category(f)
        return StreamTable(replace(self.inspected, columns=tuple(columns)), self.missing_values, self.sparse_missing)

    def _as_category(self, feature: int) -> Column:
        """Return a column of numbers as a category, in one pass."""
        if feature in self.codes:
            return Column(self.kinds[feature], self.codes[feature])
        found = _KindOfBatches(Kind("category"))
        for rows in self.row_blocks():
            values = self.read(rows, feature, feature + 1)[:, 0]
            found.add(Column(self.kinds[feature], values).as_category(), self.schema.name(feature))
        return found.column()
