from sapwood.losses.compiled import CompiledLoss


class LogCosh(CompiledLoss):
    """Log-cosh loss. d = raw - y; loss = log(cosh(d)); gradient = tanh(d); hessian = tanh(d) / d.

    The second derivative, 1 - tanh(d)^2, vanishes for outliers, which makes Newton steps too long. The hessian used is the curvature of the
    parabola that touches the loss at d and is above it elsewhere.
    """

    name = "log_cosh"
    kind = 9
    exact_hessian = False
