"""A process that measures the cases of one library, so that a crash or a hang ends that process only."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
import traceback
import warnings
from dataclasses import asdict
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from benchmarks.quality.cases import Case
from benchmarks.quality.libraries import find_library
from benchmarks.quality.losses import loss
from benchmarks.quality.records import Record
from benchmarks.quality.splits import draw
from benchmarks.quality.tables import load_table

START_SECONDS = 900.0  # to load a library, which may have to compile


class Worker:
    """The parent's end of the process, which is started for the first case, and again after a crash or a timeout."""

    def __init__(self, folder: Path, n_threads: int, timeout: float, log: Path) -> None:
        self.folder, self.n_threads, self.timeout, self.log = folder, n_threads, timeout, log
        self.process: Any = None
        self.connection: Any = None

    def measure(self, case: Case) -> Record:
        answer = {} if self.process is not None else self._start(case)
        if not answer:
            self.connection.send(case)
            answer = self._answer(self.timeout)
        return {**asdict(case), **answer, "version": find_library(case.library).version(), "n_threads": self.n_threads}

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None

    def _start(self, case: Case) -> Record:
        """What the process says when it is ready: nothing, or an error."""
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        self.process = context.Process(target=serve, args=(other, case, self.folder, self.n_threads, self.log), daemon=True)
        self.process.start()
        other.close()  # so that the end of the process is the end of the pipe
        answer = self._answer(START_SECONDS)
        if answer:
            self.stop()
        return answer

    def _answer(self, seconds: float) -> Record:
        try:
            if self.connection.poll(seconds):
                return self.connection.recv()
            reason = f"no answer in {seconds:g} s"
        except (EOFError, ConnectionError):
            self.process.join()
            reason = f"the process ended with exit code {self.process.exitcode}"
        self.stop()
        return {"error": reason}


def serve(connection: Connection, first: Case, folder: Path, n_threads: int, log: Path) -> None:
    """Get ready for cases like the first, then measure one after the other."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _redirect_output(log)
    warnings.simplefilter("ignore")
    connection.send(_guarded(lambda: find_library(first.library).warm_up(first.task, n_threads)))
    while True:
        try:
            case = connection.recv()
        except EOFError:  # the parent is gone
            return
        connection.send(_guarded(lambda case=case: measure(case, folder, n_threads)))


def measure(case: Case, folder: Path, n_threads: int) -> Record:
    """Fit and predict one case: loss and seconds."""
    split = draw(load_table(folder, case.table), case.size, case.split)
    library = find_library(case.library)(case.task, n_threads, case.split, case.parameters)
    X, X_test = library.convert(split.train), library.convert(split.test)
    fit_wall, fit_cpu, _ = timed(lambda: library.fit(X, split.train))
    predict_wall, predict_cpu, predicted = timed(lambda: library.predict(X_test))
    return {
        "n_train": len(split.train.y),
        "n_test": len(split.test.y),
        "n_features": X.shape[1],
        "loss": loss(split.test, predicted),
        "fit_wall": fit_wall,
        "fit_cpu": fit_cpu,
        "predict_wall": predict_wall,
        "predict_cpu": predict_cpu,
    }


def timed(function: Any) -> tuple[float, float, Any]:
    """Wall seconds, CPU seconds of all threads, and the result."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = function()
    return time.perf_counter() - wall, time.process_time() - cpu, result


def _guarded(function: Any) -> Record:
    """The function's record, or one that says how it failed."""
    try:
        return function() or {}
    except Exception as error:
        traceback.print_exc()
        return {"error": f"{type(error).__name__}: {error}"[:300]}


def _end_with_parent() -> None:
    """A killed run leaves no fit behind."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


def _redirect_output(log: Path) -> None:
    """What libraries print goes to a file, also what compiled code prints."""
    log.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(file, stream)
