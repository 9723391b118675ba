"""A library at its own defaults, with the input that its documentation asks for."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, ClassVar

import numpy as np

from benchmarks.quality.tables import Table
from benchmarks.quality.tasks import CLASSES, COUNTS, MULTICLASS, RANKING, REGRESSION

SAMPLE_ROWS = 200  # of a warm-up


class Library(ABC):
    """Fits one model; nothing is set but the threads, the seed, the objective of the task, and silence."""

    name: ClassVar[str]
    title: ClassVar[str]
    distribution: ClassVar[str]  # that it is installed by
    module: ClassVar[str]  # that is imported
    tasks: ClassVar[frozenset[str]]

    def __init__(self, task: str, n_threads: int, seed: int, parameters: dict[str, Any] | None = None) -> None:
        self.task, self.n_threads, self.seed, self.parameters = task, n_threads, seed, parameters or {}
        self.model: Any = None

    @classmethod
    def version(cls) -> str:
        return version(cls.distribution)

    @classmethod
    def warm_up(cls, task: str, n_threads: int) -> None:
        """Load the library and start its threads, on a few rows: not part of the times."""
        library = cls(task, n_threads, 0)
        sample = warm_up_table(task)
        library.fit(library.convert(sample), sample)
        library.predict(library.convert(sample))

    @abstractmethod
    def make(self, package: Any) -> Any:
        """The estimator, of the library's module."""

    def convert(self, table: Table) -> Any:
        """X as the library takes it. Not part of the times."""
        return table.X

    def fit(self, X: Any, table: Table) -> None:
        self.model = self.make(importlib.import_module(self.module)).fit(X, table.y, **self.fit_arguments(table))

    def fit_arguments(self, table: Table) -> dict[str, Any]:
        return {} if table.weight is None else {"sample_weight": table.weight}

    def predict(self, X: Any) -> np.ndarray:
        return self.model.predict_proba(X) if self.task in CLASSES else self.model.predict(X)


class OnePerOutput:
    """For libraries that know one target: a model for each."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make

    def fit(self, X: Any, y: np.ndarray, **arguments: Any) -> OnePerOutput:
        self.models = [self.make().fit(X, column, **arguments) for column in np.ascontiguousarray(y.T)]
        return self

    def predict(self, X: Any) -> np.ndarray:
        return np.column_stack([model.predict(X) for model in self.models])


def dense(X: Any) -> Any:
    return X.toarray() if hasattr(X, "toarray") else X


def warm_up_table(task: str) -> Table:
    """A few random rows with a target of the task."""
    import pandas as pd

    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(SAMPLE_ROWS, 4)), columns=list("abcd"))
    position = np.arange(SAMPLE_ROWS)
    if task in CLASSES:
        return Table("warm-up", task, X, position % (3 if task == MULTICLASS else 2))
    if task == RANKING:
        return Table("warm-up", task, X, position % 3, query=position // 10)
    if task in {COUNTS, REGRESSION}:
        return Table("warm-up", task, X, rng.poisson(2.0, SAMPLE_ROWS).astype(np.float64))
    y = rng.exponential(size=(SAMPLE_ROWS, 2)) + 0.1
    return Table("warm-up", task, X, y if task == "multi-output" else y[:, 0])
