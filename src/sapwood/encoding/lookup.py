"""A feature that is looked up: a number for each level of a category, or for each combination of levels of some."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

MAX_KEYS = 1 << 62  # combinations of levels that may exist, so that each has a number


def key_space(n_levels: Sequence[int]) -> int:
    """The number of combinations of these many levels each, and of missing ones."""
    space = 1
    for n in n_levels:
        space *= n + 1
    return space


def combine(codes: Sequence[np.ndarray], n_levels: Sequence[int]) -> np.ndarray:
    """(n_rows,) int64: the number of each row's combination of levels. Of one column: 0 for a missing level, else its code + 1."""
    keys = np.zeros(len(codes[0]), dtype=np.int64)
    for own, n in zip(codes, n_levels, strict=True):
        keys = keys * (n + 1) + np.where(own >= 0, own, -1).astype(np.int64) + 1  # a code that is not a number is missing, too
    return keys


def split(keys: np.ndarray, n_levels: Sequence[int]) -> list[np.ndarray]:
    """The codes, -1 for a missing level, that `combine` made keys of."""
    codes = []
    for n in reversed(n_levels):
        codes.append(keys % (n + 1) - 1)
        keys = keys // (n + 1)
    return codes[::-1]


@dataclass(frozen=True)
class Lookup:
    """The values of a feature of the model, by key.

    Attributes
    ----------
    columns : which of the table's columns it is made of
    n_levels : of each of them
    keys : (n,) int64, ascending: the combinations that have a value of their own
    values : (n,) float64
    other : the value of all others; NaN is missing
    kind : how it is split: NUMBER, PARTITION or ONE_VS_REST
    """

    columns: tuple[int, ...]
    n_levels: tuple[int, ...]
    keys: np.ndarray
    values: np.ndarray
    other: float
    kind: int

    def read(self, codes: Sequence[np.ndarray]) -> np.ndarray:
        """(n_rows,) float64 from the codes of the columns."""
        keys = combine(codes, self.n_levels)
        if self._table is not None:
            return self._table[keys]
        at = np.minimum(np.searchsorted(self.keys, keys), max(0, len(self.keys) - 1))
        found = self.keys[at] == keys if len(self.keys) else np.zeros(len(keys), dtype=bool)
        return np.where(found, self.values[at] if len(self.keys) else self.other, self.other)

    @cached_property
    def _table(self) -> np.ndarray | None:
        """The values of all keys, where they are not too many, nor many more than have a value."""
        space = key_space(self.n_levels)
        if space > 1 << 20 or space > 8 * len(self.keys) + 256:
            return None
        table = np.full(space, self.other)
        table[self.keys] = self.values
        return table
