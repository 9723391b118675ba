"""Splits that the user asks for, at the top of every tree."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from sapwood.trees.features import TreeFeatures
from sapwood.trees.frontier import Frontier
from sapwood.trees.growth import Grower


@dataclass(frozen=True)
class ForcedSplit:
    """A split at the root or below another forced split. It is made unless a child would be empty."""

    feature: int
    bin: int
    missing_left: bool = False
    left: ForcedSplit | None = None
    right: ForcedSplit | None = None

    def grow(self, grower: Grower, frontier: Frontier, features: TreeFeatures) -> None:
        """Split the root and what is below it as told, as far as the frontier has room."""
        waiting: deque[tuple[int, ForcedSplit | None]] = deque([(0, self)])
        while waiting and not frontier.full:
            node, split = waiting.popleft()
            if split is None or split.bin < 0 or not grower.force(node, split.feature, split.bin, split.missing_left):
                continue
            frontier.remove(node)
            first, gains = grower.advance([node], True, features.of_children([node], grower))
            frontier.add(first, gains)
            waiting.extend([(first, split.left), (first + 1, split.right)])
