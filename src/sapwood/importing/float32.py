"""Conversion of thresholds of libraries that round values to float32 before they compare them."""

from __future__ import annotations

import numpy as np

BEYOND = 2.0**128  # the number after the largest float32


def at_most(thresholds: np.ndarray) -> np.ndarray:
    """Return T such that x <= T if and only if float32(x) <= threshold."""
    with np.errstate(over="ignore"):
        near = thresholds.astype(np.float32)
        return _last_rounded_to(np.where(near > thresholds, np.nextafter(near, np.float32(-np.inf)), near))


def below(thresholds: np.ndarray) -> np.ndarray:
    """Return T such that x <= T if and only if float32(x) < threshold, for float32 thresholds."""
    with np.errstate(over="ignore"):
        return _last_rounded_to(np.nextafter(thresholds.astype(np.float32), np.float32(-np.inf)))


def _last_rounded_to(numbers: np.ndarray) -> np.ndarray:
    """Return the largest float64 that is rounded to the float32 number or a smaller one. Ties are rounded to even."""
    with np.errstate(over="ignore"):
        above = np.nextafter(numbers, np.float32(np.inf))
    low, high = (np.clip(side.astype(np.float64), -BEYOND, BEYOND) for side in (numbers, above))
    middle = low / 2 + high / 2
    is_even = numbers.view(np.uint32) & 1 == 0
    found = np.where(is_even, middle, np.nextafter(middle, -np.inf))
    return np.where(numbers == np.inf, np.inf, found)
