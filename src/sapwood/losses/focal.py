from typing import ClassVar

from sapwood.losses.logistic import LogLoss


class Focal(LogLoss):
    """Binary focal loss: well-classified rows have a lower weight. p = 1 / (1 + exp(-raw)), q = 1 - p.

    For y = 1, loss = -q^gamma * log(p). For y = 0, p and q are swapped; for 0 < y < 1, loss is the weighted mean of both.
    The second derivative for y = 1 is p q^gamma ((2 gamma + 1) q + gamma log(p) (q - gamma p)). Its last term is dropped where it is
    negative, so that the hessian is positive.
    """

    name = "focal"
    kind = 11
    settings: ClassVar[tuple[str, ...]] = ("focal_gamma",)
    bounds = None
    exact_hessian = False
    base_score_is_mean = False

    def __init__(self, n_outputs: int = 1, focal_gamma: float = 2.0) -> None:
        super().__init__(n_outputs)
        self.focal_gamma = focal_gamma
