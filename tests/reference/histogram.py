"""Histograms of fixed-point gradients, and the stochastic rounding to the narrow format."""

import numpy as np

GRADIENT_SHIFT, HESSIAN_SHIFT = 16, 18
MASK32, MASK64 = (1 << 32) - 1, (1 << 64) - 1


def row_key(key, row):
    """Return 32 bits from a 64-bit key and the upper half of a row number."""
    x = (key + 0x9E3779B97F4A7C15 * (row >> 32)) & MASK64
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & MASK64
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & MASK64
    return (x ^ x >> 31) >> 16 & MASK32


def hash_rows(key, n, first_row=0):
    """Return the random bits of the rows first_row, first_row + 1, ..., (n,) uint64 below 2^32."""
    rows = np.arange(first_row, first_row + n, dtype=np.uint64)
    keys = {int(high): row_key(key, int(high) << 32) for high in np.unique(rows >> np.uint64(32))}
    x = rows * np.uint64(0x9E3779B1) + np.array([keys[int(high)] for high in rows >> np.uint64(32)], dtype=np.uint64)
    x &= np.uint64(MASK32)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        x = (x ^ x >> np.uint64(shift)) * np.uint64(factor) & np.uint64(MASK32)
    return x ^ x >> np.uint64(16)


def narrow(gradient, hessian, key):
    """Return wide values rounded up or down at random to 15 and 13 bits."""
    random = hash_rows(key, len(gradient)).astype(np.int64)
    lower, upper = random & 0xFFFF, random >> 16
    return (gradient + lower) >> GRADIENT_SHIFT, (hessian + (upper << (HESSIAN_SHIFT - 16))) >> HESSIAN_SHIFT


def round_shift(x, shift):
    """Return x / 2^shift, rounded to the nearest integer, halves up."""
    return x if shift == 0 else (x + (1 << (shift - 1))) >> shift


def histogram(bins, n_bins, gradient, hessian):
    """Return the gradient, hessian and count of each bin, concatenated over features, (n_cells, 3) int64."""
    offsets = np.concatenate([[0], np.cumsum(n_bins)])
    out = np.zeros((offsets[-1], 3), dtype=np.int64)
    per_row = np.column_stack([gradient, hessian, np.ones(len(gradient), dtype=np.int64)])
    for feature, offset in enumerate(offsets[:-1]):
        np.add.at(out, bins[:, feature].astype(np.int64) + offset, per_row)
    return out
