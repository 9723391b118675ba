from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

from sapwood.callbacks.base import TRAIN, VALIDATION, Callback, Round
from sapwood.losses.multi_output import MultiOutputLoss
from sapwood.model.trimming import trim_outputs
from sapwood.runtime.execution import Execution


class EarlyStopping(Callback):
    """Stop training when a score no longer improves. Predictions use the best round.

    Parameters
    ----------
    patience : stop when the score has not improved by more than `min_delta` in this many consecutive rounds
    metric : name of the metric; None for the first metric of the data set
    on : name of the data set; None for the validation set if there is one, else the last of `eval_sets`, else the training set
    min_delta : minimum improvement that counts
    """

    patience: int
    metric: str | None
    on: str | None
    min_delta: float

    def __init__(self, patience: int = 10, *, metric: str | None = None, on: str | None = None, min_delta: float = 0.0) -> None:
        if patience < 1 or min_delta < 0:
            raise ValueError(f"EarlyStopping: patience must be >= 1 and min_delta >= 0; got patience={patience}, min_delta={min_delta}")
        self.patience, self.metric, self.on, self.min_delta = patience, metric, on, min_delta

    def settings(self) -> dict[str, Any]:
        return {"patience": self.patience, "metric": self.metric, "on": self.on, "min_delta": self.min_delta}

    def before_training(self, state: Round) -> None:
        sets = list(state.scores)
        on = self.on if self.on is not None else VALIDATION if VALIDATION in sets else sets[-1] if sets else TRAIN
        if on not in sets:
            raise ValueError(f"EarlyStopping(on={on!r}): unknown set; the sets are {', '.join(map(repr, sets)) or '(none)'}")
        names = list(state.scores[on])
        metric = names[0] if self.metric is None else self.metric
        if metric not in names:
            raise ValueError(f"EarlyStopping(metric={metric!r}): unknown metric for {on!r}; choose from {', '.join(map(repr, names))}")
        self.scores: list[float] = state.scores[on][metric]
        self.sign: float = 1.0 if state.measure(on, metric).higher_is_better else -1.0
        self.signed: list[float] = []  # scores so far, higher is better
        self.best = 0  # position of the best one

    def after_round(self, state: Round) -> bool:
        scores = self.signed
        for score in self.scores[len(scores) :]:
            scores.append(-math.inf if math.isnan(score) else self.sign * score)
            if scores[-1] > scores[self.best]:
                self.best = len(scores) - 1
        state.model.best_round = state.n_rounds + 1 - len(scores) + self.best
        return has_stopped(scores, self.patience, self.min_delta)


def has_stopped(scores: Sequence[float], patience: int, min_delta: float) -> bool:
    """Return whether scores, higher is better, have not improved by more than `min_delta` in the last `patience` rounds."""
    return len(scores) > patience and not any(score > scores[-patience - 1] + min_delta for score in scores[-patience:])


class OutputStopping(Callback):
    """Early stopping of each output of a model with one tree per output: each keeps its trees up to its own best round.

    An output that has not improved in `patience` consecutive rounds has stopped. Training ends when all outputs have stopped.

    Parameters
    ----------
    patience : number of rounds without improvement
    on : name of the data set
    min_delta : minimum improvement of an output that counts
    """

    patience: int
    on: str
    min_delta: float

    def __init__(self, patience: int, on: str, min_delta: float, execution: Execution) -> None:
        self.patience, self.on, self.min_delta, self.execution = patience, on, min_delta, execution
        self.scores: list[list[float]] = []  # by output: the negative loss before the first round and after each round until it has stopped

    def settings(self) -> dict[str, Any]:
        return {"patience": self.patience, "on": self.on, "min_delta": self.min_delta}

    def before_training(self, state: Round) -> None:
        self.first = state.n_rounds
        self.scores = [[] for _ in range(state.model.n_outputs)]
        self._measure(state)

    def after_round(self, state: Round) -> bool:
        self._measure(state)
        state.model.best_round = max(self._best())
        return all(has_stopped(scores, self.patience, self.min_delta) for scores in self.scores if scores)

    def after_training(self, state: Round) -> None:
        trim_outputs(state.model, self._best())

    def keep(self) -> list[list[float]]:
        return self.scores

    def restore(self, kept: list[list[float]]) -> None:
        self.first -= max(map(len, kept)) - 1
        self.scores = kept

    def _measure(self, state: Round) -> None:
        data = state.dataset(self.on)
        means = cast(MultiOutputLoss, data.loss).means(data.y, data.raw, data.weight, self.execution)
        for scores, mean in zip(self.scores, means, strict=True):
            if mean is not None and not has_stopped(scores, self.patience, self.min_delta):
                scores.append(-math.inf if math.isnan(mean) else -mean)

    def _best(self) -> list[int]:
        """Return the number of rounds of each output. Those without targets in the data set have as many as the output with the most."""
        found = [self.first + scores.index(max(scores)) if scores else None for scores in self.scores]
        most = max((best for best in found if best is not None), default=self.first)
        return [most if best is None else best for best in found]
