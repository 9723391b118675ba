from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sapwood.losses.base import Loss
from sapwood.runtime.execution import SERIAL, Execution
from sapwood.trees.gradients import FixedGradients


class MultiLabelLoss(Loss):
    """Mean of a binary loss per label. y is (n_rows, n_labels) of zeros and ones; a row may have any number of labels."""

    losses: list[Loss]

    def __init__(self, losses: list[Loss]) -> None:
        super().__init__(len(losses))
        first = losses[0]
        self.losses, self.name, self.link = losses, first.name, first.link
        self.min_hessian_per_sample, self.max_step = first.min_hessian_per_sample, first.max_step

    @property
    def has_loss_values(self) -> bool:
        return self.losses[0].has_loss_values

    def base_score(self, y: np.ndarray, weight: np.ndarray | None, execution: Execution = SERIAL) -> np.ndarray:
        return np.concatenate([loss.base_score(column, weight, execution) for loss, column in self._columns(y)])

    def base_score_with_offset(
        self, y: np.ndarray, weight: np.ndarray | None, offset: np.ndarray | None, execution: Execution = SERIAL
    ) -> np.ndarray:
        if offset is None:
            return self.base_score(y, weight, execution)
        return np.concatenate(
            [loss.base_score_with_offset(column, weight, offset[k : k + 1], execution) for k, (loss, column) in enumerate(self._columns(y))]
        )

    def weighted_gradients(
        self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution
    ) -> tuple[np.ndarray, np.ndarray]:
        found = [loss.weighted_gradients(column, raw[k : k + 1], weight, execution) for k, (loss, column) in enumerate(self._columns(y))]
        gradients, hessians = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return gradients, hessians

    def fixed_gradients(
        self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution, headroom: float = 1.0
    ) -> Iterator[FixedGradients]:
        for k, (loss, column) in enumerate(self._columns(y)):
            yield from loss.fixed_gradients(column, raw[k : k + 1], weight, execution, headroom)

    def mean(self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution) -> float:
        means = [loss.mean(column, raw[k : k + 1], weight, execution) for k, (loss, column) in enumerate(self._columns(y))]
        return sum(means) / len(means)

    def _columns(self, y: np.ndarray) -> Iterator[tuple[Loss, np.ndarray]]:
        return zip(self.losses, np.ascontiguousarray(y.T), strict=True)
