"""Ray as the engine of a fit: workers are actors."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayActorError
from ray.util import get_current_placement_group

from sapwood.cluster.arguments import ClusterArguments
from sapwood.cluster.driver import Engine
from sapwood.cluster.mailbox import Tag, WorkerLost
from sapwood.cluster.placement import ranges
from sapwood.cluster.rows import LazyPiece, is_column_name
from sapwood.cluster.worker import ATTEMPTS, Finished, FitJob, Interrupted, run_fit
from sapwood.ray.transport import ANSWER_SECONDS, RayTransport

START_SECONDS = 300.0  # all workers must have started by then


@dataclass(frozen=True)
class RayBlock(LazyPiece):
    """Rows in Ray's object store."""

    ref: Any

    def read(self) -> Any:
        return ray.get(self.ref)


class WorkerActor:
    """Worker of a fit."""

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads

    def node(self) -> str:
        """Return the machine, when the process has started and imported Sapwood."""
        return ray.get_runtime_context().get_node_id()

    def watch(self) -> None:
        """Never return: the call fails when the actor dies."""
        threading.Event().wait()

    def put(self, key: str, source: int, to: int, tag: Tag, *message: Any) -> None:
        mailbox = ATTEMPTS.mailbox(key, to)
        if mailbox is not None:
            mailbox.put(source, tag, message[0] if len(message) == 1 else b"".join(message))

    def ask(self, method: str, arguments: tuple[Any, ...]) -> Any:
        return getattr(ATTEMPTS, method)(*arguments)

    def alive(self, key: str, rank: int) -> bool:
        return ATTEMPTS.mailbox(key, rank) is not None

    def run(self, job: FitJob, rank: int, actors: list[Any], nodes: list[str], sets: dict[str, dict[str, Any]]) -> Finished | Interrupted:
        mailbox = ATTEMPTS.mailbox(job.key, rank)
        if mailbox is None:
            return Interrupted("the attempt ended before it began", 0)
        return run_fit(job, RayTransport(job.key, rank, actors, nodes, mailbox), sets, self.n_threads)


GROUPS = {"fit": 1, "mail": 1, "questions": 1, "watch": 1}  # threads of an actor
GROUP_OF = {"watch": "watch", "put": "mail", "ask": "questions", "alive": "questions", "run": "fit"}


class RayEngine(Engine):
    """Actors that live as long as a fit, known by their numbers. An actor that dies is replaced.

    Parameters
    ----------
    n_workers : number of actors
    cpus_per_worker : CPUs that an actor reserves, and the threads it uses
    """

    noun = "Ray worker"

    def __init__(self, n_workers: int, cpus_per_worker: float) -> None:
        self._cpus, self._next, self._n_workers = cpus_per_worker, 0, n_workers
        self._actors: dict[int, Any] = {}
        self._nodes: dict[int, Any] = {}  # references: they are there when the actor has started
        self._watched: dict[int, Any] = {}
        needed, there = n_workers * cpus_per_worker, ray.cluster_resources().get("CPU", 0.0)
        if needed > there:
            raise ValueError(f"n_workers={n_workers} and cpus_per_worker={cpus_per_worker} need {needed} CPUs; the Ray cluster has {there}")
        for _ in range(n_workers):
            self._spawn()
        began = time.monotonic()
        while len(self.workers()) < n_workers:
            if time.monotonic() - began > START_SECONDS:
                self.close()
                raise RuntimeError(
                    f"{n_workers} Ray workers with {cpus_per_worker} CPUs did not start in {START_SECONDS:.0f} s: the CPUs are in use. "
                    "Within Ray Tune, reserve them with sapwood.ray.tune_resources"
                )
            time.sleep(0.05)

    def _spawn(self) -> None:
        options: dict[str, Any] = {"num_cpus": self._cpus, "max_restarts": 0, "enable_task_events": False}  # events: a fifth of a message
        group = get_current_placement_group()
        if group is not None and sum(one.get("CPU", 0.0) for one in group.bundle_specs) < self._n_workers * self._cpus:
            options["scheduling_strategy"] = "SPREAD"  # not within the reservation of this process, which is too small
        as_actor: Any = ray.remote
        actor = as_actor(concurrency_groups=GROUPS)(WorkerActor).options(**options).remote(max(1, int(self._cpus)))
        self._actors[self._next], self._nodes[self._next] = actor, actor.node.remote()
        self._watched[self._next] = actor.watch.options(concurrency_group="watch").remote()
        self._next += 1

    def workers(self) -> list[int]:
        for number in [number for number, call in self._watched.items() if _is_done(call)]:
            del self._actors[number], self._watched[number], self._nodes[number]
            self._spawn()
        return [number for number, call in self._nodes.items() if _is_done(call)]

    def place(self, sets: ClusterArguments, workers: Sequence[int]) -> list[tuple[int, dict[str, dict[str, Any]]]]:
        placed: list[tuple[int, dict[str, dict[str, Any]]]] = [(worker, {}) for worker in workers]
        for name, arguments in sets.sets.items():
            for (_, own), part in zip(placed, ranges(len(arguments["X"]), len(workers)), strict=True):
                own[name] = {argument: given if is_column_name(given) else given[part] for argument, given in arguments.items()}
        return placed

    def start(self, job: FitJob, placed: Sequence[tuple[int, dict[str, dict[str, Any]]]]) -> list[Any]:
        try:
            actors = [self._actors[worker] for worker, _ in placed]
            opened = [self._call(worker, "ask", "open", (job.key, rank)) for rank, (worker, _) in enumerate(placed)]
            ray.get(opened)
            nodes = ray.get([self._nodes[worker] for worker, _ in placed])
        except (KeyError, RayActorError) as error:
            raise WorkerLost(f"a {self.noun} was lost: {error}") from None
        shared = ray.put(job)
        return [self._call(worker, "run", shared, rank, actors, nodes, sets) for rank, (worker, sets) in enumerate(placed)]

    def _call(self, worker: int, method: str, *arguments: Any) -> Any:
        return getattr(self._actors[worker], method).options(concurrency_group=GROUP_OF[method]).remote(*arguments)

    def wait(self, tasks: Sequence[Any], seconds: float) -> list[int]:
        if not tasks:
            return []
        done, _ = ray.wait(list(tasks), num_returns=1, timeout=seconds)
        return [i for i, task in enumerate(tasks) if task in done]

    def result(self, task: Any) -> Finished | Interrupted:
        try:
            return ray.get(task)
        except RayActorError as error:
            raise WorkerLost(f"a {self.noun} was lost: {error}") from None

    def ask(self, worker: int, method: str, *arguments: Any) -> Any:
        try:
            return ray.get(self._call(worker, "ask", method, arguments), timeout=ANSWER_SECONDS)
        except (KeyError, RayActorError, GetTimeoutError):  # it was lost meanwhile
            return None

    def close(self) -> None:
        """End the actors."""
        for actor in self._actors.values():
            ray.kill(actor)
        self._actors = {}


def _is_done(call: Any) -> bool:
    done, _ = ray.wait([call], timeout=0)
    return bool(done)
