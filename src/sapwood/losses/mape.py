from typing import ClassVar

import numpy as np

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

    def leaf_values(
        self,
        y: np.ndarray,
        raw: np.ndarray,
        weight: np.ndarray | None,
        leaf_of_row: np.ndarray,
        n_leaves: int,
        n_threads: int,
    ) -> np.ndarray:
        size = np.abs(y)
        return super().leaf_values(y, raw, 1 / size if weight is None else weight / size, leaf_of_row, n_leaves, n_threads)
