"""Features that a node may split on: random subsets and interaction constraints."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sapwood.runtime import kernels
from sapwood.trees.growth import Grower

MASK = (1 << 64) - 1
BY_TREE, BY_LEVEL, BY_NODE = 0x5851F42D4C957F2D, 0x14057B7EF767814F, 0x9E3779B97F4A7C15  # constants that make their random subsets differ


class Interactions:
    """Interaction constraints: features that may be on the same path from the root to a leaf. Here all may."""

    def root(self, n_features: int) -> np.ndarray:
        """Return the features that the root may split on, (n_features,) bool."""
        return np.ones(n_features, dtype=bool)

    def below(self, path: frozenset[int], n_features: int) -> np.ndarray:
        """Return the features that a node may split on, (n_features,) bool. `path` are the features of the splits above it."""
        return np.ones(n_features, dtype=bool)


class InteractionOrder(Interactions):
    """Maximum number of different features on a path: 1 for no interactions, 2 for pairwise interactions."""

    def __init__(self, order: int) -> None:
        self.order = order

    def below(self, path: frozenset[int], n_features: int) -> np.ndarray:
        allowed = np.full(n_features, len(path) < self.order)
        allowed[list(path)] = True
        return allowed


class InteractionGroups(Interactions):
    """Groups of features that may interact: all features of a path are in one group. Features in no group form another group."""

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
    """Interaction constraints on columns, for encoded features: all columns of the features of a path must be allowed to interact."""

    of_columns: Interactions
    columns: list[tuple[int, ...]]
    n_columns: int

    def __init__(self, of_columns: Interactions, columns: list[tuple[int, ...]], n_columns: int) -> None:
        self.of_columns, self.columns, self.n_columns = of_columns, columns, n_columns

    def root(self, n_features: int) -> np.ndarray:
        return self.below(frozenset(), n_features)

    def below(self, path: frozenset[int], n_features: int) -> np.ndarray:
        used = frozenset(c for f in path for c in self.columns[f])
        allowed = self._columns(used)
        out = np.zeros(n_features, dtype=bool)
        for f, columns in enumerate(self.columns):
            out[f] = allowed[columns[0]] and all(self._columns(used | set(columns[:i]))[columns[i]] for i in range(1, len(columns)))
        return out

    def _columns(self, used: frozenset[int]) -> np.ndarray:
        return self.of_columns.below(used, self.n_columns) if used else self.of_columns.root(self.n_columns)


@dataclass(frozen=True)
class FeaturePolicy:
    """Fractions of features drawn for each tree, of those for each level, and of those for each node; interaction constraints."""

    n_features: int
    by_node: float = 1.0
    by_level: float = 1.0
    by_tree: float = 1.0
    interactions: Interactions | None = None

    @property
    def is_restricted(self) -> bool:
        """Whether nodes may split on some features only."""
        return self.interactions is not None or min(self.by_node, self.by_level, self.by_tree) < 1.0

    def tree(self, key: int) -> TreeFeatures:
        """Return the features that the nodes of a tree may split on. `key` identifies the tree."""
        if not self.is_restricted:
            return TreeFeatures()
        if self.interactions is None and min(self.by_node, self.by_level) >= 1.0:
            return SameFeatures(_draw(np.ones(self.n_features, dtype=np.uint8), self.by_tree, (key + BY_TREE) & MASK))
        return RestrictedFeatures(self, key)


class TreeFeatures:
    """Features that the nodes of a tree may split on: all. Nodes are numbered in the order of their creation."""

    def of_root(self) -> np.ndarray | None:
        """Return the features of the root, (n_features,) uint8; None for all."""
        return None

    def of_children(self, nodes: list[int], grower: Grower) -> np.ndarray | None:
        """Return the features of the children of nodes that are about to be split, (2 * n_nodes, n_features) uint8; None for all."""
        return None

    def of_node(self, node: int) -> np.ndarray | None:
        """Return the features of an existing node, (n_features,) uint8; None for all."""
        return None


@dataclass(frozen=True)
class SameFeatures(TreeFeatures):
    """Features that all nodes of a tree may split on, (n_features,) uint8."""

    allowed: np.ndarray

    def of_root(self) -> np.ndarray:
        return self.allowed

    def of_children(self, nodes: list[int], grower: Grower) -> np.ndarray:
        return np.repeat(self.allowed[np.newaxis], 2 * len(nodes), axis=0)

    def of_node(self, node: int) -> np.ndarray:
        return self.allowed


@dataclass
class RestrictedFeatures(TreeFeatures):
    """Features that the nodes of a tree may split on, by a FeaturePolicy."""

    policy: FeaturePolicy
    key: int
    paths: list[tuple[int, int, frozenset[int]]] = field(default_factory=list)  # id, depth and features above, of each node
    known: dict[tuple[int, frozenset[int]], np.ndarray] = field(default_factory=dict)  # of nodes by depth and features above

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
        if (depth, path) not in self.known:
            self.known[depth, path] = self._allowed_at(depth, path).astype(np.uint8)
        return _draw(self.known[depth, path], self.policy.by_node, (self.key + BY_NODE * (node + 1)) & MASK)

    def _allowed_at(self, depth: int, path: frozenset[int]) -> np.ndarray:
        """Return the features of the nodes of a level below the features of a path, (n_features,) bool."""
        policy = self.policy
        n = policy.n_features
        allowed = np.ones(n, dtype=bool)
        if policy.interactions is not None:
            allowed = policy.interactions.below(path, n) if path else policy.interactions.root(n)
        for fraction, seed in ((policy.by_tree, BY_TREE), (policy.by_level, BY_LEVEL * (depth + 1))):
            allowed = _draw(allowed, fraction, (self.key + seed) & MASK)
        return allowed


def _draw(allowed: np.ndarray, fraction: float, key: int) -> np.ndarray:
    """Return a random fraction of the allowed features, at least one: those with the lowest hashes."""
    if fraction >= 1.0:
        return allowed
    features = np.flatnonzero(allowed)
    if len(features) <= 1:
        return allowed
    hashes = kernels.hash_rows(len(allowed), key)[features]
    chosen = features[np.argsort(hashes, kind="stable")[: max(1, int(fraction * len(features)))]]
    out = np.zeros_like(allowed)
    out[chosen] = True
    return out
