"""Rows of the leaves whose values a loss computes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sapwood.runtime.execution import SERIAL, Execution


@dataclass(frozen=True)
class LeafRows:
    """Training rows of a tree, with the leaf of each.

    Attributes
    ----------
    y : targets, as returned by `Loss.read_targets`
    raw : (n_outputs, n_rows) float64: raw predictions to which the leaf values will be added
    weight : (n_rows,) float64, or None
    leaf : (n_rows,) unsigned integers: leaf of each row
    n_leaves : number of leaves; a leaf without rows has the value 0
    output : output whose leaf values are computed
    execution : threads of a kernel, and the partitions with the other rows of the leaves
    """

    y: np.ndarray
    raw: np.ndarray
    weight: np.ndarray | None
    leaf: np.ndarray
    n_leaves: int
    output: int = 0
    execution: Execution = SERIAL

    def gathered(self) -> LeafRows:
        """Return the rows of all partitions."""
        if self.execution.is_local:
            return self
        gather = self.execution.gather
        return replace(
            self,
            y=gather(self.y),
            raw=np.stack([gather(of_output) for of_output in self.raw]),
            weight=None if self.weight is None else gather(self.weight),
            leaf=gather(self.leaf),
            execution=Execution(self.execution.n_threads),
        )
