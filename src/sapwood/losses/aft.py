from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.special import log_expit, log_ndtr

from sapwood.data.survival import time_bounds
from sapwood.losses.base import Loss
from sapwood.runtime.execution import SERIAL, Execution

NARROW = 1e-4  # intervals of z that are a point, to all intents and purposes
LOG_ROOT_TWO_PI = 0.91893853320467274


class Normal:
    """Of z: the logarithms of density, of the chance to be below and to be above, and the slope of the first."""

    far: float = 1e4  # beyond, z counts as this

    def log_density(self, z: np.ndarray) -> np.ndarray:
        return -z * z / 2 - LOG_ROOT_TWO_PI

    def log_below(self, z: np.ndarray) -> np.ndarray:
        return log_ndtr(z)

    def log_above(self, z: np.ndarray) -> np.ndarray:
        return log_ndtr(-z)

    def slope(self, z: np.ndarray) -> np.ndarray:
        return -z

    def curve(self, z: np.ndarray) -> np.ndarray:
        return np.full_like(z, -1.0)


class Logistic(Normal):
    far: float = 600.0

    def log_density(self, z: np.ndarray) -> np.ndarray:
        return log_expit(z) + log_expit(-z)

    def log_below(self, z: np.ndarray) -> np.ndarray:
        return log_expit(z)

    def log_above(self, z: np.ndarray) -> np.ndarray:
        return log_expit(-z)

    def slope(self, z: np.ndarray) -> np.ndarray:
        return -np.tanh(z / 2)

    def curve(self, z: np.ndarray) -> np.ndarray:
        return -2 * np.exp(self.log_density(z))


class Extreme(Normal):
    """The smallest of many: P(z above x) = exp(-exp(x))."""

    far: float = 50.0

    def log_density(self, z: np.ndarray) -> np.ndarray:
        return z - np.exp(z)

    def log_below(self, z: np.ndarray) -> np.ndarray:
        return np.log(-np.expm1(-np.exp(z)))

    def log_above(self, z: np.ndarray) -> np.ndarray:
        return -np.exp(z)

    def slope(self, z: np.ndarray) -> np.ndarray:
        return 1 - np.exp(z)

    def curve(self, z: np.ndarray) -> np.ndarray:
        return -np.exp(z)


DISTRIBUTIONS: dict[str, type[Normal]] = {"normal": Normal, "logistic": Logistic, "extreme": Extreme}


class AcceleratedFailureTime(Loss):
    """Times until an event, known or between two bounds: log(time) = raw + sigma * z, z of a distribution with density f.

    y is (lower, upper), z = (log(y) - raw) / sigma. Where both are equal: loss = -log(f(z) / (sigma * y)). Else P is the chance of z to lie
    between: loss = -log(P), by z: gradient = (f(l) - f(u)) / P, hessian = gradient^2 + (f'(l) - f'(u)) / P.
    """

    aft_distribution: str
    aft_sigma: float
    name = "aft"
    link = "log"
    settings: ClassVar[tuple[str, ...]] = ("aft_distribution", "aft_sigma")
    max_step = 4.0
    survival = True

    def __init__(self, n_outputs: int = 1, aft_distribution: str = "normal", aft_sigma: float = 1.0) -> None:
        super().__init__(n_outputs)
        self.aft_distribution, self.aft_sigma = aft_distribution, aft_sigma

    def read_targets(self, y: Any, n_rows: int, name: str) -> np.ndarray:
        return time_bounds(y, n_rows, name)

    def check_targets(self, y: np.ndarray) -> None:
        lower, upper = y.T
        for wrong, what in (
            (lower > upper, "lower bounds up to the upper ones"),
            (upper <= 0, "upper bounds above 0"),
            (lower < 0, "times from 0 on"),
        ):
            if wrong.any():
                row = int(np.argmax(wrong))
                raise ValueError(f"loss='aft' requires {what}; got y=({lower[row]:g}, {upper[row]:g}) in row {row}")
        if np.isinf(lower).any():
            row = int(np.argmax(np.isinf(lower)))
            raise ValueError(f"loss='aft' requires finite lower bounds; got y=({lower[row]:g}, {upper[row]:g}) in row {row}")

    def encoding_targets(self, y: np.ndarray, execution: Execution = SERIAL) -> np.ndarray:
        return np.stack([y[:, 0], (y[:, 0] == y[:, 1]).astype(np.float64)])

    def loss(self, y: np.ndarray, raw: np.ndarray) -> np.ndarray:
        distribution, lower, upper, known = self._standard(y, raw)
        middle = lower / 2 + upper / 2
        point = np.log(self.aft_sigma) + np.log(np.where(known, y[:, 1], 1.0)) - distribution.log_density(middle)
        return np.where(known, point, -self._log_chance(distribution, lower, upper, known))

    def gradients(self, y: np.ndarray, raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        distribution, lower, upper, _ = self._standard(y, raw)
        middle = lower / 2 + upper / 2
        narrow = upper - lower < NARROW
        log_chance = self._log_chance(distribution, lower, upper, narrow)
        at_lower = np.exp(np.minimum(distribution.log_density(lower) - log_chance, 700.0))
        at_upper = np.exp(np.minimum(distribution.log_density(upper) - log_chance, 700.0))
        first = at_lower - at_upper
        second = first * first + at_lower * distribution.slope(lower) - at_upper * distribution.slope(upper)
        first = np.where(narrow, -distribution.slope(middle), first)
        second = np.where(narrow, -distribution.curve(middle), second)
        return -first / self.aft_sigma, np.maximum(second, 0.0) / self.aft_sigma**2

    def _standard(self, y: np.ndarray, raw: np.ndarray) -> tuple[Normal, np.ndarray, np.ndarray, np.ndarray]:
        """The distribution, the bounds of z, and whether y is known."""
        distribution = DISTRIBUTIONS[self.aft_distribution]()
        with np.errstate(divide="ignore"):
            z = (np.log(y) - raw[:, None]) / self.aft_sigma
        lower, upper = np.clip(z, -distribution.far, distribution.far).T
        return distribution, lower, upper, y[:, 0] == y[:, 1]

    def _log_chance(self, distribution: Normal, lower: np.ndarray, upper: np.ndarray, narrow: np.ndarray) -> np.ndarray:
        """log P(lower < z < upper), from the side where it has more digits; zero where it is not asked for."""
        upper = np.where(narrow, lower + 1.0, upper)
        above, beyond = distribution.log_above(lower), distribution.log_above(upper)
        below, before = distribution.log_below(upper), distribution.log_below(lower)
        wide = np.maximum(upper - lower, NARROW)
        with np.errstate(divide="ignore", invalid="ignore"):
            chance = np.where(lower > 0, above + np.log(-np.expm1(beyond - above)), below + np.log(-np.expm1(before - below)))
        # Where both bounds are as far as can be, or digits have run out: density times width.
        point = distribution.log_density(lower / 2 + upper / 2) + np.log(wide)
        return np.where(narrow, 0.0, np.where(np.isfinite(chance), chance, point))
