"""Trees from which splits are taken back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sapwood.trees.leaf_assignment import LeafAssignment
from sapwood.trees.rules import Limits
from sapwood.trees.tree import Tree


def sums_of_nodes(tree: Tree, assignment: LeafAssignment, of_leaves: np.ndarray) -> np.ndarray:
    """(n_nodes, ...): a leaf's own numbers, of (n_leaves, ...), and above them the sums of both children."""
    out = np.zeros((len(tree.feature), *of_leaves.shape[1:]), dtype=of_leaves.dtype)
    out[assignment.nodes] = of_leaves
    for node in np.flatnonzero(tree.feature >= 0)[::-1]:  # a child's index is larger than its parent's
        out[node] = out[tree.left[node]] + out[tree.right[node]]
    return out


def worth_keeping(tree: Tree, score: np.ndarray) -> np.ndarray:
    """(n_nodes,) bool: the splits below which leaves have a larger sum of scores, (n_nodes,), than the node would have as a leaf."""
    best, kept = score.copy(), np.zeros(len(score), dtype=bool)
    for node in np.flatnonzero(tree.feature >= 0)[::-1]:
        below = best[tree.left[node]] + best[tree.right[node]]
        kept[node] = below > score[node]
        best[node] = max(below, score[node])
    return kept


def prune(tree: Tree, assignment: LeafAssignment, kept: np.ndarray, by_levels: np.ndarray) -> tuple[Tree, np.ndarray]:
    """A tree of the splits that are kept, (n_nodes,) bool, as far as those above them are; its leaves add nothing yet.

    `by_levels` tells which nodes part by sets of levels. `assignment` is updated: it holds the leaf of each training row in the new tree.
    Also gives the nodes of the old tree that are leaves now, (n_leaves,).
    """
    n_nodes = len(tree.feature)
    head = np.arange(n_nodes)  # the node that stands for each: itself, or the one above that became a leaf
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
    free = np.full(len(new), np.inf)
    assignment.reset(new, arrays["count"][new], Limits(-free, free, np.zeros(len(new))))
    assignment.of_row[:] = leaf_of[number[head[old_leaves]]][old_of_row]
    leaves = tree.leaves.of_steps(len(stays), new, np.zeros(len(new)))
    return replace(tree, **arrays, leaves=leaves, sets=sets), stays[new]
