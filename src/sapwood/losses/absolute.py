import numpy as np

from sapwood import kernels
from sapwood.losses.base import Loss


class AbsoluteError(Loss):
    """loss = |raw - y|; gradient = sign(raw - y); hessian = 1; the best step of a leaf is the median of its residuals."""

    name = "absolute_error"
    kind = 1
    constant_hessian = True
    renews_leaves = True

    def base_score(self, y: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        everywhere = np.zeros(len(y), dtype=np.uint32)
        return self.leaf_values(y, np.zeros((1, len(y))), weight, everywhere, 1, 1)

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
        kernels.leaf_quantiles(leaf_of_row.astype(np.uint32, copy=False), y, raw[0], weight, 0.5, values, n_threads)
        return values
