"""Targets that are amounts: none is negative, and some are positive."""

from __future__ import annotations

import numpy as np

from sapwood.runtime.execution import Execution


def check_amounts(loss: str, y: np.ndarray, execution: Execution) -> None:
    """Raise ValueError in all partitions if a target of any is negative, or none of any is positive."""
    some = execution.any(bool((y > 0).any()))

    def check() -> None:
        if (y < 0).any() or (len(y) and not some):
            row = int(np.argmin(y))
            raise ValueError(f"loss={loss!r} requires non-negative y and sum(y) > 0; got y={y[row]:g} in row {row} and sum(y)={y.sum():g}")

    execution.raise_together(check)
