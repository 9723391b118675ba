import numpy as np

from sapwood.losses.compiled import CompiledLoss


class Poisson(CompiledLoss):
    """Counts. loss = exp(raw) - y * raw; gradient = exp(raw) - y; hessian = exp(raw)."""

    name = "poisson"
    kind = 2
    link = "log"
    max_step = 4.0
    best_is_mean = True

    def check_targets(self, y: np.ndarray) -> None:
        if (y < 0).any() or not (y > 0).any():
            row = int(np.argmin(y))
            raise ValueError(f"loss='poisson' requires non-negative y and sum(y) > 0; got y={y[row]:g} in row {row} and sum(y)={y.sum():g}")
