"""The part of a fit that runs in the user's process: it starts workers, watches them, and starts again without those that were lost."""

from __future__ import annotations

import os
import time
import uuid
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sapwood.cluster.arguments import ClusterArguments
from sapwood.cluster.mailbox import WorkerLost
from sapwood.cluster.traffic import describe
from sapwood.cluster.worker import Finished, FitJob, Interrupted
from sapwood.model import disk
from sapwood.training.checkpoint import SECONDS, Checkpoint

POLL_SECONDS = 0.25  # between looks at the workers
REPLACEMENT_SECONDS = 5.0  # a fit waits this long for a worker that replaces a lost one, then goes on with fewer
NO_WORKER_SECONDS = 20.0  # a fit without workers waits this long for one
ANSWER_SECONDS = 10.0  # workers that remain have this long to end an attempt
MAX_RESTARTS = 3  # restarts in a row in which no round was finished

Scores = dict[str, dict[str, float]]


class Engine(ABC):
    """What a fit needs of Dask or Ray. Workers are known by their ids; tasks by their position in a list.

    Attributes
    ----------
    noun : name of a worker in messages
    """

    noun: str

    @abstractmethod
    def workers(self) -> list[Any]:
        """Return the workers that are alive."""

    @abstractmethod
    def place(self, sets: ClusterArguments, workers: Sequence[Any]) -> list[tuple[Any, dict[str, dict[str, Any]]]]:
        """Load the rows. Return the worker of each rank, and its pieces."""

    @abstractmethod
    def start(self, job: FitJob, placed: Sequence[tuple[Any, dict[str, dict[str, Any]]]]) -> list[Any]:
        """Start an attempt. Return a task for each rank."""

    @abstractmethod
    def wait(self, tasks: Sequence[Any], seconds: float) -> list[int]:
        """Wait until one of the tasks is done. Return the positions of those that are."""

    @abstractmethod
    def result(self, task: Any) -> Finished | Interrupted:
        """Return the result of a task that is done. Raises its error, or WorkerLost."""

    @abstractmethod
    def ask(self, worker: Any, method: str, *arguments: Any) -> Any:
        """Return the result of a method of the `Attempts` of a worker; None if it does not answer."""

    def release(self, tasks: Sequence[Any]) -> None:  # noqa: B027
        """Free what an attempt has used."""


@dataclass
class CheckpointFile:
    """The checkpoint file of the driver."""

    checkpoint: Checkpoint | None
    n_rounds: int = 0
    written: float = 0.0

    def read(self) -> bytes | None:
        """Return the content of the file, if there is one."""
        self.written = time.monotonic()
        if self.checkpoint is None:
            return None
        path = os.fspath(self.checkpoint.path)
        folder = os.path.dirname(os.path.realpath(path))
        if not os.path.isdir(folder):
            raise FileNotFoundError(f"checkpoint={path!r}: the folder {folder!r} does not exist")
        try:
            return bytes(disk.read(path))
        except FileNotFoundError:
            return None

    def due(self, n_rounds: int) -> bool:
        if self.checkpoint is None or n_rounds <= self.n_rounds:
            return False
        every, seconds = self.checkpoint.every, self.checkpoint.seconds
        seconds = SECONDS if every is seconds is None else seconds
        waited = time.monotonic() - self.written
        return (every is not None and n_rounds - self.n_rounds >= every) or (seconds is not None and waited >= seconds)

    def write(self, state: bytes | None, n_rounds: int) -> None:
        if self.checkpoint is None or state is None:
            return
        try:
            disk.write(self.checkpoint.path, bytearray(state))
        except OSError as error:
            warnings.warn(f"the checkpoint could not be written; training continues: {error}", RuntimeWarning, stacklevel=2)
        self.n_rounds, self.written = n_rounds, time.monotonic()


class RoundReport:
    """Calls a function after every round, once, also if a round was trained again after a restart."""

    on_round: Callable[[int, Scores], None] | None
    last: int

    def __init__(self, on_round: Callable[[int, Scores], None] | None) -> None:
        self.on_round, self.last = on_round, 0

    def __call__(self, rounds: Iterable[tuple[int, Scores]]) -> None:
        for n_rounds, scores in rounds:
            if self.on_round is not None and n_rounds > self.last:
                self.on_round(n_rounds, scores)
                self.last = n_rounds


def fit_on_cluster(
    engine: Engine,
    estimator: Any,
    method: str,
    arguments: ClusterArguments,
    on_round: Callable[[int, Scores], None] | None = None,
) -> tuple[Any, dict[str, Any]]:
    """Fit an estimator on the workers of a cluster. Return the fitted estimator and what the workers sent to each other.

    `on_round` is called in this process after every round, with the number of rounds and the scores.
    """
    file = CheckpointFile(arguments.checkpoint)
    state, restarts, in_vain, n_rounds, lost = file.read(), 0, 0, 0, ""
    report = RoundReport(on_round)
    path = "" if arguments.checkpoint is None else os.fspath(arguments.checkpoint.path)
    n_workers = len(engine.workers())
    while True:
        workers = _wait_for_workers(engine, n_workers, lost)
        job = FitJob(uuid.uuid4().hex, estimator, method, arguments.options, state, path, arguments.keeps_state)
        placed = engine.place(arguments, workers)
        attempt = _Attempt(engine, job, [worker for worker, _ in placed], file, report)
        try:
            results = attempt.run(placed)
        except WorkerLost as error:
            restarts += 1
            in_vain = 0 if attempt.n_rounds > n_rounds else in_vain + 1
            if in_vain >= MAX_RESTARTS:
                raise RuntimeError(
                    f"{engine.noun}s were lost {MAX_RESTARTS} times in a row before another round was finished: the last time {error}. "
                    "Do they run out of memory?"
                ) from None
            if attempt.state is not None and attempt.n_rounds > n_rounds:
                state, n_rounds = attempt.state, attempt.n_rounds
            lost = str(error)
            continue
        first = results[0]
        if len({one.digest for one in results}) > 1:
            raise RuntimeError(f"the {engine.noun}s have different models: do they run different versions of Sapwood or NumPy?")
        file.write(first.state, first.n_rounds)
        report(first.scores)
        for category, message in first.warnings:
            warnings.warn(message, category, stacklevel=4)
        for own, theirs in zip(arguments.options.get("callbacks") or (), first.callbacks or (), strict=True):
            own.__dict__.update(theirs.__dict__)
        return first.estimator, describe([one.traffic for one in results], restarts)


