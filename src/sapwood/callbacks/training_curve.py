from __future__ import annotations

import time
from typing import Any

from sapwood.callbacks.base import Callback, Round
from sapwood.callbacks.log import latest, summary
from sapwood.callbacks.progress import in_notebook
from sapwood.runtime import svg


class TrainingCurve(Callback):
    """Curves of the scores in a notebook, which grow during training. Elsewhere it shows nothing.

    Parameters
    ----------
    every : float, default=0.3
        Minimum number of seconds between updates.

    Examples
    --------
    >>> from sapwood.callbacks import TrainingCurve
    >>> curve = TrainingCurve()  # model.fit(X, y, X_val=X_val, y_val=y_val, callbacks=[curve])
    """

    every: float

    def __init__(self, every: float = 0.3) -> None:
        if not every >= 0:
            raise ValueError(f"TrainingCurve: every must be >= 0; got {every}")
        self.every = every
        self._shown: Any = None  # IPython's handle of the output
        self._updated = 0.0

    def before_training(self, state: Round) -> None:
        if in_notebook():
            from IPython.display import HTML, display

            self._shown = display(HTML(_html(state, "")), display_id=True)

    def after_round(self, state: Round) -> bool:
        if self._shown is not None and time.monotonic() - self._updated >= self.every:
            self._update(state, f"round {state.n_rounds} of {state.max_rounds}: {', '.join(latest(state))}")
        return False

    def after_training(self, state: Round) -> None:
        if self._shown is not None:
            self._update(state, summary(state))
            self._shown = None

    def _update(self, state: Round, text: str) -> None:
        from IPython.display import HTML

        self._shown.update(HTML(_html(state, text)))
        self._updated = time.monotonic()


def _html(state: Round, text: str) -> str:
    from html import escape

    n_scores = max((len(values) for of in state.scores.values() for values in of.values()), default=1)
    drawn = score_curves(state.scores, state.n_rounds - n_scores + 1)
    return f"<div>{drawn}<div>{escape(text)}</div></div>"


def score_curves(scores: Any, first: int = 0, mark: int | None = None) -> str:
    """Return the curves of scores, data set -> metric -> values, as SVG: one drawing for each metric."""
    metrics = dict.fromkeys(name for of in scores.values() for name in of)
    drawings = (svg.curves({on: of[name] for on, of in scores.items() if name in of}, name, first, mark) for name in metrics)
    return "".join(drawings)
