"""Trees are the same for any number of partitions."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from sapwood.data.binning import Binning
from sapwood.data.pages import Pages
from sapwood.data.tables import ArrayTable
from sapwood.losses import LOSSES
from sapwood.runtime import kernels
from sapwood.runtime.collective import thread_collectives
from sapwood.runtime.execution import SERIAL, Execution
from sapwood.trees.features import FeaturePolicy
from sapwood.trees.forced import ForcedSplit
from sapwood.trees.frontier import FRONTIERS
from sapwood.trees.gradients import NARROW, SINGLE, WIDE
from sapwood.trees.grower import TreeConfig, grow_tree
from sapwood.trees.growth import LocalGrower, SummedGrower, make_grower
from sapwood.trees.leaf_assignment import LeafAssignment
from sapwood.trees.monotonic import MONOTONIC_METHODS
from sapwood.trees.rules import Rules
from sapwood.trees.tree import Tree
from tests.kernels.binned import Partitions, slices
from tests.test_determinism import IN_PAGES, classifier, counts, large, measures, regressor, small, two_classes


def partition_of(pages, layout, rows, n_threads=1):
    """RowPartition of some rows of a single page."""
    page = pages.pages[0].take(np.arange(rows.start, rows.stop), rows.start)
    return kernels.RowPartition(layout, [page.open(pages.layout, 0)], n_threads)


def layout_of(pages):
    return pages.layout.native


def summed(pages, n_partitions, n_threads):
    layout, rows = layout_of(pages), slices(pages.n_rows, n_partitions)
    partitions = Partitions([partition_of(pages, layout, own, n_threads) for own in rows], rows)
    return SummedGrower(kernels.SplitSearch(layout, n_threads, 1 << 24), partitions, SERIAL)


BOUNDS = {"monotonic_cst": [1, -1, 0, 1, 0, 0], "min_samples_leaf": 2}
CATEGORIES = {"categorical_features": [6, 7, 8, 9], "min_samples_leaf": 5}
MORE = {
    "neighbours": small(regressor(monotonic_method="neighbours", **BOUNDS), SINGLE, measures),
    "neighbours classes": small(classifier(monotonic_method="neighbours", **BOUNDS), WIDE, two_classes),
    "monotonic depthwise": small(classifier(grow_policy="depthwise", **BOUNDS), WIDE, two_classes),
    "monotonic extra": small(regressor(extra_trees=True, **BOUNDS), SINGLE, measures),
    "categories": small(regressor("poisson", **CATEGORIES), WIDE, counts, one_hot=4).more_rows(3_000),
    "symmetric categories": small(regressor(grow_policy="symmetric", **CATEGORIES), SINGLE, measures, one_hot=4).more_rows(3_000),
    "extra categories": small(classifier(extra_trees=True, **CATEGORIES), WIDE, two_classes, one_hot=4).more_rows(3_000),
    "large symmetric extra": large(classifier(grow_policy="symmetric", extra_trees=True), NARROW, two_classes),
}


@pytest.mark.parametrize("case", (IN_PAGES | MORE).values(), ids=IN_PAGES | MORE)
def test_partitions_leave_no_trace(case, monkeypatch):
    expected, made = case.fingerprint(), []
    for n_partitions in (1, 2, 3, 5):

        def make(pages, first_row, execution, n=n_partitions):
            made.append(summed(pages, n, execution.n_threads))
            return made[-1]

        monkeypatch.setattr("sapwood.training.boosting.make_grower", make)
        assert case.fingerprint(n_jobs=1 + n_partitions % 2) == expected, n_partitions
        assert len(made[-1].partition.parts) == n_partitions


def run(n, work):
    """Results of work(execution) in n partitions, which are threads."""
    collectives = thread_collectives(n)

    def one(collective):
        try:
            return work(Execution(1, collective))
        except BaseException:
            collective.abort()
            raise

    with ThreadPoolExecutor(n) as threads:
        return list(threads.map(one, collectives))


FORCED = ForcedSplit(1, 40, left=ForcedSplit(2, 70), right=ForcedSplit(0, 255))


@pytest.mark.parametrize(("policy", "forced"), [*((policy, None) for policy in FRONTIERS), ("leafwise", FORCED), ("depthwise", FORCED)])
@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
def test_all_partitions_grow_the_same_tree(policy, forced, loss):
    """Each partition has its own rows and split search; all use the same sums."""
    rng = np.random.default_rng(0)
    n_rows, n_workers = 3_000, 3
    x = rng.normal(size=(n_rows, 5))
    y = np.exp(x[:, 0] + x[:, 1] * x[:, 2])
    table = ArrayTable(x)
    binning = Binning.fit(table, 255, None, None, 0, SERIAL)
    pages = Pages.build(table, binning, SERIAL)
    neighbours = policy == "leafwise" and forced is None
    bounds = MONOTONIC_METHODS["neighbours" if neighbours else "basic"]
    monotonic = np.array([1, 0, -1, 0, 0], dtype=np.int8)
    rules = Rules(monotonic=monotonic, neighbours=neighbours, min_samples_leaf=5, extra_trees=True)
    config = TreeConfig(FRONTIERS[policy], FeaturePolicy(5, by_node=0.8), rules, max_leaves=32, forced=forced, monotonic_bounds=bounds)

    def gradients():
        return next(LOSSES[loss]().fixed_gradients(y, np.zeros((1, n_rows)), None, SERIAL))

    def grow(grower, own, leaves):
        rules.constrain(grower, FRONTIERS[policy].splits_levels_jointly)
        return grow_tree(grower, binning, own, config, 7, leaves)

    all_leaves = LeafAssignment(n_rows)
    expected = grow(make_grower(pages, 0, SERIAL), gradients(), all_leaves)
    assert expected.n_leaves >= 16
    layout, rows = layout_of(pages), slices(n_rows, n_workers)

    def work(execution):
        whole, mine = gradients(), rows[execution.collective.rank]
        size = whole.scale.bytes_per_row
        leaves = LeafAssignment(mine.stop - mine.start)
        grower = SummedGrower(kernels.SplitSearch(layout, 1, 1 << 24), partition_of(pages, layout, mine), execution)
        own = replace(whole, data=whole.data[mine.start * size : mine.stop * size])  # sums and number of rows are those of all
        return grow(grower, own, leaves), leaves.of_row

    for (tree, of_row), mine in zip(run(n_workers, work), rows, strict=True):
        for name in [*Tree.names(), "sets"]:
            np.testing.assert_array_equal(getattr(tree, name), getattr(expected, name), err_msg=name)
        np.testing.assert_array_equal(tree.leaves.value, expected.leaves.value)
        np.testing.assert_array_equal(of_row, all_leaves.of_row[mine])


def test_make_grower():
    x = np.arange(40.0)[:, None]
    pages = Pages.build(ArrayTable(x), Binning.fit(ArrayTable(x), 255, None, None, 0, SERIAL), SERIAL)
    assert type(make_grower(pages, 0, SERIAL)) is LocalGrower
    assert type(make_grower(pages, 0, Execution(1, thread_collectives(2)[0]))) is SummedGrower
