"""Interrupts: Ctrl-C and SIGTERM during training write a checkpoint after the current round."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sapwood.cli.errors import Terminated
from sapwood.training.checkpoint import Checkpoint, FileCheckpointWriter, SavedState
from sapwood.training.fit_signature import FitSignature

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from sapwood.callbacks import Callback, Round
    from sapwood.model import Model
    from sapwood.training.modes import Mode


@dataclass
class Interrupts:
    """Signal handlers. While rounds are trained, the first signal is kept until the round ends; a second one takes effect at once.

    Attributes
    ----------
    training : whether rounds are trained
    received : signal that was received during training; None for none
    """

    training: bool = False
    received: int | None = None

    def __enter__(self) -> Interrupts:
        self._old: dict[int, Any] = {number: signal.signal(number, self._handle) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._old.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.training and self.received is None:
            self.received = number
            return
        raise_interrupt(number, "")

    def raise_received(self, message: str) -> None:
        """Raise the exception of the signal that was received."""
        if self.received is not None:
            raise_interrupt(self.received, message)


def raise_interrupt(number: int, message: str) -> None:
    error = Terminated if number == signal.SIGTERM else KeyboardInterrupt
    raise error(message) if message else error()


@dataclass(frozen=True)
class InterruptCheckpoint(Checkpoint):
    """Checkpoint that is also written when a signal was received; training then ends with KeyboardInterrupt or Terminated."""

    interrupts: Interrupts = field(default_factory=Interrupts)
    say: Callable[[str], object] = print

    def open(self, signature: FitSignature) -> FileCheckpointWriter:
        writer = super().open(signature)
        return InterruptWriter(self, signature, writer.saved)


class InterruptWriter(FileCheckpointWriter):
    """Writes a checkpoint when a signal was received."""

    checkpoint: InterruptCheckpoint

    def __init__(self, checkpoint: InterruptCheckpoint, signature: FitSignature, saved: SavedState | None) -> None:
        super().__init__(checkpoint, signature, saved)
        self.interrupts: Interrupts = checkpoint.interrupts

    def resume(self, model: Model) -> Model:
        model = super().resume(model)
        if self.saved is not None:
            self.checkpoint.say(f"Resuming from {os.fspath(self.checkpoint.path)}: {model.n_rounds} rounds")
        self.interrupts.training = True
        return model

    def restore(self, state: Round, mode: Mode, callbacks: Sequence[Callback]) -> None:
        super().restore(state, mode, callbacks)
        self.interrupts.training = not state.over

    def after_round(self, state: Round, mode: Mode, callbacks: Sequence[Callback]) -> None:
        if self.interrupts.received is not None:
            self.written = float("-inf")  # a checkpoint is due
            self.seconds = 0.0
        super().after_round(state, mode, callbacks)
        if state.over:
            self.interrupts.training = False
        if self.interrupts.received is not None:
            self.interrupts.training = False
            path = os.fspath(self.checkpoint.path)
            self.interrupts.raise_received(f"{state.n_rounds} rounds are saved in {path}; the same command resumes from it")
