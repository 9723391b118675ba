from typing import ClassVar

import numpy as np

from sapwood.losses.compiled import CompiledLoss
from sapwood.losses.leaf_rows import LeafRows
from sapwood.runtime import kernels


class Huber(CompiledLoss):
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

    def leaf_values(self, rows: LeafRows) -> np.ndarray:
        values, leaf = np.empty(rows.n_leaves), rows.leaf.astype(np.uint32, copy=False)
        delta, n_threads = float(self.huber_delta), rows.execution.n_threads
        kernels.leaf_huber(leaf, rows.y, rows.raw[0], rows.weight, delta=delta, out=values, n_threads=n_threads)
        return values
