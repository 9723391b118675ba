"""Growth policies: which leaves to split next."""

from __future__ import annotations

import heapq


class Frontier:
    """The leaves that could be split.

    A grower's life with it: `add` the root; then, as long as `choose` hands out leaves, split them and `add` their children.

    Parameters
    ----------
    max_leaves : int or None
    """

    def __init__(self, max_leaves: int | None) -> None:
        self.leaves_left = float("inf") if max_leaves is None else max_leaves - 1

    def add(self, first: int, gains: list[float]) -> None:
        """Take in the nodes first, first + 1, ... with the gains of their best splits; no gain, no split."""
        raise TypeError(f"{type(self).__name__} does not take leaves in")

    def choose(self) -> list[int]:
        """The leaves to split next, all at once; none when the tree is done."""
        raise TypeError(f"{type(self).__name__} does not choose")

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


FRONTIERS: dict[str, type[Frontier]] = {"leafwise": LeafWise, "depthwise": DepthWise}
