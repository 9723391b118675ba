from __future__ import annotations

from collections.abc import Sequence

from sapwood.callbacks.base import VALIDATION, Callback, Round


class Comparison(Callback):
    """Stop training if the validation score is not better than that of another training run after the same number of rounds.

    Parameters
    ----------
    scores : validation scores of the other run: before the first round and after each round
    every : number of rounds between comparisons
    margin : fraction of the other score by which the score must be better
    """

    def __init__(self, scores: Sequence[float], every: int, margin: float) -> None:
        self.scores, self.every, self.margin = scores, every, margin

    def after_round(self, state: Round) -> bool:
        measure = state.measures[VALIDATION][0]
        own = state.scores[VALIDATION][measure.name]
        n_rounds = len(own) - 1
        if n_rounds == 0 or n_rounds % self.every or n_rounds >= len(self.scores):
            return False
        return not exceeds(own[-1], self.scores[n_rounds], measure.higher_is_better, self.margin)


def exceeds(score: float, other: float, higher_is_better: bool, margin: float) -> bool:
    """Return whether a score is better than another, by more than a fraction of it."""
    gain = score - other if higher_is_better else other - score
    return gain > margin * abs(other)
