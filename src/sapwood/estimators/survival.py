"""Survival functions of regressors with loss='cox' or 'aft'."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sapwood.data.checks import parameter_floats
from sapwood.losses.aft import DISTRIBUTIONS
from sapwood.losses.cox import Cox


@dataclass(frozen=True)
class BaselineHazard:
    """Cumulative hazard of a row with raw prediction 0 (Breslow's estimate), a step function.

    Attributes
    ----------
    times : (n,) float64, ascending: times of events
    cumulative : (n,) float64: hazard up to and including each time
    """

    times: np.ndarray
    cumulative: np.ndarray

    @classmethod
    def of(cls, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None) -> BaselineHazard:
        """Estimate from signed times and raw predictions, (n_rows,) each."""
        return cls(*Cox().cumulative_hazard(y, raw, weight))

    @classmethod
    def from_data(cls, data: Any) -> BaselineHazard:
        """Restore from `to_data`. Raises ValueError for anything else."""
        if not isinstance(data, dict) or set(data) != {"times", "cumulative"}:
            raise ValueError("the baseline hazard must have times and values")
        times, cumulative = (np.array(data[name], dtype=np.float64) for name in ("times", "cumulative"))
        if times.ndim != 1 or times.shape != cumulative.shape or not len(times) or not np.isfinite([times, cumulative]).all():
            raise ValueError("the baseline hazard must be two lists of finite numbers")
        if (np.diff(times) <= 0).any() or (np.diff(cumulative) < 0).any() or times[0] < 0 or cumulative[0] < 0:
            raise ValueError("the baseline hazard must not decrease")
        return cls(times, cumulative)

    def to_data(self) -> dict[str, list[float]]:
        return {"times": self.times.tolist(), "cumulative": self.cumulative.tolist()}

    def at(self, times: np.ndarray) -> np.ndarray:
        return np.append(0.0, self.cumulative)[np.searchsorted(self.times, times, side="right")]


def check_times(times: Any, default: np.ndarray | None) -> np.ndarray:
    """Return times, (n_times,) float64."""
    if times is None:
        if default is None:
            raise ValueError("loss='aft' has no times of its own: give times, a list of numbers")
        return default
    given = np.atleast_1d(parameter_floats(times, "times"))
    if given.ndim != 1 or not len(given) or not np.isfinite(given).all() or (given < 0).any():
        raise ValueError(f"times must be a list of non-negative numbers; got {times!r}")
    return given


def cumulative_hazard_of_times(raw: np.ndarray, times: np.ndarray, distribution: str, sigma: float) -> np.ndarray:
    """Return the cumulative hazard of accelerated failure times, (n_rows, n_times), from raw predictions, (n_rows,)."""
    with np.errstate(divide="ignore"):
        z = (np.log(times) - raw[:, None]) / sigma
    own = DISTRIBUTIONS[distribution]()
    hazard = -own.log_sf(np.clip(z, -own.max_z, own.max_z))
    return np.where(np.isneginf(z), 0.0, hazard)
