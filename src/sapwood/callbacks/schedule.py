from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from sapwood.callbacks.base import Callback, Round


class LearningRate(Callback):
    """Learning rate schedule.

    Parameters
    ----------
    schedule : function from the number of completed rounds (0 at first) to the learning rate of the next round, or a list of rates
    """

    def __init__(self, schedule: Callable[[int], float] | Sequence[float]) -> None:
        self.schedule = schedule

    def settings(self) -> dict[str, Any]:
        return {"schedule": self.schedule}

    def before_round(self, state: Round) -> None:
        rate = self.schedule(state.n_rounds) if callable(self.schedule) else self._listed(state.n_rounds)
        if not rate > 0:
            raise ValueError(f"LearningRate returned {rate!r} for round {state.n_rounds}: the rate must be positive")
        state.config = replace(state.config, learning_rate=float(rate))

    def _listed(self, round_: int) -> float:
        assert not callable(self.schedule)
        if round_ >= len(self.schedule):
            raise ValueError(
                f"LearningRate has {len(self.schedule)} rates, but training continues: give one rate for each of max_iter rounds"
            )
        return self.schedule[round_]
