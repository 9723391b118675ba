from typing import ClassVar

import numpy as np

from sapwood import kernels
from sapwood.losses.kernel import KernelLoss


class Huber(KernelLoss):
    """d = raw - y. loss = d^2 / 2 where |d| <= delta, else delta * (|d| - delta / 2); gradient = d, at most delta.

    A one stands in for the second derivative, which is zero beyond delta. Leaf values are those with the least loss: where the gradients
    of a leaf's rows sum up to zero.
    """

    name = "huber"
    kind = 5
    settings: ClassVar[tuple[str, ...]] = ("huber_delta",)
    constant_hessian = True
    exact_hessian = False
    renews_leaves = True

    def __init__(self, n_outputs: int = 1, huber_delta: float = 1.0) -> None:
        super().__init__(n_outputs)
        self.huber_delta = huber_delta

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
        kernels.leaf_huber(leaf_of_row.astype(np.uint32, copy=False), y, raw[0], weight, float(self.huber_delta), values, n_threads)
        return values
