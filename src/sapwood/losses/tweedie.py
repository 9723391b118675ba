from typing import ClassVar

import numpy as np

from sapwood.losses.amounts import check_amounts
from sapwood.losses.compiled import CompiledLoss
from sapwood.runtime.execution import SERIAL, Execution


class Tweedie(CompiledLoss):
    """Tweedie deviance, for non-negative targets with many zeros. p is the variance power, between 1 (Poisson) and 2 (gamma).

    loss = exp((2 - p) raw) / (2 - p) + y exp((1 - p) raw) / (p - 1); gradient = exp((2 - p) raw) - y exp((1 - p) raw);
    hessian = (2 - p) exp((2 - p) raw) + (p - 1) y exp((1 - p) raw).
    """

    name = "tweedie"
    kind = 8
    settings: ClassVar[tuple[str, ...]] = ("tweedie_power",)
    link = "log"
    max_step = 4.0
    base_score_is_mean = True

    def __init__(self, n_outputs: int = 1, tweedie_power: float = 1.5) -> None:
        super().__init__(n_outputs)
        self.tweedie_power = tweedie_power

    def check_targets(self, y: np.ndarray) -> None:
        check_amounts(self.name, y, SERIAL)

    def check_all_targets(self, y: np.ndarray, execution: Execution) -> None:
        check_amounts(self.name, y, execution)
