"""Maps from what a classifier says to probabilities, learned from held-out rows."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from sklearn.isotonic import IsotonicRegression

from sapwood import kernels

LEAST, MOST = 1e-3, 1e3  # of the factor that raw predictions are multiplied by
PRECISION = 1e-12


class Calibrator(ABC):
    """`fit` on the raw predictions of held-out rows, (n_rows, n_outputs), and their classes, 0, 1, ...; then `transform` others'."""

    @abstractmethod
    def fit(self, raw: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> Calibrator: ...

    @abstractmethod
    def transform(self, raw: np.ndarray) -> np.ndarray:
        """(n_rows, n_classes) float64: probabilities."""


class Temperature(Calibrator):
    """Raw predictions divided by one number, the temperature, so that the log-loss of held-out rows is the least.

    In its inverse, a factor f, that loss is convex: its slope is the sum of (expected - true) raw predictions, its curvature that of their
    variances. Newton's steps, halved bounds where they leave them; the sums are exact, so the order of rows is of no account.
    (f - 1)^2 / 2 is added, a doubt worth about a row: without it rows that are all right would make every prediction certain.
    """

    def fit(self, raw: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> Temperature:
        raw = _as_classes(raw)
        raw = raw - raw[np.arange(len(raw)), y][:, None]  # relative to the true class
        weight = np.ones(len(raw)) if weight is None else weight
        low, high, factor = LEAST, MOST, 1.0
        while high - low > PRECISION * high:
            proba = _softmax(raw * factor)
            mean = (proba * raw).sum(axis=1)
            slope = kernels.exact_sum(weight * mean) + factor - 1
            curvature = kernels.exact_sum(weight * ((proba * raw**2).sum(axis=1) - mean**2)) + 1
            low, high = (factor, high) if slope < 0 else (low, factor)
            step = factor - slope / curvature
            if abs(step - factor) <= PRECISION * factor:
                break
            factor = step if low < step < high else (low + high) / 2
        self.temperature = 1 / factor
        return self

    def transform(self, raw: np.ndarray) -> np.ndarray:
        return _softmax(_as_classes(raw) / self.temperature)


class Isotonic(Calibrator):
    """For each class a rising step function of its probability; then the rows are scaled to a sum of 1.

    No step is below or above what n rows can tell (half a row of n): a probability of exactly 0 would be proof.
    """

    def fit(self, raw: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> Isotonic:
        proba = _softmax(_as_classes(raw))
        least = 0.5 / (len(y) + 1)
        classes = [1] if proba.shape[1] == 2 else range(proba.shape[1])
        self.steps = [
            IsotonicRegression(y_min=least, y_max=1 - least, out_of_bounds="clip").fit(proba[:, k], y == k, sample_weight=weight)
            for k in classes
        ]
        return self

    def transform(self, raw: np.ndarray) -> np.ndarray:
        proba = _softmax(_as_classes(raw))
        if len(self.steps) == 1:
            positive = self.steps[0].predict(proba[:, 1])
            return np.column_stack([1 - positive, positive])
        mapped = np.column_stack([steps.predict(proba[:, k]) for k, steps in enumerate(self.steps)])
        return mapped / mapped.sum(axis=1, keepdims=True)


CALIBRATORS: dict[str, type[Calibrator]] = {"temperature": Temperature, "isotonic": Isotonic}


def _as_classes(raw: np.ndarray) -> np.ndarray:
    """(n_rows, n_classes): the log-odds of the second of two classes become a column for each."""
    return np.column_stack([np.zeros(len(raw)), raw[:, 0]]) if raw.shape[1] == 1 else raw


def _softmax(raw: np.ndarray) -> np.ndarray:
    proba = np.ascontiguousarray(raw).copy()
    kernels.apply_link("softmax", proba, 1)
    return proba
