from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sapwood.data.checks import check_numbers
from sapwood.losses.multi_output import MultiOutputLoss, OutputTargets
from sapwood.losses.quantile import QuantileLoss
from sapwood.runtime.execution import SERIAL, Execution


class MultiQuantileLoss(MultiOutputLoss):
    """Several quantiles of one target at once: an output for each, ascending, with the quantile loss of its own level.

    They cannot cross: the link sorts each row's predictions. This is never worse. Let a < b be two levels whose predictions u > v are the
    wrong way round. A quantile loss is level * d + max(-d, 0) for d = y - prediction; exchanging u and v keeps the sum of the second terms
    and takes (b - a) * (u - v) > 0 off the first ones (Chernozhukov, Fernandez-Val and Galichon, Econometrica 2010, for whole curves).
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
        self.parts[0].check_all_targets(y, execution)

    def mean(self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution) -> float:
        """The mean over quantiles of each one's mean loss, as they are predicted."""
        return super().mean(y, np.sort(raw, axis=0), weight, execution)

    def _split(self, y: np.ndarray, weight: np.ndarray | None, execution: Execution) -> list[OutputTargets]:
        return [OutputTargets(y, weight)] * self.n_outputs
