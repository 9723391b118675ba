from typing import ClassVar

from sapwood.losses.quantile import QuantileLoss


class AbsoluteError(QuantileLoss):
    """Absolute error. loss = |raw - y|; gradient = sign(raw - y); a leaf value is the median of the residuals.

    The second derivative is zero, so the hessian is set to 1.
    """

    name = "absolute_error"
    kind = 1
    settings: ClassVar[tuple[str, ...]] = ()
