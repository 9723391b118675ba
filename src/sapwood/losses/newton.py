"""Where a convex function has its least value, from its slope and curvature."""

from __future__ import annotations

import math
from collections.abc import Callable

MOST_TURNS = 100
CLOSE = 2.0**-50  # of the result or of the longest step: what is nearer is rounding


def newton(derivatives: Callable[[float], tuple[float, float]], start: float, longest: float = math.inf, low: float = -math.inf) -> float:
    """The zero of a rising slope.

    `derivatives(x)` gives slope and curvature. Newton's step is taken where it stays between points known to lie on either side; else
    their middle is next. Where curvature vanishes the step is as long as allowed, or twice the last one.
    """
    x, high, last, span = start, math.inf, 1.0, 0.0
    for _ in range(MOST_TURNS):
        slope, curvature = derivatives(x)
        if slope == 0 or not math.isfinite(slope):
            break
        low, high = (low, x) if slope > 0 else (x, high)
        most = min(longest, max(2 * last, 1.0, abs(x)))
        step = -slope / curvature if curvature > 0 else math.copysign(math.inf, -slope)
        following = x + math.copysign(min(abs(step), most), step)
        if not low < following < high:
            following = low / 2 + high / 2 if math.isfinite(low) and math.isfinite(high) else following
        last = abs(following - x)
        x, span = following, max(span, last)
        if last <= CLOSE * max(abs(x), span):
            break
    return x
