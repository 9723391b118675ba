"""Queries of a ranking task: groups of rows that are ranked against each other."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sapwood.runtime.execution import SERIAL, Execution


@dataclass(frozen=True)
class Queries:
    """Queries of a data set, or of one of its partitions. The rows of a query are contiguous, and in one partition.

    Attributes
    ----------
    begin : (n_queries + 1,) int64: first row of each query, then n_rows
    first : number of the first query among those of all partitions
    first_row : id of the first row among those of all partitions
    """

    begin: np.ndarray
    first: int = 0
    first_row: int = 0

    @classmethod
    def of(cls, group: Any, qid: Any, n_rows: int, suffix: str = "") -> Queries:
        """Create from the sizes (`group`) or the query of each row (`qid`). `suffix` is added to the names in error messages.

        Without either, all rows are one query, with a warning; those of an evaluation set, which has a suffix, must be given.
        """
        names = f"group{suffix} (the number of rows of each query) or qid{suffix} (the query of each row)"
        if suffix and group is None and qid is None:
            raise ValueError(f"a ranker needs {names}; got neither")
        if group is None and qid is None:
            warnings.warn(f"all {n_rows} rows are ranked as one query: give {names} if there are several", stacklevel=2)
            return cls(np.array([0, n_rows], dtype=np.int64))
        if group is not None and qid is not None:
            raise ValueError(f"a ranker takes {names}, not both")
        return cls.from_group(group, n_rows, f"group{suffix}") if qid is None else cls.from_qid(qid, n_rows, f"qid{suffix}")

    @classmethod
    def from_group(cls, group: Any, n_rows: int, name: str = "group") -> Queries:
        """Create from the number of rows of each query, in the order of the rows."""
        sizes = np.asarray(group)
        if sizes.ndim != 1 or sizes.dtype.kind not in "iuf" or not (sizes == np.floor(sizes)).all():
            raise ValueError(f"{name} must be a list of integers, the number of rows of each query; got {group!r}")
        if (sizes < 1).any():
            query = int(np.argmax(sizes < 1))
            raise ValueError(f"{name} must have at least 1 row in each query; got {sizes[query]:g} for query {query}")
        if int(sizes.sum()) != n_rows:
            raise ValueError(f"{name} has {int(sizes.sum())} rows in {len(sizes)} queries, but X has {n_rows} rows")
        return cls(np.concatenate([[0], np.cumsum(sizes.astype(np.int64))]))

    @classmethod
    def from_qid(cls, qid: Any, n_rows: int, name: str = "qid") -> Queries:
        """Create from the query id of each row. Ids may be in any order, but the rows of a query must be contiguous."""
        ids = np.asarray(qid)
        if ids.shape != (n_rows,):
            raise ValueError(f"{name} must have one entry for each of the {n_rows} rows; got the shape {ids.shape}")
        if ids.dtype.kind == "f" and np.isnan(ids).any():
            raise ValueError(f"{name} contains NaN: the first in row {int(np.argmax(np.isnan(ids)))}")
        starts = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]])[:n_rows])
        _, first, run = np.unique(ids[starts], return_index=True, return_inverse=True)
        again = np.flatnonzero(first[run] != np.arange(len(starts)))
        if len(again):
            row, ended = starts[again[0]], starts[first[run][again[0]] + 1]
            raise ValueError(
                f"{name} is not sorted: row {row} belongs to query {ids[row]}, whose rows ended before row {ended}. "
                f"The rows of a query must be contiguous: sort X, y and {name} by np.argsort({name}, kind='stable')"
            )
        return cls(np.append(starts, n_rows).astype(np.int64))

    def located(self, execution: Execution) -> Queries:
        """Return the queries with `first` and `first_row` set. Called by every partition."""
        before = execution.collective.gather_objects((self.n_queries, int(self.begin[-1])))[: execution.collective.rank]
        return replace(self, first=sum(n for n, _ in before), first_row=sum(n for _, n in before))

    def gathered(self, execution: Execution) -> Queries:
        """Return the queries of all partitions."""
        return self if execution.is_local else Queries(np.concatenate([[0], np.cumsum(execution.gather(self.sizes))]))

    @property
    def n_queries(self) -> int:
        return len(self.begin) - 1

    @property
    def sizes(self) -> np.ndarray:
        """Number of rows of each query, (n_queries,) int64."""
        return np.diff(self.begin)

    @property
    def of_row(self) -> np.ndarray:
        """Query of each row, (n_rows,) int64."""
        return np.repeat(np.arange(self.n_queries), self.sizes)

    def rows(self, queries: np.ndarray) -> np.ndarray:
        """Return the rows of the given queries, which must be ascending."""
        sizes = self.sizes[queries]
        ends = np.cumsum(sizes)
        return np.arange(ends[-1] if len(ends) else 0) + np.repeat(self.begin[queries] - (ends - sizes), sizes)

    def take(self, rows: np.ndarray) -> Queries:
        """Return the queries of a subset of rows (ascending), without queries that have no rows left."""
        sizes = np.bincount(self.of_row[rows], minlength=self.n_queries)
        return Queries(np.concatenate([[0], np.cumsum(sizes[sizes > 0])]).astype(np.int64))

    def sums(self, of_rows: np.ndarray) -> np.ndarray:
        """Return the sum of the values of each query's rows, (n_queries,)."""
        return np.add.reduceat(of_rows, self.begin[:-1])

    def weights(self, weight: np.ndarray | None) -> np.ndarray | None:
        """Return the mean weight of each query's rows, (n_queries,)."""
        return None if weight is None else self.sums(weight) / self.sizes

    def mean(self, of_queries: np.ndarray, weight: np.ndarray | None, execution: Execution = SERIAL) -> float:
        """Return the mean over the queries of all partitions, weighted by the mean weight of their rows; by exact sums."""
        return execution.exact_mean(of_queries, self.weights(weight))
