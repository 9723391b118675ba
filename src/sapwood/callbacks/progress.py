from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

from sapwood.callbacks.base import Callback, Round
from sapwood.callbacks.log import Log, latest, summary


class ProgressBar(Callback):
    """Progress bar: rich in a terminal, tqdm in a notebook; elsewhere a line on stderr after every tenth of the rounds.

    It ends with the number of rounds, the best round and the scores there.
    """

    first_partition_only = True

    def before_training(self, state: Round) -> None:
        self.shown: Callback = _choose(state)
        self.shown.before_training(state)

    def after_round(self, state: Round) -> bool:
        return self.shown.after_round(state)

    def after_training(self, state: Round) -> None:
        self.shown.after_training(state)


def _choose(state: Round) -> Callback:
    if in_notebook():
        return _Tqdm() if find_spec("tqdm") else Callback()
    if sys.stderr.isatty() and find_spec("rich"):
        return _Rich()
    return Log(max(1, state.max_rounds // 10), lambda line: print(line, file=sys.stderr))


def in_notebook() -> bool:
    """Whether the code runs in a Jupyter kernel."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    return shell is not None and getattr(shell, "kernel", None) is not None


class _Rich(Callback):
    def before_training(self, state: Round) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
        from rich.table import Column

        counts = MofNCompleteColumn(table_column=Column(min_width=2 * len(str(state.max_rounds)) + 1))  # the bar becomes shorter instead
        left = TimeRemainingColumn(table_column=Column(min_width=len("0:00:00")))
        columns = "Boosting", BarColumn(), counts, left, TextColumn("{task.description}")
        self.bar = Progress(*columns, console=Console(stderr=True))
        self.task = self.bar.add_task("", total=state.max_rounds, completed=state.n_rounds)
        self.bar.start()

    def after_round(self, state: Round) -> bool:
        self.bar.update(self.task, completed=state.n_rounds, description=", ".join(latest(state)))
        return False

    def after_training(self, state: Round) -> None:
        if state.n_rounds < state.max_rounds:  # the bar would never be full
            self.bar.columns = self.bar.columns[:1] + self.bar.columns[-1:]
        self.bar.update(self.task, completed=state.n_rounds, description=summary(state))
        self.bar.stop()


class _Tqdm(Callback):
    def before_training(self, state: Round) -> None:
        import tqdm.auto

        self.bar: Any = tqdm.auto.tqdm(total=state.max_rounds, initial=state.n_rounds, desc="Boosting", unit="round")

    def after_round(self, state: Round) -> bool:
        self.bar.set_postfix_str(", ".join(latest(state)), refresh=False)
        self.bar.update(1)
        return False

    def after_training(self, state: Round) -> None:
        self.bar.set_postfix_str(summary(state))
        self.bar.close()
