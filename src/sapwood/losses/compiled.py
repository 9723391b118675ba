"""Losses whose loops over rows are compiled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sapwood.losses.base import Loss, mean, raw_of
from sapwood.runtime import kernels
from sapwood.trees.gradients import Records, Scale


class KernelLoss(Loss):
    """A loss of one output with a kernel.

    Attributes
    ----------
    kind : the number of the kernel
    parameter : the kernel's parameter, for losses that have one
    best_is_mean : whether the constant with the least loss stands for the mean of the targets
    """

    kind: ClassVar[int]
    best_is_mean = False

    @property
    def parameter(self) -> float:
        return float(getattr(self, self.settings[0])) if self.settings else 0.0

    def loss(self, y: np.ndarray, raw: np.ndarray) -> np.ndarray:
        return self.weighted_values(y, raw[None], None, 1)

    def gradients(self, y: np.ndarray, raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        gradients, hessians = self.weighted_gradients(y, raw[None], None, 1)
        return gradients[0], hessians[0]

    def base_score(self, y: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        return np.array([raw_of(mean(y, weight), self.link)]) if self.best_is_mean else super().base_score(y, weight)

    def records(
        self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, n_threads: int, headroom: float = 1.0
    ) -> Iterator[Records]:
        single = self.constant_hessian and weight is None
        scale = Scale.covering(*self._extent(y, raw[0], weight, n_threads), constant_hessian=single, headroom=headroom)
        out = Records(self._memory(1, len(y) * scale.record_size)[0], len(y), scale)
        to = scale.gradient, scale.hessian, out.data
        out.sums = kernels.loss_records(self.kind, y, raw[0], weight, *to, n_threads, self.parameter)
        yield out

    def _extent(self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, n_threads: int) -> tuple[float, float]:
        if self.bounds is not None:
            most = 1.0 if weight is None else float(weight.max())
            return self.bounds[0] * most, self.bounds[1] * most
        return self._finite(kernels.loss_extent(self.kind, y, raw, weight, n_threads, self.parameter))

    def weighted_gradients(
        self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, n_threads: int
    ) -> tuple[np.ndarray, np.ndarray]:
        gradients, hessians = np.empty((1, len(y))), np.empty((1, len(y)))
        kernels.loss_gradients(self.kind, y, raw[0], weight, gradients[0], hessians[0], n_threads, self.parameter)
        return gradients, hessians

    def weighted_values(self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, n_threads: int) -> np.ndarray:
        values = np.empty(len(y))
        kernels.loss_values(self.kind, y, raw[0], weight, values, n_threads, self.parameter)
        return values
