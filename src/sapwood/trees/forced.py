"""Forced splits at the top of every tree."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from sapwood.trees.features import TreeFeatures
from sapwood.trees.frontier import Frontier
from sapwood.trees.growth import Grower


@dataclass(frozen=True)
class ForcedSplit:
    """Forced split of the root, or of a child of another forced split. It is skipped if a child would be empty."""

    feature: int
    bin: int
    missing_left: bool = False
    left: ForcedSplit | None = None
    right: ForcedSplit | None = None

    def grow(self, grower: Grower, frontier: Frontier, features: TreeFeatures) -> None:
        """Apply this split and those below it, until the tree has its maximum number of leaves."""
        waiting: deque[tuple[int, ForcedSplit | None]] = deque([(0, self)])
        while waiting and not frontier.full:
            node, split = waiting.popleft()
            if split is None or split.bin < 0 or not grower.force(node, split.feature, split.bin, split.missing_left):
                continue
            frontier.remove(node)
            first, gains = grower.advance([node], True, features.of_children([node], grower))
            frontier.add(first, gains)
            waiting.extend([(first, split.left), (first + 1, split.right)])
