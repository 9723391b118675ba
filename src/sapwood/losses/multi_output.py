from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sapwood.losses.base import Loss, mean
from sapwood.losses.leaf_rows import LeafRows
from sapwood.runtime.execution import SERIAL, Execution
from sapwood.trees.gradients import FixedGradients


@dataclass(frozen=True)
class OutputTargets:
    """One output's targets. Where some are missing, `rows` are those that are there, and the weights of the others are zero."""

    y: np.ndarray  # (n_rows,) float64
    weight: np.ndarray | None  # (n_rows,) float64
    rows: np.ndarray | None = None  # ascending

    @property
    def any(self) -> bool:
        return self.rows is None or len(self.rows) > 0

    def take(self, of_rows: Any) -> Any:
        """Of an array over rows (or None), the part where there are targets."""
        return of_rows if of_rows is None or self.rows is None else of_rows[self.rows]


class MultiOutputLoss(Loss):
    """The same loss for each column of y, (n_rows, n_outputs). NaN is a missing target: it has no gradient and no part in any mean."""

    def __init__(self, parts: list[Loss]) -> None:
        super().__init__(len(parts))
        first = parts[0]
        self.parts = parts
        self.name, self.link = first.name, first.link
        self.constant_hessian, self.renews_leaves = first.constant_hessian, first.renews_leaves
        self.least_hessian, self.max_step = first.least_hessian, first.max_step
        self._known: list[tuple[np.ndarray, np.ndarray | None, list[OutputTargets]]] = []

    @property
    def has_values(self) -> bool:
        return all(part.has_values for part in self.parts)

    def before_round(self, key: int) -> None:
        for part in self.parts:
            part.before_round(key)

    def describing(self, y: np.ndarray) -> np.ndarray:
        columns = [np.where(np.isnan(column), mean(column[~np.isnan(column)], None), column) for column in y.T]
        return np.ascontiguousarray(columns)

    def check_targets(self, y: np.ndarray) -> None:
        for k, (part, column) in enumerate(zip(self.parts, y.T, strict=True)):
            there = column[~np.isnan(column)]
            if len(there) == 0:
                raise ValueError(f"y has no target in column {k}: all of them are missing")
            try:
                part.check_targets(there)
            except ValueError as error:
                raise ValueError(f"{error} (rows that have a target in column {k})") from None

    def base_score(self, y: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        targets = self._targets(y, weight)
        return np.concatenate([part.base_score(t.take(t.y), t.take(t.weight)) for part, t in zip(self.parts, targets, strict=True)])

    def start(self, y: np.ndarray, weight: np.ndarray | None, offset: np.ndarray | None, execution: Execution = SERIAL) -> np.ndarray:
        if offset is None:
            return self.base_score(y, weight)
        parts = zip(self.parts, self._targets(y, weight), offset, strict=True)
        return np.concatenate([part.start(t.take(t.y), t.take(t.weight), t.take(of_rows)[None], execution) for part, t, of_rows in parts])

    def records(
        self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution, headroom: float = 1.0
    ) -> Iterator[FixedGradients]:
        for k, (part, target) in enumerate(zip(self.parts, self._targets(y, weight), strict=True)):
            for records in part.records(target.y, raw[k : k + 1], target.weight, execution, headroom):
                records.rows = target.rows
                yield records

    def weighted_gradients(
        self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution
    ) -> tuple[np.ndarray, np.ndarray]:
        parts = zip(self.parts, self._targets(y, weight), raw, strict=True)
        found = [part.weighted_gradients(t.y, of_rows[None], t.weight, execution) for part, t, of_rows in parts]
        return np.concatenate([gradients for gradients, _ in found]), np.concatenate([hessians for _, hessians in found])

    def leaf_values(self, rows: LeafRows) -> np.ndarray:
        k = rows.output
        t = self._targets(rows.y, rows.weight)[k]
        raw, leaf = t.take(rows.raw[k])[None], t.take(rows.leaf)
        return self.parts[k].leaf_values(replace(rows, y=t.take(t.y), raw=raw, weight=t.take(t.weight), leaf=leaf, output=0))

    def mean(self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution) -> float:
        """The mean over outputs of each one's mean loss."""
        parts = zip(self.parts, self._targets(y, weight), raw, strict=True)
        means = [part.mean(t.take(t.y), t.take(of_rows)[None], t.take(t.weight), execution) for part, t, of_rows in parts if t.any]
        return sum(means) / len(means) if means else 0.0

    def _targets(self, y: np.ndarray, weight: np.ndarray | None) -> list[OutputTargets]:
        """Each output's own; kept for the arrays seen before, which are those of training and those of validation."""
        for known_y, known_weight, targets in self._known:
            if known_y is y and known_weight is weight:
                return targets
        targets = self._split(y, weight)
        self._known = [*self._known[-3:], (y, weight, targets)]
        return targets

    def _split(self, y: np.ndarray, weight: np.ndarray | None) -> list[OutputTargets]:
        there = ~np.isnan(y.T)
        if there.all():
            return [OutputTargets(column, weight) for column in np.ascontiguousarray(y.T)]
        return [_masked(column, weight, mask) for column, mask in zip(y.T, there, strict=True)]


def _masked(y: np.ndarray, weight: np.ndarray | None, mask: np.ndarray) -> OutputTargets:
    """A missing target becomes one that the loss can deal with, of weight zero."""
    rows = np.flatnonzero(mask)
    weight = mask.astype(np.float64) if weight is None else weight * mask
    return OutputTargets(np.where(mask, y, y[rows[0]] if len(rows) else 1.0), weight, rows)
