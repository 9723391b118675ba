"""Checkpoints: the state of training in a file, from which an interrupted fit resumes."""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sapwood.data import container
from sapwood.model import Model, ModelFormatError, disk
from sapwood.model.file import checksum
from sapwood.training.fit_signature import FitSignature

if TYPE_CHECKING:
    from sapwood.callbacks import Callback, Round
    from sapwood.training.modes import Mode

SECONDS = 60.0
MODEL = "model"  # the name of an array; those of a mode have a prefix
PREFIX = "mode_"


class CheckpointError(ValueError):
    """A checkpoint is of another fit, or damaged."""


@dataclass(frozen=True)
class Checkpoint:
    """File in which a fit saves its state, and how often.

    `fit(..., checkpoint=Checkpoint("run.checkpoint", every=10))`: if the process ends before training is complete, the same call resumes
    from the file and returns the same model, byte for byte, as an uninterrupted fit. A checkpoint of other data or parameters is refused,
    and the error says what differs. `max_iter` may be larger (except for a forest); `n_jobs` and `verbose` may change.

    The file is kept when training is complete; the same fit then returns at once. Delete the file to train again.

    Parameters
    ----------
    path : str or path
        The file is replaced atomically. A process that is killed while it writes leaves a temporary file, ".sapwood-*.part", which the
        next write to this folder removes.
    every : int, optional
        Write after so many rounds.
    seconds : float, optional
        Write when so many seconds have passed, after the round; 60 if neither is given.

    Notes
    -----
    Callbacks of your own must be given again; they are told by their classes and `settings()`. One whose state matters says it in
    `keep()`, as plain data, and is given it back in `restore(kept)`, after `before_training`. Others begin anew, with the round at which
    training resumes. Rounds after the last checkpoint are repeated. Functions are compared by name: one that does something else
    under the same name is not noticed.
    """

    path: str | PathLike[str]
    every: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.path, str | PathLike):
            raise TypeError(f"Checkpoint needs the path of a file; got {self.path!r}")
        if self.every is not None and self.every < 1:
            raise ValueError(f"Checkpoint needs every >= 1; got {self.every}")
        if self.seconds is not None and not self.seconds >= 0:
            raise ValueError(f"Checkpoint needs seconds >= 0; got {self.seconds}")

    @classmethod
    def of(cls, given: Any) -> Checkpoint:
        """Checkpoint from the argument of `fit`."""
        return given if isinstance(given, Checkpoint) else cls(given)

    def open(self, identity: FitSignature) -> FileCheckpointWriter:
        """For one fit: what an earlier run kept of it is read and checked."""
        folder = Path(os.path.realpath(self.path)).parent
        if not folder.is_dir():
            raise FileNotFoundError(f"checkpoint={os.fspath(self.path)!r}: there is no folder {str(folder)!r}")
        kept = _read(self.path)
        if kept is not None and (difference := kept.identity.difference(identity)) is not None:
            raise CheckpointError(
                f"checkpoint={os.fspath(self.path)!r} is of another fit: {difference}. Give another path, or delete the file to begin anew"
            )
        return FileCheckpointWriter(self, identity, kept)


@dataclass(frozen=True)
class Kept:
    """Contents of a file."""

    model: Model
    arrays: dict[str, np.ndarray]  # of the mode
    callbacks: list[tuple[str, Any]]  # their classes, and what they keep
    stopped: bool
    identity: FitSignature


class CheckpointWriter:
    """Nothing is kept.

    The life of such an object: `resume` gives the model to go on from; `restore`, when callbacks and mode have begun; `after_round`, when
    all callbacks have heard it.
    """

    def resume(self, model: Model) -> Model:
        return model

    def restore(self, state: Round, mode: Mode, callbacks: Sequence[Callback]) -> None: ...

    def after_round(self, state: Round, mode: Mode, callbacks: Sequence[Callback]) -> None: ...


class FileCheckpointWriter(CheckpointWriter):
    """The state of training in a file, after some of the rounds and after the last."""

    when: Checkpoint
    identity: FitSignature
    written: float

    def __init__(self, when: Checkpoint, identity: FitSignature, kept: Kept | None) -> None:
        self.when, self.identity, self.kept = when, identity, kept
        self.seconds: float | None = SECONDS if when.every is when.seconds is None else when.seconds
        self.written = time.monotonic()

    def resume(self, model: Model) -> Model:
        return model if self.kept is None else self.kept.model

    def restore(self, state: Round, mode: Mode, callbacks: Sequence[Callback]) -> None:
        if self.kept is None:
            return
        if state.n_rounds > state.max_rounds:
            path = os.fspath(self.when.path)
            raise CheckpointError(f"checkpoint={path!r} has {state.n_rounds} rounds, but max_iter asks for {state.max_rounds} in all")
        state.stopped = self.kept.stopped
        mode.restore(self.kept.arrays)
        waiting = list(callbacks)
        for name, own in self.kept.callbacks:
            callback = next(one for one in waiting if type(one).__name__ == name)
            waiting.remove(callback)
            callback.restore(own)
        self.kept = None  # a large model need not be held twice

    def after_round(self, state: Round, mode: Mode, callbacks: Sequence[Callback]) -> None:
        due = self.when.every is not None and state.n_rounds % self.when.every == 0
        due |= self.seconds is not None and time.monotonic() - self.written >= self.seconds
        if not due and not state.over:
            return
        data = self._pack(state, mode, callbacks)
        try:
            disk.write(self.when.path, data)
        except OSError as error:  # a full disk is no reason to throw hours of training away
            warnings.warn(f"the checkpoint could not be written, training continues without it: {error}", RuntimeWarning, stacklevel=2)
        self.written = time.monotonic()

    def _pack(self, state: Round, mode: Mode, callbacks: Sequence[Callback]) -> bytearray:
        model = state.model.copy()
        model.finish(state.rows.pages)
        arrays = {MODEL: np.frombuffer(model.to_bytes(), dtype=np.uint8)}
        arrays |= {f"{PREFIX}{name}": array for name, array in mode.keep().items()}
        own = [(type(callback).__name__, _plain(callback)) for callback in callbacks]
        about = {"stopped": state.stopped, "identity": self.identity.to_json(), "callbacks": [pair for pair in own if pair[1] is not None]}
        text = json.dumps(about, separators=(",", ":"))
        return container.pack(arrays, {"checkpoint": text, "sha256": checksum(arrays, text)})


def _plain(callback: Callback) -> Any:
    kept = callback.keep()
    try:
        json.dumps(kept)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{type(callback).__name__}.keep() must give plain data for a checkpoint: {error}") from None
    return kept


def _read(path: str | PathLike[str]) -> Kept | None:
    try:
        arrays, text = container.unpack(disk.read(path))
        document = text["checkpoint"]
        if text.get("sha256") != checksum(arrays, document):
            raise ModelFormatError("its checksum is another")
        model, about = Model.from_bytes(arrays.pop(MODEL).tobytes()), json.loads(document)
        identity = FitSignature.from_json(about["identity"])
        return Kept(
            model, {name.removeprefix(PREFIX): array for name, array in arrays.items()}, about["callbacks"], about["stopped"], identity
        )
    except FileNotFoundError:
        return None
    except container.DAMAGE as error:
        raise CheckpointError(
            f"checkpoint={os.fspath(path)!r} is no checkpoint, or a damaged one ({error}): nothing was overwritten"
        ) from None
