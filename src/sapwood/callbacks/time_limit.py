from __future__ import annotations

import time
from collections.abc import Callable

from sapwood.callbacks.base import Callback, Round


class TimeLimit(Callback):
    """Stop training when another round would not end in time.

    Parameters
    ----------
    seconds : time from the creation of the callback
    clock : function that returns the time in seconds

    Attributes
    ----------
    reached : whether training was stopped
    """

    clock: Callable[[], float]
    seconds: float
    reached: bool

    def __init__(self, seconds: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        if not seconds > 0:
            raise ValueError(f"TimeLimit needs seconds > 0; got {seconds!r}")
        self.seconds, self.clock, self.reached = seconds, clock, False
        self.end: float = clock() + seconds

    def before_training(self, state: Round) -> None:
        self.begin: float = self.clock()
        self.longest: float = 0.0

    def after_round(self, state: Round) -> bool:
        now = self.clock()
        self.longest, self.begin = max(self.longest, now - self.begin), now
        if now + self.longest > self.end and not state.over:
            self.reached = True
        return self.reached
