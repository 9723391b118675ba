from sapwood.losses.base import Loss


class SquaredError(Loss):
    """loss = (raw - y)^2 / 2; gradient = raw - y; hessian = 1."""

    name = "squared_error"
    kind = 0
    constant_hessian = True
