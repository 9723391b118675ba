"""What training does between gradients and trees is the same, however the rows are split over partitions."""

from types import SimpleNamespace

import numpy as np
import pytest

from sapwood.data.row_range import RowRange
from sapwood.losses import REGRESSION
from sapwood.losses.logistic import LogLoss
from sapwood.losses.multi_output import MultiOutputLoss
from sapwood.losses.multinomial import MultinomialLogLoss
from sapwood.runtime.execution import SERIAL
from sapwood.sampling.rows import RowSampler, Uniform
from sapwood.training import multi_output, refit
from sapwood.training.line_search import LineSearch, Step
from sapwood.training.modes import Mode, TrainingState
from sapwood.training.multi_output import SharedTrees, TreeFitter
from sapwood.training.ordered import Ordered
from sapwood.training.refit import TreeRefitter
from sapwood.trees.features import FeaturePolicy
from sapwood.trees.frontier import LeafWise
from sapwood.trees.grower import TreeConfig
from sapwood.trees.leaf_assignment import LeafAssignment
from sapwood.trees.leaf_fit import LeafFit
from sapwood.trees.leaf_models import ConstantLeaves
from sapwood.trees.rules import Limits, Rules
from sapwood.trees.tree import Tree
from tests.partitions import run, slices

N = 2_003
CONFIG = TreeConfig(LeafWise, FeaturePolicy(4), Rules(l2=0.5), learning_rate=0.3)
partitions = pytest.mark.parametrize("n", [2, 3, 5])
weighted = pytest.mark.parametrize("weighted", [False, True])


class Data:
    """Targets, raw predictions and leaves of all rows; `at` gives those of a partition."""

    def __init__(self, loss_of, y, weighted, seed=0):
        rng = np.random.default_rng(seed)
        self.loss_of, self.y, n_outputs = loss_of, y, loss_of().n_outputs
        self.raw = rng.normal(size=(n_outputs, N))
        self.weight = rng.uniform(0.1, 2.0, N) if weighted else None
        self.leaf = rng.integers(0, 4, N)
        self.base = rng.normal(size=n_outputs)

    def at(self, own):
        y = self.y[own]
        rows = SimpleNamespace(y=y, n_rows=len(y), weight=None if self.weight is None else self.weight[own], loss=self.loss_of())
        rows.raw = np.ascontiguousarray(self.raw[:, own])
        rows.base, rows.offset = np.repeat(self.base[:, None], len(y), axis=1), None
        rows.leaf = self.leaf[own]
        rows.pages = SimpleNamespace(n_rows=len(y), binning=SimpleNamespace(is_category=lambda feature: np.zeros(len(feature), dtype=bool)))
        rows.pages.leaf = rows.leaf
        return rows

    def leaves(self, rows):
        leaves, free = LeafAssignment(len(rows.y)), np.full(4, np.inf)
        leaves.reset(LEAVES, np.bincount(self.leaf, minlength=4), Limits(-free, free, np.zeros(4)))
        leaves.of_row[:] = rows.leaf
        return leaves

    def fit(self, rows, execution, kind=TreeFitter, sampler=None, **more):
        given = rows, rows.weight, rows.loss, sampler or RowSampler(), Mode(), None, self.leaves(rows), Step(), LeafFit(), 7, execution
        return kind(*given, **more)


class WithoutTrees:
    """Model without trees."""

    def __init__(self, raw):
        self.raw = raw

    def __getitem__(self, rounds):
        return self

    def predict_binned(self, pages, execution, offset):
        return self.raw


LEAVES = np.array([3, 4, 5, 6])


def a_tree():
    """Four leaves below three splits."""
    inner = np.array([0, 1, 2])
    tree = Tree(
        feature=np.array([0, 1, 2, -1, -1, -1, -1], dtype=np.int32),
        threshold=np.zeros(7),
        bin=np.zeros(7, dtype=np.int32),
        left=np.array([1, 3, 5, -1, -1, -1, -1], dtype=np.int32),
        right=np.array([2, 4, 6, -1, -1, -1, -1], dtype=np.int32),
        missing_left=np.zeros(7, dtype=np.uint8),
        leaves=ConstantLeaves(np.zeros(7)),
        gain=np.zeros(7),
        count=np.zeros(7, dtype=np.int64),
    )
    tree.gain[inner] = 1.0
    return tree


def check(data, n, function):
    """Compare what a function of (rows, execution) gives: numbers that all partitions share, and arrays over rows, the last axis."""
    same, of_rows = function(data.at(slice(None)), SERIAL)
    found = run(n, lambda execution: function(data.at(slices(N, n)[execution.collective.rank]), execution))
    for own, _ in found:
        for one, other in zip(own, same, strict=True):
            np.testing.assert_array_equal(one, other)
    for wanted, *parts in zip(of_rows, *(part for _, part in found), strict=True):
        np.testing.assert_array_equal(np.concatenate(parts, axis=-1), wanted)


def several(name, missing=0.0):
    rng = np.random.default_rng(1)
    y = rng.gamma(2.0, size=(N, 3))
    y[rng.random(y.shape) < missing] = np.nan
    return lambda: MultiOutputLoss([REGRESSION[name]() for _ in range(3)]), y


