"""XGBoost: categories as pandas has them, enabled."""

from __future__ import annotations

from typing import Any

from benchmarks.quality.libraries.base import Library
from benchmarks.quality.tables import Table
from benchmarks.quality.tasks import CLASSES, COMMON, COUNTS, RANKING, SURVIVAL

OBJECTIVES = {COUNTS: "count:poisson", SURVIVAL: "survival:cox"}


class XGBoost(Library):
    name, title, distribution, module = "xgboost", "XGBoost", "xgboost-cpu", "xgboost"
    tasks = COMMON | {RANKING, SURVIVAL}

    def make(self, package: Any) -> Any:
        options = {"n_jobs": self.n_threads, "random_state": self.seed, "enable_categorical": True, "verbosity": 0}
        if self.task in CLASSES:
            return package.XGBClassifier(**options)
        if self.task == RANKING:
            return package.XGBRanker(**options)
        return package.XGBRegressor(**{"objective": OBJECTIVES[self.task]} if self.task in OBJECTIVES else {}, **options)

    def fit_arguments(self, table: Table) -> dict[str, Any]:
        return {"qid": table.query} if self.task == RANKING else super().fit_arguments(table)
