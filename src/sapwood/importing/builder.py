"""Construction of a model from trees that split on columns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from sapwood.data.binning import NUMBER, PARTITION, Binning
from sapwood.data.columns import Kind, Schema, as_level
from sapwood.encoding.encoding import Encoding
from sapwood.encoding.levels import MAX_LEVELS
from sapwood.encoding.lookup import Lookup
from sapwood.importing.base import MAX_ROWS, ImportedModelError, in_range
from sapwood.model import Model
from sapwood.trees.column_tree import ColumnTree
from sapwood.trees.tree import Tree

Split = tuple[int, int]  # index of the tree, index of the node


def build_model(
    trees: Sequence[ColumnTree],
    schema: Schema,
    base_score: np.ndarray,
    loss: str,
    link: str,
    shared: int = 0,
    best_round: int | None = None,
) -> Model:
    """Build a model from trees: one tree per output in turn, or `shared` trees per round with one value per output in each leaf.

    The thresholds of the trees become cut points. Levels of a category that no split separates share a bin. A category with more bins than
    fit in a byte becomes several features.
    """
    if not trees or len(trees) % (shared or len(base_score)):
        raise ImportedModelError(f"{len(trees)} trees for {len(base_score)} output(s): the last round is incomplete")
    trees = [depth_first(tree) for tree in trees]
    for tree in trees:
        if (tree.column >= schema.n_features).any() or np.isnan(tree.threshold).any() or not tree.leaves.is_finite:
            raise ImportedModelError("a tree has an unknown column, a threshold that is NaN, or a leaf value that is not finite")
    binning, lookups, feature_of = _lay_out(trees, schema, _features(trees, schema))
    built = [_tree(t, tree, binning, feature_of) for t, tree in enumerate(trees)]
    for built_tree in () if shared else built:
        built_tree.leaves = built_tree.leaves.output(0)
    model = Model(
        binning,
        base_score.astype(np.float64),
        loss,
        link,
        built,
        shared,
        leaf_model=type(built[0].leaves),
        schema=schema,
        encoding=Encoding(schema.n_features, lookups),
    )
    model.best_round = best_round
    return model


def make_schema(n_columns: int, names: Sequence[str] | None, levels: Mapping[int, Sequence[object]]) -> Schema:
    """Return a schema of numeric columns, and of categorical columns with these levels."""
    kinds = {c: Kind("category", tuple(level for level in map(as_level, own) if level is not None)) for c, own in levels.items()}
    return Schema(n_columns, None if names is None else tuple(names), kinds)


def rows_and_cover(weights: np.ndarray, name: str) -> dict[str, Any]:
    """Return `count` and `cover` of a tree whose nodes have weights instead of row counts: the counts are the weights, rounded up."""
    cover = in_range(np.maximum(weights.astype(np.float64), 0.0), 0, MAX_ROWS, name)
    count = np.ceil(cover)
    return {"count": count.astype(np.int64), "cover": None if (count == cover).all() else cover}


def depth_first(tree: ColumnTree) -> ColumnTree:
    """Return a tree with its nodes in depth-first order, without unreachable nodes. Children come after their parents."""
    column, left, right = tree.column.tolist(), tree.left.tolist(), tree.right.tolist()
    inner = tree.column >= 0
    children = np.concatenate([tree.left[inner], tree.right[inner]])
    if ((children <= 0) | (children >= len(column))).any() or len(np.unique(children)) < len(children):
        raise ImportedModelError("a node of a tree has an unknown child, or two nodes have the same child")
    order, stack = [], [0]
    while stack:
        node = stack.pop()
        order.append(node)
        if column[node] >= 0:
            stack += [right[node], left[node]]
    return tree.take(order)


class _Feature:
    """Feature of a categorical column: some of the splits on the column, and bins of levels that separate the sets of these splits."""

    def __init__(self, n_levels: int) -> None:
        self.bins = np.zeros(n_levels, dtype=np.int64)  # bin of each level
        self.splits: list[Split] = []

    def add_set(self, left: np.ndarray) -> bool:
        """Refine the bins by a set of levels. Return False, and change nothing, if there would be too many bins."""
        found, bins = np.unique(self.bins * 2 + left, return_inverse=True)
        if len(found) > MAX_LEVELS:
            return False
        self.bins = bins
        return True

    @property
    def n_bins(self) -> int:
        return int(self.bins.max(initial=0)) + 1


def _features(trees: Sequence[ColumnTree], schema: Schema) -> dict[int, list[_Feature]]:
    """Return the features of each categorical column; at least one."""
    found = {c: [_Feature(len(schema.kind(c).levels))] for c in schema.categories}
    for t, tree in enumerate(trees):
        for node, left in tree.levels.items():
            features = found[int(tree.column[node])]
            if not features[-1].add_set(left):
                features.append(_Feature(len(left)))
                features[-1].add_set(left)
            features[-1].splits.append((t, node))
    return found


def _by_column(column: np.ndarray, nodes: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield each column with its nodes."""
    order = nodes[np.argsort(column[nodes], kind="stable")]
    for own in np.split(order, np.flatnonzero(np.diff(column[order])) + 1) if len(order) else ():
        yield int(column[own[0]]), own


