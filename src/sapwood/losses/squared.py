from sapwood.losses.compiled import CompiledLoss


class SquaredError(CompiledLoss):
    """Squared error. loss = (raw - y)^2 / 2; gradient = raw - y; hessian = 1."""

    name = "squared_error"
    kind = 0
    constant_hessian = True
    base_score_is_mean = True
