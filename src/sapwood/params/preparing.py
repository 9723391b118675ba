"""From the columns of a table to features, and to rows that trees grow on, as an estimator's parameters say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import combinations
from numbers import Integral
from typing import Any

import numpy as np

from sapwood.data.binning import MAX_CUTS, Binning
from sapwood.data.columns import Schema
from sapwood.data.dataset import Dataset
from sapwood.data.pages import Pages
from sapwood.data.sorted import ALL, GLOBAL, LOCAL, SortedRows
from sapwood.data.tables import Table
from sapwood.encoding import Count, Encoder, OneHot, Partition, Target
from sapwood.encoding.base import Targets
from sapwood.encoding.calendar import AUTO, CalendarPart
from sapwood.encoding.encoding import Encoding, Fitted, Plan
from sapwood.encoding.levels import MAX_LEVELS
from sapwood.encoding.lookup import MAX_KEYS, key_space
from sapwood.losses import Loss
from sapwood.model import Model
from sapwood.params import resolve
from sapwood.params.resolve import Features, Wanted
from sapwood.runtime.execution import Execution
from sapwood.training.warm_start import WarmStart

AUTO_LEVELS = MAX_LEVELS  # of a category that is split by sets of them: with more, some would share a bin, and sets fit noise
MAX_COMBINATIONS = 256


def make_encoding(e: Any, part: Dataset, features: Features, loss: Loss, seed: int, start: WarmStart, same_rows: bool = True) -> Fitted:
    """How the columns of a table become features. `same_rows`: whether a model to go on from may have been made from these."""
    if start.model is not None and start.new_rows:
        return Fitted(start.model.encoding, part.table)
    fitted = _encode_categories(e, part, features, loss, seed)
    parts = list(_calendar_parts(e, part, features, start.model))
    fitted = replace(fitted, encoding=fitted.encoding.with_parts(parts)) if parts else fitted
    if start.model is None:
        return fitted
    fitted = fitted.continue_with(start.model.encoding, start.how)
    # Of many classes only the most frequent describe a level: other rows may have others, and then only the look-ups are of the same ones.
    some = loss.link == "softmax" and len(loss.describing(part.y)) < loss.n_outputs
    return replace(fitted, training={}) if some and not same_rows else fitted


def _calendar_parts(e: Any, given: Dataset, features: Features, previous: Model | None) -> Iterator[CalendarPart]:
    """The parts of datetimes that become features; by default those that differ between rows, or that a model to go on from has."""
    table = given.table
    for column, names in sorted(resolve.calendar_parts(e.datetime_features, features, table.schema).items()):
        if names is None and previous is not None:
            names = [part.part for _, part in sorted(previous.encoding.parts.items()) if part.column == column]
        moments = given.take(table.read(slice(None), column, column + 1)[:, 0])
        for name in AUTO if names is None else names:
            part = CalendarPart(column, name, table.schema.kind(column).zone)
            values = part.read(moments)
            if names is not None or np.nanmin(values, initial=np.inf) < np.nanmax(values, initial=-np.inf):
                yield part


def _encode_categories(e: Any, part: Dataset, features: Features, loss: Loss, seed: int) -> Fitted:
    table, schema = part.table, part.table.schema
    wanted = resolve.encodings(e.categorical_encoding, features)
    if not schema.categories:
        return Fitted(Encoding(table.n_features), table)
    most = resolve.bins_of_features(e.max_bins, features)
    ranks = f"tree_method={e.tree_method!r}" if e.tree_method in ("exact", "approx") else "max_bins above 255" if most.max() > 255 else None
    make = {
        "partition": lambda column: Partition(int(most[column])),
        "onehot": lambda column: OneHot(int(most[column])),
        "target": lambda column: Target(e.target_prior, e.target_permutations),
        "count": lambda column: Count(),
    }
    encoders: dict[int, list[Encoder]] = {}
    for column in schema.categories:
        names = wanted.get(column, wanted.get(None, []))
        for name in names:
            if ranks and name in ("partition", "onehot"):
                raise ValueError(
                    f"categorical_encoding={name!r} of the column {schema.name(column)} and {ranks} do not go together: "
                    "sets of levels are sought in histograms; use 'target' or 'count'"
                )
        if not names:
            names = ["target"] if ranks or len(schema.kind(column).levels) > AUTO_LEVELS else ["partition"]
        encoders[column] = [make[name](column) for name in names]
    n_levels = {column: len(schema.kind(column).levels) for column in schema.categories}
    plan = Plan(encoders, _combinations(e, n_levels))
    targets = Targets(loss.describing(part.take(part.y)), part.weights, part.rows, seed)
    return plan.fit(table, n_levels, targets, part.rows)


def _combinations(e: Any, n_levels: dict[int, int]) -> list[tuple[tuple[int, ...], Encoder]]:
    """The groups of categories that have means of their own."""
    groups = [group for size in range(2, e.max_combination + 1) for group in combinations(n_levels, size)]
    groups = [group for group in groups if key_space([n_levels[column] for column in group]) <= MAX_KEYS]
    if len(groups) > MAX_COMBINATIONS:
        raise ValueError(
            f"max_combination={e.max_combination} would make {len(groups)} combinations of {len(n_levels)} categories; "
            f"at most {MAX_COMBINATIONS} are made: lower it, or name fewer columns in categorical_features"
        )
    return [(group, Target(e.target_prior, e.target_permutations)) for group in groups]


def seen_levels(table: Table, rows: np.ndarray) -> Schema:
    """A table's schema, without the levels that none of these rows has."""
    schema, kinds = table.schema, dict(table.schema.kinds)
    for column in schema.categories:
        used = np.unique(table.read(slice(None), column, column + 1)[rows, 0])
        if not kinds[column].ordered:
            kinds[column] = replace(kinds[column], levels=tuple(kinds[column].levels[code] for code in used if code >= 0))
    return replace(schema, kinds=kinds)


