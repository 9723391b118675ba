from dataclasses import replace
from typing import ClassVar

import numpy as np

from sapwood.losses.leaf_rows import LeafRows
from sapwood.losses.quantile import QuantileLoss


class AbsolutePercentageError(QuantileLoss):
    """loss = |raw - y| / |y|; gradient = sign(raw - y) / |y|; the best step of a leaf is the median of its residuals, weighted by 1 / |y|.

    There is no second derivative: 1 / |y| stands in for it.
    """

    name = "mape"
    kind = 10
    settings: ClassVar[tuple[str, ...]] = ()
    constant_hessian = False

    def check_targets(self, y: np.ndarray) -> None:
        if not y.all():
            row = int(np.argmin(np.abs(y)))
            raise ValueError(f"loss='mape' requires y other than zero: it divides by y; got y={y[row]:g} in row {row}")

    def leaf_values(self, rows: LeafRows) -> np.ndarray:
        weight = (1.0 if rows.weight is None else rows.weight) / np.abs(rows.y)
        return super().leaf_values(replace(rows, weight=weight))
