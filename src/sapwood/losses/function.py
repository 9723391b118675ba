from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sapwood.losses.base import Loss


class FunctionLoss(Loss):
    """Loss from a function (y, raw) -> (gradient, hessian). The loss value is unknown, so early stopping needs a scorer."""

    exact_hessian = False

    def __init__(self, function: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]], n_outputs: int = 1) -> None:
        super().__init__(n_outputs)
        self.function = function

    def gradients(self, y: np.ndarray, raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        result = self.function(y, raw)
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            name = getattr(self.function, "__name__", type(self.function).__name__)
            raise TypeError(
                f"loss={name} must be a function (y, raw) -> (gradient, hessian); it returned {type(result).__name__}. For a loss of "
                "scikit-learn use the name of ours, such as 'squared_error' or 'log_loss'"
            )
        return result[0], result[1]
