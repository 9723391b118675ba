"""ChimeraBoost: dense input; categories by name, as they are."""

from __future__ import annotations

import importlib
from typing import Any

from benchmarks.quality.libraries.base import Library, OnePerOutput, dense
from benchmarks.quality.tables import Table
from benchmarks.quality.tasks import CLASSES, COMMON, COUNTS, OUTPUTS


class ChimeraBoost(Library):
    name, title, distribution, module = "chimeraboost", "ChimeraBoost", "chimeraboost", "chimeraboost"
    tasks = COMMON

    @classmethod
    def warm_up(cls, task: str, n_threads: int) -> None:
        importlib.import_module(cls.module).warmup()  # compiles, or loads what was compiled before
        super().warm_up(task, n_threads)

    def make(self, package: Any) -> Any:
        options = {"thread_count": self.n_threads, "random_state": self.seed}
        if self.task in CLASSES:
            return package.ChimeraBoostClassifier(**options)
        if self.task == OUTPUTS:
            return OnePerOutput(lambda: package.ChimeraBoostRegressor(**options))
        return package.ChimeraBoostRegressor(**{"loss": "Poisson"} if self.task == COUNTS else {}, **options)

    def convert(self, table: Table) -> Any:
        return dense(table.X)

    def fit_arguments(self, table: Table) -> dict[str, Any]:
        categories = {"cat_features": table.categories} if table.categories else {}
        return {**super().fit_arguments(table), **categories}
