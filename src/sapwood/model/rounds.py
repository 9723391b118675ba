"""The argument `rounds` of predictions."""

from __future__ import annotations

from numbers import Integral
from typing import Any

Rounds = int | tuple[int, int] | None


def first_and_last(rounds: Any, n_rounds: int) -> tuple[int, int]:
    """Return the range of rounds for a number of rounds, or for (first, last) with `last` excluded."""
    first, last = (0, rounds) if isinstance(rounds, Integral) else rounds if isinstance(rounds, tuple) and len(rounds) == 2 else (0, None)
    if not isinstance(first, Integral) or not isinstance(last, Integral) or isinstance(last, bool):
        raise ValueError(f"rounds must be a number of rounds, a tuple (first, last), or None; got {rounds!r}")
    begin, end = int(first), int(last)
    if not 0 <= begin <= end <= n_rounds:
        raise ValueError(f"rounds={rounds!r} is out of range: the model has {n_rounds} rounds")
    return begin, end
