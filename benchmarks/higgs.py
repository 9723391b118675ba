"""Synthetic data in the shape of HIGGS: 21 measurements of a collision, 7 derived masses, two classes."""

from __future__ import annotations

import numpy as np

N_FEATURES = 28
BLOCK = 100_000  # rows generated at a time, each block with its own seed


def make_higgs(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return X (n_rows, 28) float32 and y (n_rows,) of 0 and 1. Seeds change rows and noise, not the function of X."""
    X = np.empty((n_rows, N_FEATURES), dtype=np.float32)
    y = np.empty(n_rows, dtype=np.int64)
    for first in range(0, n_rows, BLOCK):
        rows = slice(first, min(first + BLOCK, n_rows))
        rng = np.random.default_rng([seed, first])
        X[rows] = _collisions(rows.stop - first, rng)
        y[rows] = rng.random(rows.stop - first) < 1 / (1 + np.exp(-_log_odds(X[rows])))
    return X, y


def _collisions(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return (n, 28): momentum, pseudorapidity and angle of a lepton, missing energy, four jets with a tag, then the masses."""
    momentum = np.exp(0.5 * rng.standard_normal((n, 6))) * [0.9, 1.0, 1.1, 1.0, 0.9, 0.8]  # lepton, missing, four jets
    eta = np.clip(rng.standard_normal((n, 6)), -2.5, 2.5)
    phi = rng.uniform(-np.pi, np.pi, (n, 6))
    tag = rng.choice([0.0, 1.1, 2.2], (n, 4), p=[0.5, 0.25, 0.25])

    def mass(i: int, j: int) -> np.ndarray:
        open_angle = np.cosh(eta[:, i] - eta[:, j]) - np.cos(phi[:, i] - phi[:, j])
        return np.sqrt(2 * momentum[:, i] * momentum[:, j] * open_angle)

    jj, lv, bb, bj, lj = mass(2, 3), mass(0, 1), mass(4, 5), mass(3, 4), mass(0, 2)
    masses = [jj, np.hypot(jj, bj), lv, np.hypot(lv, lj), bb, np.hypot(bb, jj), np.sqrt(bb**2 + jj**2 + lv**2)]
    jets = [column for j in range(4) for column in (momentum[:, 2 + j], eta[:, 2 + j], phi[:, 2 + j], tag[:, j])]
    return np.column_stack([momentum[:, 0], eta[:, 0], phi[:, 0], momentum[:, 1], phi[:, 1], *jets, *masses])


def _log_odds(X: np.ndarray) -> np.ndarray:
    """Return the signal: two resonances, an interaction of tags, and an effect of an angle for heavy events."""
    jj, _, lv, jlv, bb, wbb, wwbb = X[:, 21:].T
    tags = X[:, [8, 12, 16, 20]].sum(axis=1)
    resonances = 3.0 * np.exp(-(((bb - 1.6) / 0.6) ** 2)) + 1.5 * np.exp(-(((jj - 1.2) / 0.4) ** 2))
    angle = np.cos(X[:, 2] - X[:, 4]) * np.tanh(wwbb - 3.0)
    together = 0.5 * np.where(tags > 3.0, X[:, 0], -X[:, 5])
    return 0.9 * (resonances + angle + together + 0.8 * np.tanh(jlv - lv) - 0.25 * wbb - 1.1)
