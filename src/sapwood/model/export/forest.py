"""The trees of a model in the form that exporters use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sapwood.data.binning import NUMBER
from sapwood.encoding.calendar import CalendarPart
from sapwood.encoding.cross import Cross
from sapwood.runtime.caching import cached_property
from sapwood.trees.column_tree import ColumnTree
from sapwood.trees.tree import Tree

if TYPE_CHECKING:
    from sapwood.data.columns import Schema
    from sapwood.model import Model


class Forest:
    """Trees of the rounds that prediction uses, with columns, link and base score."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.trees: list[Tree] = model.trees[: model.n_rounds_used * model.trees_per_round]
        self.n_columns: int = model.encoding.n_columns
        self.n_outputs: int = model.n_outputs
        self.base_score: np.ndarray = model.base_score  # (n_outputs,) float64
        self.link: str = model.link
        self.shared: int = model.shared
        self.schema: Schema = model.schema
        # numbers of the parameter `missing`
        self.absent: list[float] = sorted(float(value) for value in model.schema.missing_values if not isinstance(value, str))

    @property
    def column_names(self) -> list[str]:
        names = self.schema.names
        return [str(names[c]) if names else f"column_{c}" for c in range(self.n_columns)]

    @cached_property
    def _used(self) -> set[int]:
        return {int(f) for tree in self.trees for f in np.unique(tree.feature)}

    @property
    def combinations(self) -> list[int]:
        """Features used by trees that combine several columns."""
        return sorted(f for f, lookup in self.model.encoding.lookups.items() if f in self._used and len(lookup.columns) > 1)

    @property
    def calendar_parts(self) -> dict[int, CalendarPart]:
        """Features used by trees that are calendar parts of datetimes."""
        return {f: part for f, part in sorted(self.model.encoding.parts.items()) if f in self._used}

    @property
    def crosses(self) -> dict[int, Cross]:
        """Features used by trees that are computed from two columns."""
        return {f: cross for f, cross in sorted(self.model.encoding.crosses.items()) if f in self._used}

    @cached_property
    def column_trees(self) -> list[ColumnTree]:
        """Trees that split on columns instead of features. There must be no combinations, calendar parts and cross features.

        A threshold on an encoded category (target mean or count) becomes a set of levels.
        """
        assert not self.combinations and not self.calendar_parts and not self.crosses
        return [self._by_columns(tree) for tree in self.trees]

    @cached_property
    def _looked_up(self) -> dict[int, np.ndarray]:
        """Values by feature, (1 + n_levels,): for a missing level, and for each level."""
        lookups = {f: own for f, own in self.model.encoding.lookups.items() if len(own.columns) == 1}
        return {f: own.read([np.arange(-1, own.n_levels[0])]) for f, own in lookups.items()}

    def _by_columns(self, tree: Tree) -> ColumnTree:
        encoding = self.model.encoding
        missing_left = tree.missing_left.astype(bool)
        column, levels = tree.feature.copy(), {}
        for node in np.flatnonzero(np.isin(tree.feature, list(encoding.lookups))):
            lookup, values = encoding.lookups[int(tree.feature[node])], self._looked_up[int(tree.feature[node])]
            column[node] = lookup.columns[0]
            if lookup.kind == NUMBER:
                left = values <= tree.threshold[node]
            else:
                sets = tree.sets[tree.bin[node]]
                bins = np.nan_to_num(values).astype(np.int64)
                left = (sets[bins >> 5] >> (bins & 31).astype(np.uint32)) & 1 == 1
            left = np.where(np.isnan(values), missing_left[node], left)
            missing_left[node] = left[0]
            levels[int(node)] = left[1:]
        return ColumnTree(
            column,
            tree.threshold.astype(np.float64),
            tree.left,
            tree.right,
            missing_left,
            tree.gain,
            tree.count,
            tree.leaves,
            levels,
            tree.cover,
        )

    def single_output(self, base_score: bool) -> Iterator[tuple[int, ColumnTree]]:
        """Yield (output, tree) pairs with one output each, outputs in turn. A shared tree is yielded once per output. There is at least one
        tree per output.

        With `base_score`, the base score is added to the leaves of the first tree of each output. Prediction adds in the same order, so the
        sums are the same to the last bit.
        """
        if not self.trees:
            for k in range(self.n_outputs):
                yield k, ColumnTree.leaf(self.base_score[k] if base_score else 0.0)
        for t, tree in enumerate(self.column_trees):
            outputs = range(self.n_outputs) if self.shared else [t % self.n_outputs]
            first = base_score and t < (1 if self.shared else self.n_outputs)
            for k in outputs:
                leaves = tree.leaves.output(k if self.shared else 0)
                if first:
                    leaves = leaves.plus(self.base_score[k], np.flatnonzero(tree.is_leaf))
                yield k, replace(tree, leaves=leaves)

    def n_levels(self, column: int) -> int:
        """Return the number of levels of a categorical column; 0 for other columns."""
        return len(self.schema.kind(column).levels)
