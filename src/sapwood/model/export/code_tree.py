"""Splits on categories as thresholds of codes, for libraries that know only thresholds."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from sapwood.trees.column_tree import ColumnTree

Run = tuple[bool, np.ndarray]  # whether its codes go left, and which codes: (n_levels,) bool


class TooManyNodes(ValueError):
    """Raised if a tree would have too many nodes."""


def with_code_thresholds(tree: ColumnTree, max_nodes: int) -> ColumnTree:
    """Return a tree with the same predictions and path-dependent SHAP values whose splits are all thresholds.

    The codes of a category are divided into runs that go to the same side. A balanced tree of thresholds leads to the runs, each of which
    has a copy of the child. The copies share the weight of the child, so that the fraction of rows on each side is the same.

    Raises
    ------
    TooManyNodes
        If there are more than `max_nodes` nodes.
    """
    if not tree.levels:
        return tree
    builder = _Builder(tree, max_nodes)
    builder.build()
    return builder.result()


class _Builder:
    """Nodes of the new tree. Children come after their parents."""

    def __init__(self, tree: ColumnTree, max_nodes: int) -> None:
        self.tree, self.max_nodes = tree, max_nodes
        self.source: list[int] = []  # node of the old tree
        self.columns: list[int] = []
        self.thresholds: list[float] = []
        self.children: list[list[int]] = []
        self.missing_left: list[bool] = []
        self.shares: list[float] = []  # of the weight of the old node

    def build(self) -> None:
        # parent and side in the new tree, node of the old tree, share of its weight, codes by column that can reach it
        stack: list[tuple[int, int, int, float, dict[int, np.ndarray]]] = [(-1, 0, 0, 1.0, {})]
        while stack:
            parent, side, node, share, reached = stack.pop()
            if node not in self.tree.levels:
                new = self._add(node, share, parent, side)
                if self.tree.column[node] >= 0:
                    self.columns[new], self.thresholds[new] = int(self.tree.column[node]), float(self.tree.threshold[node])
                    self.missing_left[new] = bool(self.tree.missing_left[node])
                    stack.append((new, 0, int(self.tree.left[node]), share, reached))
                    stack.append((new, 1, int(self.tree.right[node]), share, reached))
                continue
            column, left = int(self.tree.column[node]), self.tree.levels[node]
            runs = _runs(left, reached.get(column, np.ones(len(left), dtype=bool)))
            n_runs = [sum(side_left is goes for side_left, _ in runs) for goes in (True, False)]
            missing = next(place for place, (goes, _) in enumerate(runs) if goes == bool(self.tree.missing_left[node]))
            spans = [(parent, side, 0, len(runs))]
            while spans:
                above, place, first, last = spans.pop()
                if last - first == 1:
                    goes, codes = runs[first]
                    child = int(self.tree.left[node] if goes else self.tree.right[node])
                    stack.append((above, place, child, share / n_runs[0 if goes else 1], reached | {column: codes}))
                    continue
                middle = (first + last) // 2
                new = self._add(node, share, above, place)
                self.columns[new], self.thresholds[new] = column, _boundary(runs, middle)
                self.missing_left[new] = missing < middle
                spans += [(new, 0, first, middle), (new, 1, middle, last)]

    def _add(self, node: int, share: float, parent: int, side: int) -> int:
        new = len(self.source)
        if new >= self.max_nodes:
            raise TooManyNodes(f"more than {self.max_nodes} nodes")
        self.source.append(node)
        self.columns.append(-1)
        self.thresholds.append(0.0)
        self.children.append([-1, -1])
        self.missing_left.append(False)
        self.shares.append(share)
        if parent >= 0:
            self.children[parent][side] = new
        return new

    def result(self) -> ColumnTree:
        source, children = np.array(self.source), np.array(self.children, dtype=np.int32)
        return replace(
            self.tree,
            column=np.array(self.columns, dtype=np.int32),
            threshold=np.array(self.thresholds),
            left=children[:, 0],
            right=children[:, 1],
            missing_left=np.array(self.missing_left),
            gain=self.tree.gain[source],
            count=self.tree.count[source],
            leaves=self.tree.leaves.take(self.source),
            levels={},
            cover=self.tree.weights[source] * np.array(self.shares),
        )


def _runs(left: np.ndarray, reached: np.ndarray) -> list[Run]:
    """Return the runs of codes that go to the same side, among the codes that reach the node; at least one for each side."""
    runs: list[Run] = []
    for goes, codes in itertools.groupby(np.flatnonzero(reached).tolist(), key=lambda code: bool(left[code])):
        mask = np.zeros(len(left), dtype=bool)
        mask[list(codes)] = True
        runs.append((goes, mask))
    for goes in (True, False):
        if not any(goes is own for own, _ in runs):
            runs.append((goes, np.zeros(len(left), dtype=bool)))  # rows whose level is unknown are divided by weight
    return runs


def _boundary(runs: list[Run], middle: int) -> float:
    """Return a threshold between the codes of the runs before and from `middle` on."""
    after = [int(np.flatnonzero(codes)[0]) for _, codes in runs[middle:] if codes.any()]
    return min(after) - 0.5 if after else len(runs[0][1]) - 0.5
