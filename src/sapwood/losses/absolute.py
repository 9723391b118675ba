from typing import ClassVar

from sapwood.losses.quantile import QuantileLoss


class AbsoluteError(QuantileLoss):
    """loss = |raw - y|; gradient = sign(raw - y); the best step of a leaf is the median of its residuals.

    There is no second derivative: a one stands in for it.
    """

    name = "absolute_error"
    kind = 1
    settings: ClassVar[tuple[str, ...]] = ()
