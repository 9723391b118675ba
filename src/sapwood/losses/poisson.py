import numpy as np

from sapwood.losses.amounts import check_amounts
from sapwood.losses.compiled import CompiledLoss
from sapwood.runtime.execution import SERIAL, Execution


class Poisson(CompiledLoss):
    """Poisson deviance, for non-negative targets. loss = exp(raw) - y * raw; gradient = exp(raw) - y; hessian = exp(raw)."""

    name = "poisson"
    kind = 2
    link = "log"
    max_step = 4.0
    base_score_is_mean = True

    def check_targets(self, y: np.ndarray) -> None:
        check_amounts(self.name, y, SERIAL)

    def check_all_targets(self, y: np.ndarray, execution: Execution) -> None:
        check_amounts(self.name, y, execution)
