from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sapwood.data.row_range import RowRange
from sapwood.data.survival import signed_times
from sapwood.losses.base import Loss
from sapwood.losses.functions import log
from sapwood.runtime import kernels
from sapwood.runtime.execution import SERIAL, Execution

MIN_HAZARD_SUM = 2.0**-80  # smaller sums of relative hazards have no significant digits


@dataclass(frozen=True)
class RiskSets:
    """Rows of all partitions, sorted by time. A row is at risk at all times up to its own."""

    y: np.ndarray  # targets of this partition
    own: slice  # rows of this partition among those of all
    order: np.ndarray  # (n_rows,) rows, latest time first
    last: np.ndarray  # (n_times,) last position of each time in `order`
    group: np.ndarray  # (n_rows,) index of the row's time, latest time first
    event: np.ndarray  # (n_rows,) bool

    @classmethod
    def of(cls, y: np.ndarray, execution: Execution) -> RiskSets:
        own, of_all = RowRange.of(len(y), execution).own, execution.gather(y)
        times, group = np.unique(-np.abs(of_all), return_inverse=True)
        order = np.argsort(group, kind="stable")
        return cls(y, own, order, np.cumsum(np.bincount(group, minlength=len(times))) - 1, group, ~np.signbit(of_all))

    def sums(self, values: np.ndarray, at_risk: bool) -> np.ndarray:
        """Return (n_times,) sums of values from 0 to 1, over the rows at risk at each time or over the rows of that time.

        Values are split into two integers each and summed exactly, so the result does not depend on the order.
        """
        unit = 2.0 ** (62 - len(values).bit_length())
        high = np.floor(values * unit)
        low = np.rint((values * unit - high) * unit)
        parts = [np.cumsum(part[self.order].astype(np.int64))[self.last] for part in (high, low)]
        if not at_risk:
            parts = [np.diff(part, prepend=0) for part in parts]
        return parts[0] / unit + parts[1] / unit / unit


class Cox(Loss):
    """Cox proportional hazards: negative partial log-likelihood. exp(raw) is the relative hazard.

    y is the time of an event; negative times are right-censored. R(t) is the sum of exp(raw) over the rows at risk at t.
    loss = log R(y) - raw for an event, 0 otherwise; gradient = exp(raw) * A - [event]; hessian = exp(raw) * A - exp(2 raw) * B, where A and
    B are the sums of 1 / R and 1 / R^2 over the events up to y. Events at the same time have the same R (Breslow).

    The loss of a row depends on other rows, so every partition gathers the times, predictions and weights of all.
    """

    name = "cox"
    link = "log"
    max_step = 4.0
    rowwise = False
    survival = True
    _cached_sets: tuple[RiskSets, ...] = ()

    def read_targets(self, y: Any, n_rows: int, name: str) -> np.ndarray:
        return signed_times(y, n_rows, name)

    def check_targets(self, y: np.ndarray) -> None:
        self.check_all_targets(y, SERIAL)

    def check_all_targets(self, y: np.ndarray, execution: Execution) -> None:
        if not execution.any(not np.signbit(y).all()):
            raise ValueError("loss='cox' requires at least one event; all rows of y are censored (negative)")

    def encoding_targets(self, y: np.ndarray, execution: Execution = SERIAL) -> np.ndarray:
        return np.stack([np.abs(y), (~np.signbit(y)).astype(np.float64)])

    def base_score(self, y: np.ndarray, weight: np.ndarray | None, execution: Execution = SERIAL) -> np.ndarray:
        return np.zeros(1)  # hazards are relative: a constant does not change the loss

    def base_score_with_offset(
        self, y: np.ndarray, weight: np.ndarray | None, offset: np.ndarray | None, execution: Execution = SERIAL
    ) -> np.ndarray:
        return np.zeros(1)

    def loss(self, y: np.ndarray, raw: np.ndarray) -> np.ndarray:
        return self.weighted_values(y, raw[None], None, SERIAL)

    def gradients(self, y: np.ndarray, raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        gradients, hessians = self.weighted_gradients(y, raw[None], None, SERIAL)
        return gradients[0], hessians[0]

    def weighted_gradients(
        self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution
    ) -> tuple[np.ndarray, np.ndarray]:
        sets = self._sets(y, execution)
        _, weight, hazard, at_risk = self._at_risk(sets, raw, weight, execution)
        most = float(weight.max())
        events = sets.sums(weight / most * sets.event, at_risk=False) * most
        # Cumulative over times up to the row's own, at which it is at risk.
        first, second = (np.cumsum((events / at_risk**power)[::-1])[::-1][sets.group] for power in (1, 2))
        gradient = weight * (hazard * first - sets.event)
        hessian = weight * np.maximum(hazard * first - hazard * hazard * second, 0.0)  # a weight counts as that many rows
        return gradient[None, sets.own], hessian[None, sets.own]

    def weighted_values(self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution) -> np.ndarray:
        sets = self._sets(y, execution)
        of_all, weight, _, at_risk = self._at_risk(sets, raw, weight, execution)
        return np.where(sets.event, weight * (log(at_risk)[sets.group] - (of_all - of_all.max())), 0.0)[sets.own]

    def cumulative_hazard(self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Return the times of events, ascending, and Breslow's estimate of the cumulative hazard of a row with raw prediction 0."""
        sets = RiskSets.of(y, SERIAL)
        of_all, weight, _, at_risk = self._at_risk(sets, raw[None], weight, SERIAL)
        most = float(weight.max())
        events = sets.sums(weight / most * sets.event, at_risk=False) * most
        times = np.unique(np.abs(y))
        steps = (events / at_risk)[::-1] * np.exp(-of_all.max())
        return times[events[::-1] > 0], np.cumsum(steps)[events[::-1] > 0]

    def _at_risk(
        self, sets: RiskSets, raw: np.ndarray, weight: np.ndarray | None, execution: Execution
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return raw predictions, weights, hazards relative to the largest, and weighted hazard sums at risk, of all partitions."""
        of_all = execution.gather(raw[0])
        weight = np.ones(len(of_all)) if weight is None else execution.gather(weight)
        hazard = (of_all - of_all.max())[:, None]
        kernels.apply_link("log", hazard, execution.n_threads)  # NumPy's exp differs between CPUs
        most = weight.max()
        sums = sets.sums(weight / most * hazard[:, 0], at_risk=True)
        return of_all, weight, hazard[:, 0], np.maximum(sums, MIN_HAZARD_SUM) * most

    def _sets(self, y: np.ndarray, execution: Execution) -> RiskSets:
        """Return the risk sets of targets; cached for the last arrays, which are those of the training and evaluation sets."""
        for sets in self._cached_sets:
            if sets.y is y:
                return sets
        sets = RiskSets.of(y, execution)
        self._cached_sets = (*self._cached_sets[-3:], sets)
        return sets
