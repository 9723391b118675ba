from dataclasses import replace
from typing import ClassVar

import numpy as np

from sapwood.losses.leaf_rows import LeafRows
from sapwood.losses.quantile import QuantileLoss

LEAST = 1e-100  # of |y|: 1 / |y| must stay finite, also in sums


class AbsolutePercentageError(QuantileLoss):
    """Absolute percentage error. loss = |raw - y| / |y|; gradient = sign(raw - y) / |y|.

    A leaf value is the median of the residuals, weighted by 1 / |y|. The second derivative is zero, so the hessian is set to 1 / |y|.
    """

    name = "mape"
    kind = 10
    settings: ClassVar[tuple[str, ...]] = ()
    constant_hessian = False

    def check_targets(self, y: np.ndarray) -> None:
        if (np.abs(y) < LEAST).any():
            row = int(np.argmin(np.abs(y)))
            raise ValueError(
                f"loss='mape' requires non-zero y, |y| >= {LEAST:g}, since it divides by y; got y={y[row]:g} in row {row}: leave such rows "
                "out, or add a constant to y"
            )

    def leaf_values(self, rows: LeafRows) -> np.ndarray:
        weight = (1.0 if rows.weight is None else rows.weight) / np.abs(rows.y)
        return super().leaf_values(replace(rows, weight=weight))
