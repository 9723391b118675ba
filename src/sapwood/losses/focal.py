from typing import ClassVar

from sapwood.losses.logistic import LogLoss


class Focal(LogLoss):
    """Two classes, p = 1 / (1 + exp(-raw)), q = 1 - p. Where y = 1: loss = -q^gamma * log(p): rows that are nearly right count less.

    The second derivative, p q^gamma ((2 gamma + 1) q + gamma log(p) (q - gamma p)), is negative where a row is very wrong; its last term
    is left out where it is negative. Where y = 0, p and q change places; between, the two are mixed.
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
