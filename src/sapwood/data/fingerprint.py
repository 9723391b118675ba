"""Fingerprint of a data set: one hash per column, independent of the data frame library, block size and number of threads.

The hash of a column is the sum over rows of hashes of (value, row number). Integer sums do not depend on the order, and zeros add
nothing, so a sparse table has the same hash as its dense copy.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sapwood.data.columns import Kind
from sapwood.data.row_range import RowRange
from sapwood.data.sparse import SparseTable
from sapwood.data.stored_table import StoredTable
from sapwood.data.tables import Table
from sapwood.runtime import kernels
from sapwood.runtime.execution import SERIAL, Execution

NAMED = 3  # maximum number of columns named in a message


@dataclass(frozen=True)
class Fingerprint:
    """Fingerprint of a table and of arrays that belong to its rows, such as targets and weights.

    Attributes
    ----------
    n_rows : number of rows
    columns : hash of each column, by name (quoted if it is a string) or position
    arrays : hash of each array, by name
    """

    n_rows: int
    columns: Mapping[str, str]
    arrays: Mapping[str, str]

    @classmethod
    def of(cls, table: Table, arrays: Mapping[str, np.ndarray | None], execution: Execution = SERIAL) -> Fingerprint:
        """Compute the fingerprint. Arrays that are None are skipped."""
        schema, own = table.schema, RowRange.of(table.n_rows, execution)
        sums = execution.sum(table.hash_sums(own.first, execution))
        suffix = " absent" * (isinstance(table, SparseTable | StoredTable) and table.implicit_missing)
        number = _kind(Kind()) + suffix
        kinds = [_kind(schema.kinds[f]) + suffix if f in schema.kinds else number for f in range(table.n_features)]
        columns = {schema.name(f): _digest(kind, int(total)) for f, (kind, total) in enumerate(zip(kinds, sums, strict=True))}
        return cls(own.total, columns, {name: of_array(array, execution) for name, array in arrays.items() if array is not None})

    @property
    def digest(self) -> str:
        """SHA-256 of the fingerprint, as 64 hexadecimal digits."""
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        return {"n_rows": self.n_rows, "columns": dict(self.columns), "arrays": dict(self.arrays)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Fingerprint:
        return cls(data["n_rows"], data["columns"], data["arrays"])

    def difference(self, other: Fingerprint) -> str | None:
        """Describe the first difference from another fingerprint; None if they are equal."""
        if self.n_rows != other.n_rows:
            return f"the number of rows was {self.n_rows}, now it is {other.n_rows}"
        if list(self.columns) != list(other.columns):
            gone, new = ([name for name in a.columns if name not in b.columns] for a, b in ((self, other), (other, self)))
            what = [f"{_some(names)} {verb}" for names, verb in ((gone, "removed"), (new, "added")) if names]
            return f"the columns differ: {'; '.join(what) or 'their order changed'}"
        changed = [name for name, value in self.columns.items() if other.columns[name] != value]
        if changed:
            return f"the values of column{'s' * (len(changed) > 1)} {_some(changed)} differ"
        changed = [name for name in {**self.arrays, **other.arrays} if self.arrays.get(name) != other.arrays.get(name)]
        return f"the values of {_some(changed)} differ" if changed else None


def join_digests(digests: Iterable[str]) -> str:
    """Combine the digests of several data sets. Equal digests count once; a single one is returned as it is."""
    different = list(dict.fromkeys(digests))
    return different[0] if len(different) == 1 else hashlib.sha256(" ".join(different).encode()).hexdigest()


def of_array(values: np.ndarray, execution: Execution = SERIAL) -> str:
    """Return the hash of an array of numbers whose first axis is split into partitions."""
    own, width = RowRange.of(len(values), execution), math.prod(values.shape[1:])
    sums = np.zeros(1, dtype=np.uint64)
    kernels.hash_columns(np.ascontiguousarray(values).reshape(-1, 1), own.first * width, sums, execution.n_threads)
    return _digest("x".join(map(str, (own.total, *values.shape[1:]))), int(execution.sum(sums)[0]))


def _kind(kind: Kind) -> str:
    return json.dumps([kind.name, list(kind.levels), kind.ordered, kind.zone])


def _digest(kind: str, total: int) -> str:
    return hashlib.sha256(f"{kind} {total}".encode()).hexdigest()[:16]


def _some(names: list[str]) -> str:
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
