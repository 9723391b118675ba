"""Splits on sorted columns: every value a candidate, or those at quantiles."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.trees.growth import SortedGrower
from tests.kernels.binned import MODES, NARROW, WIDE, Gradients, grow
from tests.reference import splits as twin

MISSING = 0xFFFFFFFF


def sort(kernels, x, n_threads=1):
    return kernels.sort_columns(np.ascontiguousarray(x), n_threads)


def make(kernels, x, n_threads=1, **proposal):
    found = sort(kernels, x)
    tree = kernels.SortedTree([rows for rows, _ in found], [max(1, len(values)) for _, values in found], n_threads, **proposal)
    return SortedGrower(tree)


def random_table(rng, n_rows, n_features=4, n_values=12, missing=0.2):
    x = rng.integers(0, n_values, (n_rows, n_features)).astype(float)
    x[rng.random(x.shape) < missing] = np.nan
    return x


class TestSort:
    @pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u1", "?"])
    @pytest.mark.parametrize("n_rows", [1, 10, 5_000])
    def test_ranks_and_values(self, kernels, dtype, n_rows):
        rng = np.random.default_rng(n_rows)
        x = (rng.normal(size=(n_rows, 3)) * 20).round(1)
        if dtype[0] == "f":
            x[rng.random(x.shape) < 0.2] = np.nan
            x[rng.random(x.shape) < 0.1] = -0.0
        x = np.abs(x).astype(dtype) if dtype in ("u1", "?") else x.astype(dtype)
        for f, (rows, values) in enumerate(sort(kernels, x, 2)):
            column = x[:, f].astype(float) + 0.0
            known = ~np.isnan(column)
            np.testing.assert_array_equal(values, np.unique(column[known]))
            order = np.concatenate([np.flatnonzero(known)[np.argsort(column[known], kind="stable")], np.flatnonzero(~known)])
            np.testing.assert_array_equal(rows[:, 0], order)
            np.testing.assert_array_equal(rows[: known.sum(), 1], np.searchsorted(values, column[order[: known.sum()]]))
            assert (rows[known.sum() :, 1] == MISSING).all()


def ranks_of(kernels, x):
    """(n_rows, n_features) bins, the missing one last, their numbers, and which features have missing values."""
    bins, n_bins, missing = np.zeros(x.shape, dtype=np.int64), [], []
    for f, (rows, values) in enumerate(sort(kernels, x)):
        bins[rows[:, 0], f] = np.where(rows[:, 1] == MISSING, len(values), rows[:, 1])
        missing.append(int(np.isnan(x[:, f]).any()))
        n_bins.append(len(values) + missing[-1])
    return bins, n_bins, missing


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n_rows=st.integers(2, 60), min_count=st.integers(1, 5), l2=st.sampled_from([0.0, 3.0]))
def test_the_best_of_all_splits(kernels, mode, seed, n_rows, min_count, l2):
    rng = np.random.default_rng(seed)
    x = random_table(rng, n_rows)
    gradients = Gradients.random(rng, n_rows, mode)
    tree = make(kernels, x)
    gain = gradients.start(tree, min_count=min_count, l2=l2)
    bins, n_bins, missing = ranks_of(kernels, x)
    g, h = gradients.seen()
    histogram = np.concatenate(
        [
            np.column_stack([np.bincount(bins[:, f], values, n) for values in (g.astype(float), h.astype(float), np.ones(n_rows))])
            for f, n in enumerate(n_bins)
        ]
    ).astype(np.int64)
    found = twin.candidates(histogram, n_bins, missing, min_count=min_count, l2=l2)
    best = max((candidate.gain for candidate in found), default=-1.0)
    scale = max((candidate.score for candidate in found), default=1.0)
    if gain > 0:
        assert gain == pytest.approx(best, rel=1e-9, abs=1e-9 * scale)
    else:
        assert best <= 1e-9 * scale


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
@pytest.mark.parametrize("sampled", [False, True])
def test_leaves_hold_their_rows(kernels, mode, sampled):
    rng = np.random.default_rng(3)
    x = random_table(rng, 3_000)
    gradients = Gradients.random(rng, 3_000, mode)
    sample = np.flatnonzero(rng.random(3_000) < 0.4) if sampled else None
    nodes, leaves, sums, of_row = grow(make(kernels, x, 2), gradients, 10, min_count=5, sample=sample)
    bins, n_bins, missing = ranks_of(kernels, x)
    assert len(leaves) == 11
    for row in range(0, 3_000, 7):
        node = 0
        while nodes["left"][node] >= 0:
            f = nodes["feature"][node]
            absent = missing[f] and bins[row, f] == n_bins[f] - 1
            goes_left = nodes["missing_left"][node] if absent else bins[row, f] <= nodes["bin"][node]
            node = nodes["left"][node] if goes_left else nodes["right"][node]
        assert leaves[of_row[row]] == node
    inside = slice(None) if sample is None else sample
    for k in range(len(leaves)):
        mine = of_row[inside] == k
        assert sums[2][k] == nodes["count"][leaves[k]] == mine.sum()
        assert sums[0][k] == gradients.gradient[inside][mine].sum()


@pytest.mark.parametrize("proposal", [0, 1, 2])
def test_threads_leave_no_trace(kernels, proposal):
    rng = np.random.default_rng(4)
    x = rng.normal(size=(5_000, 6))
    gradients = Gradients.random(rng, 5_000, NARROW)
    once, threaded = (grow(make(kernels, x, n, proposal=proposal, n_quantiles=20), gradients, 10, min_count=5) for n in (1, 3))
    for name in once[0]:
        np.testing.assert_array_equal(once[0][name], threaded[0][name])
    np.testing.assert_array_equal(once[3], threaded[3])


@pytest.mark.parametrize("proposal", [1, 2])
@pytest.mark.parametrize("n_quantiles", [2, 10, 50])
def test_a_proposal_is_near_every_quantile(kernels, proposal, n_quantiles):
    """The best of the proposed splits leaves at most a quantile's hessian more or less on a side than the best of all."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(4_000, 1))
    hessian = rng.integers(1, 1_000, 4_000)
    order = np.argsort(x[:, 0])
    for share in (0.2, 0.5, 0.83):
        goal = np.searchsorted(np.cumsum(hessian[order]), share * hessian.sum())
        gradient = np.full(4_000, 10)
        gradient[order[: goal + 1]] = -10
        nodes, *_ = grow(make(kernels, x, proposal=proposal, n_quantiles=n_quantiles), Gradients.small(gradient, hessian, WIDE), 1)
        left = hessian[order[: nodes["bin"][0] + 1]].sum()
        assert abs(left - share * hessian.sum()) <= hessian.sum() / n_quantiles + hessian.max()


class TestBadArguments:
    def test_columns(self, kernels):
        good = np.array([[1, 0], [0, 0], [2, 1]], dtype=np.uint32)
        kernels.SortedTree([good], [2], 1)
        wrong = [[[1, 0], [0, 0], [3, 1]], [[1, 0], [1, 0], [2, 1]], [[1, 1], [0, 0], [2, 1]], [[1, 0], [0, 0], [2, 2]]]
        for rows in wrong:
            with pytest.raises(ValueError):
                kernels.SortedTree([np.array(rows, dtype=np.uint32)], [2], 1)
        for columns, n_values in (([], []), ([good], [2, 2]), ([good, good[:2]], [2, 2])):
            with pytest.raises(ValueError):
                kernels.SortedTree(columns, n_values, 1)
        with pytest.raises(ValueError):
            kernels.SortedTree([good], [2], 1, 3, 1)
