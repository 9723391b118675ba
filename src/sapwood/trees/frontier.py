"""Growth policies: which leaves to split next."""

from __future__ import annotations

import heapq
from functools import cache

import numpy as np

from sapwood.trees.branches import Branches
from sapwood.trees.gradients import GradientScale
from sapwood.trees.rules import Rules
from sapwood.trees.tree import Tree


class Frontier:
    """Base class of growth policies. Holds the leaves that can be split.

    Order of calls: `add` the root; as long as `choose` returns leaves, split them and `add` their children.

    Parameters
    ----------
    max_leaves : maximum number of leaves; None for no limit
    leaf_batch : number of leaves that leaf-wise growth splits at once
    """

    splits_levels_jointly = False  # whether all leaves of a level have the same split

    def __init__(self, max_leaves: int | None, leaf_batch: int = 1) -> None:
        self.leaf_batch = leaf_batch
        self.leaves_left: float = float("inf") if max_leaves is None else max_leaves - 1

    def group_leaves(self, tree: Tree, sums: np.ndarray, rules: Rules, scale: GradientScale) -> Branches | None:
        """Return the branches of a grown tree: leaves of a branch have the same value. None: each leaf has its own value.

        `sums` are those of the leaves, (3, n_leaves) int64; `rules` say what a leaf must have.
        """
        return None

    def add(self, first: int, gains: list[float]) -> None:
        """Add the leaves first, first + 1, ... with the gains of their best splits. Leaves without a positive gain are not split."""
        raise TypeError(f"{type(self).__name__} must implement add(first, gains)")

    def choose(self) -> list[int]:
        """Return the leaves to split next; an empty list ends the tree."""
        raise TypeError(f"{type(self).__name__} must implement choose()")

    def remove(self, node: int) -> None:
        """Remove a leaf that is split without being chosen."""
        raise TypeError(f"{type(self).__name__} must implement remove(node)")

    def update_gain(self, node: int, gain: float) -> None:
        """Replace the gain of a leaf."""
        raise TypeError(f"{type(self).__name__} must implement update_gain(node, gain)")

    @property
    def full(self) -> bool:
        """Whether the maximum number of leaves is reached, so that no other leaf will be split."""
        return self.leaves_left <= 0


class LeafWise(Frontier):
    """Split the leaves with the highest gains, `leaf_batch` at once; of equal gains, the older leaf."""

    def __init__(self, max_leaves: int | None, leaf_batch: int = 1) -> None:
        super().__init__(max_leaves, leaf_batch)
        self.heap: list[tuple[float, int]] = []

    def add(self, first: int, gains: list[float]) -> None:
        for node, gain in enumerate(gains, first):
            if gain > 0:
                heapq.heappush(self.heap, (-gain, node))

    def choose(self) -> list[int]:
        if not self.heap or self.full:
            return []
        n = 1 if self.leaf_batch == 1 else int(min(self.leaf_batch, len(self.heap), self.leaves_left))
        self.leaves_left -= n
        return [heapq.heappop(self.heap)[1]] if n == 1 else [heapq.heappop(self.heap)[1] for _ in range(n)]

    def remove(self, node: int) -> None:
        self.heap = [entry for entry in self.heap if entry[1] != node]
        heapq.heapify(self.heap)
        self.leaves_left -= 1

    def update_gain(self, node: int, gain: float) -> None:
        self.heap = [entry for entry in self.heap if entry[1] != node]
        heapq.heapify(self.heap)
        self.add(node, [gain])


class DepthWise(Frontier):
    """Split all leaves of a level; those with the highest gains if the maximum number of leaves does not allow all."""

    def __init__(self, max_leaves: int | None, leaf_batch: int = 1) -> None:
        super().__init__(max_leaves, leaf_batch)
        self.level: list[tuple[float, int]] = []

    def add(self, first: int, gains: list[float]) -> None:
        self.level += [(-gain, node) for node, gain in enumerate(gains, first) if gain > 0]

    def choose(self) -> list[int]:
        if self.full:
            return []
        chosen, self.level = self.level, []
        if len(chosen) > self.leaves_left:
            chosen = sorted(chosen)[: int(self.leaves_left)]
        self.leaves_left -= len(chosen)
        return sorted(node for _, node in chosen)

    def remove(self, node: int) -> None:
        self.level = [entry for entry in self.level if entry[1] != node]
        self.leaves_left -= 1

    def update_gain(self, node: int, gain: float) -> None:
        self.level = [entry for entry in self.level if entry[1] != node]
        self.add(node, [gain])


class Symmetric(Frontier):
    """Split all leaves of a level by the same split, or none of them.

    If a side would have too few rows, the branch ignores the split: its rows stay together and go on to the next level.
    """

    n_chosen: int
    splits_levels_jointly = True
    MAX_LEVELS = 16

    def __init__(self, max_leaves: int | None, leaf_batch: int = 1) -> None:
        super().__init__(min(max_leaves or 1 << self.MAX_LEVELS, 1 << self.MAX_LEVELS))
        self.level: list[tuple[int, float]] = []
        self.n_chosen = 0

    def add(self, first: int, gains: list[float]) -> None:
        self.level = list(enumerate(gains, first))

    def choose(self) -> list[int]:
        if not self.level or len(self.level) > self.leaves_left or any(gain <= 0 for _, gain in self.level):
            return []
        chosen, self.level = [node for node, _ in self.level], []
        self.n_chosen = len(chosen)
        self.leaves_left -= len(chosen)
        return chosen

    @property
    def full(self) -> bool:
        return self.leaves_left < 2 * self.n_chosen

    def group_leaves(self, tree: Tree, sums: np.ndarray, rules: Rules, scale: GradientScale) -> Branches | None:
        features = level_features(tree)
        return None if features is None else Branches.of_levels(features, sums, rules.leaf_minimum(scale))


def level_features(tree: Tree) -> list[int] | None:
    """Return the feature of each level of a symmetric tree whose nodes are in the order of levels; None for any other tree."""
    n_inner = len(tree.feature) // 2
    n_levels = (n_inner + 1).bit_length() - 1
    if n_inner + 1 != 1 << n_levels or (tree.feature[:n_inner] < 0).any():
        return None
    left, right, first, of_node = _level_order(n_levels)
    if tree.left[:n_inner].tobytes() != left or tree.right[:n_inner].tobytes() != right:
        return None
    features, thresholds = tree.feature[first], tree.threshold[first]
    same = (features[of_node] == tree.feature[:n_inner]) & (thresholds[of_node] == tree.threshold[:n_inner])
    return features.tolist() if same.all() else None


@cache
def _level_order(n_levels: int) -> tuple[bytes, bytes, np.ndarray, np.ndarray]:
    """Return left and right children of the inner nodes of a symmetric tree in the order of levels, as the bytes of their arrays;
    the first node of each level; and the level of each inner node."""
    inner, sizes = np.arange((1 << n_levels) - 1, dtype=np.int32), 1 << np.arange(n_levels)
    return (2 * inner + 1).tobytes(), (2 * inner + 2).tobytes(), sizes - 1, np.repeat(np.arange(n_levels), sizes)


FRONTIERS: dict[str, type[Frontier]] = {"leafwise": LeafWise, "depthwise": DepthWise, "symmetric": Symmetric}
