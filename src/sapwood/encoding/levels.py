"""Levels as bins: splits send a set of levels to the left child."""

from __future__ import annotations

import numpy as np

from sapwood.data.binning import ONE_VS_REST, PARTITION
from sapwood.encoding.base import CategoryKeys, EncodedFeature, Encoder, EncodingTargets
from sapwood.encoding.lookup import Lookup

MAX_LEVELS = 255  # codes of levels: with one for missing values they fit in a byte


class Partition(Encoder):
    """Splits by a set of levels. With more levels than codes, the most frequent levels have their own code and the others share one.

    An unseen level is treated as missing.
    """

    name = "partition"
    kind = PARTITION

    def __init__(self, max_levels: int = MAX_LEVELS) -> None:
        self.max_levels: int = min(max_levels, MAX_LEVELS)

    def fit(self, column: CategoryKeys, targets: EncodingTargets) -> list[EncodedFeature]:
        keys, counts = column.counts(targets.execution)
        keys, counts = keys[keys > 0], counts[keys > 0]
        codes = np.arange(len(keys))
        if len(keys) > self.max_levels:
            by_count = np.argsort(-counts, kind="stable")
            own = np.sort(by_count[: self.max_levels - 1])
            codes = np.full(len(keys), self.max_levels - 1)
            codes[own] = np.arange(len(own))
        lookup = Lookup(column.columns, column.n_levels, keys, codes.astype(np.float64), np.nan, self.kind)
        return [EncodedFeature(lookup)]


class OneHot(Partition):
    """Splits of one level against all others, as with one-hot columns, but without creating the columns."""

    name = "onehot"
    kind = ONE_VS_REST
