"""Small synthetic images in the shape of MNIST: 28 x 28 grey values, about four fifths of them zero."""

from __future__ import annotations

import numpy as np

SIDE = 28
N_CLASSES = 10
N_BLOBS = 7
BLOCK = 10_000  # images generated at a time


def make_images(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return X (n_rows, 784) float32 of integers from 0 to 255, and y: whether the class of the image is one of the last five."""
    X = np.empty((n_rows, SIDE * SIDE), dtype=np.float32)
    y = np.empty(n_rows, dtype=np.int64)
    for first in range(0, n_rows, BLOCK):
        rows = slice(first, min(first + BLOCK, n_rows))
        rng = np.random.default_rng([seed, first])
        classes = rng.integers(N_CLASSES, size=rows.stop - first)
        X[rows] = _draw(classes, rng)
        y[rows] = classes >= N_CLASSES // 2
    return X, y


def _draw(classes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return (n, 784) images: the blobs of the class, with a random shift of the image and of each blob."""
    n = len(classes)
    steps = np.random.default_rng(0).normal(0, 3.5, (N_CLASSES, N_BLOBS, 2)).cumsum(axis=1)  # a class is a stroke
    strokes = steps - steps.mean(axis=1, keepdims=True)
    strokes *= 6 / np.abs(strokes).max(axis=1, keepdims=True).clip(6)
    centres = SIDE / 2 + strokes[classes] + rng.normal(0, 1.5, (n, 1, 2)) + rng.normal(0, 1.2, (n, N_BLOBS, 2))
    widths = rng.uniform(1.2, 2.0, (n, N_BLOBS, 1, 1))
    pixels = np.arange(SIDE)
    along = np.exp(-(((pixels - centres[..., None]) / widths) ** 2) / 2)  # (n, blobs, 2, SIDE)
    ink = np.swapaxes(along[:, :, 0], 1, 2) @ along[:, :, 1]  # (n, SIDE, SIDE)
    ink += rng.normal(0, 0.05, ink.shape)
    return np.rint(255 * np.clip(ink - 0.18, 0, 1)).reshape(n, -1)
