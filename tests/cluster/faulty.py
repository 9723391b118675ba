"""Callbacks that harm the worker they run in."""

from __future__ import annotations

import itertools
import os
import signal
import time
from contextlib import suppress

from sapwood.callbacks import Callback


class KillWorker(Callback):
    """Kill the process of one worker, once, after a number of rounds and a delay. The file remembers that it was done."""

    def __init__(self, path, after: int, which: int = 0, delay: float = 0.0):
        self.path, self.after, self.which, self.delay = str(path), after, which, delay

    def after_round(self, state) -> bool:
        if state.n_rounds == self.after and self._order() == self.which:
            time.sleep(self.delay)
            os.kill(os.getpid(), signal.SIGKILL)
        return False

    def _order(self) -> int:
        """How many workers were here before this one."""
        for order in itertools.count():
            with suppress(FileExistsError):  # another worker may be as fast
                os.close(os.open(f"{self.path}.{order}", os.O_CREAT | os.O_EXCL))
                return order
        raise AssertionError


class SlowWorker(Callback):
    """Sleep in the first worker after every round."""

    first_partition_only = True

    def __init__(self, seconds: float):
        self.seconds = seconds

    def after_round(self, state) -> bool:
        time.sleep(self.seconds)
        return False
