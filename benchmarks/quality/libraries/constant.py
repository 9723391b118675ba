"""The constant model: the mean of the training rows, or the frequencies of the classes."""

from __future__ import annotations

from typing import Any

from benchmarks.quality.libraries.base import Library
from benchmarks.quality.tasks import CLASSES, COMMON, RANKING, SURVIVAL


class Constant(Library):
    name, title, distribution, module = "constant", "constant", "scikit-learn", "sklearn.dummy"
    tasks = COMMON | {RANKING, SURVIVAL}

    def make(self, package: Any) -> Any:
        return package.DummyClassifier() if self.task in CLASSES else package.DummyRegressor()
