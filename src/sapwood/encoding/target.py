"""Ordered target statistics: the mean target of a level, for each row from the rows before it (Prokhorenkova et al., CatBoost, 2018)."""

from __future__ import annotations

import numpy as np

from sapwood.data.binning import NUMBER
from sapwood.encoding.base import CategoryKeys, EncodedFeature, Encoder, EncodingTargets
from sapwood.encoding.lookup import Lookup


class Target(Encoder):
    """The mean target of a level, drawn to the mean of all by `prior` rows.

    A row that the model learns from must not see its own target: its mean is of the rows before it in a permutation, given by a hash of
    row ids. Rows to be predicted see the mean of all rows. An unseen level is treated as missing: it has the mean of the
    rows where the level was missing, or of all rows if there were none.

    The permutation goes through the rows of all partitions: each of them gathers their keys and targets.

    Parameters
    ----------
    prior : how many rows the mean of all counts for
    n_permutations : whose means are averaged
    """

    prior: float
    n_permutations: int
    name = "target"
    combines = True

    def __init__(self, prior: float = 1.0, n_permutations: int = 1) -> None:
        self.prior, self.n_permutations = prior, n_permutations

    def fit(self, column: CategoryKeys, targets: EncodingTargets) -> list[EncodedFeature]:
        (keys, numbers), everyone = column.numbered(targets.execution), targets.gathered()
        orders = [everyone.order(permutation) for permutation in range(self.n_permutations)]
        out = []
        for target in range(len(targets)):
            training = np.zeros(targets.n_rows)
            for order in orders:
                totals, before = everyone.sums(target, numbers, len(keys), order)
                training += self._means(before[targets.range.own], targets.means[target]) / self.n_permutations
            values = self._means(totals, targets.means[target])
            other = float(values[0]) if column.is_single and keys[0] == 0 else targets.means[target]
            out.append(EncodedFeature(Lookup(column.columns, column.n_levels, keys, values, other, NUMBER), training))
        return out

    def _means(self, sums: np.ndarray, mean: float) -> np.ndarray:
        return (sums[:, 0] + self.prior * mean) / (sums[:, 1] + self.prior)
