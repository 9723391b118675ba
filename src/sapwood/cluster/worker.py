"""The part of a fit that runs in a worker."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sapwood.callbacks import TRAIN, VALIDATION, Callback
from sapwood.cluster.collective import MessageCollective
from sapwood.cluster.mailbox import Mailbox, Transport, WorkerLost
from sapwood.cluster.rows import complete_rows, read_rows
from sapwood.cluster.state import KeptCheckpoint, Progress
from sapwood.cluster.traffic import FitTraffic
from sapwood.params.signatures import FitArguments
from sapwood.runtime.execution import Execution
from sapwood.runtime.threads import resolve_threads


@dataclass(frozen=True)
class FitJob:
    """A fit, without its rows.

    Attributes
    ----------
    key : name of this attempt
    estimator : estimator to fit
    method : "fit", "partial_fit" or "refit"
    options : arguments of the method that are not rows
    state : content of a checkpoint file to continue from
    path : path of the checkpoint file of the driver; empty if there is none
    keeps_state : whether the state of each round is kept, so that training can go on after a worker was lost
    """

    key: str
    estimator: Any
    method: str
    options: dict[str, Any]
    state: bytes | None = None
    path: str = ""
    keeps_state: bool = True


@dataclass(frozen=True)
class Finished:
    """Result of a worker whose fit ended. Only the first worker has an estimator, callbacks and warnings."""

    digest: str
    traffic: FitTraffic
    n_rounds: int
    estimator: Any = None
    callbacks: list[Callback] | None = None
    warnings: tuple[tuple[type[Warning], str], ...] = ()
    state: bytes | None = None
    scores: tuple[tuple[int, dict[str, dict[str, float]]], ...] = ()


@dataclass(frozen=True)
class Interrupted:
    """Result of a worker whose attempt ended because another worker was lost."""

    reason: str
    n_rounds: int


class Attempts:
    """Attempts of fits that this process takes part in, by key and rank."""

    def __init__(self) -> None:
        self._mailboxes: dict[tuple[str, int], Mailbox] = {}
        self._progress: dict[tuple[str, int], Progress] = {}

    def open(self, key: str, rank: int) -> None:
        """Accept messages of an attempt. Called before any worker starts it."""
        self._mailboxes[key, rank] = Mailbox()

    def mailbox(self, key: str, rank: int) -> Mailbox | None:
        return self._mailboxes.get((key, rank))

    def end(self, key: str, reason: str) -> None:
        """End an attempt: its workers return with the state of the last finished round."""
        for (name, _), mailbox in list(self._mailboxes.items()):
            if name == key:
                mailbox.fail(reason)

    def forget(self, key: str) -> None:
        """Free the memory of an attempt."""
        for entries in (self._mailboxes, self._progress):
            for name, rank in list(entries):
                if name == key:
                    entries.pop((name, rank), None)

    def started(self, key: str, rank: int, progress: Progress) -> None:
        self._progress[key, rank] = progress

    def n_rounds(self, key: str, rank: int) -> int:
        """Return the number of finished rounds."""
        progress = self._progress.get((key, rank))
        return 0 if progress is None else progress.n_rounds

    def scores(self, key: str, rank: int, after: int) -> list[tuple[int, dict[str, dict[str, float]]]]:
        """Return the rounds after a round that are finished, and their scores."""
        progress = self._progress.get((key, rank))
        return [] if progress is None else [one for one in progress.scores if one[0] > after]

    def state(self, key: str, rank: int) -> bytes | None:
        """Return the state of the last finished round, as the content of a checkpoint file."""
        progress = self._progress.get((key, rank))
        return None if progress is None else progress.state()


ATTEMPTS = Attempts()


def run_fit(job: FitJob, transport: Transport, sets: Mapping[str, Mapping[str, Any]], n_threads: int) -> Finished | Interrupted:
    """Fit on the rows of this worker, together with the other workers.

    Parameters
    ----------
    sets : data set -> argument -> pieces of this worker, or the name of a column
    n_threads : CPUs of this worker
    """
    collective, first = MessageCollective(transport), transport.rank == 0
    progress = Progress(collective.traffic)
    ATTEMPTS.started(job.key, transport.rank, progress)
    n_jobs = job.estimator.n_jobs
    execution = Execution(n_threads if n_jobs in (None, -1) else resolve_threads(n_jobs), collective)
    try:
        with warnings.catch_warnings(record=first) as caught:
            if caught is not None:
                warnings.simplefilter("always")
            fitted = _fit(job, sets, execution, progress)
            collective.gather_objects(None)  # no worker leaves while another one may still need it
    except WorkerLost as lost:
        return Interrupted(str(lost), progress.n_rounds)
    finally:
        transport.close()
    digest = hashlib.sha256(fitted.model_.to_bytes()).hexdigest()
    if not first:
        return Finished(digest, progress.fit_traffic(), progress.n_rounds)
    told = tuple((one.category, str(one.message)) for one in caught or ())
    callbacks = list(job.options.get("callbacks") or ())
    return Finished(digest, progress.fit_traffic(), progress.n_rounds, fitted, callbacks, told, progress.state(), tuple(progress.scores))


def _fit(job: FitJob, sets: Mapping[str, Mapping[str, Any]], execution: Execution, progress: Progress) -> Any:
    read: dict[str, Any] = {}
    execution.raise_together(lambda: read.update({name: read_rows(pieces, name) for name, pieces in sets.items()}))
    complete = {name: complete_rows(rows, name, execution) for name, rows in read.items()}
    arguments = {**complete.pop(TRAIN), **job.options}
    arguments |= {f"{name}_val": value for name, value in complete.pop(VALIDATION, {}).items()}
    if complete:
        arguments["eval_sets"] = complete
    if job.keeps_state:
        arguments["checkpoint"] = KeptCheckpoint(job.path or "memory", state=job.state, progress=progress, optional=not job.path)
    return job.estimator._train(job.method, FitArguments(**arguments), execution)
