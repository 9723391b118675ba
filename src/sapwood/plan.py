"""From an estimator's parameters to the objects that training works with."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import combinations
from numbers import Integral
from typing import Any

import numpy as np

from sapwood import kernels, resolve
from sapwood.data.binning import MAX_CUTS, Binning
from sapwood.data.columns import Schema
from sapwood.data.pages import Pages
from sapwood.data.sorted import ALL, GLOBAL, LOCAL, SortedRows
from sapwood.data.tables import Table
from sapwood.encoding import Count, Encoder, OneHot, Partition, Target
from sapwood.encoding.base import Targets
from sapwood.encoding.calendar import AUTO, CalendarPart
from sapwood.encoding.encoding import Encoding, Fitted, Plan
from sapwood.encoding.levels import MAX_LEVELS
from sapwood.encoding.lookup import MAX_KEYS, key_space
from sapwood.going_on import Start
from sapwood.losses import Loss
from sapwood.losses.ranking import RankingLoss
from sapwood.model import Model
from sapwood.modes import Dart, Forest, Mode
from sapwood.ordered import Ordered
from sapwood.resolve import Features, Wanted
from sapwood.sampling.features import ByColumn, FeaturePolicy
from sapwood.sampling.rows import BayesianBootstrap, MinimalVariance, OneSide, RowSampler, Stratified, Uniform, WholeQueries
from sapwood.steps import STEPS, Step
from sapwood.strategies import SharedTrees, TreePerOutput
from sapwood.trees.frontier import FRONTIERS
from sapwood.trees.grower import TreeConfig
from sapwood.trees.monotone import METHODS
from sapwood.trees.rules import Rules

MIN_HESSIAN = 1e-3  # of a leaf, for every loss
MANY_ROWS = 10_000  # from here on several shared trees a round do not overfit
AUTO_LEVELS = MAX_LEVELS  # of a category that is split by sets of them: with more, some would share a bin, and sets fit noise
MAX_COMBINATIONS = 256


def make_encoding(
    e: Any,
    table: Table,
    features: Features,
    loss: Loss,
    y: np.ndarray,
    weight: np.ndarray | None,
    rows: np.ndarray | None,
    seed: int,
    start: Start,
    same_rows: bool = True,
) -> Fitted:
    """How the columns of a table become features. `same_rows`: whether a model to go on from may have been made from these."""
    if start.model is not None and start.new_rows:
        return Fitted(start.model.encoding, table)
    fitted = _encode_categories(e, table, features, loss, y, weight, rows, seed)
    parts = list(_calendar_parts(e, table, features, rows, start.model))
    fitted = replace(fitted, encoding=fitted.encoding.with_parts(parts)) if parts else fitted
    if start.model is None:
        return fitted
    fitted = fitted.go_on_with(start.model.encoding, start.how)
    # Of many classes only the most frequent describe a level: other rows may have others, and then only the look-ups are of the same ones.
    some = loss.link == "softmax" and len(loss.describing(y)) < loss.n_outputs
    return replace(fitted, training={}) if some and not same_rows else fitted


def _calendar_parts(e: Any, table: Table, features: Features, rows: np.ndarray | None, previous: Model | None) -> Iterator[CalendarPart]:
    """The parts of datetimes that become features; by default those that differ between rows, or that a model to go on from has."""
    for column, names in sorted(resolve.calendar_parts(e.datetime_features, features, table.schema).items()):
        if names is None and previous is not None:
            names = [part.part for _, part in sorted(previous.encoding.parts.items()) if part.column == column]
        moments = table.read(slice(None), column, column + 1)[:, 0]
        moments = moments if rows is None else moments[rows]
        for name in AUTO if names is None else names:
            part = CalendarPart(column, name, table.schema.kind(column).zone)
            values = part.read(moments)
            if names is not None or np.nanmin(values, initial=np.inf) < np.nanmax(values, initial=-np.inf):
                yield part


def _encode_categories(
    e: Any,
    table: Table,
    features: Features,
    loss: Loss,
    y: np.ndarray,
    weight: np.ndarray | None,
    rows: np.ndarray | None,
    seed: int,
) -> Fitted:
    schema = table.schema
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
    part: Any = slice(None) if rows is None else rows
    targets = Targets(loss.describing(y[part]), weight if weight is None else weight[part], rows, seed)
    return plan.fit(table, n_levels, targets, rows)


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
    e: Any,
    table: Table,
    encoding: Encoding,
    features: Features,
    weight: np.ndarray | None,
    rows: np.ndarray | None,
    seed: int,
    n_threads: int,
    forced: Wanted | None,
) -> Binning:
    most = encoding.spread(resolve.bins_of_features(e.max_bins, features))
    binning = Binning.fit(table, most, weight, rows, seed, n_threads, e.bin_sample_rows, e.min_rows_in_bin)
    given = resolve.cut_points(e.cut_points, features)
    if given:
        binning = Binning([given.get(f, binning.of(f)) for f in range(table.n_features)])
    if forced is not None:
        binning = binning.with_cuts(forced.cut_points())
    return binning.with_levels(encoding.kinds, encoding.n_levels) if encoding.lookups else binning


def make_builder(
    e: Any,
    table: Table,
    encoding: Encoding,
    features: Features,
    weight: np.ndarray | None,
    rows: np.ndarray | None,
    seed: int,
    n_threads: int,
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
        return lambda table: SortedRows(table, n_threads, proposal=proposal, n_quantiles=most)
    binning = previous.binning if previous else make_binning(e, table, encoding, features, weight, rows, seed, n_threads, forced)
    if np.diff(binning.begin).max(initial=0) > MAX_CUTS:
        _refuse_with_sorted(e, "max_bins above 255")
        return lambda table: SortedRows(table, n_threads, binning=binning)
    return lambda table: Pages.build(table, binning, n_threads)


def _refuse_with_sorted(e: Any, what: str) -> None:
    """Raise for what sorted columns cannot do."""
    if e.grow_policy == "symmetric":
        raise ValueError(f"grow_policy='symmetric' and {what} do not go together: a level's split is sought in histograms")
    if e.extra_trees:
        raise ValueError(f"extra_trees=True and {what} do not go together: thresholds are drawn from bins")


def make_tree_config(
    e: Any, features: Features, encoding: Encoding, loss: Loss, weight: np.ndarray | None, rows: np.ndarray | None
) -> TreeConfig:
    monotonic = resolve.monotonic(e.monotonic_cst, features)
    if monotonic is not None and loss.n_outputs > 1:
        raise ValueError(
            f"monotonic_cst and loss={loss.name!r} do not go together: with more than two classes "
            "the share of one may fall though its score rises"
        )
    if monotonic is not None and e.boosting == "ordered":
        raise ValueError(
            "boosting='ordered' and monotonic_cst do not go together: splits are taken back, and with them what bounds leaf values"
        )
    for part in encoding.parts.values() if monotonic is not None else ():
        if monotonic is not None and monotonic[part.column]:
            raise ValueError(
                f"monotonic_cst and datetime_features both name column {part.column}"
                f"{'' if features.names is None else f', {features.names[part.column]!r}'}: calendar parts do not rise with the date"
            )
    neighbours = monotonic is not None and e.monotonic_method == "neighbours"
    for name, clashes in ((f"grow_policy={e.grow_policy!r}", e.grow_policy != "leafwise"), ("forced_splits", e.forced_splits is not None)):
        if neighbours and clashes:
            raise ValueError(f"monotonic_method='neighbours' and {name} do not go together: use 'basic'")
    if e.forced_splits is not None and e.grow_policy == "symmetric":
        raise ValueError("forced_splits and grow_policy='symmetric' do not go together: a level has one split for all its nodes")
    # Where values must keep an order, what bounds them in the end must bound them from the start.
    max_step = e.max_step if e.max_step is not None else loss.max_step if monotonic is not None else math.inf
    used = weight if weight is None or rows is None else weight[rows]
    least = max(MIN_HESSIAN, loss.least_hessian * e.min_samples_leaf) * _weight_unit(used)
    rules = Rules(
        min_samples_leaf=e.min_samples_leaf,
        min_hessian=least if e.min_hessian is None else e.min_hessian,
        min_gain=e.min_gain,
        l1=e.l1_regularization,
        l2=e.l2_regularization,
        max_step=max_step,
        last_step=loss.max_step if e.max_step is None else math.inf,
        path_smooth=e.path_smooth,
        score_noise=e.score_noise,
        extra_trees=bool(e.extra_trees),
        feature_weights=_spread(resolve.feature_weights(e.feature_weights, features), encoding),
        monotonic=_spread(monotonic, encoding),
        neighbours=neighbours,
        category_smooth=e.cat_smooth,
        category_l2=e.cat_l2,
        min_level_rows=e.min_samples_level,
    )
    interactions = resolve.interactions(e.interaction_cst, features)
    if interactions is not None and not encoding.is_plain:
        interactions = ByColumn(interactions, [encoding.columns_of(f) for f in range(encoding.n_features)], encoding.n_columns)
    return TreeConfig(
        frontier=FRONTIERS[e.grow_policy],
        features=FeaturePolicy(
            encoding.n_features,
            by_node=e.max_features,
            by_level=e.max_features_level,
            by_tree=e.max_features_tree,
            interactions=interactions,
        ),
        rules=rules,
        learning_rate=1 / e.max_iter if e.boosting == "forest" else e.learning_rate,
        max_leaves=e.max_leaf_nodes,
        max_depth=e.max_depth,
        watch=METHODS["neighbours" if neighbours else "basic"],
    )


def _spread(of_columns: np.ndarray | None, encoding: Encoding) -> np.ndarray | None:
    return None if of_columns is None else encoding.spread(of_columns)


def make_row_sampler(e: Any) -> RowSampler:
    if e.sampling in ("goss", "bayesian") and e.subsample < 1:
        raise ValueError(f"subsample={e.subsample} has no meaning with sampling={e.sampling!r}: it is for 'uniform' and 'mvs'")
    whole: type[Uniform] | type[WholeQueries] | type[Stratified] = Uniform
    for name, asks, kind in (("sampling_unit", "query", WholeQueries), ("stratified", True, Stratified)):
        if getattr(e, name, None) == asks:
            if e.sampling != "uniform":
                raise ValueError(f"{name}={asks!r} has no meaning with sampling={e.sampling!r}: it is for 'uniform'")
            whole = kind
    if e.sampling == "goss":
        if e.goss_top + e.goss_other > 1:
            raise ValueError(f"goss_top={e.goss_top} and goss_other={e.goss_other} must be at most 1 together")
        return OneSide(e.goss_top, e.goss_other, 0 if e.boosting == "forest" else int(1 / e.learning_rate))
    if e.sampling == "bayesian":
        return BayesianBootstrap(e.bagging_temperature)
    if e.subsample == 1:
        return RowSampler()
    return whole(e.subsample) if e.sampling == "uniform" else MinimalVariance(e.subsample)


def make_strategy(e: Any, loss: Loss, n_rows: int, start: Start) -> TreePerOutput:
    previous, shared = start.model, 0
    shares = loss.alike if e.multi_strategy == "auto" else e.multi_strategy == "multi_output_tree"
    if previous is not None and e.multi_strategy == "auto":
        shares = previous.shared > 0
    if loss.n_outputs > 1 and shares:
        if e.shared_trees != "auto":
            shared = int(e.shared_trees)
        elif previous is not None and previous.shared:
            shared = previous.shared
        else:
            shared = 1 if e.boosting == "forest" or n_rows < MANY_ROWS else min(loss.n_outputs - 1, 3)
    if shared and e.path_smooth:
        raise ValueError(
            f"path_smooth={e.path_smooth} and multi_strategy={e.multi_strategy!r} do not go together where outputs share trees: "
            "a parent has no value for each of them; use multi_strategy='one_output_per_tree'"
        )
    if shared > 1 and e.boosting == "forest":
        raise ValueError(f"boosting='forest' and shared_trees={e.shared_trees} do not go together: a round is one tree")
    if previous is not None and previous.shared != shared:
        raise ValueError(
            f"{start.how} goes on with {previous.shared or 'no'} shared tree(s) a round, but multi_strategy={e.multi_strategy!r} and "
            f"shared_trees={e.shared_trees!r} mean {shared or 'none'}"
        )
    return SharedTrees(shared) if shared else TreePerOutput()


def make_mode(e: Any, loss: Loss, start: Start) -> Mode:
    if e.boosting == "forest":
        if e.sampling == "uniform" and e.subsample == min(e.max_features, e.max_features_level, e.max_features_tree) == 1:
            raise ValueError("boosting='forest' would grow the same tree again and again: subsample or max_features must be below 1")
        if start.how and start.grows:
            raise ValueError(f"boosting='forest' and {start.how} do not go together: the weight of a tree depends on their number")
        return Forest()
    if e.boosting == "dart":
        return Dart(e.drop_rate, e.skip_drop, e.max_drop)
    if e.boosting == "ordered" and start.grows:  # the values of its leaves are those of plain boosting
        _refuse_with_ordered(e, loss, start)
        return Ordered(e.boosting_permutations)
    return Mode()


def _refuse_with_ordered(e: Any, loss: Loss, start: Start) -> None:
    """Raise for what has no meaning where splits are kept by rows that they were not fitted to."""
    clashes = {
        f"loss={loss.name!r}": None if loss.rowwise else "the models of some rows have no gradient where it depends on others",
        start.how: "the models of some rows are not kept" if start.how else None,
        "step='line_search'": None if e.step == "newton" else "a split is kept by the steps of its leaves alone",
        f"path_smooth={e.path_smooth}": "a parent's value depends on all rows" if e.path_smooth else None,
        "forced_splits": "splits that do no good are taken back" if e.forced_splits is not None else None,
    }
    for what, why in clashes.items():
        if why is not None:
            raise ValueError(f"boosting='ordered' and {what} do not go together: {why}")


def make_step(e: Any, loss: Loss) -> Step:
    if e.step == "line_search" and isinstance(loss, RankingLoss):
        raise ValueError(f"step='line_search' and loss={loss.name!r} do not go together: the loss of an order has no slope")
    return STEPS[e.step]()


def _weight_unit(weight: np.ndarray | None) -> float:
    """What a row weighs: one, also where weights count repetitions; less where they are shares of a total."""
    return 1.0 if weight is None else min(1.0, kernels.exact_sum(weight) / len(weight))
