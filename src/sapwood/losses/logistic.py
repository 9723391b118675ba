import numpy as np

from sapwood.losses.compiled import CompiledLoss


class LogLoss(CompiledLoss):
    """Binary log-loss, y in [0, 1]; p = 1 / (1 + exp(-raw)).

    loss = log(1 + exp(raw)) - y * raw; gradient = p - y; hessian = p * (1 - p).
    """

    name = "log_loss"
    kind = 4
    link = "logit"
    bounds: tuple[float, float] | None = (1.0, 0.25)
    min_hessian_per_sample = 0.1  # hessian of p = 0.113; avoids leaves of rows that are already predicted with certainty
    max_step = 4.0
    base_score_is_mean = True

    def check_targets(self, y: np.ndarray) -> None:
        outside = (y < 0) | (y > 1)
        if outside.any():
            row = int(np.argmax(outside))
            raise ValueError(f"loss={self.name!r} requires y in [0, 1]; got y={y[row]:g} in row {row}")
