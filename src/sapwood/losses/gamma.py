import numpy as np

from sapwood.losses.compiled import CompiledLoss


class Gamma(CompiledLoss):
    """Gamma deviance, for positive targets. loss = raw + y * exp(-raw); gradient = 1 - y * exp(-raw); hessian = y * exp(-raw)."""

    name = "gamma"
    kind = 3
    link = "log"
    max_step = 4.0
    base_score_is_mean = True

    def check_targets(self, y: np.ndarray) -> None:
        if not (y > 0).all():
            row = int(np.argmin(y))
            raise ValueError(f"loss='gamma' requires strictly positive y; got y={y[row]:g} in row {row}")
