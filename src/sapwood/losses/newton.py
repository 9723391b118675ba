"""Newton's method in one dimension, safeguarded by bisection."""

from __future__ import annotations

import math
from collections.abc import Callable

MAX_ITERATIONS = 100
TOLERANCE = 2.0**-50  # relative to the result or the longest step; smaller steps are rounding errors


def newton(
    derivatives: Callable[[float], tuple[float, float]], initial: float, max_step: float = math.inf, low: float = -math.inf
) -> float:
    """Return the minimum of a convex function.

    `derivatives(x)` returns the first and second derivative. A Newton step that leaves the bracket [low, high] is replaced by bisection. A
    step is at most `max_step` long, and at most twice the previous step.
    """
    x, high, last, span = initial, math.inf, 1.0, 0.0
    for _ in range(MAX_ITERATIONS):
        slope, curvature = derivatives(x)
        if slope == 0 or not math.isfinite(slope):
            break
        low, high = (low, x) if slope > 0 else (x, high)
        most = min(max_step, max(2 * last, 1.0, abs(x)))
        step = -slope / curvature if curvature > 0 else math.copysign(math.inf, -slope)
        new = x + math.copysign(min(abs(step), most), step)
        if not low < new < high:
            new = low / 2 + high / 2 if math.isfinite(low) and math.isfinite(high) else new
        last = abs(new - x)
        x, span = new, max(span, last)
        if last <= TOLERANCE * max(abs(x), span):
            break
    return x
