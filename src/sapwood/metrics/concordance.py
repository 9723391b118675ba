"""How well predictions order the times until an event."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.data.survival import signed_times, time_bounds


def concordance_index(y: Any, risk: Any) -> float:
    """Harrell's concordance index: of the pairs of rows whose order is known, the share that is predicted in that order.

    Parameters
    ----------
    y : array of shape (n_rows,) of times, negative where no event was seen until then; or two columns (time, event); or a structured array
    risk : array of shape (n_rows,)
        Predictions, higher where the event is expected sooner: those of loss='cox', or predicted times with a minus.

    Returns
    -------
    float
        1 for the right order, 0.5 for none; pairs with equal predictions count half. NaN where no pair is known.

    Examples
    --------
    >>> from sapwood.metrics.concordance import concordance_index
    >>> concordance_index([1.0, 2.0, -3.0], [0.9, 0.5, 0.1])
    1.0
    """
    risk = np.asarray(risk, dtype=np.float64)
    if risk.ndim != 1 or not np.isfinite(risk).all():
        raise ValueError("risk must be a list of finite numbers")
    y = signed_times(y, len(risk), "y")
    time, event = np.abs(y), ~np.signbit(y)
    # The order of a pair is known if the earlier one is an event; a censored row is later than an event at the same time.
    order = np.lexsort((~event, time))
    rank = np.unique(risk, return_inverse=True)[1][order]
    event, time = event[order], time[order]
    _, first_of_time = np.unique(time, return_index=True)
    # Events at one time do not know which was first: those that come before a row count only if earlier.
    n_events = np.cumsum(event)
    group = np.searchsorted(first_of_time, np.arange(len(time)), side="right") - 1
    events_before = np.concatenate([[0], n_events])[first_of_time[group]]
    comparable = np.where(event, events_before, n_events)  # earlier events that each row is compared with
    higher, equal = _count(rank, event, comparable)
    pairs = int(comparable.sum())
    return float((higher + equal / 2) / pairs) if pairs else float("nan")


def concordance_of_times(y: Any, predicted: Any) -> float:
    """The concordance index of predicted times, such as those of loss='aft'; y may be bounds, of which only known times are events."""
    bounds = time_bounds(y, len(predicted), "y")
    known = bounds[:, 0] == bounds[:, 1]
    return concordance_index(np.where(known, bounds[:, 0], -bounds[:, 0]), -np.asarray(predicted, dtype=np.float64))


def _count(rank: np.ndarray, event: np.ndarray, comparable: np.ndarray) -> tuple[int, int]:
    """Pairs of a row and one of its first `comparable` events: how many events have a higher rank, how many the same.

    Bit by bit, for all rows at once: events are kept sorted by the bits of their rank that were seen, else in order of time. A row follows
    those that share its bits; where its next bit is 0, those with a 1 are higher.
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
