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
    """One output's targets. Where some are missing, `rows` are those that are there, and the weights of the others are zero."""

    y: np.ndarray  # (n_rows,) float64
    weight: np.ndarray | None  # (n_rows,) float64
    rows: np.ndarray | None = None  # ascending; None where no row of any partition misses a target
    any: bool = True  # whether there is a target in any partition

    def take(self, of_rows: Any) -> Any:
        """Of an array over rows (or None), the part where there are targets."""
        return of_rows if of_rows is None or self.rows is None else of_rows[self.rows]


class MultiOutputLoss(Loss):
    """The same loss for each column of y, (n_rows, n_outputs). NaN is a missing target: it has no gradient and no part in any mean."""

    constant_hessian: bool
    renews_leaves: bool

    def __init__(self, parts: list[Loss]) -> None:
        super().__init__(len(parts))
        first = parts[0]
        self.parts = parts
        self.name, self.link = first.name, first.link
        self.constant_hessian, self.renews_leaves = first.constant_hessian, first.renews_leaves
        self.min_hessian_per_sample, self.max_step = first.min_hessian_per_sample, first.max_step
        self._known: list[tuple[np.ndarray, np.ndarray | None, list[OutputTargets]]] = []

    @property
    def has_loss_values(self) -> bool:
        return all(part.has_loss_values for part in self.parts)

    def before_round(self, key: int) -> None:
        for part in self.parts:
            part.before_round(key)

    def encoding_targets(self, y: np.ndarray, execution: Execution = SERIAL) -> np.ndarray:
        columns = [np.where(np.isnan(column), execution.exact_mean(column[~np.isnan(column)]), column) for column in y.T]
        return np.ascontiguousarray(columns)

    def check_targets(self, y: np.ndarray) -> None:
        self.check_all_targets(y, SERIAL)

    def check_all_targets(self, y: np.ndarray, execution: Execution) -> None:
        for k, (part, column) in enumerate(zip(self.parts, y.T, strict=True)):
            there = column[~np.isnan(column)]
            if not execution.any(len(there) > 0):
                raise ValueError(f"y has no target in column {k}: all of them are missing")
            try:
                part.check_all_targets(there, execution)
            except ValueError as error:
                raise ValueError(f"{error} (rows that have a target in column {k})") from None

    def base_score(self, y: np.ndarray, weight: np.ndarray | None, execution: Execution = SERIAL) -> np.ndarray:
        parts = zip(self.parts, self._targets(y, weight, execution), strict=True)
        return np.concatenate([part.base_score(t.take(t.y), t.take(t.weight), execution) for part, t in parts])

    def base_score_with_offset(
        self, y: np.ndarray, weight: np.ndarray | None, offset: np.ndarray | None, execution: Execution = SERIAL
    ) -> np.ndarray:
        if offset is None:
            return self.base_score(y, weight, execution)
        parts = zip(self.parts, self._targets(y, weight, execution), offset, strict=True)
        return np.concatenate(
            [part.base_score_with_offset(t.take(t.y), t.take(t.weight), t.take(of_rows)[None], execution) for part, t, of_rows in parts]
        )

    def fixed_gradients(
        self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution, headroom: float = 1.0
    ) -> Iterator[FixedGradients]:
        for k, (part, target) in enumerate(zip(self.parts, self._targets(y, weight, execution), strict=True)):
            for gradients in part.fixed_gradients(target.y, raw[k : k + 1], target.weight, execution, headroom):
                gradients.rows = target.rows
                yield gradients

    def weighted_gradients(
        self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution
    ) -> tuple[np.ndarray, np.ndarray]:
        parts = zip(self.parts, self._targets(y, weight, execution), raw, strict=True)
        found = [part.weighted_gradients(t.y, of_rows[None], t.weight, execution) for part, t, of_rows in parts]
        return np.concatenate([gradients for gradients, _ in found]), np.concatenate([hessians for _, hessians in found])

    def leaf_values(self, rows: LeafRows) -> np.ndarray:
        return self.best_leaf_values(rows)

    def best_leaf_values(self, rows: LeafRows) -> np.ndarray:
        k = rows.output
        t = self._targets(rows.y, rows.weight, rows.execution)[k]
        raw, leaf = t.take(rows.raw[k])[None], t.take(rows.leaf)
        return self.parts[k].best_leaf_values(replace(rows, y=t.take(t.y), raw=raw, weight=t.take(t.weight), leaf=leaf, output=0))

    def mean(self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution) -> float:
        """The mean over outputs of each one's mean loss."""
        parts = zip(self.parts, self._targets(y, weight, execution), raw, strict=True)
        means = [part.mean(t.take(t.y), t.take(of_rows)[None], t.take(t.weight), execution) for part, t, of_rows in parts if t.any]
        return sum(means) / len(means) if means else 0.0

    def _targets(self, y: np.ndarray, weight: np.ndarray | None, execution: Execution) -> list[OutputTargets]:
        """Each output's own; kept for the arrays seen before, which are those of training and those of validation."""
        for known_y, known_weight, targets in self._known:
            if known_y is y and known_weight is weight:
                return targets
        targets = self._split(y, weight, execution)
        self._known = [*self._known[-3:], (y, weight, targets)]
        return targets

    def _split(self, y: np.ndarray, weight: np.ndarray | None, execution: Execution) -> list[OutputTargets]:
        there = ~np.isnan(y.T)
        if not execution.any(not there.all()):
            return [OutputTargets(column, weight) for column in np.ascontiguousarray(y.T)]
        return [_masked(column, weight, mask, execution) for column, mask in zip(y.T, there, strict=True)]


def _masked(y: np.ndarray, weight: np.ndarray | None, mask: np.ndarray, execution: Execution) -> OutputTargets:
    """A missing target becomes one that the loss can deal with, of weight zero: the first of all partitions."""
    rows = np.flatnonzero(mask)
    weight = mask.astype(np.float64) if weight is None else weight * mask
    first = execution.gather(y[rows[:1]])
    return OutputTargets(np.where(mask, y, first[0] if len(first) else 1.0), weight, rows, len(first) > 0)
