from typing import ClassVar

import numpy as np

from sapwood.losses.compiled import CompiledLoss
from sapwood.losses.leaf_rows import LeafRows
from sapwood.runtime import kernels


class QuantileLoss(CompiledLoss):
    """Quantile (pinball) loss. d = y - raw; loss = quantile * d if d > 0, else (quantile - 1) * d.

    A leaf value is the quantile of the residuals. The second derivative is zero, so the hessian is set to 1.
    """

    name = "quantile"
    kind = 6
    settings: ClassVar[tuple[str, ...]] = ("quantile",)
    constant_hessian = True
    exact_hessian = False
    renews_leaves = True

    def __init__(self, n_outputs: int = 1, quantile: float | None = None) -> None:
        super().__init__(n_outputs)
        self.quantile: float = 0.5 if quantile is None else quantile

    def leaf_values(self, rows: LeafRows) -> np.ndarray:
        values, leaf = np.empty(rows.n_leaves), rows.leaf.astype(np.uint32, copy=False)
        n_threads = rows.execution.n_threads
        kernels.leaf_quantiles(leaf, kernels.LossRows(rows.y, rows.raw[0], rows.weight), self.quantile, values, n_threads)
        return values
