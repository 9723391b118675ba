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
    X : Arrow table or sparse matrix of the features
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
        return list(getattr(self.X, "column_names", None) or []) or None

    def take(self, rows: np.ndarray) -> Data:
        """Return some of the rows."""
        from sapwood.data.selection import take_rows

        parts = {"X": self.X, "y": self.y, "weight": self.weight, "qid": self.qid, "offset": self.offset, "groups": self.groups}
        return replace(self, **{name: take_rows(part, rows) for name, part in parts.items() if part is not None})

    def fit_arguments(self) -> dict[str, Any]:
        """Return the arguments of `fit`."""
        given = {"X": self.X, "y": self.y, "sample_weight": self.weight, "qid": self.qid, "offset": self.offset}
        return {name: value for name, value in given.items() if value is not None}


def divide(table: pa.Table | SparseTable, roles: Roles, features: Sequence[str] | None = None) -> Data:
    """Divide the columns of a table by role. Rows without a target are left out. `features`: columns of a model."""
    from sapwood.cli.files.sparse import SparseTable

    if isinstance(table, SparseTable):
        return Data(table.X, table.y, qid=table.qid)
    if not table.num_rows:
        raise CommandError("the table has no rows")
    known = table.column_names
    for role, names in {"--target": roles.targets(), "--drop": roles.drop or [], "--features": roles.features or []}.items():
        for name in names:
            _check(role, name, known)
    for role in ("weight", "query", "offset", "group"):
        if (name := getattr(roles, role)) is not None:
            _check(f"--{role}", name, known)
    n_rows = table.num_rows
    for name in roles.targets():
        table = table.filter(_is_known(table[name]))
    if not table.num_rows:
        raise CommandError(f"the target {roles.targets()[0]!r} is missing in all {n_rows:,} rows")
    special = {*roles.special(), *(roles.drop or [])}
    chosen = list(features or roles.features or [name for name in known if name not in special])
    if missing := [name for name in chosen if name not in known]:
        raise CommandError(f"the table has no column {missing[0]!r}, which the model needs{_suggestion(missing[0], known)}")
    if both := [name for name in chosen if name in roles.targets()]:
        raise CommandError(f"the column {both[0]!r} cannot be target and feature")
    if not chosen:
        raise CommandError("there are no features: every column has another role")
    return Data(
        table.select(chosen),
        _targets(table, roles),
        weight=_numbers(table, roles.weight),
        qid=None if roles.query is None else _values(table[roles.query]),
        offset=_numbers(table, roles.offset),
        groups=None if roles.group is None else _values(table[roles.group]),
        n_dropped=n_rows - table.num_rows,
    )


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

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.to_numpy()


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
