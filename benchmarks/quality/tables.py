"""Real tables: those of a folder with a `tables.py`, or the ones that scikit-learn bundles."""

from __future__ import annotations

import importlib.util
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets

from benchmarks.quality.tasks import BINARY, CLASSES, COUNTS, MULTICLASS, OUTPUTS, RANKING, REGRESSION, SURVIVAL, parse_task

Bundled = Callable[..., Any]
BUNDLED: dict[str, tuple[str, Bundled]] = {
    "breast_cancer": (BINARY, datasets.load_breast_cancer),
    "diabetes": (REGRESSION, datasets.load_diabetes),
    "digits": (MULTICLASS, datasets.load_digits),
    "iris": (MULTICLASS, datasets.load_iris),
    "wine": (MULTICLASS, datasets.load_wine),
}
FORBIDDEN = re.compile(r"\W")  # characters in column names that a library refuses


@dataclass(frozen=True)
class Table:
    """Rows of a table, or some of them, with the target in the form of the task.

    Classes are numbers from 0; counts are divided by the exposure, which is the weight; times are negative where censored.
    """

    name: str
    task: str
    X: Any  # pandas DataFrame, categories as such; or scipy CSR matrix
    y: np.ndarray  # (n_rows,), or (n_rows, n_outputs)
    weight: np.ndarray | None = None
    query: np.ndarray | None = None  # (n_rows,) int64: rows of one query are adjacent

    def take(self, rows: np.ndarray) -> Table:
        X = self.X.iloc[rows] if hasattr(self.X, "iloc") else self.X[rows]
        weight, query = (None if values is None else values[rows] for values in (self.weight, self.query))
        return replace(self, X=X, y=self.y[rows], weight=weight, query=query)

    @property
    def categories(self) -> list[str]:
        """Names of the categorical columns."""
        return list(self.X.select_dtypes("category")) if hasattr(self.X, "iloc") else []

    @property
    def query_sizes(self) -> np.ndarray:
        assert self.query is not None
        starts = np.flatnonzero(np.r_[True, self.query[1:] != self.query[:-1]])
        return np.diff(np.r_[starts, len(self.query)])


def is_held_aside(name: str) -> bool:
    """Whether a table is kept out of every decision about defaults: a third of all, by a checksum of the name."""
    return zlib.crc32(name.encode()) % 3 == 0


def has_folder(folder: Path) -> bool:
    return (folder / "tables.py").is_file()


def table_tasks(folder: Path) -> dict[str, str]:
    """The tables there are, with their tasks."""
    if not has_folder(folder):
        return {name: task for name, (task, _) in BUNDLED.items()}
    return {name: parse_task(row[0]) for name, row in _module(folder).TABLES.items()}


@lru_cache(maxsize=1)  # one at a time: some are large
def load_table(folder: Path, name: str) -> Table:
    if not has_folder(folder):
        task, load = BUNDLED[name]
        X, y = load(return_X_y=True, as_frame=True)
        return make_table(name, task, X, y.to_numpy(), {})
    X, y, info = _module(folder).load(name)
    return make_table(name, parse_task(info["task"]), X, y, info)


def make_table(name: str, task: str, X: Any, y: Any, info: dict[str, Any]) -> Table:
    if hasattr(X, "iloc"):
        X = X.rename(columns={column: FORBIDDEN.sub("_", str(column)) for column in X})
    y = y.to_numpy(dtype=None if task in CLASSES else np.float64, na_value=np.nan) if hasattr(y, "iloc") else np.asarray(y)
    table = Table(name, task, X, y, query=_queries(info) if task == RANKING else None)
    if task in CLASSES:
        return replace(table, y=np.unique(y, return_inverse=True)[1].astype(np.int64))
    if task == SURVIVAL:
        return replace(table, y=signed_times(y[:, 0], y[:, 1]))
    if task == COUNTS and info.get("weight") is not None:
        exposure = np.asarray(info["weight"], dtype=np.float64)
        table = replace(table, y=y / exposure, weight=exposure)
    known = ~np.isnan(table.y).any(axis=1) if task == OUTPUTS else ~np.isnan(table.y)
    return table if known.all() else table.take(np.flatnonzero(known))


def signed_times(time: np.ndarray, event: np.ndarray) -> np.ndarray:
    """Times, negative where censored. A time of 0 becomes half of the least other one: it needs a sign."""
    time = np.where(time > 0, time, time[time > 0].min() / 2)
    return np.where(event > 0, time, -time)


def _queries(info: dict[str, Any]) -> np.ndarray:
    """Number of each row's query. Both parts of a table that comes in two may have a query 1."""
    parts = info["group"] if info.get("split") is None else [f"{a} {b}" for a, b in zip(info["split"], info["group"], strict=True)]
    return np.unique(np.asarray(parts), return_inverse=True)[1].astype(np.int64)


@lru_cache
def _module(folder: Path) -> Any:
    spec = importlib.util.spec_from_file_location("tables_of_folder", folder / "tables.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
