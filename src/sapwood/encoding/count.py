"""Count encoding: the frequency of levels."""

from __future__ import annotations

import numpy as np

from sapwood.data.binning import NUMBER
from sapwood.encoding.base import CategoryKeys, EncodedFeature, Encoder, EncodingTargets
from sapwood.encoding.lookup import Lookup


class Count(Encoder):
    """Number of training rows of a level. An unseen level is treated as missing."""

    name = "count"
    combines = True

    def fit(self, column: CategoryKeys, targets: EncodingTargets) -> list[EncodedFeature]:
        keys, counts = column.counts(targets.execution)
        other = float(counts[0]) if column.is_single and keys[0] == 0 else 0.0
        return [EncodedFeature(Lookup(column.columns, column.n_levels, keys, counts.astype(np.float64), other, NUMBER))]
