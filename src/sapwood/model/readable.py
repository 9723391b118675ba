"""Readable JSON of a model: column names, thresholds and levels. See docs/format.md."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sapwood.data.binning import NUMBER
from sapwood.data.columns import as_plain
from sapwood.encoding.lookup import Lookup
from sapwood.trees.leaf_models import LeafModel
from sapwood.trees.tree import Tree

if TYPE_CHECKING:
    from sapwood.model.model import Model

SCHEMA = 1


def to_json(model: Model, indent: int | None = None) -> str:
    features = [_feature(model, f) for f in range(model.n_features)]
    more, leaves = model.leaf_model.describe_all([tree.leaves for tree in model.trees])
    pairs, k = zip(model.trees, leaves, strict=True), model.trees_per_round
    trees = [_tree(tree, own, model, features) for tree, own in pairs]
    document = {
        "format": "sapwood-json",
        "schema": SCHEMA,
        "loss": model.loss,
        "link": model.link,
        "base_score": model.base_score.tolist(),
        "n_rounds_used": model.n_rounds_used,
        "leaves_hold": model.leaf_model.summary(bool(model.shared)),
        "columns": [_column(model, c) for c in range(model.encoding.n_columns)],
        "missing_values": [as_plain(value) for value in sorted(model.schema.missing_values, key=str)],
        "absent_entries_are_missing": model.schema.sparse_missing,
        "features": features,
        **more,
        "rounds": [trees[first : first + k] for first in range(0, len(trees), k)],
    }
    return json.dumps(document, indent=indent, ensure_ascii=False, allow_nan=False)


def _column(model: Model, column: int) -> dict[str, Any]:
    kind, names = model.schema.kind(column), model.schema.names
    about: dict[str, Any] = {"name": None if names is None else names[column], "kind": kind.name}
    if kind.is_category:
        about |= {"levels": [as_plain(level) for level in kind.levels], "ordered": kind.ordered}
    return about if kind.zone is None else about | {"zone": kind.zone}


def _feature(model: Model, feature: int) -> dict[str, Any]:
    columns = list(model.encoding.columns_of(feature))
    names = [str(c) if model.schema.names is None else str(model.schema.names[c]) for c in columns]
    name = ", ".join(names)
    about: dict[str, Any] = {"name": name, "columns": columns, "part": None, "lookup": None}
    if feature in model.encoding.crosses:
        cross = model.encoding.crosses[feature]
        about |= {"name": cross.describe(*names), "operation": cross.operation}
        levels = [None, *(as_plain(level) for level in model.schema.kind(columns[1]).levels)]
        return about | {"means": [{"level": level, "mean": mean} for level, mean in zip(levels, cross.means, strict=False)]}
    if feature in model.encoding.parts:
        part = model.encoding.parts[feature].part
        return about | {"name": f"{part} of {name}", "part": part}
    lookup = model.encoding.lookups.get(feature)
    if lookup is None:
        return about
    levels = [[as_plain(level) for level in model.schema.kind(c).levels] for c in columns]
    values = zip(lookup.keys.tolist(), lookup.values.tolist(), strict=True)
    entries = [{"levels": _levels_of(key, lookup, levels), "value": value} for key, value in values]
    split = "number" if lookup.kind == NUMBER else "levels"
    return about | {"lookup": {"split": split, "entries": entries, "other": None if math.isnan(lookup.other) else lookup.other}}


def _levels_of(key: int, lookup: Lookup, levels: list[list[Any]]) -> list[Any]:
    """Return the levels of a key: one per column; None if missing."""
    found: list[Any] = []
    for n, own in zip(reversed(lookup.n_levels), reversed(levels), strict=True):
        key, code = divmod(key, n + 1)
        found.append(None if code == 0 else own[code - 1])
    return found[::-1]


def _tree(tree: Tree, leaves: LeafModel, model: Model, features: list[dict[str, Any]]) -> dict[str, Any]:
    by_levels = model.binning.is_category(tree.feature)
    nodes = []
    for i in range(len(tree.feature)):
        feature, node = int(tree.feature[i]), {"count": int(tree.count[i])}
        if feature < 0:
            nodes.append({**leaves.describe(i), **node})
            continue
        condition: dict[str, Any] = {"feature": feature, "name": features[feature]["name"]}
        if by_levels[i]:
            chosen = _members(tree.sets[tree.bin[i]])
            condition["levels"] = [e["levels"][0] for e in features[feature]["lookup"]["entries"] if e["value"] in chosen]
        else:
            condition["threshold"] = as_plain(float(tree.threshold[i]))
        children = {"missing": "left" if tree.missing_left[i] else "right", "left": int(tree.left[i]), "right": int(tree.right[i])}
        nodes.append({**condition, **children, "gain": as_plain(float(tree.gain[i])), **node})
    return {"nodes": nodes}


def _members(bits: np.ndarray) -> set[int]:
    """Return the members of a set of 256 bits."""
    return set(np.flatnonzero(np.unpackbits(bits.astype("<u4").view(np.uint8), bitorder="little")).tolist())
