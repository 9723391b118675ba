"""Which features a node may split on: some drawn at random, and those that may interact with the ones above."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sapwood.runtime import kernels
from sapwood.trees.growth import Grower

MASK = (1 << 64) - 1
BY_TREE, BY_LEVEL, BY_NODE = 0x5851F42D4C957F2D, 0x14057B7EF767814F, 0x9E3779B97F4A7C15  # so that their draws differ


class Interactions:
    """Which features may meet on a path from root to leaf."""

    def root(self, n_features: int) -> np.ndarray:
        """(n_features,) bool: what the root may split on."""
        return np.ones(n_features, dtype=bool)

    def below(self, path: frozenset[int], n_features: int) -> np.ndarray:
        """(n_features,) bool: what a node below splits on these features may split on."""
        return np.ones(n_features, dtype=bool)


class InteractionOrder(Interactions):
    """At most so many different features on a path: 1 for none that interact, 2 for pairs."""

    def __init__(self, order: int) -> None:
        self.order = order

    def below(self, path: frozenset[int], n_features: int) -> np.ndarray:
        allowed = np.full(n_features, len(path) < self.order)
        allowed[list(path)] = True
        return allowed


class InteractionGroups(Interactions):
    """All features of a path belong to one of the groups; features in no group form one of their own."""

    def __init__(self, groups: list[frozenset[int]], n_features: int) -> None:
        rest = frozenset(range(n_features)) - frozenset().union(*groups)
        self.groups: list[frozenset[int]] = [*groups, rest] if rest else list(groups)

    def below(self, path: frozenset[int], n_features: int) -> np.ndarray:
        allowed = np.zeros(n_features, dtype=bool)
        for group in self.groups:
            if path <= group:
                allowed[list(group)] = True
        return allowed


class ColumnInteractions(Interactions):
    """Interactions of columns, where features are made of them: all of a feature's columns must be allowed to meet."""

    of_columns: Interactions
    columns: list[tuple[int, ...]]
    n_columns: int

    def __init__(self, of_columns: Interactions, columns: list[tuple[int, ...]], n_columns: int) -> None:
        self.of_columns, self.columns, self.n_columns = of_columns, columns, n_columns

    def root(self, n_features: int) -> np.ndarray:
        return self.below(frozenset(), n_features)

    def below(self, path: frozenset[int], n_features: int) -> np.ndarray:
        met = frozenset(c for f in path for c in self.columns[f])
        allowed = self._columns(met)
        out = np.zeros(n_features, dtype=bool)
        for f, columns in enumerate(self.columns):
            out[f] = allowed[columns[0]] and all(self._columns(met | set(columns[:i]))[columns[i]] for i in range(1, len(columns)))
        return out

    def _columns(self, met: frozenset[int]) -> np.ndarray:
        return self.of_columns.below(met, self.n_columns) if met else self.of_columns.root(self.n_columns)


@dataclass(frozen=True)
class FeaturePolicy:
    """Shares of the features drawn for each tree, of those for each level, of those for each node; and interactions."""

    n_features: int
    by_node: float = 1.0
    by_level: float = 1.0
    by_tree: float = 1.0
    interactions: Interactions | None = None

    @property
    def is_restricted(self) -> bool:
        return self.interactions is not None or min(self.by_node, self.by_level, self.by_tree) < 1.0

    def tree(self, key: int) -> TreeFeatures:
        """Features that the nodes of one tree may split on; `key` identifies the tree."""
        return RestrictedFeatures(self, key) if self.is_restricted else TreeFeatures()


class TreeFeatures:
    """The features of a tree's nodes: here, all. Nodes are counted in the order they are made."""

    def of_root(self) -> np.ndarray | None:
        """(n_features,) uint8, 1 for those the root may split on; None for all."""
        return None

    def of_children(self, nodes: list[int], grower: Grower) -> np.ndarray | None:
        """(2 * n_nodes, n_features) uint8 for the children of nodes about to be split; None for all."""
        return None

    def of_node(self, node: int) -> np.ndarray | None:
        """(n_features,) uint8 for a node that was made before; None for all."""
        return None


@dataclass
class RestrictedFeatures(TreeFeatures):
    policy: FeaturePolicy
    key: int
    paths: list[tuple[int, int, frozenset[int]]] = field(default_factory=list)  # of each node: its id, depth, the features above it

    def of_root(self) -> np.ndarray:
        self.paths.append((0, 0, frozenset()))
        return self._allowed(*self.paths[0])

    def of_children(self, nodes: list[int], grower: Grower) -> np.ndarray:
        out = []
        for node, feature in zip(nodes, grower.split_features(nodes), strict=True):
            _, depth, path = self.paths[node]
            for side in (1, 2):
                self.paths.append((2 * node + side, depth + 1, path | {feature}))
                out.append(self._allowed(*self.paths[-1]))
        return np.array(out)

    def of_node(self, node: int) -> np.ndarray:
        return self._allowed(*self.paths[node])

    def _allowed(self, node: int, depth: int, path: frozenset[int]) -> np.ndarray:
        policy = self.policy
        n = policy.n_features
        allowed = np.ones(n, dtype=bool)
        if policy.interactions is not None:
            allowed = policy.interactions.below(path, n) if path else policy.interactions.root(n)
        seeds = BY_TREE, BY_LEVEL * (depth + 1), BY_NODE * (node + 1)
        for share, seed in zip((policy.by_tree, policy.by_level, policy.by_node), seeds, strict=True):
            allowed = _draw(allowed, share, (self.key + seed) & MASK)
        return allowed.astype(np.uint8)


def _draw(allowed: np.ndarray, share: float, key: int) -> np.ndarray:
    """A share of the allowed features, at least one: those of the lowest hashes."""
    features = np.flatnonzero(allowed)
    if share >= 1.0 or len(features) <= 1:
        return allowed
    hashes = kernels.hash_rows(len(allowed), key)[features]
    chosen = features[np.argsort(hashes, kind="stable")[: max(1, int(share * len(features)))]]
    out = np.zeros_like(allowed)
    out[chosen] = True
    return out
