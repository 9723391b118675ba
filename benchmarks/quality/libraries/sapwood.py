"""Sapwood."""

from __future__ import annotations

import hashlib
import importlib
from pathlib import Path
from typing import Any

from benchmarks.quality.libraries.base import Library
from benchmarks.quality.tables import Table
from benchmarks.quality.tasks import CLASSES, COMMON, COUNTS, RANKING, SURVIVAL

LOSSES = {COUNTS: "poisson", SURVIVAL: "cox"}


class Sapwood(Library):
    name, title, distribution, module = "sapwood", "Sapwood", "sapwood", "sapwood"
    tasks = COMMON | {RANKING, SURVIVAL}

    @classmethod
    def version(cls) -> str:
        """With a checksum of the Python source: it changes more often than the number."""
        checksum = hashlib.sha256()
        for path in sorted(Path(str(importlib.import_module("sapwood").__file__)).parent.rglob("*.py")):
            checksum.update(path.read_bytes())
        return f"{super().version()}+{checksum.hexdigest()[:8]}"

    def make(self, package: Any) -> Any:
        options = {"n_jobs": self.n_threads, "random_state": self.seed, **self.parameters}
        if self.task in CLASSES:
            return package.BoostingClassifier(**options)
        if self.task == RANKING:
            return package.BoostingRanker(**options)
        return package.BoostingRegressor(**{"loss": LOSSES[self.task]} if self.task in LOSSES else {}, **options)

    def fit_arguments(self, table: Table) -> dict[str, Any]:
        return {"group": table.query_sizes} if self.task == RANKING else super().fit_arguments(table)