def refuse_categories(schema: Schema, monotonic: np.ndarray | None, forced: Wanted | None, cut_points: Iterable[int]) -> None:
    """Raise where the user asks of a category what has a meaning for numbers only."""
    asked = {
        "monotonic_cst": [] if monotonic is None else np.flatnonzero(monotonic).tolist(),
        "forced_splits": [] if forced is None else [feature for feature, _ in forced.cut_points()],
        "cut_points": list(cut_points),
    }
    for parameter, columns in asked.items():
        for column in columns:
            if schema.kind(column).is_category:
                what = f"the column {schema.name(column)}, which is a {schema.kind(column).describe()}"
                raise ValueError(f"{parameter} names {what}: it is for numbers only")


def make_binning(
    e: Any, part: Dataset, encoded: Fitted, features: Features, seed: int, execution: Execution, forced: Wanted | None
) -> Binning:
    table, encoding = encoded.features, encoded.encoding
    most = encoding.spread(resolve.bins_of_features(e.max_bins, features))
    binning = Binning.fit(table, most, part.weight, part.rows, seed, execution, e.bin_sample_rows, e.min_rows_in_bin)
    given = resolve.cut_points(e.cut_points, features)
    if given:
        binning = Binning([given.get(f, binning.of(f)) for f in range(table.n_features)])
    if forced is not None:
        binning = binning.with_cuts(forced.cut_points())
    return binning.with_levels(encoding.kinds, encoding.n_levels) if encoding.lookups else binning


def make_builder(
    e: Any,
    part: Dataset,
    encoded: Fitted,
    features: Features,
    seed: int,
    execution: Execution,
    forced: Wanted | None,
    previous: Model | None,
) -> Callable[[Table], Pages | SortedRows]:
    """What turns tables of features into rows that trees grow on: bins, or sorted columns."""
    if e.tree_method in ("exact", "approx"):
        _refuse_with_sorted(e, f"tree_method={e.tree_method!r}")
        proposal = ALL if e.tree_method == "exact" else {"global": GLOBAL, "local": LOCAL}[e.approx_proposal]
        most = 1
        if proposal != ALL:
            if not isinstance(e.max_bins, Integral):
                raise ValueError(f"max_bins must be one number with tree_method='approx'; got {e.max_bins!r}")
            most = int(e.max_bins)
        return lambda table: SortedRows(table, execution, proposal=proposal, n_quantiles=most)
    binning = previous.binning if previous else make_binning(e, part, encoded, features, seed, execution, forced)
    if np.diff(binning.begin).max(initial=0) > MAX_CUTS:
        _refuse_with_sorted(e, "max_bins above 255")
        return lambda table: SortedRows(table, execution, binning=binning)
    return lambda table: Pages.build(table, binning, execution)


def _refuse_with_sorted(e: Any, what: str) -> None:
    """Raise for what sorted columns cannot do."""
    if e.grow_policy == "symmetric":
        raise ValueError(f"grow_policy='symmetric' and {what} do not go together: a level's split is sought in histograms")
    if e.extra_trees:
        raise ValueError(f"extra_trees=True and {what} do not go together: thresholds are drawn from bins")
