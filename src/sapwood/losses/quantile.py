from typing import ClassVar

import numpy as np

from sapwood import kernels
from sapwood.losses.kernel import KernelLoss


class QuantileLoss(KernelLoss):
    """d = y - raw. loss = quantile * d where d > 0, else (quantile - 1) * d; the best step of a leaf is the quantile of its residuals.

    There is no second derivative: a one stands in for it.
    """

    name = "quantile"
    kind = 6
    settings: ClassVar[tuple[str, ...]] = ("quantile",)
    constant_hessian = True
    exact_hessian = False
    renews_leaves = True

    def __init__(self, n_outputs: int = 1, quantile: float | None = None) -> None:
        super().__init__(n_outputs)
        self.quantile = 0.5 if quantile is None else quantile

    def base_score(self, y: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        return self.best_shift(y, np.zeros((1, len(y))), weight, np.zeros(1))

    def leaf_values(
        self,
        y: np.ndarray,
        raw: np.ndarray,
        weight: np.ndarray | None,
        leaf_of_row: np.ndarray,
        n_leaves: int,
        n_threads: int,
    ) -> np.ndarray:
        values = np.empty(n_leaves)
        kernels.leaf_quantiles(leaf_of_row.astype(np.uint32, copy=False), y, raw[0], weight, self.quantile, values, n_threads)
        return values
