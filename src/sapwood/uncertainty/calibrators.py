"""Maps from raw predictions to calibrated probabilities, fitted on held-out rows."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from sklearn.isotonic import IsotonicRegression

from sapwood.runtime import kernels

LEAST, MOST = 1e-3, 1e3  # bounds of the factor that raw predictions are multiplied by
PRECISION = 1e-12


class Calibrator(ABC):
    """Map from raw predictions, (n_rows, n_outputs), to probabilities. `fit` takes the class numbers 0, 1, ... of held-out rows."""

    @abstractmethod
    def fit(self, raw: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> Calibrator: ...

    @abstractmethod
    def transform(self, raw: np.ndarray) -> np.ndarray:
        """Return probabilities, (n_rows, n_classes) float64."""

    @abstractmethod
    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the fitted state as the arrays that a model file stores."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], n_classes: int) -> Calibrator:
        """Restore from the arrays of `to_arrays`. Raises ValueError if they are not valid."""


class Temperature(Calibrator):
    """Temperature scaling: raw predictions are divided by the temperature that minimizes the log-loss of held-out rows.

    The loss is convex in the inverse temperature f. Its slope is the sum of (expected - true) raw predictions and its curvature the sum of
    their variances. The minimum is found by Newton's method, with bisection when a step leaves the bracket. Sums are exact, so the result
    does not depend on the order of rows. The penalty (f - 1)^2 / 2, worth about one row, keeps the temperature above 0 if every held-out
    row is classified correctly.
    """

    temperature: float

    def fit(self, raw: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> Temperature:
        raw = _as_classes(raw)
        raw = raw - raw[np.arange(len(raw)), y][:, None]  # relative to the raw prediction of the true class
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

    def to_arrays(self) -> dict[str, np.ndarray]:
        return {"temperature": np.array([self.temperature])}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], n_classes: int) -> Temperature:
        given = arrays["temperature"]
        if set(arrays) != {"temperature"} or given.dtype != np.float64 or given.shape != (1,) or not 0 < given[0] < np.inf:
            raise ValueError("the temperature must be one number above 0")
        own = cls()
        own.temperature = float(given[0])
        return own


class Isotonic(Calibrator):
    """Isotonic regression of each class's probability; each row is then scaled to sum to 1.

    Probabilities stay at least 0.5 / (n + 1) away from 0 and 1, where n is the number of held-out rows: n rows cannot show that an event
    is impossible.
    """

    steps: list[np.ndarray]

    def fit(self, raw: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> Isotonic:
        proba = _softmax(_as_classes(raw))
        least = 0.5 / (len(y) + 1)
        classes = [1] if proba.shape[1] == 2 else range(proba.shape[1])
        found = [IsotonicRegression(y_min=least, y_max=1 - least).fit(proba[:, k], y == k, sample_weight=weight) for k in classes]
        self.steps = [np.stack([one.X_thresholds_, one.y_thresholds_]) for one in found]  # (2, n_points) float64 each
        return self

    def transform(self, raw: np.ndarray) -> np.ndarray:
        proba = _softmax(_as_classes(raw))
        if len(self.steps) == 1:
            positive = np.interp(proba[:, 1], *self.steps[0])
            return np.column_stack([1 - positive, positive])
        mapped = np.column_stack([np.interp(proba[:, k], *steps) for k, steps in enumerate(self.steps)])
        return mapped / mapped.sum(axis=1, keepdims=True)

    def to_arrays(self) -> dict[str, np.ndarray]:
        return {f"steps_{k}": steps for k, steps in enumerate(self.steps)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], n_classes: int) -> Isotonic:
        own = cls()
        own.steps = [arrays[f"steps_{k}"].copy() for k in range(n_classes if n_classes > 2 else 1)]
        if set(arrays) != set(own.to_arrays()):
            raise ValueError("there are steps for other classes")
        for steps in own.steps:
            if steps.dtype != np.float64 or steps.ndim != 2 or len(steps) != 2 or not steps.size:
                raise ValueError("steps must have the shape (2, n_points) and be float64")
            if not ((steps >= 0) & (steps <= 1)).all() or (np.diff(steps) < 0).any() or not steps[1, 0] > 0:
                raise ValueError("steps must be non-decreasing and between 0 and 1")
        return own


CALIBRATORS: dict[str, type[Calibrator]] = {"temperature": Temperature, "isotonic": Isotonic}


def _as_classes(raw: np.ndarray) -> np.ndarray:
    """Raw predictions with one column per class, (n_rows, n_classes). With two classes, the first has log-odds 0."""
    return np.column_stack([np.zeros(len(raw)), raw[:, 0]]) if raw.shape[1] == 1 else raw


def _softmax(raw: np.ndarray) -> np.ndarray:
    proba = np.ascontiguousarray(raw).copy()
    kernels.apply_link("softmax", proba, 1)
    return proba