def _wait_for_workers(engine: Engine, n_before: int, lost: str) -> list[Any]:
    """Return the workers. After one was lost, wait a while for another one; raise a RuntimeError if there is none left."""
    began = time.monotonic()
    while True:
        workers, waited = engine.workers(), time.monotonic() - began
        if len(workers) >= max(1, n_before) or (workers and waited >= REPLACEMENT_SECONDS):
            return workers
        if waited >= NO_WORKER_SECONDS:
            raise RuntimeError(f"no {engine.noun} is left after {waited:.0f} s{f': {lost}' if lost else ''}")
        time.sleep(POLL_SECONDS)


class _Attempt:
    """One attempt to fit, on workers that must all stay alive.

    Attributes
    ----------
    n_rounds, state : rounds that were finished when a worker was lost, and their state
    """

    def __init__(self, engine: Engine, job: FitJob, workers: list[Any], file: CheckpointFile, report: RoundReport) -> None:
        self.engine, self.job, self.workers, self.file, self.report = engine, job, workers, file, report
        self.n_rounds, self.state = 0, job.state
        self.tasks: list[Any] = []
        self.results: dict[int, Finished | Interrupted] = {}

    def run(self, placed: Sequence[tuple[Any, dict[str, dict[str, Any]]]]) -> list[Finished]:
        """Return the results of all ranks. Raises WorkerLost, or the error of a worker."""
        try:
            self.tasks = self.engine.start(self.job, placed)
            while len(self.results) < len(self.tasks):
                self._collect(POLL_SECONDS)
                self._check_workers()
                self._look()
            return [self._finished(rank) for rank in range(len(self.tasks))]
        except WorkerLost as lost:
            self._end(str(lost))
            raise
        except BaseException as error:
            self._tell(f"{type(error).__name__} in another worker or the driver")
            raise
        finally:
            for worker in set(self.workers):
                self.engine.ask(worker, "forget", self.job.key)
            self.engine.release(self.tasks)

    def _collect(self, seconds: float) -> None:
        waiting = [rank for rank in range(len(self.tasks)) if rank not in self.results]
        for position in self.engine.wait([self.tasks[rank] for rank in waiting], seconds):
            rank = waiting[position]
            result = self.engine.result(self.tasks[rank])
            self.results[rank] = result
            if isinstance(result, Interrupted):
                raise WorkerLost(result.reason)

    def _check_workers(self) -> None:
        alive = self.engine.workers()
        for rank, worker in enumerate(self.workers):
            if rank not in self.results and worker not in alive:
                raise WorkerLost(f"{self.engine.noun} {worker} was lost")

    def _look(self) -> None:
        """Write the checkpoint and report scores, if there is something new."""
        if (self.file.checkpoint is None and self.report.on_round is None) or 0 in self.results:
            return
        n_rounds = self.engine.ask(self.workers[0], "n_rounds", self.job.key, 0) or 0
        if self.report.on_round is not None and n_rounds > self.report.last:
            self.report(self.engine.ask(self.workers[0], "scores", self.job.key, 0, self.report.last) or ())
        if self.file.due(n_rounds):
            self.file.write(self.engine.ask(self.workers[0], "state", self.job.key, 0), n_rounds)

    def _finished(self, rank: int) -> Finished:
        result = self.results[rank]
        assert isinstance(result, Finished)
        return result

    def _tell(self, reason: str) -> None:
        for worker in set(self.workers):
            self.engine.ask(worker, "end", self.job.key, reason)

    def _end(self, reason: str) -> None:
        """End the attempt in the workers that remain, and get the state of the last finished round from one of them."""
        self._tell(reason)
        until = time.monotonic() + ANSWER_SECONDS
        while len(self.results) < len(self.tasks) and time.monotonic() < until:
            alive = self.engine.workers()
            if all(rank in self.results or worker not in alive for rank, worker in enumerate(self.workers)):
                break
            waiting = [rank for rank in range(len(self.tasks)) if rank not in self.results]
            for position in self.engine.wait([self.tasks[rank] for rank in waiting], POLL_SECONDS):
                try:
                    self.results[waiting[position]] = self.engine.result(self.tasks[waiting[position]])
                except Exception:  # of a worker that was lost, or of one that could not go on without it
                    self.results[waiting[position]] = Interrupted(reason, 0)
        for rank in sorted(self.results, key=lambda rank: (-self.results[rank].n_rounds, rank)):
            if self.results[rank].n_rounds > 0:
                state = self.engine.ask(self.workers[rank], "state", self.job.key, rank)
                if state is not None:
                    self.state, self.n_rounds = state, self.results[rank].n_rounds
                    return
