"""Ordered target statistics (Prokhorenkova et al., CatBoost, 2018)."""

from __future__ import annotations

import numpy as np

from sapwood.data.binning import NUMBER
from sapwood.encoding.base import CategoryKeys, EncodedFeature, Encoder, EncodingTargets
from sapwood.encoding.lookup import Lookup


class Target(Encoder):
    """Mean target of a level, shrunk towards the mean of all rows.

    To avoid leakage, the value of a training row is the mean over the preceding rows of its level in a random permutation (a hash of row
    ids). At prediction it is the mean over all training rows of the level. An unseen level is treated as missing: it has the mean of the
    training rows with a missing level, or the mean of all rows if there are none.

    Permutations are over the rows of all partitions, so every partition gathers the keys and targets of all.

    Parameters
    ----------
    prior : weight of the mean of all rows, in rows
    n_permutations : number of permutations that are averaged
    """

    prior: float
    n_permutations: int
    name = "target"
    combines = True

    def __init__(self, prior: float = 1.0, n_permutations: int = 1) -> None:
        self.prior, self.n_permutations = prior, n_permutations

    def fit(self, column: CategoryKeys, targets: EncodingTargets) -> list[EncodedFeature]:
        (keys, index), whole = column.indexed(targets.execution), targets.gathered()
        orders = [whole.order(permutation) for permutation in range(self.n_permutations)]
        out = []
        for target in range(len(targets)):
            training = np.zeros(targets.n_rows)
            for order in orders:
                totals, before = whole.sums(target, index, len(keys), order)
                training += self._means(before[targets.range.own], targets.means[target]) / self.n_permutations
            values = self._means(totals, targets.means[target])
            other = float(values[0]) if column.is_single and keys[0] == 0 else targets.means[target]
            out.append(EncodedFeature(Lookup(column.columns, column.n_levels, keys, values, other, NUMBER), training))
        return out

    def _means(self, sums: np.ndarray, mean: float) -> np.ndarray:
        return (sums[:, 0] + self.prior * mean) / (sums[:, 1] + self.prior)
