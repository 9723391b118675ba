"""Anything with rows, read as numbers.

A `Table` gives two-dimensional blocks of itself that the kernels read directly, in the caller's own type where it can: no copy of the
whole is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from sapwood.data.columns import NUMBER, Column, ColumnError, Kind, Name, Schema
from sapwood.runtime import kernels
from sapwood.runtime.execution import Execution

ROWS_AT_ONCE = 65536  # rows of a type the kernels do not read, converted at a time
NAMES_LISTED = 20  # in an error


class Table:
    """Rows and columns of numbers.

    Attributes
    ----------
    n_rows, n_features : int
    schema : names and kinds of its features
    """

    n_rows: int
    n_features: int
    is_sparse = False  # whether only some entries are stored: see SparseTable

    @property
    def schema(self) -> Schema:
        return Schema(self.n_features)

    def match(self, schema: Schema) -> Table:
        """The features that a schema lists, in its order, and of its kinds: codes of a category are those of the schema's levels."""
        raise TypeError(f"{type(self).__name__} does not say how it is matched")

    def with_categories(self, features: Sequence[int]) -> Table:
        """The same with these features read as categories."""
        raise TypeError(f"{type(self).__name__} does not say how its features become categories")

    def runs(self, most: int) -> list[tuple[int, int]]:
        """Ranges of at most `most` features that lie side by side."""
        raise TypeError(f"{type(self).__name__} does not say how its features lie")

    def read(self, rows: slice | np.ndarray, first: int, last: int) -> np.ndarray:
        """Rows of the features [first, last), which lie side by side, as a 2-D array that the kernels read."""
        raise TypeError(f"{type(self).__name__} does not say how it is read")

    @property
    def readable(self) -> bool:
        """Whether the kernels read it as it is."""
        return False

    def row_blocks(self) -> list[slice]:
        """Slices of rows that `read` may convert at a time."""
        step = max(1, self.n_rows) if self.readable else ROWS_AT_ONCE
        return [slice(start, min(start + step, self.n_rows)) for start in range(0, self.n_rows, step)]

    def view(self, first: int, last: int) -> np.ndarray | None:
        """All rows of the features [first, last), if the kernels can read them without a copy."""
        return None

    def column(self, feature: int) -> np.ndarray:
        """(n_rows,) values of a feature, read block by block."""
        return self.sample(None, feature, feature + 1)[:, 0]

    def sample(self, rows: np.ndarray | None, first: int, last: int) -> np.ndarray:
        """Some of the rows, ascending, of the features [first, last), which lie side by side; None for all. Read block by block."""
        blocks = []
        for block in self.row_blocks():
            x = self.read(block, first, last)
            if rows is not None:
                begin, end = np.searchsorted(rows, [block.start, block.stop])
                x = x[rows[begin:end] - block.start]
            blocks.append(x)
        if len(blocks) == 1:
            return blocks[0]
        return np.concatenate(blocks) if blocks else np.empty((0, last - first))

    def score(self, scorer: kernels.Scorer, first: int, last: int, out: np.ndarray, execution: Execution) -> None:
        """Add the trees [first, last) to raw predictions, (n_rows, n_outputs)."""
        for rows in self.row_blocks():
            scorer.add(self.dense(rows), first, last, out[rows], execution.n_threads)

    def dense(self, rows: slice) -> np.ndarray:
        """Rows of all features as one 2-D array that the kernels read."""
        runs = self.runs(self.n_features)
        if len(runs) == 1:
            return self.read(rows, 0, self.n_features)
        block = np.empty((rows.stop - rows.start, self.n_features))
        for first, last in runs:
            block[:, first:last] = self.read(rows, first, last)
        return block


def _is_readable(array: np.ndarray) -> bool:
    size = array.dtype.itemsize
    return (
        array.dtype.kind in "biuf"
        and array.dtype.isnative
        and (array.dtype.kind != "f" or size in (4, 8))
        and array.flags.aligned
        and all(stride % size == 0 and stride >= 0 for stride in array.strides)
    )


