"""Choosing features at random."""

from __future__ import annotations

import numpy as np

from sapwood import kernels

MASK = (1 << 64) - 1


class FeatureSampler:
    """A share of the features, drawn anew for each node."""

    def __init__(self, n_features: int, share: float) -> None:
        self.n_features = n_features
        self.n_chosen = max(1, int(share * n_features))

    @property
    def chooses(self) -> bool:
        return self.n_chosen < self.n_features

    def choose(self, key: int, nodes: np.ndarray) -> np.ndarray:
        """(n_nodes, n_features) uint8: 1 for the features that each of the nodes may split on."""
        allowed = np.zeros((len(nodes), self.n_features), dtype=np.uint8)
        for row, node in zip(allowed, nodes.tolist(), strict=True):
            hashes = kernels.hash_rows(self.n_features, (key + 0x9E3779B97F4A7C15 * (node + 1)) & MASK)
            row[np.argsort(hashes, kind="stable")[: self.n_chosen]] = 1
        return allowed
