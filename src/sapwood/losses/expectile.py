from typing import ClassVar

from sapwood.losses.compiled import CompiledLoss


class Expectile(CompiledLoss):
    """Expectile. w = expectile if raw < y, else 1 - expectile. loss = w * (raw - y)^2 / 2; gradient = w * (raw - y); hessian = w."""

    name = "expectile"
    kind = 7
    settings: ClassVar[tuple[str, ...]] = ("expectile",)

    def __init__(self, n_outputs: int = 1, expectile: float = 0.5) -> None:
        super().__init__(n_outputs)
        self.expectile = expectile
