"""What listens to training: the loop tells every callback of every round, and never asks which it is."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sapwood.boosting import Rows
    from sapwood.losses import Loss
    from sapwood.model import Model


@dataclass
class Round:
    """The state of training after a number of rounds."""

    n_rounds: int
    model: Model
    rows: Rows
    validation: Rows | None
    loss: Loss


class Callback:
    """Hears of the start of training and of each round; a true answer to `after_round` ends training."""

    def before_training(self, state: Round) -> None: ...

    def after_round(self, state: Round) -> bool:
        return False


class EarlyStopping(Callback):
    """Keep scores, stop when they no longer improve, and leave the best round marked in the model.

    Parameters
    ----------
    score : function of a Round to (training score, validation score or None); higher is better
    patience : stop when none of this many rounds was better, by more than `tol`, than the one before them
    history : scores of an earlier fit that this one goes on from
    """

    def __init__(
        self,
        score: Callable[[Round], tuple[float, float | None]],
        patience: int,
        tol: float,
        history: tuple[list[float], list[float]] | None = None,
    ) -> None:
        self.score, self.patience, self.tol = score, patience, tol
        self.train_scores, self.validation_scores = history or ([], [])

    @property
    def watched(self) -> list[float]:
        """The scores that decide: on validation rows, if there are any."""
        return self.validation_scores or self.train_scores

    def before_training(self, state: Round) -> None:
        if len(self.watched) != state.n_rounds + 1:
            self.train_scores.clear()
            self.validation_scores.clear()
            self._keep(state)

    def after_round(self, state: Round) -> bool:
        self._keep(state)
        scores = self.watched
        state.model.best_round = state.n_rounds + 1 - len(scores) + max(range(len(scores)), key=scores.__getitem__)
        if len(scores) <= self.patience:
            return False
        return not any(score > scores[-self.patience - 1] + self.tol for score in scores[-self.patience :])

    def _keep(self, state: Round) -> None:
        train, validation = self.score(state)
        self.train_scores.append(train)
        if validation is not None:
            self.validation_scores.append(validation)


class Progress(Callback):
    """Print a line a round."""

    def __init__(self, max_iter: int, scores: EarlyStopping | None) -> None:
        self.max_iter, self.scores = max_iter, scores

    def before_training(self, state: Round) -> None:
        self.start = time.perf_counter()
        print(f"Fitting {state.model.n_outputs} tree(s) a round on {state.rows.pages.n_rows:,} rows x {state.model.n_features:,} features")

    def after_round(self, state: Round) -> bool:
        trees = state.model.trees[-state.model.n_outputs :]
        line = f"[{state.n_rounds}/{self.max_iter}] {sum(tree.n_leaves for tree in trees)} leaves"
        if self.scores is not None and self.scores.train_scores:
            line += f", train score {self.scores.train_scores[-1]:.5f}"
            if self.scores.validation_scores:
                line += f", validation score {self.scores.validation_scores[-1]:.5f}"
        print(f"{line}, {time.perf_counter() - self.start:.1f} s")
        return False
