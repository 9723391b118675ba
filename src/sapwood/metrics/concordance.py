"""Concordance index of survival predictions."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.data.survival import signed_times, time_bounds


def concordance_index(y: Any, risk: Any) -> float:
    """Harrell's concordance index: fraction of comparable pairs of rows that are predicted in the right order.

    Parameters
    ----------
    y : array-like of shape (n_rows,), (n_rows, 2) or structured array
        Times, negative for right-censored rows; or two columns (time, event); or a structured array of a bool and a time.
    risk : array-like of shape (n_rows,)
        Predictions, higher if the event is expected sooner: those of loss='cox', or negative predicted times.

    Returns
    -------
    float
        1 for a perfect order, 0.5 for a random one. Pairs with equal predictions count half. NaN if there are no comparable pairs.

    Examples
    --------
    >>> from sapwood.metrics.concordance import concordance_index
    >>> concordance_index([1.0, 2.0, -3.0], [0.9, 0.5, 0.1])
    1.0
    """
    risk = np.asarray(risk, dtype=np.float64)
    if risk.ndim != 1 or not np.isfinite(risk).all():
        raise ValueError("risk must be a one-dimensional array of finite numbers")
    y = signed_times(y, len(risk), "y")
    time, event = np.abs(y), ~np.signbit(y)
    # A pair is comparable if the earlier row is an event. A censored row is later than an event at the same time.
    order = np.lexsort((~event, time))
    rank = np.unique(risk, return_inverse=True)[1][order]
    event, time = event[order], time[order]
    _, first_of_time = np.unique(time, return_index=True)
    # Two events at the same time are not comparable.
    n_events = np.cumsum(event)
    group = np.searchsorted(first_of_time, np.arange(len(time)), side="right") - 1
    events_before = np.concatenate([[0], n_events])[first_of_time[group]]
    comparable = np.where(event, events_before, n_events)  # number of earlier events that each row is compared with
    higher, equal = _count(rank, event, comparable)
    pairs = int(comparable.sum())
    return float((higher + equal / 2) / pairs) if pairs else float("nan")


def concordance_of_times(y: Any, predicted: Any) -> float:
    """Return the concordance index of predicted times, such as those of loss='aft'. If y are bounds, only observed times are events."""
    bounds = time_bounds(y, len(predicted), "y")
    known = bounds[:, 0] == bounds[:, 1]
    return concordance_index(np.where(known, bounds[:, 0], -bounds[:, 0]), -np.asarray(predicted, dtype=np.float64))


def _count(rank: np.ndarray, event: np.ndarray, comparable: np.ndarray) -> tuple[int, int]:
    """Return the number of pairs of a row and one of its first `comparable` events where the event has a higher rank, and the same rank.

    Radix count, from the highest bit of the ranks to the lowest, for all rows at once. Events are sorted by the bits processed so far, then
    by time. If the next bit of a row is 0, the events with the same higher bits and a 1 have a higher rank.
    """
    level, at, higher = rank[event], comparable, 0
    for bit in range(int(rank.max(initial=0)).bit_length() - 1, -1, -1):
        begin = np.searchsorted(level >> (bit + 1), rank >> (bit + 1))
        ones = (level >> bit) & 1
        before = np.concatenate([[0], np.cumsum(ones)])
        ones_in = before[begin + at] - before[begin]
        mine = (rank >> bit) & 1
        higher += int(ones_in[mine == 0].sum())
        at = np.where(mine == 1, ones_in, at - ones_in)
        level = level[np.lexsort((ones, level >> (bit + 1)))]
    return higher, int(at.sum())