def classes():
    return lambda: MultinomialLogLoss(5), np.random.default_rng(2).integers(0, 5, N).astype(float)


def odds():
    return LogLoss, np.random.default_rng(3).integers(0, 2, N).astype(float)


KINDS = {
    "numbers": lambda: several("squared_error"),
    "medians": lambda: several("absolute_error"),
    "gaps": lambda: several("gamma", 0.4),
    "classes": classes,
    "odds": odds,
}
kinds = pytest.mark.parametrize("kind", KINDS)


@kinds
@partitions
@weighted
@pytest.mark.parametrize("few", [False, True])
def test_mixes_of_outputs(kind, n, weighted, few, monkeypatch):
    monkeypatch.setattr(multi_output, "PROJECTION_ROWS", 40 if few else 1024)

    def project(rows, execution):
        strategy = SharedTrees(2)
        strategy.begin(data.fit(rows, execution))
        outputs = list(rows.loss.fixed_gradients(rows.y, rows.raw, rows.weight, execution))
        mixes = [strategy._project(outputs, key) for key in (1, 2)]
        return [(mix.scale.gradient, mix.scale.hessian, mix.n_total, *mix.sums) for mix in mixes], [
            mixes[1].data.reshape(len(rows.y), mixes[1].scale.bytes_per_row).T
        ]

    data = Data(*KINDS[kind](), weighted)
    check(data, n, project)


@kinds
@partitions
@weighted
def test_steps_of_leaves(kind, n, weighted):
    def steps(rows, execution):
        fit = data.fit(rows, execution)
        if rows.loss.renews_leaves:
            return [fit.best_steps(rows.raw, k) for k in range(rows.loss.n_outputs)], []
        return [fit.newton_steps(list(fit.fixed_gradients(rows.raw)), CONFIG.rules)], []

    data = Data(*KINDS[kind](), weighted)
    check(data, n, steps)


@kinds
@partitions
@weighted
def test_line_search(kind, n, weighted):
    def factor(rows, execution):
        values = np.random.default_rng(4).normal(size=(4, rows.loss.n_outputs))
        leaves = ConstantLeaves.of_steps(7, LEAVES, values)
        return [LineSearch().factor(leaves, 1.0, rows, rows.raw, slice(None), data.leaves(rows), execution)], []

    data = Data(*KINDS[kind](), weighted)
    check(data, n, factor)


@kinds
@partitions
@weighted
@pytest.mark.parametrize("n_permutations", [1, 3])
def test_ordered_boosting(kind, n, weighted, n_permutations):
    """Trees of a few rounds: those that are pruned, and the predictions by which they are."""

    def boost(rows, execution):
        mode, n_outputs = Ordered(n_permutations), rows.loss.n_outputs
        mode.begin(TrainingState(WithoutTrees(rows.base), [rows], 11, execution))
        trees = []
        for round_ in range(3):
            mode.before_round(round_)
            for k in range(n_outputs):
                outputs = slice(None) if round_ == 2 else slice(k, k + 1)
                trees.append(mode.after_growth(a_tree(), data.leaves(rows), outputs, CONFIG))
        mode.before_round(3)
        return [array for tree in trees for array in (vars(tree) | {"leaves": tree.leaves.value}).values()], [mode.unseen, mode.weights]

    data = Data(*KINDS[kind](), weighted)
    data.leaf = np.argsort(np.argsort(np.nan_to_num(data.y if data.y.ndim == 1 else data.y[:, 0]))) * 4 // N  # splits worth keeping
    check(data, n, boost)


@pytest.mark.parametrize("kind", ["odds", "gaps"])
@partitions
@weighted
def test_refit(kind, n, weighted, monkeypatch):
    monkeypatch.setattr(refit, "leaf_of_rows", lambda pages, tree, at, execution: pages.leaf)

    def grow(rows, execution):
        fit = data.fit(rows, execution, TreeRefitter, model=SimpleNamespace(trees=[a_tree()] * 3))
        values = [fit.grow(gradients, CONFIG, 1, 0, slice(0, 1)).leaves.value for gradients in fit.fixed_gradients(rows.raw)]
        return [*values, fit.leaves.count], [fit.leaves.of_row]

    data = Data(*KINDS[kind](), weighted)
    check(data, n, grow)


@pytest.mark.parametrize("fraction", [0.3, 0.01, 1e-9])
@partitions
def test_rows_that_are_drawn_and_have_a_target(fraction, n, monkeypatch):
    """Where there are none in any partition, all rows with a target are taken."""
    monkeypatch.setattr(multi_output, "grow_tree", lambda *args: args[-1])
    monkeypatch.setattr(Mode, "after_growth", lambda self, sample, *args: sample)

    def sample(rows, execution):
        bound = Uniform(fraction).bind(None, rows.y, RowRange.of(len(rows.y), execution), execution)
        fit = data.fit(rows, execution, sampler=bound)
        here = np.zeros((3, len(rows.y)), dtype=bool)
        for k, gradients in enumerate(fit.fixed_gradients(rows.raw)):
            here[k, fit.grow(gradients, CONFIG, 5, 0, slice(k, k + 1))] = True
        return [], [here]

    data = Data(*several("squared_error", 0.9), False)
    data.y[0] = [np.nan, 1.0, np.nan]  # the row that is drawn where no other is
    check(data, n, sample)
