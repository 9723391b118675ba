from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.losses.base import Loss
from sapwood.losses.multinomial import MultinomialLogLoss
from sapwood.runtime import kernels
from sapwood.runtime.execution import Execution


class SoftLabelLogLoss(MultinomialLogLoss):
    """Multinomial log-loss with soft labels: y is (n_rows, K), and each row sums to 1. p = softmax(raw).

    loss = -sum(y_k * log p_k); gradient_k = p_k - y_k; hessian_k = p_k * (1 - p_k).
    """

    name = "shares_log_loss"

    fixed_gradients = Loss.fixed_gradients

    def read_targets(self, y: Any, n_rows: int, name: str) -> np.ndarray:
        return np.ascontiguousarray(y, dtype=np.float64)

    def check_targets(self, y: np.ndarray) -> None:
        if y.ndim != 2 or y.shape[1] != self.n_outputs or (y < 0).any() or (np.abs(y.sum(axis=1) - 1) > 1e-6).any():
            raise ValueError(
                f"loss='shares_log_loss' requires y with {self.n_outputs} columns of non-negative numbers, where each row sums to 1"
            )

    def class_fractions(self, y: np.ndarray) -> np.ndarray:
        return y.T

    def weighted_values(self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution) -> np.ndarray:
        values = np.zeros(len(y))
        for k in range(self.n_outputs):
            own = np.empty(len(y))
            kernels.softmax_values(kernels.LossRows(np.full(len(y), float(k)), raw, weight), own, execution.n_threads)
            values += y[:, k] * own
        return values
