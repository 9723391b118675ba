from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from sapwood.callbacks.base import Callback, Round


class LearningRate(Callback):
    """A learning rate for each round.

    Parameters
    ----------
    schedule : a function from the number of rounds so far (0 at first) to the rate of the next one, or a list of rates
    """

    def __init__(self, schedule: Callable[[int], float] | Sequence[float]) -> None:
        self.schedule = schedule

    def settings(self) -> dict[str, Any]:
        return {"schedule": self.schedule}

    def before_round(self, state: Round) -> None:
        rate = self.schedule(state.n_rounds) if callable(self.schedule) else self._listed(state.n_rounds)
        if not rate > 0:
            raise ValueError(f"LearningRate gave {rate!r} for round {state.n_rounds}: a rate must be above 0")
        state.config = replace(state.config, learning_rate=float(rate))

    def _listed(self, round_: int) -> float:
        assert not callable(self.schedule)
        if round_ >= len(self.schedule):
            raise ValueError(f"LearningRate has {len(self.schedule)} rates, but training goes on: give one for each of max_iter rounds")
        return self.schedule[round_]
