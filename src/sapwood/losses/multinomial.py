from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from sapwood.losses.base import EPSILON, Loss, largest_weight
from sapwood.runtime import kernels
from sapwood.runtime.execution import SERIAL, Execution
from sapwood.trees.gradients import FixedGradients, GradientScale

MAX_ITERATIONS, TOLERANCE = 200, 1e-12  # of iterative scaling
MAX_ENCODED_CLASSES = 8  # classes used as targets of target encoding: the most frequent
BLOCK_SIZE = 1 << 22  # (row, class) pairs per kernel call, so that an interrupt is handled soon


class MultinomialLogLoss(Loss):
    """Multinomial log-loss, y in {0, ..., K-1}; p = softmax(raw).

    loss = -log p_y; gradient_k = p_k - [y = k]; hessian_k = p_k * (1 - p_k).
    """

    name = "multinomial_log_loss"
    link = "softmax"
    bounds: tuple[float, float] = (1.0, 0.25)
    min_hessian_per_sample = 0.02  # lower than for two classes: each of many classes has a small probability
    max_step = 4.0

    def class_fractions(self, y: np.ndarray) -> np.ndarray:
        """Return the fraction of each row that belongs to each class, (n_outputs, n_rows): 1 for its class."""
        return (y == np.arange(self.n_outputs)[:, None]).astype(np.float64)

    def encoding_targets(self, y: np.ndarray, execution: Execution = SERIAL) -> np.ndarray:
        fractions = self.class_fractions(y)
        if self.n_outputs <= MAX_ENCODED_CLASSES:
            return fractions
        sums = np.array(execution.exact_sums(np.ascontiguousarray(part) for part in fractions))
        return fractions[np.sort(np.argsort(-sums, kind="stable")[:MAX_ENCODED_CLASSES])]

    def base_score(self, y: np.ndarray, weight: np.ndarray | None, execution: Execution = SERIAL) -> np.ndarray:
        logs = [math.log(mean) for mean in self._means(self.class_fractions(y), weight, execution)]
        return np.array(logs) - math.fsum(logs) / self.n_outputs

    def best_shift(
        self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, initial: np.ndarray, execution: Execution = SERIAL
    ) -> np.ndarray:
        """Return the best constants by iterative scaling: until the mean probability of each class is its frequency."""
        expected = self._means(self.class_fractions(y), weight, execution)
        shift = initial.astype(np.float64)
        for _ in range(MAX_ITERATIONS):
            found = self._means(probabilities(raw + shift[:, None], execution), weight, execution)
            step = np.array([math.log(a / b) for a, b in zip(expected, found, strict=True)])
            shift += step
            if np.abs(step).max() < TOLERANCE:
                break
        return shift - math.fsum(shift) / self.n_outputs

    def _means(self, fractions: np.ndarray, weight: np.ndarray | None, execution: Execution) -> list[float]:
        return [min(max(mean, EPSILON), 1 - EPSILON) for mean in execution.exact_means(list(np.ascontiguousarray(fractions)), weight)]

    def fixed_gradients(
        self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution, headroom: float = 1.0
    ) -> Iterator[FixedGradients]:
        most = largest_weight(weight, execution)
        scale = GradientScale.covering(self.bounds[0] * most, self.bounds[1] * most, headroom=headroom)
        planes = self._buffer(self.n_outputs, len(y) * scale.bytes_per_row)
        sums = np.zeros((self.n_outputs, 3), dtype=object)  # Python integers
        step = max(1, BLOCK_SIZE // self.n_outputs)
        rows, destination = kernels.LossRows(y, raw, weight), scale.destination(planes)
        for first in range(0, len(y), step):
            last = min(len(y), first + step)
            part = kernels.softmax_fixed_gradients(rows, destination, first=first, last=last, n_threads=execution.n_threads)
            sums += np.array(part, dtype=object)
        n_total, *totals = execution.totals((len(y), *sums.ravel()))
        for k, data in enumerate(planes):
            yield FixedGradients(data, n_total, scale, (totals[3 * k], totals[3 * k + 1], totals[3 * k + 2]))

    def loss(self, y: np.ndarray, raw: np.ndarray) -> np.ndarray:
        return self.weighted_values(y, np.ascontiguousarray(raw.T), None, SERIAL)

    def gradients(self, y: np.ndarray, raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        gradients, hessians = self.weighted_gradients(y, np.ascontiguousarray(raw.T), None, SERIAL)
        return gradients.T, hessians.T

    def weighted_gradients(
        self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution
    ) -> tuple[np.ndarray, np.ndarray]:
        p = probabilities(raw, execution)
        gradients, hessians = p - self.class_fractions(y), p * (1 - p)
        return (gradients, hessians) if weight is None else (gradients * weight, hessians * weight)

    def weighted_values(self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution) -> np.ndarray:
        values = np.empty(len(y))
        kernels.softmax_values(kernels.LossRows(y, raw, weight), values, execution.n_threads)
        return values


def probabilities(raw: np.ndarray, execution: Execution) -> np.ndarray:
    """Return the softmax of raw predictions, (n_outputs, n_rows)."""
    p = np.array(raw.T, order="C")
    kernels.apply_link("softmax", p, execution.n_threads)
    return np.ascontiguousarray(p.T)
