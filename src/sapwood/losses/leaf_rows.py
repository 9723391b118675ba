"""Rows of leaves whose values a loss finds itself."""

from __future__ import annotations

from dataclasses import dataclass, replace

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
    execution : threads that a kernel may use, and the partitions that hold other rows of the leaves
    """

    y: np.ndarray
    raw: np.ndarray
    weight: np.ndarray | None
    leaf: np.ndarray
    n_leaves: int
    output: int = 0
    execution: Execution = SERIAL

    def gathered(self) -> LeafRows:
        """The rows of all partitions."""
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
