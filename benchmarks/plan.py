"""Plan of a benchmark run: libraries, workloads, repeats and results."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.libraries import Library
from benchmarks.results import Results
from benchmarks.workloads import Split, Workload

REST = 0.05  # seconds until the threads of the previous library are idle


@dataclass(frozen=True)
class Plan:
    workloads: list[Workload]
    libraries: list[Library]
    repeats: int
    seeds: int
    scale: float
    n_jobs: int
    results: Results
    folder: Path  # of real tables

    def draw(self, workload: Workload, seed: int = 0, most: int | None = None) -> Split:
        return workload.draw(seed, self.scale, most)

    def turns(self, repeats: int) -> Iterator[tuple[int, Library]]:
        """Yield each library once per repeat. Every repeat starts with another library."""
        for repeat in range(repeats):
            for i in range(len(self.libraries)):
                yield repeat, self.libraries[(repeat + i) % len(self.libraries)]

    def warm_up(self) -> None:
        """Import every library and start its threads by fits on a few rows."""
        X = np.random.default_rng(0).random((1_000, 5), dtype=np.float32)
        for library in self.libraries:
            with library.threads(self.n_jobs):
                library.make("binary", self.n_jobs, 0).fit(X, (X[:, 0] < X[:, 1]).astype(np.int64))


def settle() -> None:
    """Collect garbage and wait until threads are idle, before a measurement."""
    gc.collect()
    time.sleep(REST)


def say(*words: object) -> None:
    print(time.strftime("%H:%M:%S"), *words, flush=True)
