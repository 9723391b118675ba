from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from sapwood import kernels
from sapwood.losses.base import Loss, mean
from sapwood.trees.records import Records, Scale

EPSILON = 2.0**-52
AT_ONCE = 1 << 22  # (row, class) pairs, so that an interrupt need not wait long


class MultinomialLogLoss(Loss):
    """K classes, y in {0, ..., K-1}, p = softmax(raw). loss = -log p_y; gradient_k = p_k - [y = k]; hessian_k = p_k * (1 - p_k)."""

    name = "multinomial_log_loss"
    link = "softmax"
    bounds = (1.0, 0.25)
    least_hessian = 0.02  # less than for two classes: each of many has a small share
    max_step = 4.0

    def base_score(self, y: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        logs = [math.log(min(max(mean((y == k).astype(np.float64), weight), EPSILON), 1 - EPSILON)) for k in range(self.n_outputs)]
        return np.array(logs) - math.fsum(logs) / self.n_outputs

    def records(
        self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, n_threads: int, headroom: float = 1.0
    ) -> Iterator[Records]:
        scale = Scale.covering(*self._extent(y, raw, weight, n_threads), headroom=headroom)
        planes = self._memory(self.n_outputs, len(y) * scale.record_size)
        parts = []
        step = max(1, AT_ONCE // self.n_outputs)
        for first in range(0, len(y), step):
            last = min(len(y), first + step)
            parts.append(kernels.softmax_records(y, raw, weight, scale.gradient, scale.hessian, planes, first, last, n_threads))
        sums = np.array(parts, dtype=object).sum(axis=0)  # of Python's own integers
        for data, output_sums in zip(planes, sums, strict=True):
            yield Records(data, len(y), scale, tuple(output_sums))

    def _values(self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, out: np.ndarray, n_threads: int) -> None:
        kernels.softmax_values(y, raw, weight, out, n_threads)
