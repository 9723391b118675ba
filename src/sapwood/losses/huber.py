from typing import ClassVar

import numpy as np

from sapwood.losses.compiled import CompiledLoss
from sapwood.losses.leaf_rows import LeafRows
from sapwood.runtime import kernels


class Huber(CompiledLoss):
    """Huber loss. d = raw - y; loss = d^2 / 2 if |d| <= delta, else delta * (|d| - delta / 2); gradient = d, clipped to [-delta, delta].

    The second derivative is zero beyond delta, so the hessian is set to 1. Leaf values minimize the loss of the rows of a leaf.
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

    def leaf_values(self, rows: LeafRows) -> np.ndarray:
        values, leaf = np.empty(rows.n_leaves), rows.leaf.astype(np.uint32, copy=False)
        delta, n_threads = float(self.huber_delta), rows.execution.n_threads
        kernels.leaf_huber(leaf, kernels.LossRows(rows.y, rows.raw[0], rows.weight), delta, values, n_threads)
        return values
