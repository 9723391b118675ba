from __future__ import annotations

import math
from typing import Any

from sapwood.callbacks.base import TRAIN, VALIDATION, Callback, Round


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
        if len(scores) <= self.patience:
            return False
        return not any(score > scores[-self.patience - 1] + self.min_delta for score in scores[-self.patience :])
