from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sapwood.data.row_range import RowRange
from sapwood.data.survival import signed_times
from sapwood.losses.base import Loss
from sapwood.runtime import kernels
from sapwood.runtime.execution import SERIAL, Execution

LEAST_SUM = 2.0**-80  # of hazards: where all at risk are so much less so than others, sums have no digits left


@dataclass(frozen=True)
class RiskSets:
    """Rows of all partitions by time: those at risk at a time are all that were seen until then or longer."""

    y: np.ndarray  # of this partition
    own: slice  # where the rows of this partition are among all
    order: np.ndarray  # (n_rows,) the rows, latest first
    last: np.ndarray  # (n_times,) the last place of each time in that order, latest first
    group: np.ndarray  # (n_rows,) the number of each row's time, latest first
    event: np.ndarray  # (n_rows,) bool

    @classmethod
    def of(cls, y: np.ndarray, execution: Execution) -> RiskSets:
        own, of_all = RowRange.of(len(y), execution).own, execution.gather(y)
        times, group = np.unique(-np.abs(of_all), return_inverse=True)
        order = np.argsort(group, kind="stable")
        return cls(y, own, order, np.cumsum(np.bincount(group, minlength=len(times))) - 1, group, ~np.signbit(of_all))

    def sums(self, values: np.ndarray, at_risk: bool) -> np.ndarray:
        """(n_times,) the sums of values, from 0 to 1, over all at risk at each time, or over the rows of that time.

        They are sums of integers, in two parts, so that the order leaves no trace.
        """
        unit = 2.0 ** (62 - len(values).bit_length())
        high = np.floor(values * unit)
        low = np.rint((values * unit - high) * unit)
        parts = [np.cumsum(part[self.order].astype(np.int64))[self.last] for part in (high, low)]
        if not at_risk:
            parts = [np.diff(part, prepend=0) for part in parts]
        return parts[0] / unit + parts[1] / unit / unit


class Cox(Loss):
    """Times until an event, by the partial likelihood of proportional hazards; exp(raw) is the hazard relative to others.

    y is a time; negative where no event was seen until then. R(t) is the sum of exp(raw) over rows seen until t or longer.
    loss = log R(y) - raw for each event; gradient = exp(raw) * A - [event], A the sum of 1 / R over events until then;
    hessian = exp(raw) * A - exp(2 raw) * B, B likewise the sum of 1 / R^2. Events at the same time share one R (Breslow).

    A row's loss depends on the rows of all partitions: every partition gathers their times, predictions and weights.
    """

    name = "cox"
    link = "log"
    max_step = 4.0
    rowwise = False
    survival = True
    _kept_sets: tuple[RiskSets, ...] = ()

    def read_targets(self, y: Any, n_rows: int, name: str) -> np.ndarray:
        return signed_times(y, n_rows, name)

    def check_targets(self, y: np.ndarray) -> None:
        self.check_all_targets(y, SERIAL)

    def check_all_targets(self, y: np.ndarray, execution: Execution) -> None:
        if not execution.any(not np.signbit(y).all()):
            raise ValueError("loss='cox' requires an event at least; all rows of y are censored (negative)")

    def encoding_targets(self, y: np.ndarray, execution: Execution = SERIAL) -> np.ndarray:
        return np.stack([np.abs(y), (~np.signbit(y)).astype(np.float64)])

    def base_score(self, y: np.ndarray, weight: np.ndarray | None, execution: Execution = SERIAL) -> np.ndarray:
        return np.zeros(1)  # a constant changes nothing: all hazards are relative

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
        # From the earliest time on: a row is at risk at its own time and at all before.
        share, square = (np.cumsum((events / at_risk**power)[::-1])[::-1][sets.group] for power in (1, 2))
        gradient = weight * (hazard * share - sets.event)
        hessian = weight * np.maximum(hazard * share - hazard * hazard * square, 0.0)  # of so many rows of weight one
        return gradient[None, sets.own], hessian[None, sets.own]

    def weighted_values(self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution) -> np.ndarray:
        sets = self._sets(y, execution)
        of_all, weight, _, at_risk = self._at_risk(sets, raw, weight, execution)
        return np.where(sets.event, weight * (np.log(at_risk)[sets.group] - (of_all - of_all.max())), 0.0)[sets.own]

    def _at_risk(
        self, sets: RiskSets, raw: np.ndarray, weight: np.ndarray | None, execution: Execution
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Of the rows of all partitions: raw predictions, weights, hazards relative to the largest, and their weighted sums at risk."""
        of_all = execution.gather(raw[0])
        weight = np.ones(len(of_all)) if weight is None else execution.gather(weight)
        hazard = (of_all - of_all.max())[:, None]
        kernels.apply_link("log", hazard, execution.n_threads)  # not NumPy's exp, which differs between CPUs
        most = weight.max()
        sums = sets.sums(weight / most * hazard[:, 0], at_risk=True)
        return of_all, weight, hazard[:, 0], np.maximum(sums, LEAST_SUM) * most

    def _sets(self, y: np.ndarray, execution: Execution) -> RiskSets:
        """Kept for the arrays seen before, which are those of training and those of validation."""
        for sets in self._kept_sets:
            if sets.y is y:
                return sets
        sets = RiskSets.of(y, execution)
        self._kept_sets = (*self._kept_sets[-3:], sets)
        return sets
