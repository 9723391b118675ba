"""What users give to `fit`: before it is checked, and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

import numpy as np

from sapwood.boosting import Rows
from sapwood.callbacks import TRAIN, VALIDATION, Callback
from sapwood.data.fingerprint import Fingerprint, of_array
from sapwood.data.pages import Pages
from sapwood.data.queries import Queries
from sapwood.data.sorted import SortedRows
from sapwood.data.tables import Table
from sapwood.snapshots import Snapshot


@dataclass(frozen=True)
class Given:
    """A table as the user gave it. The names of its arguments end with the suffix."""

    X: Any
    y: Any
    sample_weight: Any = None
    more: dict[str, Any] = field(default_factory=dict)  # what only some estimators take, by name
    suffix: str = ""
    offset: Any = None

    @property
    def any(self) -> bool:
        return any(value is not None for value in (self.X, self.y, self.sample_weight, self.offset, *self.more.values()))


@dataclass(frozen=True)
class Part:
    """A table that was checked, and which of its rows count."""

    table: Table
    y: np.ndarray  # of all rows
    weight: np.ndarray | None
    queries: Queries | None = None
    rows: np.ndarray | None = None  # ascending; None for all
    offset: np.ndarray | None = None  # (n_rows, n_outputs): what raw predictions start from

    @property
    def n_rows(self) -> int:
        return self.table.n_rows if self.rows is None else len(self.rows)

    def take(self, values: np.ndarray) -> np.ndarray:
        """Those of the rows that count."""
        return values if self.rows is None else values[self.rows]

    def counting(self) -> Part:
        """Without the rows that are as good as absent: those of weight zero, and those without any target."""
        part = self
        if self.weight is not None and not self.weight.all():
            part = replace(part, rows=np.flatnonzero(self.weight))
        if self.y.ndim == 2 and (missing := np.isnan(part.take(self.y)).all(axis=1)).any():
            part = replace(part, rows=part.take(np.arange(self.table.n_rows))[~missing])
            if part.n_rows == 0:
                raise ValueError("y has no row with a target: all are missing")
        return part

    def fingerprint(self, known: Table | None = None, n_threads: int = 1) -> Fingerprint:
        """What tells these rows from others; a table that is known already need not be read again."""
        queries = None if self.queries is None else self.queries.begin
        arrays = {"rows": self.rows, "y": self.y, "sample_weight": self.weight, "offset": self.offset, "queries": queries}
        if self.table is not known:
            return Fingerprint.of(self.table, arrays, n_threads)
        return Fingerprint(self.table.n_rows, {}, {"rows": of_array(self.take(np.arange(self.table.n_rows)))})

    def on(self, pages: Pages | SortedRows) -> Rows:
        """The rows that count, binned; the pages hold all."""
        weight = None if self.weight is None else self.take(self.weight)
        queries = self.queries if self.queries is None or self.rows is None else self.queries.take(self.rows)
        offset = None if self.offset is None else np.ascontiguousarray(self.take(self.offset).T)
        return Rows(pages if self.rows is None else pages.take(self.rows), self.take(self.y), weight, queries, offset)


@dataclass(frozen=True)
class Watching:
    """How training is watched."""

    groups: Any
    eval_sets: Any
    eval_metric: Any
    callbacks: Sequence[Callback]
    snapshot: Snapshot | str | PathLike[str] | None = None

    def named_sets(self) -> dict[str, Given]:
        sets = self.eval_sets or {}
        if not isinstance(sets, Mapping):
            if not isinstance(sets, (list, tuple)):
                raise ValueError(f"eval_sets must be a dict of name -> (X, y), or a list of such; got {type(sets).__name__}")
            sets = {f"eval_{i}": one for i, one in enumerate(sets)}
        for name in sets:
            if name in (TRAIN, VALIDATION):
                raise ValueError(f"eval_sets must not be called {name!r}: the rows of fit itself are")
        return {name: _given_set(name, one) for name, one in sets.items()}


def _given_set(name: str, one: Any) -> Given:
    suffix = f" of eval_sets[{name!r}]"
    if isinstance(one, Mapping):
        more = {key: value for key, value in one.items() if key not in ("X", "y", "sample_weight", "offset")}
        given = Given(one.get("X"), one.get("y"), one.get("sample_weight"), more, suffix, one.get("offset"))
    elif isinstance(one, (list, tuple)) and 2 <= len(one) <= 4:
        x, y, weight, offset = (*one, None, None)[:4]
        given = Given(x, y, weight, suffix=suffix, offset=offset)
    else:
        raise ValueError(
            f"eval_sets[{name!r}] must be (X, y), (X, y, sample_weight), (X, y, sample_weight, offset) or a dict of arguments of fit; "
            f"got {type(one).__name__}"
        )
    if given.X is None or given.y is None:
        raise ValueError(f"eval_sets[{name!r}] lacks {'X' if given.X is None else 'y'}")
    return given


def refuse_more(given: Given) -> None:
    """Raise for arguments that an estimator does not take."""
    if given.more:
        raise ValueError(f"{next(iter(given.more))!r}{given.suffix} is unknown; choose from X, y, sample_weight, offset")
