"""Cross features: numbers that are computed from two columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sapwood.encoding.base import EncodingTargets

DIFFERENCE, PRODUCT, CENTERED = "difference", "product", "centered"
OPERATIONS = (DIFFERENCE, PRODUCT, CENTERED)


@dataclass(frozen=True)
class Cross:
    """Feature that is computed from two columns.

    Attributes
    ----------
    operation : 'difference' or 'product' of two numbers, or 'centered': a number minus its mean over the training rows of the same category
    columns : columns of the table
    means : of 'centered', (1 + n_levels,): means of the rows whose category is missing, and of those of each level
    """

    operation: str
    columns: tuple[int, int]
    means: tuple[float, ...] = ()

    def read(self, columns: Sequence[np.ndarray]) -> np.ndarray:
        """Return the values of the feature, (n_rows,) float64, from the values of its columns."""
        first, second = (np.asarray(column, dtype=np.float64) for column in columns)
        with np.errstate(invalid="ignore", over="ignore"):
            if self.operation == PRODUCT:
                return first * second
            return first - (second if self.operation == DIFFERENCE else np.array(self.means)[level_numbers(second)])

    def value(self, values: Sequence[float]) -> float:
        """Return the value of the feature in one row, from the values of its columns."""
        first, second = values
        if self.operation == PRODUCT:
            return first * second
        return first - (second if self.operation == DIFFERENCE else self.means[int(second) + 1 if second >= 0 else 0])

    def fit(self, columns: Sequence[np.ndarray], n_levels: int, targets: EncodingTargets) -> Cross:
        """Return the feature with the means of the training rows. `targets` are the values of the first column, with weights."""
        if self.operation != CENTERED:
            return self
        numbers = level_numbers(columns[1])
        sums = np.zeros((2, 1 + n_levels), dtype=np.int64)
        np.add.at(sums[0], numbers, targets.targets[0])
        np.add.at(sums[1], numbers, 1 if targets.weights is None else targets.weights)
        totals, weights = targets.execution.sum(sums) * np.array([[targets.units[0]], [targets.weight_unit]])
        means = np.divide(totals, weights, out=np.full(1 + n_levels, targets.means[0]), where=weights > 0)
        return replace(self, means=tuple(means.tolist()))

    def describe(self, first: str, second: str) -> str:
        """Return a description from the names of the columns."""
        sign = {DIFFERENCE: "-", PRODUCT: "*"}.get(self.operation)
        return f"{first} - mean by {second}" if sign is None else f"{first} {sign} {second}"


def level_numbers(codes: np.ndarray) -> np.ndarray:
    """Return 1 + code of each row, (n_rows,) int64; 0 where the level is missing."""
    return np.where(codes >= 0, codes, -1).astype(np.int64) + 1
