"""Hashes of columns."""

import numpy as np

MISSING = np.uint64(0x7FF8000000000000)  # the same for all NaNs
MULTIPLIERS = [np.uint64(m) for m in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53, 0x9E3779B97F4A7C15)]


def hash_columns(x: np.ndarray, first_row: int) -> np.ndarray:
    """Return sums over rows of hashes of value and row number, (n_columns,) uint64."""
    return (stirred(x) * row_keys(first_row, len(x))[:, None]).sum(axis=0, dtype=np.uint64)


def stirred(values: np.ndarray) -> np.ndarray:
    """Return the bits of numbers, uint64; 0 for zero."""
    numbers = values.astype(np.float64) + 0.0  # removes the sign of zero
    bits = numbers.view(np.uint64)
    bits[np.isnan(numbers)] = MISSING
    for multiplier in MULTIPLIERS[:2]:
        bits ^= bits >> np.uint64(33)
        bits *= multiplier
    return bits


def row_keys(start: int, n: int) -> np.ndarray:
    """Return odd multipliers, (n,) uint64."""
    keys = np.arange(start + 1, start + n + 1, dtype=np.uint64) * MULTIPLIERS[2]
    keys ^= keys >> np.uint64(32)
    keys *= MULTIPLIERS[0]
    return keys ^ (keys >> np.uint64(29)) | np.uint64(1)
