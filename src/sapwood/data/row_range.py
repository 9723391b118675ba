"""Range of the rows of a partition in the data set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sapwood.runtime.execution import Execution


@dataclass(frozen=True)
class RowRange:
    """The rows [first, first + n_rows) of a data set with `total` rows.

    Row ids are consecutive over all partitions. Random numbers are hashes of them.
    """

    n_rows: int
    first: int
    total: int

    @classmethod
    def of(cls, n_rows: int, execution: Execution) -> RowRange:
        """Return the range of the rows of this partition. Called by every partition."""
        counts = execution.collective.gather_objects(n_rows)
        return cls(n_rows, sum(counts[: execution.collective.rank]), sum(counts))

    @property
    def own(self) -> slice:
        """Rows of this partition among those of all, as a slice."""
        return slice(self.first, self.first + self.n_rows)

    def holds(self, ids: np.ndarray) -> np.ndarray:
        """Return which row ids are in this partition, (n,) bool."""
        return (ids >= self.first) & (ids < self.first + self.n_rows)
