"""Check of targets that are amounts: non-negative, with a positive sum."""

from __future__ import annotations

import numpy as np

from sapwood.runtime.execution import Execution


def check_amounts(loss: str, y: np.ndarray, execution: Execution) -> None:
    """Raise ValueError in all partitions if a target is negative, or if no target of any partition is positive."""
    any_positive = execution.any(bool((y > 0).any()))

    def check() -> None:
        if (y < 0).any() or (len(y) and not any_positive):
            row = int(np.argmin(y))
            raise ValueError(f"loss={loss!r} requires non-negative y and sum(y) > 0; got y={y[row]:g} in row {row} and sum(y)={y.sum():g}")

    execution.raise_together(check)
