"""Checkpoints: files with the state of training, from which an interrupted fit resumes."""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sapwood.callbacks import Scores
from sapwood.data import container
from sapwood.model import Model, ModelFormatError, disk
from sapwood.model.file import checksum
from sapwood.training.fit_signature import FitSignature

if TYPE_CHECKING:
    from sapwood.callbacks import Callback, Round
    from sapwood.data.pages import Pages
    from sapwood.data.sorted import SortedRows
    from sapwood.training.modes import Mode

SECONDS = 60.0
MODEL = "model"  # name of the array with the model file
PREFIX = "mode_"  # of the names of the arrays of a mode


class CheckpointError(ValueError):
    """Raised if a checkpoint belongs to another fit or is damaged."""


@dataclass(frozen=True)
class Checkpoint:
    """Path of a checkpoint file, and how often it is written.

    If a process with `fit(..., checkpoint=Checkpoint("run.checkpoint", every=10))` ends before training is complete, the same call resumes
    from the file and returns the same model, byte for byte, as an uninterrupted fit. If data or parameters differ from those of the
    checkpoint, an error names the difference. `max_iter` may be larger (except for a forest); `n_jobs` and `verbose` may change.

    The file is kept when training is complete; the same fit then returns at once. Delete the file to train again. `validation_folds` and
    `n_models` train several models, each with a file of its own: "run.checkpoint.fold1", ... The last step of `refit_all` has none and is
    repeated.

    Parameters
    ----------
    path : str or path
        Checkpoint file. It is replaced atomically. A process that is killed while it writes leaves a temporary file `.sapwood-*.part`,
        which the next write to this folder removes.
    every : int, optional
        Write the file every `every` rounds.
    seconds : float, optional
        Write the file after a round if this many seconds have passed since the last time. 60 if neither `every` nor `seconds` is given.

    Notes
    -----
    Pass your own callbacks again when training resumes; they are compared by class and `settings()`. A callback with state returns it from
    `keep()`, as JSON data, and gets it back in `restore(kept)`, after `before_training`. Rounds after the last checkpoint are repeated.
    Functions are compared by name only: a changed function with the same name is not detected.
    """

    path: str | PathLike[str]
    every: int | None = None
    seconds: float | None = None
    for_partitions: ClassVar[bool] = False  # whether every partition of the rows may open it
    optional: ClassVar[bool] = False  # whether a fit that cannot use it goes on without it

    def __post_init__(self) -> None:
        if not isinstance(self.path, str | PathLike):
            raise TypeError(f"Checkpoint: path must be a str or path-like; got {self.path!r}")
        if self.every is not None and self.every < 1:
            raise ValueError(f"Checkpoint: every must be >= 1; got {self.every}")
        if self.seconds is not None and not self.seconds >= 0:
            raise ValueError(f"Checkpoint: seconds must be >= 0; got {self.seconds}")

    @classmethod
    def of(cls, argument: Checkpoint | str | PathLike[str]) -> Checkpoint:
        """Return a Checkpoint from the argument `checkpoint` of `fit`."""
        return argument if isinstance(argument, Checkpoint) else cls(argument)

    def of_run(self, run: str) -> Checkpoint:
        """Return the checkpoint of one of several training runs of a fit: a file of its own beside `path`."""
        return replace(self, path=f"{os.fspath(self.path)}.{run}") if run else self

    def open(self, signature: FitSignature) -> FileCheckpointWriter:
        """Read the file, if there is one, and check that it belongs to the fit with this signature."""
        folder = Path(os.path.realpath(self.path)).parent
        if not folder.is_dir():
            raise FileNotFoundError(f"checkpoint={os.fspath(self.path)!r}: the folder {str(folder)!r} does not exist")
        saved = self._check(_read(self.path), signature)
        return FileCheckpointWriter(self, signature, saved)

    def _check(self, saved: SavedState | None, signature: FitSignature) -> SavedState | None:
        """Raise a CheckpointError if a saved state belongs to another fit."""
        if saved is not None and (difference := saved.signature.difference(signature)) is not None:
            raise CheckpointError(
                f"checkpoint={os.fspath(self.path)!r} belongs to another fit: {difference}. Use another path, or delete the file"
            )
        return saved


@dataclass(frozen=True)
class SavedState:
    """Contents of a checkpoint file."""

    model: Model
    arrays: dict[str, np.ndarray]  # state of the mode
    callbacks: list[tuple[str, Any]]  # class name and state of each callback with state
    stopped: bool
    signature: FitSignature


class CheckpointWriter:
    """Base class of checkpoint writers. It writes nothing.

    Call order: `resume` once, `restore` once after callbacks and mode have begun, `after_round` after the callbacks in each round.
    """

    def resume(self, model: Model) -> Model:
        """Return the model to continue: that of the checkpoint, or the given one if there is no checkpoint."""
        return model

    def restore(self, state: Round, mode: Mode, callbacks: Sequence[Callback]) -> None:
        """Restore the state of training, mode and callbacks."""

    def after_round(self, state: Round, mode: Mode, callbacks: Sequence[Callback]) -> None:
        """Write a checkpoint if one is due."""


