"""State of training in the memory of a worker, from which a fit continues after a worker was lost."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from sapwood.callbacks import Callback, Round
from sapwood.cluster.traffic import FitTraffic, Traffic
from sapwood.training.checkpoint import Checkpoint, ResumingWriter, Snapshot, unpack_state
from sapwood.training.fit_signature import FitSignature
from sapwood.training.modes import Mode


class Progress:
    """State of the last finished round of a worker. The thread of the fit replaces it; threads of the engine read it."""

    traffic: Traffic
    n_rounds: int
    n_trees: int

    def __init__(self, traffic: Traffic) -> None:
        self._lock = threading.Lock()
        self._snapshot: Snapshot | None = None
        self.traffic = traffic
        self.setup: Traffic | None = None  # traffic before the first round
        self.n_rounds = 0
        self.n_trees = 0  # grown in this attempt
        self.scores: list[tuple[int, dict[str, dict[str, float]]]] = []  # rounds of this attempt, and their scores

    def began(self) -> None:
        self.setup = self.traffic.copy()

    def after_round(self, snapshot: Snapshot | None, state: Round) -> None:
        scores = {on: {name: values[-1] for name, values in of.items() if values} for on, of in state.scores.items()}
        with self._lock:
            self._snapshot, self.n_rounds = snapshot, state.n_rounds
            self.scores.append((state.n_rounds, scores))
            self.n_trees += state.model.trees_per_round

    def state(self) -> bytes | None:
        """Return the state of the last finished round, as the content of a checkpoint file; None if there is none."""
        with self._lock:
            snapshot = self._snapshot
        return None if snapshot is None else bytes(snapshot.pack())

    def fit_traffic(self) -> FitTraffic:
        setup = self.setup or self.traffic
        return FitTraffic(setup.copy(), self.traffic - setup, self.n_trees)


@dataclass(frozen=True)
class KeptCheckpoint(Checkpoint):
    """Checkpoint of a worker: the state is kept in memory, and the driver asks for it.

    Attributes
    ----------
    path : path of the file that the driver writes, for error messages
    state : content of a checkpoint file to continue from
    progress : where the state of each round is kept
    optional : whether the user asked for no checkpoint
    """

    state: bytes | None = None
    progress: Progress = field(default_factory=lambda: Progress(Traffic()))
    optional: bool = True  # type: ignore[misc]
    for_partitions: ClassVar[bool] = True

    def open(self, signature: FitSignature) -> Any:
        saved = None
        if self.state is not None:
            saved = self._check(unpack_state(np.frombuffer(self.state, dtype=np.uint8).copy(), self.path), signature)
        return KeptStateWriter(self, signature, saved)


class KeptStateWriter(ResumingWriter):
    """Keeps the state of each round in memory. Values of rows are not kept: a fit with such a mode starts again at the first round."""

    checkpoint: KeptCheckpoint

    def restore(self, state: Round, mode: Mode, callbacks: Sequence[Callback]) -> None:
        super().restore(state, mode, callbacks)
        self.checkpoint.progress.began()

    def after_round(self, state: Round, mode: Mode, callbacks: Sequence[Callback]) -> None:
        snapshot = None if mode.keeps_rows else Snapshot.of(state, mode, callbacks, self.signature)
        self.checkpoint.progress.after_round(snapshot, state)
