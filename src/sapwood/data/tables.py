"""Tables: columns of numbers that are read in blocks.

A block is a two-dimensional array for the kernels, with the dtype of the user's table if possible: the whole table is never copied.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sapwood.data.columns import NUMBER, Column, ColumnError, Kind, Name, Schema
from sapwood.runtime import kernels
from sapwood.runtime.caching import cached_property
from sapwood.runtime.execution import Execution

ROWS_AT_ONCE = 65536  # rows that are converted at a time, if the kernels cannot read the dtype
HASHED_COLUMNS = 64  # columns that are hashed at a time
NAMES_LISTED = 20  # maximum number of names in an error message


class Table:
    """Base class of tables.

    Attributes
    ----------
    n_rows : number of rows
    n_features : number of features
    schema : names and kinds of the features
    """

    n_rows: int
    n_features: int
    is_sparse = False  # see SparseTable
    is_stored = False  # whether only bins are known, in stored pages; see StoredTable
    random_access = True  # whether rows can be read in any order; see StreamTable

    @property
    def schema(self) -> Schema:
        return Schema(self.n_features)

    def match(self, schema: Schema) -> Table:
        """Return the table with the features of a schema, in its order and with its kinds and levels."""
        raise TypeError(f"{type(self).__name__} must implement match(schema)")

    def with_categories(self, features: Sequence[int]) -> Table:
        """Return the table with the given features as categories."""
        raise TypeError(f"{type(self).__name__} must implement with_categories(features)")

    def feature_blocks(self, max_features: int) -> list[tuple[int, int]]:
        """Return ranges [first, last) of at most `max_features` contiguous features, which `read` can return together."""
        raise TypeError(f"{type(self).__name__} must implement feature_blocks(max_features)")

    def read(self, rows: slice | np.ndarray, first: int, last: int) -> np.ndarray:
        """Return rows of the contiguous features [first, last) as a 2-D array for the kernels."""
        raise TypeError(f"{type(self).__name__} must implement read(rows, first, last)")

    @property
    def readable(self) -> bool:
        """Whether the kernels can read the table without conversion."""
        return False

    def row_blocks(self) -> list[slice]:
        """Return slices of rows that are read at a time."""
        step = max(1, self.n_rows) if self.readable else ROWS_AT_ONCE
        return [slice(start, min(start + step, self.n_rows)) for start in range(0, self.n_rows, step)]

    def view(self, first: int, last: int) -> np.ndarray | None:
        """Return all rows of the features [first, last) without a copy; None if that is not possible."""
        return None

    def limit_memory(self, folder: str | None) -> None:
        """Keep samples of a stream in a file in this folder (None for the default of `tempfile`), not in memory."""

    def release(self) -> None:
        """Free the memory of rows that were read."""

    def column(self, feature: int) -> np.ndarray:
        """Return the values of a feature, (n_rows,), read in blocks."""
        return self.sample(None, feature, feature + 1)[:, 0]

    def sample(self, rows: np.ndarray | None, first: int, last: int) -> np.ndarray:
        """Return the given rows (ascending; None for all) of the contiguous features [first, last), read in blocks."""
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

    def hash_sums(self, first_row: int, execution: Execution) -> np.ndarray:
        """Return the sums over rows of hashes of (value, row number) of each feature, (n_features,) uint64. `first_row` is the number of
        the first row."""
        out = np.zeros(self.n_features, dtype=np.uint64)
        for rows in self.row_blocks():
            for first, last in self.feature_blocks(HASHED_COLUMNS):
                kernels.hash_columns(self.read(rows, first, last), first_row + rows.start, out[first:last], execution.n_threads)
        return out

    def digest(self, first_row: int, execution: Execution) -> bytes:
        """Return a hash of all values. `first_row` is the number of the first row."""
        return repr((self.n_rows, self.n_features)).encode() + self.hash_sums(first_row, execution).tobytes()

    def score(self, scorer: kernels.Scorer, first: int, last: int, out: np.ndarray, execution: Execution) -> None:
        """Add the trees [first, last) to raw predictions, (n_rows, n_outputs)."""
        for rows in self.row_blocks():
            scorer.add(self.dense(rows), first, last, out[rows], execution.n_threads)

    def dense(self, rows: slice) -> np.ndarray:
        """Return rows of all features as one 2-D array for the kernels."""
        feature_blocks = self.feature_blocks(self.n_features)
        if len(feature_blocks) == 1:
            return self.read(rows, 0, self.n_features)
        block = np.empty((rows.stop - rows.start, self.n_features))
        for first, last in feature_blocks:
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
    """Table of a two-dimensional NumPy array of any numeric dtype and layout. `missing_values` are treated as missing, as NaN is."""

    n_rows: int
    n_features: int

    def __init__(self, array: np.ndarray, missing_values: frozenset[float] = frozenset()) -> None:
        if array.dtype.kind not in "biuf":
            raise ValueError(f"X has dtype {array.dtype}, which is not numeric: convert it to numbers")
        self.array = array
        self.n_rows, self.n_features = array.shape
        self._missing_values = list(missing_values)
        self._readable = _is_readable(array) and not missing_values

    @property
    def readable(self) -> bool:
        return self._readable

    @property
    def schema(self) -> Schema:
        kinds = dict.fromkeys(range(self.n_features), Kind("bool")) if self.array.dtype.kind == "b" else {}
        return Schema(self.n_features, None, kinds)

    def feature_blocks(self, max_features: int) -> list[tuple[int, int]]:
        return [(first, min(first + max_features, self.n_features)) for first in range(0, self.n_features, max_features)]

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
        for value in self._missing_values:
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
        missing_values = frozenset(self._missing_values)
        return FrameTable([Column(kind, column).without(missing_values) for column in self.array.T])


class FrameTable(Table):
    """Table of separate columns: those of a data frame, or of an array of objects."""

    n_rows: int
    n_features: int

    def __init__(self, columns: list[Column], names: Sequence[Name] | None = None) -> None:
        self.columns = columns
        self.names: tuple[Name, ...] | None = None if names is None else tuple(names)
        self.n_rows, self.n_features = len(columns[0].values), len(columns)

    @cached_property
    def arrays(self) -> list[np.ndarray]:
        """Columns for the kernels."""
        return [c.values if _is_readable(c.values) else c.values.astype(np.float64) for c in self.columns]

    @cached_property
    def schema(self) -> Schema:
        kinds = {f: column.kind for f, column in enumerate(self.columns) if column.kind != NUMBER}
        return Schema(self.n_features, self.names, kinds)

    def feature_blocks(self, max_features: int) -> list[tuple[int, int]]:
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
                raise ColumnError(f"Column {self.schema.name(f)} has kind {self.columns[f].kind.describe()}, which cannot be a category")
        columns = [column.as_category() if f in chosen else column for f, column in enumerate(self.columns)]
        return FrameTable(columns, self.names)


def match_names(given: Sequence[Name], wanted: Sequence[Name]) -> list[int]:
    """Return the position of each wanted column among the given ones. Raises ValueError that lists missing and unknown columns."""
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
