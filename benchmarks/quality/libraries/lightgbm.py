"""LightGBM: categories as pandas has them."""

from __future__ import annotations

from typing import Any

from benchmarks.quality.libraries.base import Library, OnePerOutput
from benchmarks.quality.tables import Table
from benchmarks.quality.tasks import CLASSES, COMMON, COUNTS, OUTPUTS, RANKING


class LightGBM(Library):
    name, title, distribution, module = "lightgbm", "LightGBM", "lightgbm", "lightgbm"
    tasks = COMMON | {RANKING}

    def make(self, package: Any) -> Any:
        options = {"n_jobs": self.n_threads, "random_state": self.seed, "verbose": -1}
        if self.task in CLASSES:
            return package.LGBMClassifier(**options)
        if self.task == RANKING:
            return package.LGBMRanker(**options)
        if self.task == OUTPUTS:
            return OnePerOutput(lambda: package.LGBMRegressor(**options))
        return package.LGBMRegressor(**{"objective": "poisson"} if self.task == COUNTS else {}, **options)

    def fit_arguments(self, table: Table) -> dict[str, Any]:
        return {"group": table.query_sizes} if self.task == RANKING else super().fit_arguments(table)
