from __future__ import annotations

import time
from collections.abc import Callable

from sapwood.callbacks.base import Callback, Round


class Log(Callback):
    """Log the number of leaves, the scores and the elapsed seconds.

    Parameters
    ----------
    every : number of rounds between lines
    write : function that is called with each line, such as `print` or `logging.Logger.info`
    """

    first_partition_only = True
    every: int

    def __init__(self, every: int = 1, write: Callable[[str], object] = print) -> None:
        if every < 1:
            raise ValueError(f"Log: every must be >= 1; got {every}")
        self.every = every
        self.write: Callable[[str], object] = write

    def before_training(self, state: Round) -> None:
        self.start: float = time.perf_counter()
        n_trees, n_rows, n_features = state.model.n_outputs, state.train_set.rows.total, state.model.n_features
        self.write(f"Fitting {n_trees} tree(s) per round on {n_rows:,} rows x {n_features:,} features")

    def after_round(self, state: Round) -> bool:
        if state.n_rounds % self.every == 0:
            trees = state.model.trees[-state.model.trees_per_round :]
            parts = [f"[{state.n_rounds}/{state.max_rounds}] {sum(tree.n_leaves for tree in trees)} leaves", *latest(state)]
            self.write(f"{', '.join(parts)}, {time.perf_counter() - self.start:.1f} s")
        return False

    def after_training(self, state: Round) -> None:
        self.write(f"{summary(state)}, {time.perf_counter() - self.start:.1f} s")


def summary(state: Round) -> str:
    """Return how training ended: the rounds, the best round and the scores there."""
    best = state.model.n_rounds_used
    how = "stopped at" if state.stopped else "finished" if state.n_rounds >= state.max_rounds else "interrupted at"
    rounds = f"{how} {state.n_rounds}{' rounds' if how == 'finished' else ''}"
    first = state.n_rounds + 1  # scores may begin later than the model, which another fit began
    scores = [
        f"{on} {name} {values[best - first + len(values)]:.5f}"
        for on, of in state.scores.items()
        for name, values in of.items()
        if 0 <= best - first + len(values) < len(values)
    ]
    return f"{rounds}{f', best {best}' if best < state.n_rounds else ''}{': ' if scores else ''}{', '.join(scores)}"


def latest(state: Round) -> list[str]:
    """Return the last score of each data set and metric as text."""
    return [f"{on} {name} {scores[-1]:.5f}" for on, of in state.scores.items() for name, scores in of.items() if scores]
