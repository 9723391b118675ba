"""CatBoost: categories by name, as text, a missing one too."""

from __future__ import annotations

from typing import Any

from benchmarks.quality.libraries.base import Library
from benchmarks.quality.tables import Table
from benchmarks.quality.tasks import CLASSES, COMMON, COUNTS, OUTPUTS, RANKING, SURVIVAL

OBJECTIVES = {COUNTS: "Poisson", OUTPUTS: "MultiRMSE", SURVIVAL: "Cox"}


class CatBoost(Library):
    name, title, distribution, module = "catboost", "CatBoost", "catboost", "catboost"
    tasks = COMMON | {RANKING, SURVIVAL}

    def make(self, package: Any) -> Any:
        options = {"thread_count": self.n_threads, "random_seed": self.seed, "verbose": False, "allow_writing_files": False}
        if self.task in CLASSES:
            return package.CatBoostClassifier(**options)
        if self.task == RANKING:
            return package.CatBoostRanker(**options)
        return package.CatBoostRegressor(**{"loss_function": OBJECTIVES[self.task]} if self.task in OBJECTIVES else {}, **options)

    def convert(self, table: Table) -> Any:
        X = table.X
        texts = {name: X[name].astype(object).where(X[name].notna(), "missing").astype(str) for name in table.categories}
        return X.assign(**texts) if texts else X

    def fit_arguments(self, table: Table) -> dict[str, Any]:
        categories = {"cat_features": table.categories} if table.categories else {}
        queries = {"group_id": table.query} if self.task == RANKING else {}
        return {**super().fit_arguments(table), **categories, **queries}
