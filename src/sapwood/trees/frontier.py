"""Growth policies: which leaves to split next."""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np

Sums = tuple[np.ndarray, np.ndarray, np.ndarray]  # gradients, hessians, rows of some nodes


class Frontier:
    """The leaves that could be split.

    A grower's life with it: `add` the root; then, as long as `choose` hands out leaves, split them and `add` their children.

    Parameters
    ----------
    max_leaves : int or None
    """

    splits_levels_jointly = False  # whether all leaves of a level have one split

    def __init__(self, max_leaves: int | None) -> None:
        self.leaves_left: float = float("inf") if max_leaves is None else max_leaves - 1

    def group_leaves(
        self, left: np.ndarray, right: np.ndarray, leaves: np.ndarray, sums: Sums, allows: Callable[[Sums], np.ndarray]
    ) -> np.ndarray | None:
        """(n_leaves,) numbers of groups: leaves of a group have one value. None: each has its own.

        `left` and `right` are the children of each node, -1 in leaves; `sums` are those of the leaves; `allows` tells which sums may make
        a leaf.
        """
        return None

    def add(self, first: int, gains: list[float]) -> None:
        """Take in the nodes first, first + 1, ... with the gains of their best splits; no gain, no split."""
        raise TypeError(f"{type(self).__name__} does not take leaves in")

    def choose(self) -> list[int]:
        """The leaves to split next, all at once; none when the tree is done."""
        raise TypeError(f"{type(self).__name__} does not choose")

    def remove(self, node: int) -> None:
        """Count a leaf as split without choosing it."""
        raise TypeError(f"{type(self).__name__} does not give leaves away")

    def update_gain(self, node: int, gain: float) -> None:
        """A leaf that was added has another gain now."""
        raise TypeError(f"{type(self).__name__} does not change its mind")

    @property
    def full(self) -> bool:
        """Whether no leaf beyond those chosen will be split."""
        return self.leaves_left <= 0


class LeafWise(Frontier):
    """The one leaf with the highest gain; a tie goes to the older."""

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
    """All leaves of a level; the best of them where there is no room for all."""

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
    """All leaves of a level or none, by the same split.

    Where that would leave a child with too few rows, the rows stay together: both children have their parent's value.
    """

    n_chosen: int
    splits_levels_jointly = True
    MOST_LEVELS = 16

    def __init__(self, max_leaves: int | None) -> None:
        super().__init__(min(max_leaves or 1 << self.MOST_LEVELS, 1 << self.MOST_LEVELS))
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
        whole = tuple(np.zeros(len(left), dtype=part.dtype) for part in sums)
        for all_, part in zip(whole, sums, strict=True):
            all_[leaves] = part
            for node in inner[::-1]:  # children come after their parents
                all_[node] = all_[left[node]] + all_[right[node]]
        fit = allows((whole[0], whole[1], whole[2]))
        group = np.arange(len(left))
        for node in inner:
            children = [left[node], right[node]]
            if group[node] != node or not fit[children].all():  # nor can what is below be told apart
                group[children] = group[node]
        return np.unique(group[leaves], return_inverse=True)[1]


FRONTIERS: dict[str, type[Frontier]] = {"leafwise": LeafWise, "depthwise": DepthWise, "symmetric": Symmetric}
