"""Pruning: removing splits from a tree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sapwood.trees.leaf_assignment import LeafAssignment
from sapwood.trees.rules import UNLIMITED
from sapwood.trees.tree import Tree


def sums_of_nodes(tree: Tree, assignment: LeafAssignment, of_leaves: np.ndarray) -> np.ndarray:
    """Return the sum over the leaves below each node, (n_nodes, ...), from values of the leaves, (n_leaves, ...)."""
    out = np.zeros((len(tree.feature), *of_leaves.shape[1:]), dtype=of_leaves.dtype)
    out[assignment.nodes] = of_leaves
    for node in np.flatnonzero(tree.feature >= 0)[::-1]:  # a child's index is larger than its parent's
        out[node] = out[tree.left[node]] + out[tree.right[node]]
    return out


def worth_keeping(tree: Tree, score: np.ndarray) -> np.ndarray:
    """Return the splits to keep, (n_nodes,) bool: those where the best score of the subtree exceeds the score of the node as a leaf."""
    best, kept = score.copy(), np.zeros(len(score), dtype=bool)
    for node in np.flatnonzero(tree.feature >= 0)[::-1]:
        below = best[tree.left[node]] + best[tree.right[node]]
        kept[node] = below > score[node]
        best[node] = max(below, score[node])
    return kept


def prune(tree: Tree, assignment: LeafAssignment, kept: np.ndarray, by_levels: np.ndarray) -> tuple[Tree, np.ndarray]:
    """Return the pruned tree, with leaf values of 0, and the nodes of the old tree that are its leaves, (n_leaves,).

    A split stays if it and all splits above it are in `kept`, (n_nodes,) bool. `by_levels` are the nodes that split by levels. `assignment`
    is updated to the leaves of the pruned tree.
    """
    n_nodes = len(tree.feature)
    head = np.arange(n_nodes)  # each node, or the node above it that became a leaf
    for node in np.flatnonzero(tree.feature >= 0):
        if head[node] != node or not kept[node]:
            head[tree.left[node]] = head[tree.right[node]] = head[node]
    stays = np.flatnonzero(head == np.arange(n_nodes))
    number = np.zeros(n_nodes, dtype=np.int32)
    number[stays] = np.arange(len(stays), dtype=np.int32)
    splits = kept[stays] & (tree.feature[stays] >= 0)
    arrays = {name: getattr(tree, name)[stays] for name in Tree.names()}
    for name, none in (("feature", -1), ("threshold", 0), ("bin", 0), ("left", -1), ("right", -1), ("missing_left", 0), ("gain", 0)):
        arrays[name][~splits] = none
    for name in ("left", "right"):
        arrays[name][splits] = number[arrays[name][splits]]
    with_sets = splits & by_levels[stays]
    sets = tree.sets[tree.bin[stays[with_sets]]]
    arrays["bin"][with_sets] = np.arange(len(sets))

    old_leaves, old_of_row = assignment.nodes, assignment.of_row.copy()
    new = np.flatnonzero(~splits)
    leaf_of = np.zeros(len(stays), dtype=np.int64)
    leaf_of[new] = np.arange(len(new))
    assignment.reset(new, arrays["count"][new], UNLIMITED)
    assignment.of_row[:] = leaf_of[number[head[old_leaves]]][old_of_row]
    leaves = tree.leaves.of_steps(len(stays), new, np.zeros(len(new)))
    return replace(tree, **arrays, leaves=leaves, sets=sets), stays[new]
