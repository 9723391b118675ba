"""Brier score of survival functions, weighted by the inverse probability of censoring (Graf et al., 1999)."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.data.survival import signed_times


def brier_scores(y_train: Any, y: Any, survival: Any, times: Any) -> np.ndarray:
    """Return the Brier score of predicted survival functions at each time, (n_times,) float64; lower is better.

    Rows that are censored before a time have no weight; the others are weighted by the inverse probability of not being censored, which
    is the Kaplan-Meier estimate from the training rows. The same as `sksurv.metrics.brier_score`.

    Parameters
    ----------
    y_train, y : targets of training and test rows, as in `fit` with loss='cox'
    survival : array of shape (n_rows, n_times)
        Predicted probabilities to survive each time, as returned by `predict_survival_function`.
    times : array of shape (n_times,)
        Ascending, within the times of the training rows.
    """
    survival, times = np.asarray(survival, dtype=np.float64), np.asarray(times, dtype=np.float64)
    if times.ndim != 1 or not len(times) or (np.diff(times) <= 0).any():
        raise ValueError("times must be an ascending list of numbers")
    if survival.ndim != 2 or survival.shape[1] != len(times):
        raise ValueError(f"survival must have the shape (n_rows, {len(times)}), one column for each time; got {survival.shape}")
    signed = signed_times(y, len(survival), "y")
    time, event = np.abs(signed), ~np.signbit(signed)
    uncensored = _Uncensored(y_train)
    of_row, of_time = uncensored(time), uncensored(times)
    died = (time[:, None] <= times) & event[:, None]
    alive = time[:, None] > times
    return (died * survival**2 / of_row[:, None] + alive * (1 - survival) ** 2 / of_time).mean(axis=0)


def integrated_brier_score(y_train: Any, y: Any, survival: Any, times: Any) -> float:
    """Return the mean of the Brier score over time (trapezoidal rule). Arguments as in `brier_scores`; at least two times.

    Examples
    --------
    >>> import numpy as np
    >>> from sapwood.metrics.survival import integrated_brier_score
    >>> y = np.array([1.0, 2.0, 3.0, -4.0])  # -4: no event until 4
    >>> always_half = np.full((4, 3), 0.5)
    >>> integrated_brier_score(y, y, always_half, [1.0, 2.0, 3.0])
    0.25
    """
    scores, times = brier_scores(y_train, y, survival, times), np.asarray(times, dtype=np.float64)
    if len(times) < 2:
        raise ValueError("the integrated Brier score needs at least two times")
    return float(((scores[1:] + scores[:-1]) / 2 * np.diff(times)).sum() / (times[-1] - times[0]))


class _Uncensored:
    """Kaplan-Meier estimate of the probability that a row is not censored until a time. Events come before censoring at the same time."""

    def __init__(self, y: Any) -> None:
        signed = signed_times(y, len(y), "y_train")
        times, of_row = np.unique(np.abs(signed), return_inverse=True)
        events = np.bincount(of_row, weights=~np.signbit(signed), minlength=len(times))
        censored = np.bincount(of_row, weights=np.signbit(signed), minlength=len(times))
        at_risk = np.cumsum((events + censored)[::-1])[::-1] - events
        self.times, self.probabilities = times, np.cumprod(1 - censored / np.maximum(at_risk, 1))

    def __call__(self, times: np.ndarray) -> np.ndarray:
        """Return the probabilities; infinity instead of 0, so that a row has no weight."""
        found = np.append(1.0, self.probabilities)[np.searchsorted(self.times, times, side="right")]
        return np.where(found > 0, found, np.inf)
