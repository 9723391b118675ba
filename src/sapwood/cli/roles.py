"""Roles of columns: target, weight, query, and the features that remain."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from sapwood.cli.errors import CommandError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from sapwood.cli.files.sparse import SparseTable
    from sapwood.cli.files.streams import Files

Names = Annotated[list[str] | None, Parameter(negative="")]


@Parameter(name="*", group="Columns")
@dataclass(frozen=True, kw_only=True)
class Roles:
    """Names of columns by role."""

    target: Names = None
    """Column to predict; repeat it for several outputs."""
    event: str | None = None
    """Column that is 1 for an event and 0 for a censored time: the target is a survival time."""
    weight: str | None = None
    """Column of sample weights."""
    query: str | None = None
    """Column of queries: the task is ranking."""
    offset: str | None = None
    """Column of initial raw predictions, such as the logarithm of an exposure."""
    group: str | None = None
    """Column of groups that are not divided between training and test rows."""
    drop: Names = None
    """Column that is not a feature. May be repeated."""
    features: Names = None
    """Column that is a feature. May be repeated. Default: all that are left."""

    def targets(self) -> list[str]:
        return [*(self.target or []), *([self.event] if self.event else [])]

    def special(self) -> list[str]:
        """Names of columns that are no features."""
        return [name for name in (*self.targets(), self.weight, self.query, self.offset, self.group) if name is not None]


@dataclass(frozen=True)
class Data:
    """Rows of a table, divided by role.

    Attributes
    ----------
    X : Arrow table, stream of large files, or sparse matrix of the features
    y : (n_rows,) or (n_rows, n_outputs) targets; None without a target
    n_dropped : number of rows without a target, which were left out
    """

    X: Any
    y: Any
    weight: np.ndarray | None = None
    qid: np.ndarray | None = None
    offset: np.ndarray | None = None
    groups: np.ndarray | None = None
    n_dropped: int = 0

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def names(self) -> list[str] | None:
        """Names of the features; None for a sparse matrix."""
        return list(getattr(self.X, "column_names", None) or getattr(self.X, "names", None) or []) or None

    def take(self, rows: np.ndarray) -> Data:
        """Return some of the rows."""
        from sapwood.cli.files.streams import StoredRows
        from sapwood.data.selection import take_rows

        X = self.X.take(rows) if isinstance(self.X, StoredRows) else take_rows(self.X, rows)
        parts: dict[str, Any] = {"y": self.y, "weight": self.weight, "qid": self.qid, "offset": self.offset, "groups": self.groups}
        return replace(self, X=X, **{name: take_rows(part, rows) for name, part in parts.items() if part is not None})

    def head(self, n_rows: int) -> Any:
        """Return the first rows of an Arrow table or a stream."""
        return self.X.head(n_rows) if hasattr(self.X, "head") else self.X.slice(0, n_rows)

    def in_memory(self) -> Data:
        """Return the same rows, with X in memory."""
        return replace(self, X=self.X.table()) if hasattr(self.X, "table") else self

    def fit_arguments(self) -> dict[str, Any]:
        """Return the arguments of `fit`."""
        given = {"X": self.X, "y": self.y, "sample_weight": self.weight, "qid": self.qid, "offset": self.offset}
        return {name: value for name, value in given.items() if value is not None}


def divide(table: pa.Table | SparseTable | Files, roles: Roles, features: Sequence[str] | None = None) -> Data:
    """Divide the columns of a table by role. Rows without a target are left out. `features`: columns of a model."""
    import numpy as np

    from sapwood.cli.files.sparse import SparseTable
    from sapwood.cli.files.streams import Files, StoredRows

    if isinstance(table, SparseTable):
        return Data(table.X, table.y, qid=table.qid)
    known = list(table.schema.names)
    for role, names in {"--target": roles.targets(), "--drop": roles.drop or [], "--features": roles.features or []}.items():
        for name in names:
            _check(role, name, known)
    for role in ("weight", "query", "offset", "group"):
        if (name := getattr(roles, role)) is not None:
            _check(f"--{role}", name, known)
    own = _read_columns(table, roles.special() or known[:1]) if isinstance(table, Files) else table
    n_rows = own.num_rows
    if not n_rows:
        raise CommandError("the table has no rows")
    rows = np.logical_and.reduce([np.ones(n_rows, dtype=bool), *(_is_known(own[name]) for name in roles.targets())])
    if not rows.any():
        raise CommandError(f"the target {roles.targets()[0]!r} is missing in all {n_rows:,} rows")
    special = {*roles.special(), *(roles.drop or [])}
    chosen = list(features or roles.features or [name for name in known if name not in special])
    if missing := [name for name in chosen if name not in known]:
        raise CommandError(f"the table has no column {missing[0]!r}, which the model needs{_suggestion(missing[0], known)}")
    if both := [name for name in chosen if name in roles.targets()]:
        raise CommandError(f"the column {both[0]!r} cannot be target and feature")
    if not chosen:
        raise CommandError("there are no features: every column has another role")
    own = own if rows.all() else own.filter(rows)
    return Data(
        StoredRows(table, chosen, rows) if isinstance(table, Files) else own.select(chosen),
        _targets(own, roles),
        weight=_numbers(own, roles.weight),
        qid=None if roles.query is None else _values(own[roles.query]),
        offset=_numbers(own, roles.offset),
        groups=None if roles.group is None else _values(own[roles.group]),
        n_dropped=n_rows - own.num_rows,
    )


def _read_columns(files: Files, names: Sequence[str]) -> pa.Table:
    """Read some columns of large files. Text is stored once for each value that occurs."""
    import pyarrow as pa

    def encoded(table: pa.Table) -> pa.Table:
        text = [pa.types.is_string(column.type) or pa.types.is_large_string(column.type) for column in table.columns]
        columns = [column.dictionary_encode() if is_text else column for column, is_text in zip(table.columns, text, strict=True)]
        return pa.table(dict(zip(table.column_names, columns, strict=True)))

    tables = [encoded(table) for table in files.batches(list(dict.fromkeys(names)))]
    return pa.concat_tables(tables).unify_dictionaries() if tables else files.empty().select(names)


def _check(role: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        raise CommandError(f"{role} {name}: there is no such column{_suggestion(name, known)}")


def _suggestion(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    listed = ", ".join(map(repr, known[:10])) + (", ..." if len(known) > 10 else "")
    return f"; did you mean {near[0]!r}?" if near else f"; the columns are {listed}"


def _is_known(column: pa.ChunkedArray) -> Any:
    """Return which values are neither null nor NaN."""
    import pyarrow as pa
    import pyarrow.compute as pc

    valid = pc.is_valid(column)
    return pc.and_(valid, pc.fill_null(pc.invert(pc.is_nan(column)), False)) if pa.types.is_floating(column.type) else valid


def _values(column: pa.ChunkedArray) -> np.ndarray:
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        return column.to_numpy()
    column = column.combine_chunks()
    if not isinstance(column, pa.DictionaryArray) or column.null_count:
        return column.cast(column.type.value_type).to_numpy(zero_copy_only=False)
    return column.dictionary.to_numpy(zero_copy_only=False)[column.indices.to_numpy()]


def _numbers(table: pa.Table, name: str | None) -> np.ndarray | None:
    return None if name is None else _as_numbers(table, name)


def _as_numbers(table: pa.Table, name: str) -> np.ndarray:
    import pyarrow as pa

    try:
        return table[name].cast(pa.float64()).to_numpy()
    except pa.ArrowInvalid as error:
        raise CommandError(f"the column {name!r} must have numbers: {error}") from None


def _targets(table: pa.Table, roles: Roles) -> Any:
    import numpy as np

    names = roles.targets()
    if not names:
        return None
    if len(names) == 1:
        return _values(table[names[0]])
    return np.column_stack([_as_numbers(table, name) for name in names])
