"""One model from several: its raw predictions are the (weighted) sum of theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from sapwood.data.binning import NUMBER as BY_THRESHOLD
from sapwood.data.binning import Binning
from sapwood.data.columns import NUMBER, ColumnError, Kind, Schema, rank
from sapwood.encoding.calendar import CalendarPart
from sapwood.encoding.encoding import Encoding
from sapwood.encoding.lookup import MAX_KEYS, Lookup, combine, key_space, split
from sapwood.model.model import Model
from sapwood.trees.tree import Tree


def merge_models(models: Sequence[Model], weights: Sequence[float]) -> Model:
    """The rounds that each of the models predicts with, in turn, their values times the model's weight.

    Features are told by their names. Levels of categories are put together; a level that a model did not know stays unknown to its
    trees. Where models looked categories up in different tables, the merged one has a feature for each table.
    """
    models = [model[: model.n_rounds_used] for model in models]
    first = models[0]
    _refuse_others(models)
    order = [_order(first.schema, model.schema, i) for i, model in enumerate(models)]
    schema = _joined_schema(models, order)
    encoding, places = _joined_encoding(models, order, schema)
    binning = _joined_binning(models, places, encoding)
    shared = first.shared if all(model.shared == first.shared for model in models) else 1
    parts = [weight * model.base_score for model, weight in zip(models, weights, strict=True)]
    merged = Model(
        binning,
        sum(parts[1:], parts[0]),
        first.loss,
        first.link,
        shared=shared,
        leaf_model=first.leaf_model,
        schema=schema,
        encoding=encoding,
    )
    for model, weight, place in zip(models, weights, places, strict=True):
        merged.trees += [_moved_tree(tree, weight, place, binning) for tree in model.trees]
    return merged


def average_models(models: Sequence[Model]) -> Model:
    """Mean of models that have the same encoding and the same bins: all rounds of each in turn, their leaf values divided by the number of
    models."""
    first, weight = models[0], 1 / len(models)
    model = first[:0]
    model.base_score = weight * sum((one.base_score for one in models[1:]), first.base_score)
    for one in models:
        model.trees += [replace(tree, leaves=tree.leaves.scaled(weight)) for tree in one.trees]
    return model


def _refuse_others(models: Sequence[Model]) -> None:
    first = models[0]
    for i, model in enumerate(models):
        for what in ("n_outputs", "loss", "link"):
            own, other = getattr(first, what), getattr(model, what)
            if own != other:
                raise ValueError(f"models cannot be merged: {what} is {own!r} in the first, but {other!r} in number {i}")
        for what, parameter in (("missing_values", "missing"), ("sparse_missing", "sparse_absent")):
            if getattr(first.schema, what) != getattr(model.schema, what):
                raise ValueError(f"models cannot be merged: {parameter} was another for number {i} than for the first")
        if model.leaf_model is not first.leaf_model:
            own, other = first.leaf_model.name, model.leaf_model.name
            raise ValueError(f"models cannot be merged: leaves are {own} in the first, but {other} in number {i}")
        if bool(model.shared) != bool(first.shared):
            raise ValueError("models cannot be merged: outputs share trees in some of them, and have their own in others")


def _order(wanted: Schema, given: Schema, number: int) -> list[int]:
    """For each of a model's columns, which of the first model's it is."""
    if wanted.n_features != given.n_features:
        raise ValueError(f"models cannot be merged: the first has {wanted.n_features} columns, number {number} has {given.n_features}")
    if wanted.names is None or given.names is None or wanted.names == given.names:
        return list(range(given.n_features))
    missing = [name for name in wanted.names if name not in given.names]
    if missing:
        raise ValueError(f"models cannot be merged: number {number} has no column {missing[0]!r}, which the first has")
    return [wanted.names.index(name) for name in given.names]


def _joined_schema(models: Sequence[Model], order: Sequence[list[int]]) -> Schema:
    first = models[0].schema
    kinds = {f: first.kind(f) for f in range(first.n_features)}
    for model, to in zip(models, order, strict=True):
        for column, f in enumerate(to):
            kinds[f] = _joined_kind(kinds[f], model.schema.kind(column), first.name(f))
    names = next((model.schema.names for model in models if model.schema.names is not None), None)
    return replace(first, names=names, kinds={f: kind for f, kind in kinds.items() if kind != NUMBER})


def _joined_kind(one: Kind, other: Kind, name: str) -> Kind:
    if one == other:
        return one
    if {one.name, other.name} <= {"number", "bool"}:
        return NUMBER
    if one.is_category and other.is_category and not one.ordered and not other.ordered:
        return replace(one, levels=tuple(sorted({*one.levels, *other.levels}, key=rank)))
    raise ColumnError(f"models cannot be merged: the column {name} holds {one.describe()} in one, {other.describe()} in another")


def _joined_encoding(models: Sequence[Model], order: Sequence[list[int]], schema: Schema) -> tuple[Encoding, list[np.ndarray]]:
    """All look-ups and calendar parts, each once; and for each model where its features are now."""
    lookups: dict[int, Lookup] = {}
    parts: dict[int, CalendarPart] = {}
    further, places = schema.n_features, []
    for model, to in zip(models, order, strict=True):
        place = np.zeros(model.n_features, dtype=np.int32)
        for f in range(model.n_features):
            if f in model.encoding.parts:
                part = replace(model.encoding.parts[f], column=to[model.encoding.parts[f].column])
                place[f] = next((g for g, other in parts.items() if other == part), further)
                further += place[f] == further
                parts[int(place[f])] = part
                continue
            if f not in model.encoding.lookups:
                place[f] = to[f]
                continue
            own = _moved_lookup(model.encoding.lookups[f], model.schema, to, schema)
            known = next((g for g, lookup in lookups.items() if _equal(lookup, own)), None)
            if known is None:
                known = own.columns[0] if f < schema.n_features and own.columns[0] not in lookups else further
                further += known == further
                lookups[known] = own
            place[f] = known
        places.append(place)
    return Encoding(schema.n_features, lookups, parts), places


def _moved_lookup(lookup: Lookup, then: Schema, to: list[int], now: Schema) -> Lookup:
    """The same table for other numbers of columns and levels."""
    columns = tuple(to[c] for c in lookup.columns)
    n_levels = tuple(len(now.kind(c).levels) for c in columns)
    if key_space(n_levels) > MAX_KEYS:
        raise ValueError(f"models cannot be merged: the categories {', '.join(map(now.name, columns))} have too many levels together")
    codes = []
    for old, column, own in zip(lookup.columns, columns, split(lookup.keys, lookup.n_levels), strict=True):
        at = {level: code for code, level in enumerate(now.kind(column).levels)}
        codes.append(np.array([*(at[level] for level in then.kind(old).levels), -1])[own])
    keys = combine(codes, n_levels)
    ascending = np.argsort(keys)
    return Lookup(columns, n_levels, keys[ascending], lookup.values[ascending], lookup.other, lookup.kind)


def _equal(one: Lookup, other: Lookup) -> bool:
    return (
        (one.columns, one.n_levels, one.kind) == (other.columns, other.n_levels, other.kind)
        and np.array_equal(one.keys, other.keys)
        and np.array_equal([*one.values, one.other], [*other.values, other.other], equal_nan=True)
    )


def _joined_binning(models: Sequence[Model], places: Sequence[np.ndarray], encoding: Encoding) -> Binning:
    """The cut points of all models."""
    cuts = [np.empty(0) for _ in range(encoding.n_features)]
    for model, place in zip(models, places, strict=True):
        for f, (begin, end) in enumerate(pairwise(model.binning.begin)):
            cuts[place[f]] = np.union1d(cuts[place[f]], model.binning.cuts[begin:end])
    return Binning(cuts, encoding.kinds if encoding.kinds.any() else None)


def _moved_tree(tree: Tree, weight: float, place: np.ndarray, binning: Binning) -> Tree:
    inner = tree.feature >= 0
    feature = np.where(inner, place[tree.feature], -1).astype(np.int32)
    bins = tree.bin.copy()
    by_threshold = inner if binning.kinds is None else inner & (binning.kinds[feature] == BY_THRESHOLD)
    for node in np.flatnonzero(by_threshold):
        bins[node] = np.searchsorted(binning.cuts_of(feature[node]), tree.threshold[node], side="left")
    return replace(tree, feature=feature, bin=bins, leaves=tree.leaves.with_features(place).scaled(weight))
