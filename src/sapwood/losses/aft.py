from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from sapwood.data.survival import time_bounds
from sapwood.losses.base import Loss
from sapwood.losses.functions import exp, expm1, log, log_expit, log_ndtr, tanh
from sapwood.runtime.execution import SERIAL, Execution

NARROW = 1e-4  # intervals of z below this width are treated as points
LOG_ROOT_TWO_PI = 0.91893853320467274


class Normal:
    """Standard normal distribution: logarithms of density, CDF and survival function; derivatives of the log density."""

    max_z: float = 1e4  # |z| is clipped to this

    def log_pdf(self, z: np.ndarray) -> np.ndarray:
        return -z * z / 2 - LOG_ROOT_TWO_PI

    def log_cdf(self, z: np.ndarray) -> np.ndarray:
        return log_ndtr(z)

    def log_sf(self, z: np.ndarray) -> np.ndarray:
        return log_ndtr(-z)

    def log_pdf_slope(self, z: np.ndarray) -> np.ndarray:
        return -z

    def log_pdf_curvature(self, z: np.ndarray) -> np.ndarray:
        return np.full_like(z, -1.0)


class Logistic(Normal):
    """Standard logistic distribution."""

    max_z: float = 600.0

    def log_pdf(self, z: np.ndarray) -> np.ndarray:
        return log_expit(z) + log_expit(-z)

    def log_cdf(self, z: np.ndarray) -> np.ndarray:
        return log_expit(z)

    def log_sf(self, z: np.ndarray) -> np.ndarray:
        return log_expit(-z)

    def log_pdf_slope(self, z: np.ndarray) -> np.ndarray:
        return -tanh(z / 2)

    def log_pdf_curvature(self, z: np.ndarray) -> np.ndarray:
        return -2 * exp(self.log_pdf(z))


class Extreme(Normal):
    """Standard extreme value distribution of minima: P(z > x) = exp(-exp(x))."""

    max_z: float = 50.0

    def log_pdf(self, z: np.ndarray) -> np.ndarray:
        return z - exp(z)

    def log_cdf(self, z: np.ndarray) -> np.ndarray:
        return log(-expm1(-exp(z)))

    def log_sf(self, z: np.ndarray) -> np.ndarray:
        return -exp(z)

    def log_pdf_slope(self, z: np.ndarray) -> np.ndarray:
        return 1 - exp(z)

    def log_pdf_curvature(self, z: np.ndarray) -> np.ndarray:
        return -exp(z)


DISTRIBUTIONS: dict[str, type[Normal]] = {"normal": Normal, "logistic": Logistic, "extreme": Extreme}


class AcceleratedFailureTime(Loss):
    """Accelerated failure time: log(time) = raw + sigma * z, where z has a distribution with density f.

    y is (lower, upper), the bounds of the event time; z = (log(y) - raw) / sigma. For an observed time (lower = upper),
    loss = -log(f(z) / (sigma * y)). For a censored time, with z between l and u, P = P(l < z < u) and loss = -log(P). The derivatives of
    log(P) by the shift of z are gradient = (f(l) - f(u)) / P and hessian = gradient^2 + (f'(l) - f'(u)) / P.
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
            (lower > upper, "lower bounds that are at most the upper bounds"),
            (upper <= 0, "positive upper bounds"),
            (lower < 0, "non-negative times"),
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
        distribution, lower, upper, observed = self._standard(y, raw)
        middle = lower / 2 + upper / 2
        point = log(np.array(self.aft_sigma)) + log(np.where(observed, y[:, 1], 1.0)) - distribution.log_pdf(middle)
        return np.where(observed, point, -self._log_probability(distribution, lower, upper, observed))

    def gradients(self, y: np.ndarray, raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        distribution, lower, upper, _ = self._standard(y, raw)
        middle = lower / 2 + upper / 2
        narrow = upper - lower < NARROW
        log_probability = self._log_probability(distribution, lower, upper, narrow)
        at_lower = exp(np.minimum(distribution.log_pdf(lower) - log_probability, 700.0))
        at_upper = exp(np.minimum(distribution.log_pdf(upper) - log_probability, 700.0))
        first = at_lower - at_upper
        second = first * first + at_lower * distribution.log_pdf_slope(lower) - at_upper * distribution.log_pdf_slope(upper)
        first = np.where(narrow, -distribution.log_pdf_slope(middle), first)
        second = np.where(narrow, -distribution.log_pdf_curvature(middle), second)
        return -first / self.aft_sigma, np.maximum(second, 0.0) / self.aft_sigma**2

    def _standard(self, y: np.ndarray, raw: np.ndarray) -> tuple[Normal, np.ndarray, np.ndarray, np.ndarray]:
        """Return the distribution, the lower and upper bounds of z, and whether the time is observed."""
        distribution = DISTRIBUTIONS[self.aft_distribution]()
        z = (log(y) - raw[:, None]) / self.aft_sigma
        lower, upper = np.clip(z, -distribution.max_z, distribution.max_z).T
        return distribution, lower, upper, y[:, 0] == y[:, 1]

    def _log_probability(self, distribution: Normal, lower: np.ndarray, upper: np.ndarray, narrow: np.ndarray) -> np.ndarray:
        """Return log P(lower < z < upper), computed from the tail with less rounding error; 0 where `narrow`."""
        upper = np.where(narrow, lower + 1.0, upper)
        sf_lower, sf_upper = distribution.log_sf(lower), distribution.log_sf(upper)
        cdf_upper, cdf_lower = distribution.log_cdf(upper), distribution.log_cdf(lower)
        wide = np.maximum(upper - lower, NARROW)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_p = np.where(lower > 0, sf_lower + log(-expm1(sf_upper - sf_lower)), cdf_upper + log(-expm1(cdf_lower - cdf_upper)))
        # If the difference underflows: density times width.
        point = distribution.log_pdf(lower / 2 + upper / 2) + log(wide)
        return np.where(narrow, 0.0, np.where(np.isfinite(log_p), log_p, point))
