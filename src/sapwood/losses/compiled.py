"""Losses with compiled loops over rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sapwood.losses.base import Loss, largest_weight
from sapwood.runtime import kernels
from sapwood.runtime.execution import SERIAL, Execution
from sapwood.trees.gradients import FixedGradients, GradientScale


class CompiledLoss(Loss):
    """Loss of one output that is computed by a kernel.

    Attributes
    ----------
    kind : number of the loss in the kernels
    parameter : parameter of the kernel; 0 for losses without one
    base_score_is_mean : whether the base score is the link function of the mean target
    """

    kind: ClassVar[int]
    base_score_is_mean = False

    @property
    def parameter(self) -> float:
        return float(getattr(self, self.settings[0])) if self.settings else 0.0

    @property
    def _native(self) -> kernels.Loss:
        return kernels.Loss(self.kind, self.parameter)

    def loss(self, y: np.ndarray, raw: np.ndarray) -> np.ndarray:
        return self.weighted_values(y, raw[None], None, SERIAL)

    def gradients(self, y: np.ndarray, raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        gradients, hessians = self.weighted_gradients(y, raw[None], None, SERIAL)
        return gradients[0], hessians[0]

    def base_score(self, y: np.ndarray, weight: np.ndarray | None, execution: Execution = SERIAL) -> np.ndarray:
        return self.initial_guess(y, weight, execution) if self.base_score_is_mean else super().base_score(y, weight, execution)

    def fixed_gradients(
        self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution, headroom: float = 1.0
    ) -> Iterator[FixedGradients]:
        single = self.constant_hessian and weight is None
        scale = GradientScale.covering(*self._extent(y, raw[0], weight, execution), constant_hessian=single, headroom=headroom)
        data = self._buffer(1, len(y) * scale.bytes_per_row)[0]
        rows = kernels.LossRows(y, raw[0], weight)
        sums = kernels.loss_fixed_gradients(self._native, rows, scale.destination(data), execution.n_threads)
        yield FixedGradients.of(data, scale, sums, execution)

    def _extent(self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution) -> tuple[float, float]:
        if self.bounds is not None:
            most = largest_weight(weight, execution)
            return self.bounds[0] * most, self.bounds[1] * most
        extent = kernels.loss_extent(self._native, kernels.LossRows(y, raw, weight), execution.n_threads)
        return self._check_finite(execution.max(np.array(extent)).tolist())

    def weighted_gradients(
        self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution
    ) -> tuple[np.ndarray, np.ndarray]:
        gradients, hessians = np.empty((1, len(y))), np.empty((1, len(y)))
        rows = kernels.LossRows(y, raw[0], weight)
        kernels.loss_gradients(self._native, rows, gradients[0], hessians[0], execution.n_threads)
        return gradients, hessians

    def weighted_values(self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution) -> np.ndarray:
        values = np.empty(len(y))
        kernels.loss_values(self._native, kernels.LossRows(y, raw[0], weight), values, execution.n_threads)
        return values
