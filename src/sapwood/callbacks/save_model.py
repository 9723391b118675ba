from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sapwood.callbacks.base import Callback, Round


class SaveModel(Callback):
    """Call a function with the training state periodically and after the last round, for example to save the model.

    To resume interrupted training, use `fit(checkpoint=...)` instead.

    Parameters
    ----------
    function : called with the `Round`, whose `model` holds the trees so far
    every : number of rounds between calls

    Examples
    --------
    >>> from pathlib import Path
    >>> callback = SaveModel(lambda state: Path("model.sapwood").write_bytes(state.model.to_bytes()), every=50)
    """

    def __init__(self, function: Callable[[Round], Any], every: int = 10) -> None:
        if every < 1:
            raise ValueError(f"SaveModel needs every >= 1; got {every}")
        self.function, self.every = function, every
        self._last = -1

    def before_training(self, state: Round) -> None:
        self._last = state.n_rounds

    def after_round(self, state: Round) -> bool:
        if state.n_rounds % self.every == 0:
            self._call(state)
        return False

    def after_training(self, state: Round) -> None:
        if state.n_rounds != self._last:
            self._call(state)

    def _call(self, state: Round) -> None:
        self.function(state)
        self._last = state.n_rounds
