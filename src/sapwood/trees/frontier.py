"""Growth policies: which leaves to split next."""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np

Sums = tuple[np.ndarray, np.ndarray, np.ndarray]  # sums of gradients, hessians and rows of nodes


class Frontier:
    """Base class of growth policies. Holds the leaves that can be split.

    Order of calls: `add` the root; as long as `choose` returns leaves, split them and `add` their children.

    Parameters
    ----------
    max_leaves : maximum number of leaves; None for no limit
    """

    splits_levels_jointly = False  # whether all leaves of a level have the same split

    def __init__(self, max_leaves: int | None) -> None:
        self.leaves_left: float = float("inf") if max_leaves is None else max_leaves - 1

    def group_leaves(
        self, left: np.ndarray, right: np.ndarray, leaves: np.ndarray, sums: Sums, allows: Callable[[Sums], np.ndarray]
    ) -> np.ndarray | None:
        """Return the group of each leaf, (n_leaves,): leaves of a group have the same value. None: each leaf has its own value.

        `left` and `right` are the children of each node, -1 in leaves; `sums` are those of the leaves; `allows` returns whether nodes with
        given sums may be leaves.
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
    """Split the leaf with the highest gain; of equal gains, the older leaf."""

    def __init__(self, max_leaves: int | None) -> None:
        super().__init__(max_leaves)
        self.heap: list[tuple[float, int]] = []

    def add(self, first: int, gains: list[float]) -> None:
        for node, gain in enumerate(gains, first):
            if gain > 0:
                heapq.heappush(self.heap, (-gain, node))

    def choose(self) -> list[int]:
        if not self.heap or self.full:
            return []
        self.leaves_left -= 1
        return [heapq.heappop(self.heap)[1]]

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

    def __init__(self, max_leaves: int | None) -> None:
        super().__init__(max_leaves)
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

    If a child of a node would have too few rows, both children get the value of the node.
    """

    n_chosen: int
    splits_levels_jointly = True
    MAX_LEVELS = 16

    def __init__(self, max_leaves: int | None) -> None:
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

    def group_leaves(
        self, left: np.ndarray, right: np.ndarray, leaves: np.ndarray, sums: Sums, allows: Callable[[Sums], np.ndarray]
    ) -> np.ndarray | None:
        inner = np.flatnonzero(left >= 0)
        totals = tuple(np.zeros(len(left), dtype=part.dtype) for part in sums)
        for total, part in zip(totals, sums, strict=True):
            total[leaves] = part
            for node in inner[::-1]:  # children come after their parents
                total[node] = total[left[node]] + total[right[node]]
        allowed = allows((totals[0], totals[1], totals[2]))
        group = np.arange(len(left))
        for node in inner:
            children = [left[node], right[node]]
            if group[node] != node or not allowed[children].all():  # all nodes below are in the same group
                group[children] = group[node]
        return np.unique(group[leaves], return_inverse=True)[1]


FRONTIERS: dict[str, type[Frontier]] = {"leafwise": LeafWise, "depthwise": DepthWise, "symmetric": Symmetric}
