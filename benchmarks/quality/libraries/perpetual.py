"""Perpetual: categories by dtype; its other columns as float64."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.quality.libraries.base import Library, OnePerOutput, dense
from benchmarks.quality.tables import Table
from benchmarks.quality.tasks import CLASSES, COMMON, COUNTS, OUTPUTS, RANKING


class Perpetual(Library):
    name, title, distribution, module = "perpetual", "Perpetual", "perpetual", "perpetual"
    tasks = COMMON | {RANKING}

    def make(self, package: Any) -> Any:
        options = {"num_threads": self.n_threads, "seed": self.seed}
        if self.task in CLASSES:
            return package.PerpetualClassifier(**options)
        if self.task == RANKING:
            return package.PerpetualRanker(**options)
        if self.task == COUNTS:
            return package.PerpetualBooster(objective="PoissonLoss", **options)
        if self.task == OUTPUTS:
            return OnePerOutput(lambda: package.PerpetualRegressor(**options))
        return package.PerpetualRegressor(**options)

    def convert(self, table: Table) -> Any:
        """A copy: it writes into its input."""
        X = dense(table.X)
        if not hasattr(X, "iloc"):
            return np.array(X, dtype=np.float64)
        return X.astype({name: np.float64 for name in X if name not in table.categories})

    def predict(self, X: Any) -> np.ndarray:
        predicted = super().predict(X)
        return np.exp(predicted) if self.task == COUNTS else predicted  # of counts it predicts the logarithm

    def fit_arguments(self, table: Table) -> dict[str, Any]:
        return {"group": table.query_sizes} if self.task == RANKING else super().fit_arguments(table)