class ResumingWriter(CheckpointWriter):
    """Base class of checkpoint writers that continue a saved state.

    Attributes
    ----------
    checkpoint : path of the file
    signature : signature of this fit
    saved : state to continue; None at the first round
    """

    checkpoint: Checkpoint
    signature: FitSignature
    saved: SavedState | None

    def __init__(self, checkpoint: Checkpoint, signature: FitSignature, saved: SavedState | None) -> None:
        self.checkpoint, self.signature, self.saved = checkpoint, signature, saved

    def resume(self, model: Model) -> Model:
        return model if self.saved is None else self.saved.model

    def restore(self, state: Round, mode: Mode, callbacks: Sequence[Callback]) -> None:
        if self.saved is None:
            return
        if state.n_rounds > state.max_rounds:
            path = os.fspath(self.checkpoint.path)
            raise CheckpointError(
                f"checkpoint={path!r} has {state.n_rounds} rounds, more than max_iter={state.max_rounds}: increase max_iter"
            )
        state.stopped = self.saved.stopped
        mode.restore(self.saved.arrays)
        remaining = list(callbacks)
        for name, callback_state in self.saved.callbacks:
            callback = next((callback for callback in remaining if type(callback).__name__ == name), None)
            if callback is None:  # it runs in another partition
                continue
            remaining.remove(callback)
            callback.restore(callback_state)
        self.saved = None  # free the memory of the second model


class FileCheckpointWriter(ResumingWriter):
    """Writes the state of training to a file, periodically and after the last round."""

    written: float

    def __init__(self, checkpoint: Checkpoint, signature: FitSignature, saved: SavedState | None) -> None:
        super().__init__(checkpoint, signature, saved)
        self.seconds: float | None = SECONDS if checkpoint.every is checkpoint.seconds is None else checkpoint.seconds
        self.written = time.monotonic()

    def after_round(self, state: Round, mode: Mode, callbacks: Sequence[Callback]) -> None:
        due = self.checkpoint.every is not None and state.n_rounds % self.checkpoint.every == 0
        due |= self.seconds is not None and time.monotonic() - self.written >= self.seconds
        if not due and not state.over:
            return
        data = Snapshot.of(state, mode, callbacks, self.signature).pack()
        try:
            disk.write(self.checkpoint.path, data)
        except OSError as error:  # a full disk must not end hours of training
            warnings.warn(f"the checkpoint could not be written; training continues: {error}", RuntimeWarning, stacklevel=2)
        self.written = time.monotonic()


@dataclass(frozen=True)
class Snapshot:
    """State of training after a round: what a checkpoint stores. Later rounds do not change it."""

    n_rounds: int
    model: Model
    rows: Pages | SortedRows
    arrays: dict[str, np.ndarray]  # state of the mode
    callbacks: list[tuple[str, Any]]  # class name and state of each callback with state
    stopped: bool
    signature: FitSignature

    @classmethod
    def of(cls, state: Round, mode: Mode, callbacks: Sequence[Callback], signature: FitSignature) -> Snapshot:
        states = [(type(callback).__name__, _json_state(callback)) for callback in callbacks]
        with_state = [(name, callback_state) for name, callback_state in states if callback_state is not None]
        return cls(state.n_rounds, state.model.snapshot(), state.train_set.pages, mode.keep(), with_state, state.stopped, signature)

    def pack(self) -> bytearray:
        """Return the content of a checkpoint file."""
        model = self.model.copy()
        model.finish(self.rows)
        arrays = {MODEL: np.frombuffer(model.to_bytes(), dtype=np.uint8)}
        arrays |= {f"{PREFIX}{name}": array for name, array in self.arrays.items()}
        header = {"stopped": self.stopped, "identity": self.signature.to_json(), "callbacks": self.callbacks}
        text = json.dumps(header, separators=(",", ":"))
        return container.pack(arrays, {"checkpoint": text, "sha256": checksum(arrays, text)})


def _json_state(callback: Callback) -> Any:
    state = callback.keep()
    if state is None or isinstance(callback, Scores):  # a copy of its lists, which may be long
        return state
    try:
        return json.loads(json.dumps(state))  # a copy
    except (TypeError, ValueError) as error:
        raise TypeError(f"{type(callback).__name__}.keep() must return JSON data: {error}") from None


def _read(path: str | PathLike[str]) -> SavedState | None:
    try:
        data = disk.read(path)
    except FileNotFoundError:
        return None
    except container.DAMAGE as error:
        raise _damaged(path, error) from None
    return unpack_state(data, path)


def unpack_state(data: np.ndarray, path: str | PathLike[str]) -> SavedState:
    """Return the state in the content of a checkpoint file, (n_bytes,) uint8 at an aligned address. `path` is for error messages."""
    try:
        arrays, text = container.unpack(data)
        document = text["checkpoint"]
        if text.get("sha256") != checksum(arrays, document):
            raise ModelFormatError("the checksum does not match")
        model, header = Model.from_bytes(arrays.pop(MODEL).tobytes()), json.loads(document)
        signature = FitSignature.from_json(header["identity"])
        of_mode = {name.removeprefix(PREFIX): array for name, array in arrays.items()}
        return SavedState(model, of_mode, header["callbacks"], header["stopped"], signature)
    except container.DAMAGE as error:
        raise _damaged(path, error) from None


def _damaged(path: str | PathLike[str], error: Exception) -> CheckpointError:
    return CheckpointError(
        f"checkpoint={os.fspath(path)!r} is not a checkpoint, or is damaged ({error}). The file was not changed; use another path"
    )
