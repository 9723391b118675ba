from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sapwood.losses.base import Loss
from sapwood.losses.leaf_rows import LeafRows
from sapwood.runtime.execution import SERIAL, Execution
from sapwood.trees.gradients import FixedGradients


@dataclass(frozen=True)
class OutputTargets:
    """Targets of one output. If some are missing, `rows` are those with a target, and the weights of the others are 0."""

    y: np.ndarray  # (n_rows,) float64
    weight: np.ndarray | None  # (n_rows,) float64
    rows: np.ndarray | None = None  # ascending; None if no row of any partition lacks a target
    any_target: bool = True  # whether any row of any partition has a target

    def take(self, of_rows: Any) -> Any:
        """Return the entries of the rows with targets. None stays None."""
        return of_rows if of_rows is None or self.rows is None else of_rows[self.rows]


class MultiOutputLoss(Loss):
    """The same loss for each column of y, (n_rows, n_outputs). NaN is a missing target, which is ignored."""

    constant_hessian: bool
    renews_leaves: bool
    _cached_targets: tuple[tuple[np.ndarray, np.ndarray | None, list[OutputTargets]], ...] = ()

    def __init__(self, losses: list[Loss]) -> None:
        super().__init__(len(losses))
        first = losses[0]
        self.losses = losses
        self.name, self.link = first.name, first.link
        self.constant_hessian, self.renews_leaves = first.constant_hessian, first.renews_leaves
        self.min_hessian_per_sample, self.max_step = first.min_hessian_per_sample, first.max_step

    @property
    def has_loss_values(self) -> bool:
        return all(loss.has_loss_values for loss in self.losses)

    def before_round(self, key: int) -> None:
        for loss in self.losses:
            loss.before_round(key)

    def encoding_targets(self, y: np.ndarray, execution: Execution = SERIAL) -> np.ndarray:
        columns = [np.where(np.isnan(column), execution.exact_mean(column[~np.isnan(column)]), column) for column in y.T]
        return np.ascontiguousarray(columns)

    def check_targets(self, y: np.ndarray) -> None:
        self.check_all_targets(y, SERIAL)

    def check_all_targets(self, y: np.ndarray, execution: Execution) -> None:
        for k, (loss, column) in enumerate(zip(self.losses, y.T, strict=True)):
            present = column[~np.isnan(column)]
            if not execution.any(len(present) > 0):
                raise ValueError(f"y has no target in column {k}: all its values are missing; remove the column")
            try:
                loss.check_all_targets(present, execution)
            except ValueError as error:
                raise ValueError(f"{error} (row among those with a target in column {k})") from None

    def base_score(self, y: np.ndarray, weight: np.ndarray | None, execution: Execution = SERIAL) -> np.ndarray:
        outputs = zip(self.losses, self._targets(y, weight, execution), strict=True)
        return np.concatenate([loss.base_score(t.take(t.y), t.take(t.weight), execution) for loss, t in outputs])

    def base_score_with_offset(
        self, y: np.ndarray, weight: np.ndarray | None, offset: np.ndarray | None, execution: Execution = SERIAL
    ) -> np.ndarray:
        if offset is None:
            return self.base_score(y, weight, execution)
        outputs = zip(self.losses, self._targets(y, weight, execution), offset, strict=True)
        found = [loss.base_score_with_offset(t.take(t.y), t.take(t.weight), t.take(own)[None], execution) for loss, t, own in outputs]
        return np.concatenate(found)

    def fixed_gradients(
        self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution, headroom: float = 1.0
    ) -> Iterator[FixedGradients]:
        for k, (loss, target) in enumerate(zip(self.losses, self._targets(y, weight, execution), strict=True)):
            for gradients in loss.fixed_gradients(target.y, raw[k : k + 1], target.weight, execution, headroom):
                gradients.rows = target.rows
                yield gradients

    def weighted_gradients(
        self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution
    ) -> tuple[np.ndarray, np.ndarray]:
        outputs = zip(self.losses, self._targets(y, weight, execution), raw, strict=True)
        found = [loss.weighted_gradients(t.y, of_output[None], t.weight, execution) for loss, t, of_output in outputs]
        return np.concatenate([gradients for gradients, _ in found]), np.concatenate([hessians for _, hessians in found])

    def leaf_values(self, rows: LeafRows) -> np.ndarray:
        return self.best_leaf_values(rows)

    def best_leaf_values(self, rows: LeafRows) -> np.ndarray:
        k = rows.output
        t = self._targets(rows.y, rows.weight, rows.execution)[k]
        raw, leaf = t.take(rows.raw[k])[None], t.take(rows.leaf)
        return self.losses[k].best_leaf_values(replace(rows, y=t.take(t.y), raw=raw, weight=t.take(t.weight), leaf=leaf, output=0))

    def mean(self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution) -> float:
        """Return the mean over outputs of their mean losses."""
        means = [mean for mean in self.means(y, raw, weight, execution) if mean is not None]
        return sum(means) / len(means) if means else 0.0

    def means(self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution) -> list[float | None]:
        """Return the mean loss of each output; None if no row has a target."""
        outputs = zip(self.losses, self._targets(y, weight, execution), raw, strict=True)
        return [
            loss.mean(t.take(t.y), t.take(of_output)[None], t.take(t.weight), execution) if t.any_target else None
            for loss, t, of_output in outputs
        ]

    def _targets(self, y: np.ndarray, weight: np.ndarray | None, execution: Execution) -> list[OutputTargets]:
        """Return the targets of each output; cached for the last arrays, which are those of the training and evaluation sets."""
        for cached_y, cached_weight, targets in self._cached_targets:
            if cached_y is y and cached_weight is weight:
                return targets
        targets = self._split(y, weight, execution)
        self._cached_targets = (*self._cached_targets[-3:], (y, weight, targets))
        return targets

    def _split(self, y: np.ndarray, weight: np.ndarray | None, execution: Execution) -> list[OutputTargets]:
        present = ~np.isnan(y.T)
        if not execution.any(not present.all()):
            return [OutputTargets(column, weight) for column in np.ascontiguousarray(y.T)]
        return [_masked(column, weight, mask, execution) for column, mask in zip(y.T, present, strict=True)]


def _masked(y: np.ndarray, weight: np.ndarray | None, mask: np.ndarray, execution: Execution) -> OutputTargets:
    """Replace missing targets by a valid one (the first of all partitions) with weight 0."""
    rows = np.flatnonzero(mask)
    weight = mask.astype(np.float64) if weight is None else weight * mask
    first = execution.gather(y[rows[:1]])
    return OutputTargets(np.where(mask, y, first[0] if len(first) else 1.0), weight, rows, len(first) > 0)
