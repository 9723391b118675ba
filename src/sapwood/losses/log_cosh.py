from sapwood.losses.compiled import CompiledLoss


class LogCosh(CompiledLoss):
    """d = raw - y. loss = log(cosh(d)); gradient = tanh(d).

    The second derivative, 1 - tanh(d)^2, vanishes for outliers, and Newton's step with it would be far too long. tanh(d) / d stands in: the
    curvature of the parabola that has the same value and slope and lies above the loss everywhere.
    """

    name = "log_cosh"
    kind = 9
    exact_hessian = False
