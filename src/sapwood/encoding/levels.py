"""Levels as bins: nodes split them by sets."""

from __future__ import annotations

import numpy as np

from sapwood.data.binning import ONE_VS_REST, PARTITION
from sapwood.encoding.base import CategoryKeys, EncodedFeature, Encoder, EncodingTargets
from sapwood.encoding.lookup import Lookup

MAX_LEVELS = 255  # that have a code of their own: codes, and one for missing values, fit a byte


class Partition(Encoder):
    """Nodes send a set of levels left. With more levels than codes the most frequent have their own, and the others share one.

    A level that the fit did not see is missing, and goes where missing ones go.
    """

    name = "partition"
    kind = PARTITION

    def __init__(self, most: int = MAX_LEVELS) -> None:
        self.most: int = min(most, MAX_LEVELS)

    def fit(self, column: CategoryKeys, targets: EncodingTargets) -> list[EncodedFeature]:
        keys, counts = column.counted(targets.execution)
        keys, counts = keys[keys > 0], counts[keys > 0]
        codes = np.arange(len(keys))
        if len(keys) > self.most:
            by_count = np.argsort(-counts, kind="stable")
            own = np.sort(by_count[: self.most - 1])
            codes = np.full(len(keys), self.most - 1)
            codes[own] = np.arange(len(own))
        lookup = Lookup(column.columns, column.n_levels, keys, codes.astype(np.float64), np.nan, self.kind)
        return [EncodedFeature(lookup)]


class OneHot(Partition):
    """Nodes send one level one way and all others the other, as on one-hot columns, which are not made."""

    name = "onehot"
    kind = ONE_VS_REST
