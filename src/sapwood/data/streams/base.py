"""Base class of streams."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

BATCH_BYTES = 1 << 23  # of the numbers of a batch
MIN_BATCH_ROWS, MAX_BATCH_ROWS = 1024, 65_536


def batch_rows(n_columns: int) -> int:
    """Return the number of rows of a batch, where it can be chosen."""
    return max(MIN_BATCH_ROWS, min(MAX_BATCH_ROWS, BATCH_BYTES // (8 * max(1, n_columns))))


class Stream(ABC):
    """Table that is read in batches of rows. It can be read several times, with the same rows in the same order.

    Attributes
    ----------
    names : names of the columns; None if they have none
    n_columns : number of columns
    """

    names: tuple[str, ...] | None
    n_columns: int

    @abstractmethod
    def batches(self, names: Sequence[str] | None) -> Iterator[Any]:
        """Yield tables of any kind that `sapwood.data.reading` reads, with these columns in this order. None: all columns."""

    def count(self) -> int | None:
        """Return the number of rows; None if it is not known before the rows are read."""
        return None

    def empty(self) -> Any | None:
        """Return a table without rows that has the types of all columns; None if they are not known before the rows are read."""
        return None

    @property
    def n_batch_rows(self) -> int:
        return batch_rows(self.n_columns)
