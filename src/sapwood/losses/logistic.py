import math

from sapwood.losses.base import Loss

EPSILON = 2.0**-52


class LogLoss(Loss):
    """Two classes, y in {0, 1}, p = 1 / (1 + exp(-raw)). loss = log(1 + exp(raw)) - y * raw; gradient = p - y; hessian = p * (1 - p)."""

    name = "log_loss"
    kind = 4
    link = "logit"
    bounds = (1.0, 0.25)
    least_hessian = 0.1  # that of p = 0.113: rows all but settled hold too little to learn from
    max_step = 4.0

    def raw_of(self, value: float) -> float:
        share = min(max(value, EPSILON), 1 - EPSILON)
        return math.log(share / (1 - share))
