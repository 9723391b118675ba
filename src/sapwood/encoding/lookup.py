"""Lookup table of an encoded feature: a number for each level, or for each combination of levels of several columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sapwood.runtime.caching import cached_property

MAX_KEYS = 1 << 62  # maximum number of combinations of levels: keys are int64


def key_space(n_levels: Sequence[int]) -> int:
    """Return the number of combinations of levels, with missing as one more level of each column."""
    space = 1
    for n in n_levels:
        space *= n + 1
    return space


def combine(codes: Sequence[np.ndarray], n_levels: Sequence[int]) -> np.ndarray:
    """Return the key of the combination of levels of each row, (n_rows,) int64. For one column: code + 1, or 0 if missing."""
    keys = np.zeros(len(codes[0]), dtype=np.int64)
    for own, n in zip(codes, n_levels, strict=True):
        keys = keys * (n + 1) + np.where(own >= 0, own, -1).astype(np.int64) + 1  # NaN is missing, too
    return keys


def split(keys: np.ndarray, n_levels: Sequence[int]) -> list[np.ndarray]:
    """Return the codes of each column (-1 is missing) from keys; the inverse of `combine`."""
    codes = []
    for n in reversed(n_levels):
        codes.append(keys % (n + 1) - 1)
        keys = keys // (n + 1)
    return codes[::-1]


@dataclass(frozen=True)
class Lookup:
    """Lookup table from keys to the values of a feature.

    Attributes
    ----------
    columns : columns of the table that the feature is computed from
    n_levels : number of levels of each column
    keys : (n,) int64, ascending: keys with a value
    values : (n,) float64: their values
    other : value of all other keys; NaN is missing
    kind : type of its splits: NUMBER, PARTITION or ONE_VS_REST
    """

    columns: tuple[int, ...]
    n_levels: tuple[int, ...]
    keys: np.ndarray
    values: np.ndarray
    other: float
    kind: int

    def read(self, codes: Sequence[np.ndarray]) -> np.ndarray:
        """Return the values of the feature, (n_rows,) float64, from the codes of its columns."""
        keys = combine(codes, self.n_levels)
        if self._dense is not None:
            return self._dense[keys]
        at = np.minimum(np.searchsorted(self.keys, keys), max(0, len(self.keys) - 1))
        found = self.keys[at] == keys if len(self.keys) else np.zeros(len(keys), dtype=bool)
        return np.where(found, self.values[at] if len(self.keys) else self.other, self.other)

    def value(self, codes: Sequence[float]) -> float:
        """Return the value of the feature in one row, from the codes of its columns."""
        key = 0
        for code, n in zip(codes, self.n_levels, strict=True):
            key = key * (n + 1) + (int(code) if code >= 0 else -1) + 1
        if self._dense is not None:
            return float(self._dense[key])
        at = int(np.searchsorted(self.keys, key))
        return float(self.values[at]) if at < len(self.keys) and self.keys[at] == key else self.other

    @cached_property
    def _dense(self) -> np.ndarray | None:
        """Values of all possible keys; None if there are too many."""
        space = key_space(self.n_levels)
        if space > 1 << 20 or space > 8 * len(self.keys) + 256:
            return None
        table = np.full(space, self.other)
        table[self.keys] = self.values
        return table
