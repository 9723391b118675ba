"""Measure cases, a few processes at a time, each record written when it is there."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks.quality.cases import Case, batches
from benchmarks.quality.records import Record, Records
from benchmarks.quality.worker import Worker

THREAD_VARIABLES = "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS"


@dataclass(frozen=True)
class Runner:
    records: Records
    folder: Path
    jobs: int
    n_threads: int
    timeout: float
    say: Callable[..., None]

    def run(self, cases: list[Case]) -> None:
        self.say(len(cases), "to measure")
        os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(self.n_threads)))  # a process reads them when it loads a library
        pool = ThreadPoolExecutor(self.jobs)
        try:
            for _ in pool.map(self._run_batch, batches(cases)):
                pass
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _run_batch(self, batch: list[Case]) -> None:
        worker = Worker(self.folder, self.n_threads, self.timeout, self.records.path.with_suffix(".log"))
        try:
            for case in batch:
                record = {**worker.measure(case), "time": int(time.time())}
                self.records.add(record)
                self.say(*describe(record))
        finally:
            worker.stop()


def describe(record: Record) -> tuple[str, ...]:
    result = f"{record['loss']:.5f} in {record['fit_cpu']:.2f} CPU s" if "loss" in record else f"failed: {record['error']}"
    return record["table"], record["size"], f"split {record['split']}", record["library"], result


def missing(cases: list[Case], records: Records, versions: dict[str, str], retry: bool) -> list[Case]:
    """Cases that have no record; none of the given version of its library, if there is one; or, to retry, a failure."""

    def is_missing(case: Case) -> bool:
        record = records.get(case.key)
        if record is None or (retry and "error" in record):
            return True
        return versions.get(case.library, record["version"]) != record["version"]

    return [case for case in cases if is_missing(case)]
