"""The trees of a model as data for the page, whose script evaluates them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sapwood.data.binning import NUMBER
from sapwood.encoding.lookup import split
from sapwood.model import Model
from sapwood.plots.tree import features_with_missing
from sapwood.report.payload import binary, numbers, pack
from sapwood.report.subject import format_value
from sapwood.trees.leaf_models import ConstantLeaves
from sapwood.trees.tree import Tree

BUDGET = 1_500_000  # characters of the page that trees may take
MOST_LEVELS = 300  # of a column; more are offered only if the given rows have them


@dataclass(frozen=True)
class PackedForest:
    """Trees for the page.

    Attributes
    ----------
    data : JSON data
    complete : whether all trees that prediction uses are there, so that the page can predict
    exact : whether leaf values have double precision
    """

    data: dict[str, Any]
    complete: bool
    exact: bool


def pack_forest(model: Model, rows: np.ndarray, budget: int = BUDGET) -> PackedForest:
    """Pack the trees that prediction uses, with what their columns may be, from sample rows, (n, n_columns).

    If the model is large, row counts and gains are left out, then leaf values are rounded to single precision; at last only the first
    trees are packed.
    """
    trees = model.trees[: model.n_rounds_used * model.trees_per_round]
    packer = _Packer(model, rows)
    for exact, counts in ((True, True), (True, False), (False, False)):
        data = packer.pack(trees, exact, counts)
        if len(pack(data)) <= budget:
            return PackedForest(data, True, exact)
    per_tree = len(pack(data)) / max(1, len(trees))
    n_rounds = max(1, int(budget / 2 / per_tree) // model.trees_per_round)
    return PackedForest(packer.pack(trees[: n_rounds * model.trees_per_round], False, True), False, False)


class _Packer:
    def __init__(self, model: Model, rows: np.ndarray) -> None:
        self.model, self.rows = model, rows
        self.with_missing = features_with_missing(model)

    def pack(self, trees: list[Tree], exact: bool, counts: bool) -> dict[str, Any]:
        model, encoding = self.model, self.model.encoding
        orders = [_preorder(tree) for tree in trees]
        leaves, slopes = _leaf_arrays(model, trees, orders)
        used = {int(f) for tree in trees for f in np.unique(tree.feature) if f >= 0} | {int(f) for f in slopes.get("input_feature", ())}
        features = sorted(used)
        columns = sorted({c for f in features for c in encoding.columns_of(f)})
        number_of = {f: i for i, f in enumerate(features)}
        feature = _join([tree.feature[order] for tree, order in zip(trees, orders, strict=True)], np.int32)
        renumbered = np.array([number_of[f] if f >= 0 else -1 for f in feature.tolist()], dtype=np.int32)
        thresholds, sets, at = self._splits(trees, orders, feature)
        data: dict[str, Any] = {
            "base": model.base_score.tolist(),
            "link": model.link,
            "nOutputs": model.n_outputs,
            "shared": bool(model.shared),
            "treesPerRound": model.trees_per_round,
            "absent": sorted(float(value) for value in model.schema.missing_values if not isinstance(value, str)),
            "columns": [self._column(c) for c in columns],
            "features": [self._feature(f, columns) for f in features],
            "begin": binary(np.cumsum([0, *(len(order) for order in orders)], dtype=np.int32)),
            "feature": binary(_narrow(renumbered)),
            "split": binary(_narrow(at)),
            "missingLeft": binary(_join([tree.missing_left[order] for tree, order in zip(trees, orders, strict=True)], np.uint8)),
            "thresholds": binary(thresholds),
            "sets": binary(sets),
            "values": binary(leaves if exact else leaves.astype(np.float32)),
            "count": None,
            "gain": None,
        }
        if counts:
            data["count"] = binary(_join([tree.count[order] for tree, order in zip(trees, orders, strict=True)], np.uint32))
            data["gain"] = binary(_join([tree.gain[order] for tree, order in zip(trees, orders, strict=True)], np.float32))
        if slopes:
            data["slopes"] = _slopes_data(slopes, number_of)
        return data

    def _splits(self, trees: list[Tree], orders: list[np.ndarray], feature: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return distinct thresholds, distinct sets of levels, and for each node the number of its threshold or set; 0 for leaves."""
        threshold = _join([tree.threshold[order] for tree, order in zip(trees, orders, strict=True)], np.float64)
        by_level = self.model.binning.is_category(feature) if len(feature) else np.zeros(0, dtype=bool)
        by_number = (feature >= 0) & ~by_level
        at = np.zeros(len(feature), dtype=np.int64)
        distinct, at[by_number] = np.unique(threshold[by_number], return_inverse=True)
        chosen = [
            tree.sets[tree.bin[order[self.model.binning.is_category(tree.feature[order])]]]
            for tree, order in zip(trees, orders, strict=True)
        ]
        sets = np.concatenate([np.empty((0, 8), dtype=np.uint32), *chosen])
        if len(sets):
            sets, inverse = np.unique(sets, axis=0, return_inverse=True)
            at[by_level] = inverse.ravel()
        return distinct, sets, at

    def _column(self, c: int) -> dict[str, Any]:
        schema, values = self.model.schema, self.rows[:, c]
        kind = schema.kind(c)
        about: dict[str, Any] = {"name": str(schema.names[c]) if schema.names else f"column {c}", "kind": kind.name, "number": c}
        if kind.is_category:
            codes = self._codes(c)
            return about | {"codes": codes, "levels": [format_value(code, kind) for code in codes]}
        known = values[~np.isnan(values)]
        low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
        return about | {"low": low, "high": high, "whole": bool(len(known) and (known == np.floor(known)).all()), "zone": kind.zone}

    def _codes(self, c: int) -> list[int]:
        """Return the codes of the levels that the page offers."""
        n = len(self.model.schema.kind(c).levels)
        if n <= MOST_LEVELS:
            return list(range(n))
        present, counts = np.unique(self.rows[:, c], return_counts=True)
        frequent = present[np.argsort(-counts, kind="stable")].astype(np.int64).tolist()
        return sorted({code for code in frequent if code >= 0} | set(range(MOST_LEVELS // 2)))

    def _feature(self, f: int, columns: list[int]) -> dict[str, Any]:
        encoding = self.model.encoding
        own = [columns.index(c) for c in encoding.columns_of(f)]
        return {"columns": own, "missing": f in self.with_missing, **self._source(f)}

    def _source(self, f: int) -> dict[str, Any]:
        """Return how a feature is computed from its columns; empty for a column as it is."""
        encoding = self.model.encoding
        if f in encoding.parts:
            return {"part": encoding.parts[f].part, "zone": encoding.parts[f].zone}
        if f in encoding.crosses:
            cross = encoding.crosses[f]
            means = {str(code): cross.means[code + 1] for code in (-1, *self._codes(cross.columns[1]))} if cross.means else None
            return {"operation": cross.operation, "means": means}
        if f not in encoding.lookups:
            return {}
        lookup = encoding.lookups[f]
        codes = split(lookup.keys, lookup.n_levels)
        offered = [np.array([-1, *self._codes(c)]) for c in lookup.columns]
        kept = np.logical_and.reduce([np.isin(code, known) for code, known in zip(codes, offered, strict=True)])
        return {
            "codes": [binary(code[kept].astype(np.int32)) for code in codes],
            "values": binary(lookup.values[kept]),
            "other": None if np.isnan(lookup.other) else lookup.other,
            "byLevel": lookup.kind != NUMBER,
        }


def _preorder(tree: Tree) -> np.ndarray:
    """Return the nodes of a tree, each followed by its left and then its right branch."""
    order, below = [], [0]
    feature, left, right = tree.feature.tolist(), tree.left.tolist(), tree.right.tolist()
    while below:
        node = below.pop()
        order.append(node)
        if feature[node] >= 0:
            below += [right[node], left[node]]
    return np.array(order, dtype=np.int64)


def _leaf_arrays(model: Model, trees: list[Tree], orders: list[np.ndarray]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return the values of leaves, in the order of the nodes, and the arrays of slopes if leaves are linear."""
    own = [tree.leaves.take(order[tree.feature[order] < 0]) for tree, order in zip(trees, orders, strict=True)]
    if not own:
        return np.empty(0), {}
    arrays = dict(model.leaf_model.join(own))
    values = arrays.pop("value").astype(np.float64).reshape(-1)
    return values, {} if issubclass(model.leaf_model, ConstantLeaves) else arrays


def _slopes_data(arrays: dict[str, np.ndarray], number_of: dict[int, int]) -> dict[str, Any]:
    begin = arrays["input_begin"].tolist()
    inputs = [
        {"feature": number_of[f], "cuts": binary(arrays["input_cuts"][a:b]), "values": binary(arrays["input_values"][a + i : b + i + 1])}
        for i, (f, a, b) in enumerate(zip(arrays["input_feature"].tolist(), begin, begin[1:], strict=False))
    ]
    names = {"n": "n_slopes", "input": "slope_input", "slope": "slope", "center": "slope_center", "low": "slope_low", "high": "slope_high"}
    return {"inputs": inputs, **{name: binary(arrays[array]) for name, array in names.items()}}


def _join(arrays: list[np.ndarray], dtype: Any) -> np.ndarray:
    return np.concatenate([np.empty(0, dtype=dtype), *arrays]).astype(dtype)


def _narrow(values: np.ndarray) -> np.ndarray:
    """Return integers in the smallest type that holds them."""
    for dtype in (np.int8, np.int16):
        if values.max(initial=0) <= np.iinfo(dtype).max:
            return values.astype(dtype)
    return values.astype(np.int32)


def sample_data(rows: np.ndarray, data: dict[str, Any]) -> dict[str, Any]:
    """Return sample rows as data of the page: the values of the columns that the packed trees use."""
    return {"n": len(rows), "values": binary(rows[:, [column["number"] for column in data["columns"]]])}


def predictions_data(raw: np.ndarray) -> list[list[float]]:
    return numbers(raw, 17)
