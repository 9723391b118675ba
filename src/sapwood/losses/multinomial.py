from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from sapwood.losses.base import EPSILON, Loss, largest_weight
from sapwood.runtime import kernels
from sapwood.runtime.execution import SERIAL, Execution
from sapwood.trees.gradients import FixedGradients, GradientScale

MOST_TURNS, CLOSE = 200, 1e-12  # of iterative scaling
DESCRIBING = 8  # classes whose shares describe the levels of a category, the most frequent ones
AT_ONCE = 1 << 22  # (row, class) pairs, so that an interrupt need not wait long


class MultinomialLogLoss(Loss):
    """K classes, y in {0, ..., K-1}, p = softmax(raw). loss = -log p_y; gradient_k = p_k - [y = k]; hessian_k = p_k * (1 - p_k)."""

    name = "multinomial_log_loss"
    link = "softmax"
    bounds: tuple[float, float] = (1.0, 0.25)
    min_hessian_per_sample = 0.02  # less than for two classes: each of many has a small share
    max_step = 4.0

    def shares(self, y: np.ndarray) -> np.ndarray:
        """(n_outputs, n_rows): what part of each row belongs to each class."""
        return (y == np.arange(self.n_outputs)[:, None]).astype(np.float64)

    def encoding_targets(self, y: np.ndarray, execution: Execution = SERIAL) -> np.ndarray:
        shares = self.shares(y)
        if self.n_outputs <= DESCRIBING:
            return shares
        sums = np.array(execution.exact_sums(np.ascontiguousarray(part) for part in shares))
        return shares[np.sort(np.argsort(-sums, kind="stable")[:DESCRIBING])]

    def base_score(self, y: np.ndarray, weight: np.ndarray | None, execution: Execution = SERIAL) -> np.ndarray:
        logs = [math.log(share) for share in self._means(self.shares(y), weight, execution)]
        return np.array(logs) - math.fsum(logs) / self.n_outputs

    def best_shift(
        self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, start: np.ndarray, execution: Execution = SERIAL
    ) -> np.ndarray:
        """By iterative scaling: each class is raised by as much as it is too rare."""
        wanted = self._means(self.shares(y), weight, execution)
        shift = start.astype(np.float64)
        for _ in range(MOST_TURNS):
            found = self._means(probabilities(raw + shift[:, None], execution), weight, execution)
            step = np.array([math.log(a / b) for a, b in zip(wanted, found, strict=True)])
            shift += step
            if np.abs(step).max() < CLOSE:
                break
        return shift - math.fsum(shift) / self.n_outputs

    def _means(self, shares: np.ndarray, weight: np.ndarray | None, execution: Execution) -> list[float]:
        return [min(max(mean, EPSILON), 1 - EPSILON) for mean in execution.exact_means(list(np.ascontiguousarray(shares)), weight)]

    def fixed_gradients(
        self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution, headroom: float = 1.0
    ) -> Iterator[FixedGradients]:
        most = largest_weight(weight, execution)
        scale = GradientScale.covering(self.bounds[0] * most, self.bounds[1] * most, headroom=headroom)
        planes = self._memory(self.n_outputs, len(y) * scale.bytes_per_row)
        sums = np.zeros((self.n_outputs, 3), dtype=object)  # of Python's own integers
        step = max(1, AT_ONCE // self.n_outputs)
        target = scale.destination(planes)
        for first in range(0, len(y), step):
            last = min(len(y), first + step)
            part = kernels.softmax_records(y, raw, weight, target, first=first, last=last, n_threads=execution.n_threads)
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
        gradients, hessians = p - self.shares(y), p * (1 - p)
        return (gradients, hessians) if weight is None else (gradients * weight, hessians * weight)

    def weighted_values(self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution) -> np.ndarray:
        values = np.empty(len(y))
        kernels.softmax_values(y, raw, weight, values, execution.n_threads)
        return values


def probabilities(raw: np.ndarray, execution: Execution) -> np.ndarray:
    """The softmax of (n_outputs, n_rows) raw predictions, in the same shape."""
    p = np.array(raw.T, order="C")
    kernels.apply_link("softmax", p, execution.n_threads)
    return np.ascontiguousarray(p.T)
