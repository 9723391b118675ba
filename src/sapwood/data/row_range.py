"""Which rows of a data set a partition holds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sapwood.runtime.execution import Execution


@dataclass(frozen=True)
class RowRange:
    """`n_rows` rows of a data set, from the row `first` on; the data set has `total` rows.

    Ids of rows count through all partitions, in their order: whatever is random is a hash of them.
    """

    n_rows: int
    first: int
    total: int

    @classmethod
    def of(cls, n_rows: int, execution: Execution) -> RowRange:
        """Rows of this partition among those of all. Called by every partition."""
        counts = execution.collective.gather_objects(n_rows)
        return cls(n_rows, sum(counts[: execution.collective.rank]), sum(counts))

    @property
    def own(self) -> slice:
        """Where the rows of this partition are among those of all."""
        return slice(self.first, self.first + self.n_rows)

    def holds(self, ids: np.ndarray) -> np.ndarray:
        """(n,) bool: whether rows of these ids are of this partition."""
        return (ids >= self.first) & (ids < self.first + self.n_rows)
