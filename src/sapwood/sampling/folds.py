"""Folds of cross-validated early stopping."""

from __future__ import annotations

import numpy as np

from sapwood.data.row_range import RowRange
from sapwood.runtime import kernels
from sapwood.runtime.execution import SERIAL, Execution

KEY = 0x9FB21C651E98DF25
MASK = (1 << 64) - 1


def fold_of_units(
    n_units: int, n_folds: int, strata: np.ndarray | None, seed: int, execution: Execution = SERIAL, groups: np.ndarray | None = None
) -> np.ndarray:
    """Assign units (rows or queries) of this partition to folds.

    Units are ordered by a hash of their number, within strata if there are any, and dealt out in turn: sizes of folds differ by at most
    one, and every fold has the same fraction of each stratum, as nearly as possible. Units of one group are in one fold.

    Parameters
    ----------
    strata : (n_units,) classes 0, 1, 2, ...
    groups : (n_units,) group of each unit

    Returns
    -------
    (n_units,) int64
        Number of the fold of each unit.
    """
    own = RowRange.of(n_units, execution)
    key = (seed + KEY) & MASK
    if groups is not None:
        found, of_unit = np.unique(execution.gather(groups), return_inverse=True)
        return fold_of_units(len(found), n_folds, None, seed)[of_unit][own.first : own.first + own.n_rows]
    order = np.argsort(kernels.hash_rows(own.total, key), kind="stable")
    if strata is not None:
        order = order[np.argsort(execution.gather(strata)[order], kind="stable")]
    fold = np.empty(own.total, dtype=np.int64)
    fold[order] = np.arange(own.total) % n_folds
    return fold[own.first : own.first + own.n_rows]
