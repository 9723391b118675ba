"""What a loss sees where it finds the values of leaves itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sapwood.runtime.execution import SERIAL, Execution


@dataclass(frozen=True)
class LeafRows:
    """The rows of a tree's leaves.

    Attributes
    ----------
    y : targets, as the loss has read them
    raw : (n_outputs, n_rows) float64: the predictions that the leaves' values will be added to
    weight : (n_rows,) float64, or None
    leaf : (n_rows,) unsigned integers: the leaf of each row
    n_leaves : how many there are; the value of one without rows is 0
    output : the one whose values are sought
    execution : how many a kernel may use
    """

    y: np.ndarray
    raw: np.ndarray
    weight: np.ndarray | None
    leaf: np.ndarray
    n_leaves: int
    output: int = 0
    execution: Execution = SERIAL