def _lay_out(
    trees: Sequence[ColumnTree], schema: Schema, categorical: Mapping[int, list[_Feature]]
) -> tuple[Binning, dict[int, Lookup], dict[Split, tuple[int, np.ndarray]]]:
    """Return the cut points and lookups of features; and for each split on a category its feature and the bins of the levels.

    Time and memory depend on the columns that the trees use, not on how many there are.
    """
    found: defaultdict[int, list[np.ndarray]] = defaultdict(list)
    for tree in trees:
        inner = ~tree.is_leaf
        inner[list(tree.levels)] = False
        for column, nodes in _by_column(tree.column, np.flatnonzero(inner)):
            found[column].append(tree.threshold[nodes])
    cuts = {column: np.unique(np.concatenate(own)) for column, own in found.items()}
    cuts = {column: own[np.isfinite(own)] for column, own in cuts.items()}
    lookups, feature_of, n_features = {}, {}, schema.n_features
    for column, features in categorical.items():
        n_levels = len(schema.kind(column).levels)
        for i, own in enumerate(features):
            feature = column if i == 0 else n_features
            n_features += i > 0
            cuts[feature] = np.arange(own.n_bins - 1) + 0.5
            keys = np.arange(1, n_levels + 1, dtype=np.int64)
            lookups[feature] = Lookup((column,), (n_levels,), keys, own.bins.astype(np.float64), np.nan, PARTITION)
            feature_of.update(dict.fromkeys(own.splits, (feature, own.bins)))
    begin, kinds = np.zeros(n_features + 1, dtype=np.int64), np.full(n_features, NUMBER, dtype=np.uint8)
    kinds[list(lookups)] = PARTITION
    for feature, own_cuts in cuts.items():
        begin[feature + 1] = len(own_cuts)
    joined = np.concatenate([np.empty(0), *(cuts[feature] for feature in sorted(cuts))])
    return Binning.from_arrays(joined, np.cumsum(begin), kinds if lookups else None), lookups, feature_of


def _tree(number: int, tree: ColumnTree, binning: Binning, feature_of: Mapping[Split, tuple[int, np.ndarray]]) -> Tree:
    n = len(tree.column)
    feature, threshold = tree.column.astype(np.int32), np.where(tree.is_leaf, 0.0, tree.threshold)
    bins = np.zeros(n, dtype=np.int32)
    sets: list[np.ndarray] = []
    for column, own in _by_column(tree.column, np.flatnonzero(~tree.is_leaf)):
        bins[own] = np.searchsorted(binning.cuts_of(column), threshold[own], side="left")
    for node in sorted(tree.levels):
        feature[node], of_level = feature_of[number, node]
        left = np.zeros(256, dtype=bool)
        left[of_level[tree.levels[node]]] = True
        bins[node], threshold[node] = len(sets), 0.0
        sets.append(np.packbits(left, bitorder="little").view("<u4"))
    return Tree(
        feature=feature,
        threshold=threshold,
        bin=bins,
        left=tree.left,
        right=tree.right,
        missing_left=(tree.missing_left & ~tree.is_leaf).astype(np.uint8),
        gain=np.where(tree.is_leaf, 0.0, tree.gain).astype(np.float64),
        count=tree.count.astype(np.int64),
        leaves=tree.leaves.only(np.flatnonzero(tree.is_leaf)),
        cover=tree.cover,
        sets=np.array(sets, dtype=np.uint32).reshape(-1, 8),
    )
