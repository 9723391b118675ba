"""The ranking kernels against their NumPy twins."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.runtime import kernels
from tests.reference import ranking as reference

MEASURES = ["ndcg", "map", "mrr", "pairwise"]
NDCG, MAP, MRR = range(3)
SIZES = np.array([1, 2, 3, 4, 5, 8, 9, 13, 40])
LARGE = np.array([1, 255, 256, 257, 300])  # up to 256 rows are ordered in another way than more


def make(seed, measure="ndcg", tied=False, sizes=SIZES):
    """Queries of several sizes: gains, scores, where queries begin, their units."""
    rng = np.random.default_rng(seed)
    n = sizes.sum()
    gain = 2.0 ** rng.integers(0, 4, n) - 1 if measure in ("ndcg", "pairwise") else rng.integers(0, 2, n).astype(float)
    raw = rng.integers(0, 3, n).astype(float) if tied else rng.normal(size=n)
    return gain, raw, np.concatenate([[0], np.cumsum(sizes)]), rng.uniform(0.1, 2, len(sizes))


def pair_gradients(measure, gain, raw, begin, unit, truncation=30, normalize=True, weight=None, n_threads=1):
    g, h = np.full((2, len(gain)), np.nan)
    rows = kernels.RankedRows(gain, raw, weight, begin, unit)
    rule = kernels.PairRule(MEASURES.index(measure), truncation, normalize=normalize)
    extent = kernels.pair_gradients(rows, rule, g, h, n_threads)
    return g, h, extent


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("truncation", [3, 100])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("measure", MEASURES)
def test_pairs_pull_by_what_their_swap_would_change(measure, tied, truncation, normalize):
    gain, raw, begin, unit = make(0, measure, tied)
    g, h, extent = pair_gradients(measure, gain, raw, begin, unit, truncation, normalize)
    for query, (a, b) in enumerate(itertools.pairwise(begin)):
        expected = reference.pair_gradients(measure, gain[a:b], raw[a:b], unit[query], truncation, normalize)
        np.testing.assert_allclose((g[a:b], h[a:b]), expected, rtol=2e-5, atol=1e-6 * np.abs(expected).max())  # floats
    assert extent == (np.abs(g).max(), h.max())


def test_rows_are_ordered_the_same_by_counting_and_sorting():
    """A query of 256 rows, and the same with one more at the end that is as relevant as the first."""
    n, rng = 256, np.random.default_rng(0)
    gain, raw = rng.integers(0, 4, n).astype(float), rng.integers(0, 30, n).astype(float)
    with_one_more = np.append(gain, gain[np.argmax(raw)]), np.append(raw, -1.0)
    few = pair_gradients("pairwise", gain, raw, np.array([0, n]), np.ones(1), 1, False)[0]
    more = pair_gradients("pairwise", *with_one_more, np.array([0, n + 1]), np.ones(1), 1, False)[0]
    np.testing.assert_array_equal(more, np.append(few, 0.0))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 30), st.sampled_from(["ndcg", "map", "mrr"]))
def test_gradients_of_a_query_add_up_to_nothing(seed, size, measure):
    gain, raw, begin, unit = make(seed, measure, sizes=np.array([size, 4]))
    g, h, _ = pair_gradients(measure, gain, raw, begin, unit)
    assert abs(g[:size].sum()) <= 1e-5 * max(1.0, np.abs(g[:size]).max())
    assert (h >= 0).all()


def test_weights_multiply():
    gain, raw, begin, unit = make(1)
    weight = np.random.default_rng(1).uniform(0.1, 2, len(gain))
    plain, weighted = pair_gradients("ndcg", gain, raw, begin, unit), pair_gradients("ndcg", gain, raw, begin, unit, weight=weight)
    np.testing.assert_array_equal(weighted[0], plain[0] * weight)
    np.testing.assert_array_equal(weighted[1], plain[1] * weight)


def test_far_scores_stay_finite():
    gain, raw, begin, unit = make(2)
    for scale in (30.0, 100.0, 1e3, 1e6, 1e300):
        for measure in ("ndcg", "pairwise"):
            g, h, extent = pair_gradients(measure, gain, raw * scale, begin, unit)
            assert np.isfinite([*g, *h, *extent]).all()


def test_any_number_of_threads():
    gain, raw, begin, unit = make(3, sizes=np.random.default_rng(0).integers(1, 60, 100))
    for function in (
        lambda n: pair_gradients("ndcg", gain, raw, begin, unit, n_threads=n)[:2],
        lambda n: listwise(gain + 0.5, raw, begin, n)[:2],
        lambda n: values(NDCG, gain, raw, begin, 5, n),
    ):
        for n_threads in (2, 3, 8):
            np.testing.assert_array_equal(function(n_threads), function(1))


def listwise(target, raw, begin, n_threads=1, weight=None):
    g, h = np.full((2, len(raw)), np.nan)
    extent = kernels.listwise_gradients(kernels.RankedRows(target, raw, weight, begin, np.ones(len(begin) - 1)), g, h, n_threads)
    return g, h, extent


def test_listwise_gradients():
    gain, raw, begin, _ = make(4)
    target = gain + 1 - np.random.default_rng(4).random(len(gain))
    g, h, extent = listwise(target, raw, begin)
    assert (g[0], h[0]) == (0, 0)  # alone in its query
    for a, b in itertools.pairwise(begin[1:]):
        np.testing.assert_allclose((g[a:b], h[a:b]), reference.listwise_gradients(target[a:b], raw[a:b]), rtol=1e-9, atol=1e-12)
    assert extent == (np.abs(g).max(), h.max())
    assert np.isfinite(listwise(target, raw * 1e5, begin)[0]).all()


def values(measure, gain, raw, begin, k, n_threads=1):
    out = np.empty(len(begin) - 1)
    kernels.rank_values(kernels.RankedRows(gain, raw, None, begin), measure, k, out, n_threads)
    return out


@pytest.mark.parametrize("k", [1, 3, 1000])
@pytest.mark.parametrize("measure", [NDCG, MAP, MRR])
@pytest.mark.parametrize("sizes", [SIZES, LARGE], ids=["small", "large"])
def test_values_without_ties(measure, k, sizes):
    gain, raw, begin, _ = make(5, ["ndcg", "map", "mrr"][measure], sizes=sizes)
    twin = [reference.dcg, reference.average_precision, reference.reciprocal_rank][measure]
    expected = [twin(gain[a:b], raw[a:b], k) for a, b in itertools.pairwise(begin)]
    np.testing.assert_allclose(values(measure, gain, raw, begin, k), expected, rtol=1e-12)


@pytest.mark.parametrize("measure", [NDCG, MAP, MRR])
def test_ties_do_not_look_at_the_order_of_rows(measure):
    gain, raw, begin, _ = make(6, ["ndcg", "map", "mrr"][measure], tied=True)
    before = values(measure, gain, raw, begin, 4)
    rng = np.random.default_rng(6)
    shuffled = np.concatenate([rng.permutation(np.arange(a, b)) for a, b in itertools.pairwise(begin)])
    np.testing.assert_array_equal(values(measure, gain[shuffled], raw[shuffled], begin, 4), before)


@pytest.mark.parametrize("measure", [MAP, MRR])
def test_a_constant_score_has_the_worst_order(measure):
    gain, begin = np.array([1.0, 0, 0, 1]), np.array([0, 4])
    worst = values(measure, gain, np.array([1.0, 3, 4, 2]), begin, 4)
    np.testing.assert_array_equal(values(measure, gain, np.zeros(4), begin, 4), worst)


@pytest.mark.parametrize("begin", [[0, 2], [0, 2, 2, 4], [1, 4], [0, 3, 2, 4], [0, 5]])
def test_queries_must_cover_the_rows(begin):
    begin = np.array(begin)
    with pytest.raises(ValueError, match="quer"):
        pair_gradients("ndcg", np.ones(4), np.zeros(4), begin, np.ones(len(begin) - 1))


def test_bad_arguments():
    begin, g = np.array([0, 4]), np.zeros(4)
    rows = kernels.RankedRows(np.ones(4), np.zeros(4), None, begin, np.ones(1))
    without_units = kernels.RankedRows(np.ones(4), np.zeros(4), None, begin)
    rule = kernels.PairRule(NDCG, 30)
    for call in (
        lambda: kernels.RankedRows(np.ones(4), np.zeros(4), None, begin, np.ones(2)),
        lambda: kernels.PairRule(4, 30),
        lambda: kernels.PairRule(NDCG, 0),
        lambda: kernels.PairRule(NDCG, 30, steepness=0.0),
        lambda: kernels.pair_gradients(rows, rule, g[:3], g, 1),
        lambda: kernels.pair_gradients(without_units, rule, g, g.copy(), 1),
        lambda: kernels.listwise_gradients(without_units, g, g.copy(), 1),
        lambda: kernels.pair_values(without_units, 1.0, np.zeros(1), 1),
        lambda: kernels.pair_values(rows, 1.0, np.zeros(2), 1),
        lambda: kernels.listwise_values(without_units, np.zeros(1), 1),
        lambda: kernels.listwise_values(rows, np.zeros(2), 1),
        lambda: kernels.rank_values(rows, 3, 10, np.zeros(1), 1),
        lambda: kernels.rank_values(rows, NDCG, 0, np.zeros(1), 1),
        lambda: kernels.rank_values(rows, NDCG, 10, np.zeros(2), 1),
    ):
        with pytest.raises(ValueError):
            call()
