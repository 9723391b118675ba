"""From an estimator's parameters to how trees grow: rules, samples, modes, strategies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sapwood.encoding.encoding import Encoding
from sapwood.losses import Loss
from sapwood.losses.ranking import RankingLoss
from sapwood.params import resolve
from sapwood.params.resolve import Features
from sapwood.runtime import kernels
from sapwood.sampling.rows import BayesianBootstrap, MinimalVariance, OneSide, RowSampler, Stratified, Uniform, WholeQueries
from sapwood.training.line_search import STEPS, Step
from sapwood.training.modes import Dart, Forest, Mode
from sapwood.training.multi_output import SharedTrees, TreePerOutput
from sapwood.training.ordered import Ordered
from sapwood.training.warm_start import WarmStart
from sapwood.trees.features import ByColumn, FeaturePolicy
from sapwood.trees.frontier import FRONTIERS
from sapwood.trees.grower import TreeConfig
from sapwood.trees.monotonic import METHODS
from sapwood.trees.rules import Rules

MIN_HESSIAN = 1e-3  # of a leaf, for every loss
MANY_ROWS = 10_000  # from here on several shared trees a round do not overfit


def make_tree_config(e: Any, features: Features, encoding: Encoding, loss: Loss, weight: np.ndarray | None) -> TreeConfig:
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
    least = max(MIN_HESSIAN, loss.least_hessian * e.min_samples_leaf) * _weight_unit(weight)
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


def make_strategy(e: Any, loss: Loss, n_rows: int, start: WarmStart) -> TreePerOutput:
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


def make_mode(e: Any, loss: Loss, start: WarmStart) -> Mode:
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


def _refuse_with_ordered(e: Any, loss: Loss, start: WarmStart) -> None:
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
