"""Plan of a fit: all parameters, resolved once for the columns, the loss and the warm start of the fit."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from sapwood.data.columns import Schema
from sapwood.data.dataset import BinnedDataset
from sapwood.encoding.encoding import Encoding
from sapwood.losses import Loss
from sapwood.losses.ranking import RankingLoss
from sapwood.params.binning_plan import BinningPlan
from sapwood.params.column_plan import ColumnPlan
from sapwood.params.columns import Features
from sapwood.params.encoding_plan import EncodingPlan
from sapwood.params.leaf_plan import make_leaf_fit
from sapwood.params.signatures import ResolvedParameters
from sapwood.runtime.execution import Execution
from sapwood.sampling.rows import BayesianBootstrap, MinimalVariance, OneSide, RowSampler, Stratified, Uniform, WholeQueries
from sapwood.training.boosting import TrainingPlan
from sapwood.training.line_search import STEPS, Step
from sapwood.training.modes import Dart, Forest, Mode
from sapwood.training.multi_output import SharedTrees, TreePerOutput
from sapwood.training.ordered import Ordered
from sapwood.training.warm_start import WarmStart
from sapwood.trees.features import ColumnInteractions, FeaturePolicy
from sapwood.trees.frontier import FRONTIERS
from sapwood.trees.grower import TreeConfig
from sapwood.trees.leaf_fit import LeafFit
from sapwood.trees.monotonic import MONOTONIC_METHODS
from sapwood.trees.rules import Rules

MIN_HESSIAN = 1e-3  # minimum of the default of min_hessian
ONE_LEAF_ROWS, LEAF_BATCH = 1 << 22, 8  # up to so many rows, leaves are split one by one; beyond, so many at once
MANY_ROWS = 10_000  # with fewer rows, more than one shared tree per round overfits


@dataclass(frozen=True)
class TreePlan:
    """Parameters of growing a tree, by column of the table.

    Attributes
    ----------
    rules : split rules, without those that depend on features or weights
    min_hessian : minimum hessian of a leaf; None for the default of the loss
    default_min_hessian : default of the loss, for weights of 1
    fractions : fractions of the features drawn for each node, level and tree
    columns : constraints by column
    """

    rules: Rules
    min_hessian: float | None
    default_min_hessian: float
    fractions: tuple[float, float, float]
    grow_policy: str
    learning_rate: float
    max_leaves: int | None
    leaf_batch: int
    max_depth: int | None
    columns: ColumnPlan

    @classmethod
    def resolve(cls, p: ResolvedParameters, columns: ColumnPlan, loss: Loss, n_rows: int) -> TreePlan:
        monotonic = columns.monotonic is not None
        neighbours = _check_monotonic(p, loss) if monotonic else False
        if p.forced_splits is not None and p.grow_policy == "symmetric":
            raise ValueError(
                "forced_splits cannot be combined with grow_policy='symmetric': a level has one split for all its nodes; "
                "use grow_policy='depthwise'"
            )
        # With monotonic constraints, the bound of the final leaf values must hold during growing, too.
        max_step = p.max_step if p.max_step is not None else loss.max_step if monotonic else math.inf
        rules = Rules(
            min_samples_leaf=p.min_samples_leaf,
            min_gain=p.min_gain,
            l1=p.l1_regularization,
            l2=p.l2_regularization,
            max_step=max_step,
            max_final_step=loss.max_step if p.max_step is None else math.inf,
            path_smooth=p.path_smooth,
            score_noise=p.score_noise,
            extra_trees=float(p.extra_trees),
            neighbours=neighbours,
            category_smooth=p.cat_smooth,
            category_l2=p.cat_l2,
            min_level_rows=p.min_samples_level,
        )
        return cls(
            rules=rules,
            min_hessian=p.min_hessian,
            default_min_hessian=max(MIN_HESSIAN, loss.min_hessian_per_sample * p.min_samples_leaf),
            fractions=(p.max_features, p.max_features_level, p.max_features_tree),
            grow_policy=p.grow_policy,
            learning_rate=1 / p.max_iter if p.boosting == "forest" else p.learning_rate,
            max_leaves=p.max_leaf_nodes,
            leaf_batch=_leaf_batch(p, n_rows, neighbours),
            max_depth=p.max_depth,
            columns=columns,
        )

    def config(self, schema: Schema, encoding: Encoding, data: BinnedDataset, execution: Execution) -> TreeConfig:
        """Return the configuration of the grower for encoded features and for the bins and weights of the training rows."""
        monotonic, interactions, forced = self.columns.monotonic, self.columns.interactions, self.columns.forced
        for part in encoding.parts.values() if monotonic is not None else ():
            if monotonic is not None and monotonic[part.column]:
                raise ValueError(
                    f"monotonic_cst cannot be combined with datetime_features for column {schema.name(part.column)}: calendar parts do "
                    "not increase with the date; leave one of them out"
                )
        for cross in encoding.crosses.values() if monotonic is not None else ():
            if monotonic is not None and (constrained := [column for column in cross.columns if monotonic[column]]):
                raise ValueError(
                    f"monotonic_cst cannot be combined with cross_features for column {schema.name(constrained[0])}: a feature of two "
                    "columns need not increase with each of them; leave one of them out"
                )
        if interactions is not None and not encoding.is_plain:
            interactions = ColumnInteractions(
                interactions, [encoding.columns_of(f) for f in range(encoding.n_features)], encoding.n_columns
            )
        by_node, by_level, by_tree = self.fractions
        features = FeaturePolicy(encoding.n_features, by_node=by_node, by_level=by_level, by_tree=by_tree, interactions=interactions)
        rules = replace(
            self.rules,
            min_hessian=self.default_min_hessian * _weight_unit(data.weight, execution) if self.min_hessian is None else self.min_hessian,
            feature_weights=_spread(self.columns.weights, encoding),
            monotonic=_spread(monotonic, encoding),
        )
        return TreeConfig(
            frontier=FRONTIERS[self.grow_policy],
            features=features,
            rules=rules,
            learning_rate=self.learning_rate,
            max_leaves=self.max_leaves,
            leaf_batch=self.leaf_batch,
            max_depth=self.max_depth,
            forced=None if forced is None else forced.on(data.pages.binning),
            monotonic_bounds=MONOTONIC_METHODS["neighbours" if self.rules.neighbours else "basic"],
        )


@dataclass(frozen=True)
class FitPlan:
    """All parameters of a fit, resolved.

    Attributes
    ----------
    n_rounds : number of rounds of the model when training ends
    columns, encoding, binning, trees : see their classes
    sampler, mode, step, strategy, leaf_fit : see `TrainingPlan`
    """

    n_rounds: int
    loss: Loss
    schema: Schema
    columns: ColumnPlan
    encoding: EncodingPlan
    binning: BinningPlan
    trees: TreePlan
    sampler: RowSampler
    mode: Mode
    step: Step
    strategy: TreePerOutput
    leaf_fit: LeafFit

    def training(self, encoding: Encoding, data: BinnedDataset, seed: int, execution: Execution) -> TrainingPlan:
        """Return the settings of the boosting loop, when encoding and bins are known."""
        return TrainingPlan(
            loss=self.loss,
            tree=self.trees.config(self.schema, encoding, data, execution),
            n_rounds=self.n_rounds,
            seed=seed,
            sampler=self.sampler,
            mode=self.mode,
            step=self.step,
            strategy=self.strategy,
            leaf_fit=self.leaf_fit,
        )


def make_plan(p: ResolvedParameters, features: Features, schema: Schema, loss: Loss, n_rows: int, start: WarmStart) -> FitPlan:
    """Resolve validated parameters for the columns of a table, a loss, a number of training rows and a warm start."""
    strategy = start.strategy(make_strategy(p, loss, n_rows, start))
    sampler, mode, step = make_row_sampler(p), make_mode(p, loss, start), make_step(p, loss)
    columns = ColumnPlan.resolve(p, features)
    columns.check_kinds(schema)
    leaf_fit = make_leaf_fit(p, columns, schema, loss, n_rows, strategy, start)
    return FitPlan(
        n_rounds=start.rounds(p.max_iter),
        loss=loss,
        schema=schema,
        columns=columns,
        encoding=EncodingPlan.resolve(p, features, schema, columns.max_bins),
        binning=BinningPlan.resolve(p, columns, leaf_fit),
        trees=TreePlan.resolve(p, columns, loss, n_rows),
        sampler=sampler,
        mode=mode,
        step=step,
        strategy=strategy,
        leaf_fit=leaf_fit,
    )


def _leaf_batch(p: ResolvedParameters, n_rows: int, neighbours: bool) -> int:
    """Return the number of leaves that are split at once. It depends on parameters and on the number of training rows only."""
    if p.leaf_batch == "auto":
        return 1 if neighbours or n_rows <= ONE_LEAF_ROWS else LEAF_BATCH
    if neighbours and p.leaf_batch > 1:
        raise ValueError(f"monotonic_method='neighbours' cannot be combined with leaf_batch={p.leaf_batch}: use 'basic', or leaf_batch=1")
    return int(p.leaf_batch)


def _check_monotonic(p: ResolvedParameters, loss: Loss) -> bool:
    """Return whether leaf values are bounded by those of adjacent leaves. Raise a ValueError if monotonic constraints are not supported."""
    if loss.n_outputs > 1:
        raise ValueError(
            f"monotonic_cst cannot be combined with loss={loss.name!r} of {loss.n_outputs} outputs: the probability of a class may fall "
            "while its raw prediction rises; leave the constraints out"
        )
    if p.boosting == "ordered":
        raise ValueError(
            "boosting='ordered' cannot be combined with monotonic_cst: it removes splits, and with them the bounds of leaf values; "
            "use boosting='plain'"
        )
    neighbours = p.monotonic_method == "neighbours"
    for name, clashes in ((f"grow_policy={p.grow_policy!r}", p.grow_policy != "leafwise"), ("forced_splits", p.forced_splits is not None)):
        if neighbours and clashes:
            raise ValueError(
                f"monotonic_method='neighbours' cannot be combined with {name}: it supports leaf-wise growth only; use 'basic'"
            )
    return neighbours


def _spread(of_columns: np.ndarray | None, encoding: Encoding) -> np.ndarray | None:
    return None if of_columns is None else encoding.to_features(of_columns)


def make_row_sampler(p: ResolvedParameters) -> RowSampler:
    """Return the row sampler."""
    if p.sampling in ("goss", "bayesian") and p.subsample < 1:
        raise ValueError(
            f"subsample={p.subsample} cannot be combined with sampling={p.sampling!r}: it has no effect there; use 'uniform' or 'mvs'"
        )
    uniform: type[Uniform] | type[WholeQueries] | type[Stratified] = Uniform
    for name, value, kind in (("sampling_unit", "query", WholeQueries), ("stratified", True, Stratified)):
        if getattr(p, name, None) == value:
            if p.sampling != "uniform":
                raise ValueError(f"{name}={value!r} cannot be combined with sampling={p.sampling!r}: it has no effect there; use 'uniform'")
            uniform = kind
    if p.sampling == "goss":
        if p.goss_top + p.goss_other > 1:
            raise ValueError(f"goss_top={p.goss_top} and goss_other={p.goss_other} must add up to at most 1")
        return OneSide(p.goss_top, p.goss_other, 0 if p.boosting == "forest" else int(1 / p.learning_rate))
    if p.sampling == "bayesian":
        return BayesianBootstrap(p.bagging_temperature)
    if p.subsample == 1:
        return RowSampler()
    return uniform(p.subsample) if p.sampling == "uniform" else MinimalVariance(p.subsample)


def make_strategy(p: ResolvedParameters, loss: Loss, n_rows: int, start: WarmStart) -> TreePerOutput:
    """Return the multi-output strategy: one tree per output, or shared trees."""
    previous, shared = start.model, 0
    share_trees = loss.outputs_are_comparable if p.multi_strategy == "auto" else p.multi_strategy == "multi_output_tree"
    if previous is not None and p.multi_strategy == "auto":
        share_trees = previous.shared > 0
    if loss.n_outputs > 1 and share_trees:
        if p.shared_trees != "auto":
            shared = int(p.shared_trees)
        elif previous is not None and previous.shared:
            shared = previous.shared
        else:
            shared = 1 if p.boosting == "forest" or n_rows < MANY_ROWS else min(loss.n_outputs - 1, 3)
    if shared and p.path_smooth:
        raise ValueError(
            f"path_smooth={p.path_smooth} cannot be combined with multi_strategy={p.multi_strategy!r} if outputs share trees: "
            "inner nodes have no value for each output; use multi_strategy='one_output_per_tree'"
        )
    if shared > 1 and p.boosting == "forest":
        raise ValueError(f"boosting='forest' cannot be combined with shared_trees={p.shared_trees}: a round is one tree; use 1 or 'auto'")
    if previous is not None and previous.shared != shared:
        raise ValueError(
            f"{start.how} continues a model with {previous.shared or 'no'} shared tree(s) per round, but "
            f"multi_strategy={p.multi_strategy!r} and shared_trees={p.shared_trees!r} mean {shared or 'none'}"
        )
    return SharedTrees(shared) if shared else TreePerOutput()


def make_mode(p: ResolvedParameters, loss: Loss, start: WarmStart) -> Mode:
    """Return the boosting mode."""
    if p.boosting == "forest":
        if p.sampling == "uniform" and p.subsample == min(p.max_features, p.max_features_level, p.max_features_tree) == 1:
            raise ValueError("boosting='forest' would grow the same tree in every round: subsample or max_features must be below 1")
        if start.how and start.grows:
            raise ValueError(
                f"boosting='forest' cannot be combined with {start.how}: tree weights depend on the number of trees; fit a new forest"
            )
        return Forest()
    if p.boosting == "dart":
        return Dart(p.drop_rate, p.skip_drop, p.max_drop)
    if p.boosting == "ordered" and start.grows:  # a refit computes leaf values as in plain boosting
        _check_ordered(p, loss, start)
        return Ordered(p.boosting_permutations, 0 if start.model is None else start.model.n_rounds)
    return Mode()


def _check_ordered(p: ResolvedParameters, loss: Loss, start: WarmStart) -> None:
    """Raise a ValueError for parameters that are not supported with ordered boosting."""
    clashes = {
        f"loss={loss.name!r}": None if loss.rowwise else "the gradient of a row depends on other rows",
        start.how: None if start.model is None or start.new_rows else "its auxiliary models are not saved",
        "step='line_search'": None if p.step == "newton" else "splits are kept or removed by the Newton steps of their leaves",
        f"path_smooth={p.path_smooth}": "the value of a node depends on all rows" if p.path_smooth else None,
        "forced_splits": "splits that do not reduce the loss are removed" if p.forced_splits is not None else None,
    }
    for what, why in clashes.items():
        if why is not None:
            raise ValueError(f"boosting='ordered' cannot be combined with {what}: {why}; use boosting='plain'")


def make_step(p: ResolvedParameters, loss: Loss) -> Step:
    """Return the step size of trees."""
    if p.step == "line_search" and isinstance(loss, RankingLoss):
        raise ValueError(f"step='line_search' cannot be combined with loss={loss.name!r}: it has no derivative along a tree; use 'newton'")
    return STEPS[p.step]()


def _weight_unit(weight: np.ndarray | None, execution: Execution) -> float:
    """Return the unit of row weights: their mean, but at most 1. Weights that are fractions of a total have a smaller unit."""
    return 1.0 if weight is None else min(1.0, execution.exact_sum(weight) / execution.total(len(weight)))
