from __future__ import annotations

from typing import ClassVar

import numpy as np

from sapwood.losses.base import EPSILON, Loss
from sapwood.losses.functions import exp, log, power
from sapwood.losses.multinomial import MultinomialLogLoss, probabilities
from sapwood.runtime import kernels
from sapwood.runtime.execution import SERIAL, Execution


class MultinomialFocal(Loss):
    """Multinomial focal loss, y in {0, ..., K-1}: well-classified rows have a lower weight. p = softmax(raw), t = p_y.

    loss = -(1 - t)^gamma * log(t); gradient_k = c * (p_k - [y = k]) with c = (1 - t)^gamma - gamma * t * (1 - t)^(gamma - 1) * log(t).
    The second derivative can be negative; hessian_k = c * p_k * (1 - p_k) treats c as a constant.
    """

    name = "multinomial_focal"
    link = "softmax"
    settings: ClassVar[tuple[str, ...]] = ("focal_gamma",)
    exact_hessian = False
    min_hessian_per_sample = 0.02
    max_step = 4.0

    def __init__(self, n_outputs: int = 1, focal_gamma: float = 2.0) -> None:
        super().__init__(n_outputs)
        self.focal_gamma = focal_gamma

    def encoding_targets(self, y: np.ndarray, execution: Execution = SERIAL) -> np.ndarray:
        return MultinomialLogLoss(self.n_outputs).encoding_targets(y, execution)

    def base_score(self, y: np.ndarray, weight: np.ndarray | None, execution: Execution = SERIAL) -> np.ndarray:
        """Return the base score from one row for each class: rows of a class have the same derivatives at a constant prediction."""
        weight = np.ones(len(y)) if weight is None else weight
        of_classes = execution.exact_sums(weight[y == k] for k in range(self.n_outputs))
        return super().base_score(np.arange(float(self.n_outputs)), np.array(of_classes))

    def loss(self, y: np.ndarray, raw: np.ndarray) -> np.ndarray:
        nll = np.empty(len(y))  # -log(t), also if t underflows
        kernels.softmax_values(kernels.LossRows(y, np.ascontiguousarray(raw.T), None), nll, 1)
        return power(1 - exp(-nll), self.focal_gamma) * nll

    def gradients(self, y: np.ndarray, raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        p, gamma = probabilities(raw.T, SERIAL).T, self.focal_gamma
        hit = y[:, None] == np.arange(self.n_outputs)
        t = p[hit]
        rest = np.maximum(1 - t, EPSILON)
        c = power(rest, gamma) - gamma * t * power(rest, gamma - 1) * log(np.maximum(t, EPSILON**20))
        return c[:, None] * (p - hit), c[:, None] * (p * (1 - p))