class ArrayTable(Table):
    """A two-dimensional NumPy array of any numeric type and layout. `absent` are the values that mean missing, besides NaN."""

    n_rows: int
    n_features: int

    def __init__(self, array: np.ndarray, absent: frozenset[float] = frozenset()) -> None:
        if array.dtype.kind not in "biuf":
            raise ValueError(f"X has dtype {array.dtype}, which is not a number: turn its values into numbers")
        self.array = array
        self.n_rows, self.n_features = array.shape
        self._absent = list(absent)
        self._readable = _is_readable(array) and not absent

    @property
    def readable(self) -> bool:
        return self._readable

    @property
    def schema(self) -> Schema:
        kinds = dict.fromkeys(range(self.n_features), Kind("bool")) if self.array.dtype.kind == "b" else {}
        return Schema(self.n_features, None, kinds)

    def runs(self, most: int) -> list[tuple[int, int]]:
        return [(first, min(first + most, self.n_features)) for first in range(0, self.n_features, most)]

    def score(self, scorer: kernels.Scorer, first: int, last: int, out: np.ndarray, execution: Execution) -> None:
        if self._readable:
            scorer.add(self.array, first, last, out, execution.n_threads)
        else:
            super().score(scorer, first, last, out, execution)

    def read(self, rows: slice | np.ndarray, first: int, last: int) -> np.ndarray:
        block = self.array[rows, first:last]
        if self._readable:
            return block
        block = block.astype(np.float64)
        for value in self._absent:
            block[block == value] = np.nan
        return block

    def view(self, first: int, last: int) -> np.ndarray | None:
        return self.array[:, first:last] if self._readable else None

    def sample(self, rows: np.ndarray | None, first: int, last: int) -> np.ndarray:
        return self.read(slice(None) if rows is None else rows, first, last)

    def match(self, schema: Schema) -> Table:
        if all(kind.name in ("number", "bool") for kind in schema.kinds.values()):
            return self
        return self._as_frame().match(schema)

    def with_categories(self, features: Sequence[int]) -> Table:
        return self._as_frame().with_categories(features) if features else self

    def _as_frame(self) -> FrameTable:
        kind = Kind("bool") if self.array.dtype.kind == "b" else NUMBER
        absent = frozenset(self._absent)
        return FrameTable([Column(kind, column).without(absent) for column in self.array.T])


class FrameTable(Table):
    """A column after the other: those of a data frame, or of an array whose columns are not all numbers."""

    n_rows: int
    n_features: int

    def __init__(self, columns: list[Column], names: Sequence[Name] | None = None) -> None:
        self.columns = columns
        self.names: tuple[Name, ...] | None = None if names is None else tuple(names)
        self.n_rows, self.n_features = len(columns[0].values), len(columns)

    @cached_property
    def arrays(self) -> list[np.ndarray]:
        """The columns as the kernels read them."""
        return [c.values if _is_readable(c.values) else c.values.astype(np.float64) for c in self.columns]

    @cached_property
    def schema(self) -> Schema:
        kinds = {f: column.kind for f, column in enumerate(self.columns) if column.kind != NUMBER}
        return Schema(self.n_features, self.names, kinds)

    def runs(self, most: int) -> list[tuple[int, int]]:
        return [(feature, feature + 1) for feature in range(self.n_features)]

    def read(self, rows: slice | np.ndarray, first: int, last: int) -> np.ndarray:
        return self.arrays[first][rows, None]

    def view(self, first: int, last: int) -> np.ndarray | None:
        return self.arrays[first][:, None]

    def sample(self, rows: np.ndarray | None, first: int, last: int) -> np.ndarray:
        return self.arrays[first][slice(None) if rows is None else rows, None]

    def match(self, schema: Schema) -> FrameTable:
        order = match_names(self.names, schema.names) if self.names and schema.names else range(schema.n_features)
        columns = [self.columns[at].match(schema.kind(f), schema.name(f)) for f, at in enumerate(order)]
        return FrameTable(columns, schema.names)

    def with_categories(self, features: Sequence[int]) -> FrameTable:
        chosen = set(features)
        for f in chosen:
            if self.columns[f].kind.name in ("datetime", "duration"):
                raise ColumnError(f"Column {self.schema.name(f)} holds {self.columns[f].kind.describe()}, which cannot be a category")
        columns = [column.as_category() if f in chosen else column for f, column in enumerate(self.columns)]
        return FrameTable(columns, self.names)


def match_names(given: Sequence[Name], wanted: Sequence[Name]) -> list[int]:
    """Where each wanted column is among the given ones. Those that are missing, or too many, are an error that lists them."""
    at = {name: i for i, name in enumerate(given)}
    extra, missing = sorted(set(given) - set(wanted), key=str), sorted(set(wanted) - set(given), key=str)
    if extra or missing:
        message = "The feature names should match those that were passed during fit.\n"
        for title, names in (("Feature names unseen at fit time", extra), ("Feature names seen at fit time, yet now missing", missing)):
            if names:
                message += f"{title}:\n" + "".join(f"- {name}\n" for name in names[:NAMES_LISTED])
                message += f"- ... and {len(names) - NAMES_LISTED} more\n" if len(names) > NAMES_LISTED else ""
        raise ValueError(message)
    return [at[name] for name in wanted]
