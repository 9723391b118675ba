"""Cut points: where a feature's numbers become bins."""

from __future__ import annotations

import numpy as np

from sapwood import kernels
from sapwood.data.tables import Table

SAMPLE_ROWS = 200_000  # rows that decide where the cut points are
FEATURES_AT_ONCE = 16  # so that an interrupt need not wait long


class Binning:
    """The cut points of every feature. The bin of x is the number of cuts below x; a missing value falls in the bin after the last.

    Parameters
    ----------
    cuts : list of (n_cuts,) float64 arrays, ascending
    """

    def __init__(self, cuts: list[np.ndarray]) -> None:
        self.cuts = np.concatenate([*cuts, np.empty(0)])  # (total,) float64
        self.begin = np.concatenate([[0], np.cumsum([len(c) for c in cuts], dtype=np.int64)]).astype(np.int64)
        self.n_features = len(cuts)

    @property
    def missing_bins(self) -> np.ndarray:
        """(n_features,) int32: where missing values fall."""
        return (np.diff(self.begin) + 1).astype(np.int32)

    def thresholds(self, features: np.ndarray, bins: np.ndarray) -> np.ndarray:
        """The cut points that splits after these bins stand for; past the last cut, infinity."""
        at = self.begin[features] + bins
        inside = at < self.begin[features + 1]
        return np.where(inside, self.cuts[np.where(inside, at, 0)] if len(self.cuts) else np.inf, np.inf)

    @classmethod
    def fit(cls, table: Table, max_bins: int, weight: np.ndarray | None, rows: np.ndarray | None, seed: int, n_threads: int) -> Binning:
        """Choose cut points from (a sample of) the rows of a table: all of them, or the given ones."""
        n = table.n_rows if rows is None else len(rows)
        if n > SAMPLE_ROWS:
            picked = kernels.sample_rows(n, 0, SAMPLE_ROWS / n, seed)
            rows = picked if rows is None else rows[picked]
        cuts: list[np.ndarray] = []
        for first, last in table.runs(FEATURES_AT_ONCE):
            if table.readable or len(table.runs(table.n_features)) > 1:
                block, block_rows, block_weight = table.read(slice(None), first, last), rows, weight
            else:
                chosen = slice(None) if rows is None else rows
                block, block_rows = table.read(chosen, first, last), None
                block_weight = weight if weight is None else np.ascontiguousarray(weight[chosen])
            if block_rows is not None:
                block_rows = np.ascontiguousarray(block_rows, dtype=np.uint32)
            cuts += kernels.find_cuts(block, block_rows, block_weight, max_bins, n_threads)
        return cls(cuts)
