"""Callbacks that harm the worker they run in."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from sapwood.callbacks import Callback


class KillWorker(Callback):
    """Kill the process of one worker, once, after a number of rounds and a delay. The file remembers that it was done."""

    def __init__(self, path, after: int, which: int = 0, delay: float = 0.0):
        self.path, self.after, self.which, self.delay = str(path), after, which, delay

    def after_round(self, state) -> bool:
        if state.n_rounds == self.after:
            try:
                order = sum(1 for i in range(100) if Path(f"{self.path}.{i}").exists())
                os.close(os.open(f"{self.path}.{order}", os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return False
            if order == self.which:
                time.sleep(self.delay)
                os.kill(os.getpid(), signal.SIGKILL)
        return False


class SlowWorker(Callback):
    """Sleep in the first worker after every round."""

    first_partition_only = True

    def __init__(self, seconds: float):
        self.seconds = seconds

    def after_round(self, state) -> bool:
        time.sleep(self.seconds)
        return False
