"""Merging of models: the raw predictions of the merged model are the (weighted) sum of those of the models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from sapwood.data.binning import NUMBER as BY_THRESHOLD
from sapwood.data.binning import Binning
from sapwood.data.columns import NUMBER, ColumnError, Kind, Schema, rank
from sapwood.encoding.calendar import CalendarPart
from sapwood.encoding.cross import Cross
from sapwood.encoding.encoding import Encoding
from sapwood.encoding.lookup import MAX_KEYS, Lookup, combine, key_space, split
from sapwood.model.model import Model
from sapwood.trees.tree import Tree


def merge_models(models: Sequence[Model], weights: Sequence[float]) -> Model:
    """Concatenate the rounds of the models, with leaf values multiplied by the weight of the model.

    Columns are matched by name. The merged model has the levels of all models; a level that a model has not seen stays unseen for its
    trees. If encodings of a column differ, the merged model has a feature for each.
    """
    models = [model[: model.n_rounds_used] for model in models]
    first = models[0]
    _check_mergeable(models)
    order = [_order(first.schema, model.schema, i) for i, model in enumerate(models)]
    schema = _merged_schema(models, order)
    encoding, positions = _merged_encoding(models, order, schema)
    binning = _merged_binning(models, positions, encoding)
    shared = first.shared if all(model.shared == first.shared for model in models) else 1
    base_scores = [weight * model.base_score for model, weight in zip(models, weights, strict=True)]
    merged = Model(
        binning,
        sum(base_scores[1:], base_scores[0]),
        first.loss,
        first.link,
        shared=shared,
        leaf_model=first.leaf_model,
        schema=schema,
        encoding=encoding,
    )
    for model, weight, position in zip(models, weights, positions, strict=True):
        merged.trees += [_moved_tree(tree, weight, position, binning) for tree in model.trees]
    return merged


def average_models(models: Sequence[Model]) -> Model:
    """Return the average of models with the same encoding and bins: their rounds in turn, with leaf values divided by the number of
    models."""
    first, weight = models[0], 1 / len(models)
    average = first[:0]
    average.base_score = weight * sum((model.base_score for model in models[1:]), first.base_score)
    for model in models:
        average.trees += [replace(tree, leaves=tree.leaves.scaled(weight)) for tree in model.trees]
    return average


def _check_mergeable(models: Sequence[Model]) -> None:
    """Raise a ValueError if the models predict different things or read tables differently."""
    first = models[0]
    for i, model in enumerate(models):
        for name in ("n_outputs", "loss", "link"):
            of_first, of_model = getattr(first, name), getattr(model, name)
            if of_first != of_model:
                raise ValueError(f"models cannot be merged: {name} is {of_first!r} in the first, but {of_model!r} in number {i}")
        for name, parameter in (("missing_values", "missing"), ("sparse_missing", "sparse_absent")):
            if getattr(first.schema, name) != getattr(model.schema, name):
                raise ValueError(f"models cannot be merged: {parameter} differs between the first and number {i}")
        if model.leaf_model is not first.leaf_model:
            of_first, of_model = first.leaf_model.name, model.leaf_model.name
            raise ValueError(f"models cannot be merged: leaves are {of_first} in the first, but {of_model} in number {i}")
        if bool(model.shared) != bool(first.shared):
            raise ValueError("models cannot be merged: some have trees shared by all outputs, others one tree per output")


def _order(first: Schema, schema: Schema, number: int) -> list[int]:
    """Return, for each column of a model, the position of the same column in the first model."""
    if first.n_features != schema.n_features:
        raise ValueError(f"models cannot be merged: the first has {first.n_features} columns, number {number} has {schema.n_features}")
    if first.names is None or schema.names is None or first.names == schema.names:
        return list(range(schema.n_features))
    missing = [name for name in first.names if name not in schema.names]
    if missing:
        raise ValueError(f"models cannot be merged: number {number} has no column {missing[0]!r}, which the first has")
    return [first.names.index(name) for name in schema.names]


def _merged_schema(models: Sequence[Model], order: Sequence[list[int]]) -> Schema:
    first = models[0].schema
    kinds = {f: first.kind(f) for f in range(first.n_features)}
    for model, columns in zip(models, order, strict=True):
        for column, f in enumerate(columns):
            kinds[f] = _merged_kind(kinds[f], model.schema.kind(column), first.name(f))
    names = next((model.schema.names for model in models if model.schema.names is not None), None)
    return replace(first, names=names, kinds={f: kind for f, kind in kinds.items() if kind != NUMBER})


def _merged_kind(kind: Kind, new: Kind, name: str) -> Kind:
    """Return the kind of a column that has two kinds in the models."""
    if kind == new:
        return kind
    if {kind.name, new.name} <= {"number", "bool"}:
        return NUMBER
    if kind.is_category and new.is_category and not kind.ordered and not new.ordered:
        return replace(kind, levels=tuple(sorted({*kind.levels, *new.levels}, key=rank)))
    raise ColumnError(f"models cannot be merged: the column {name} has {kind.describe()} in one model, {new.describe()} in another")


def _merged_encoding(models: Sequence[Model], order: Sequence[list[int]], schema: Schema) -> tuple[Encoding, list[np.ndarray]]:
    """Return the encoding with the distinct lookups, calendar parts and cross features of all models; and for each model the new positions
    of its features."""
    lookups: dict[int, Lookup] = {}
    parts: dict[int, CalendarPart] = {}
    crosses: dict[int, Cross] = {}
    next_feature, positions = schema.n_features, []
    for model, columns in zip(models, order, strict=True):
        position = np.zeros(model.n_features, dtype=np.int32)
        for f in range(model.n_features):
            if f in model.encoding.parts:
                part = replace(model.encoding.parts[f], column=columns[model.encoding.parts[f].column])
                position[f] = next((g for g, known in parts.items() if known == part), next_feature)
                next_feature += position[f] == next_feature
                parts[int(position[f])] = part
                continue
            if f in model.encoding.crosses:
                cross = _moved_cross(model.encoding.crosses[f], model.schema, columns, schema)
                position[f] = next((g for g, known in crosses.items() if known == cross), next_feature)
                next_feature += position[f] == next_feature
                crosses[int(position[f])] = cross
                continue
            if f not in model.encoding.lookups:
                position[f] = columns[f]
                continue
            moved = _moved_lookup(model.encoding.lookups[f], model.schema, columns, schema)
            feature = next((g for g, lookup in lookups.items() if _equal(lookup, moved)), None)
            if feature is None:
                feature = moved.columns[0] if f < schema.n_features and moved.columns[0] not in lookups else next_feature
                next_feature += feature == next_feature
                lookups[feature] = moved
            position[f] = feature
        positions.append(position)
    return Encoding(schema.n_features, lookups, parts, crosses), positions


def _moved_cross(cross: Cross, old: Schema, order: list[int], new: Schema) -> Cross:
    """Return a cross feature with the column positions and level codes of a new schema; levels that it does not know have the mean of
    missing ones."""
    columns = order[cross.columns[0]], order[cross.columns[1]]
    mean_of = dict(zip(old.kind(cross.columns[1]).levels, cross.means[1:], strict=False))
    means = cross.means[:1] and (cross.means[0], *(mean_of.get(level, cross.means[0]) for level in new.kind(columns[1]).levels))
    return Cross(cross.operation, columns, means)


def _moved_lookup(lookup: Lookup, old: Schema, order: list[int], new: Schema) -> Lookup:
    """Return a lookup with the column positions and level codes of a new schema."""
    columns = tuple(order[c] for c in lookup.columns)
    n_levels = tuple(len(new.kind(c).levels) for c in columns)
    if key_space(n_levels) > MAX_KEYS:
        raise ValueError(f"models cannot be merged: the combined categories {', '.join(map(new.name, columns))} have too many levels")
    codes = []
    for old_column, column, old_codes in zip(lookup.columns, columns, split(lookup.keys, lookup.n_levels), strict=True):
        code_of = {level: code for code, level in enumerate(new.kind(column).levels)}
        codes.append(np.array([*(code_of[level] for level in old.kind(old_column).levels), -1])[old_codes])
    keys = combine(codes, n_levels)
    ascending = np.argsort(keys)
    return Lookup(columns, n_levels, keys[ascending], lookup.values[ascending], lookup.other, lookup.kind)


def _equal(a: Lookup, b: Lookup) -> bool:
    return (
        (a.columns, a.n_levels, a.kind) == (b.columns, b.n_levels, b.kind)
        and np.array_equal(a.keys, b.keys)
        and np.array_equal([*a.values, a.other], [*b.values, b.other], equal_nan=True)
    )


def _merged_binning(models: Sequence[Model], positions: Sequence[np.ndarray], encoding: Encoding) -> Binning:
    """Return the bins with the cut points of all models."""
    cuts = [np.empty(0) for _ in range(encoding.n_features)]
    for model, position in zip(models, positions, strict=True):
        for f, (begin, end) in enumerate(pairwise(model.binning.begin)):
            cuts[position[f]] = np.union1d(cuts[position[f]], model.binning.cuts[begin:end])
    return Binning(cuts, encoding.kinds if encoding.kinds.any() else None)


def _moved_tree(tree: Tree, weight: float, position: np.ndarray, binning: Binning) -> Tree:
    """Return a tree with new feature positions and bins, and with leaf values multiplied by a weight."""
    inner = tree.feature >= 0
    feature = np.where(inner, position[tree.feature], -1).astype(np.int32)
    bins = tree.bin.copy()
    by_threshold = inner if binning.kinds is None else inner & (binning.kinds[feature] == BY_THRESHOLD)
    for node in np.flatnonzero(by_threshold):
        bins[node] = np.searchsorted(binning.cuts_of(feature[node]), tree.threshold[node], side="left")
    return replace(tree, feature=feature, bin=bins, leaves=tree.leaves.with_features(position).scaled(weight))
