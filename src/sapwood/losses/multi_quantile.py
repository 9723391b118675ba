from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sapwood.data.checks import check_numbers
from sapwood.losses.multi_output import MultiOutputLoss, OutputTargets
from sapwood.losses.quantile import QuantileLoss
from sapwood.runtime.execution import SERIAL, Execution


class MultiQuantileLoss(MultiOutputLoss):
    """Several quantiles of one target: one output per level, in ascending order, each with its quantile loss.

    Predicted quantiles do not cross, because the link sorts the outputs of each row. Sorting never increases the loss: let a < b be two
    levels with crossing predictions u > v. The quantile loss is level * d + max(-d, 0) with d = y - prediction; swapping u and v keeps the
    sum of the second terms and reduces the sum of the first by (b - a) * (u - v) > 0 (Chernozhukov, Fernandez-Val and Galichon,
    Econometrica 2010).
    """

    def __init__(self, levels: Sequence[float]) -> None:
        super().__init__([QuantileLoss(quantile=level) for level in levels])
        self.levels = levels
        self.link = "sorted"

    def read_targets(self, y: Any, n_rows: int, name: str) -> np.ndarray:
        return check_numbers(y, n_rows, name)

    def encoding_targets(self, y: np.ndarray, execution: Execution = SERIAL) -> np.ndarray:
        return y[None]

    def check_all_targets(self, y: np.ndarray, execution: Execution) -> None:
        self.losses[0].check_all_targets(y, execution)

    def mean(self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution) -> float:
        """Return the mean over quantiles of their mean losses, after sorting."""
        return super().mean(y, np.sort(raw, axis=0), weight, execution)

    def _split(self, y: np.ndarray, weight: np.ndarray | None, execution: Execution) -> list[OutputTargets]:
        return [OutputTargets(y, weight)] * self.n_outputs
