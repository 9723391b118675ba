"""Tests of every ranking loss; those of the kernels are in tests/kernels/test_ranking.py."""

import numpy as np
import pytest

from sapwood.data.queries import Queries
from sapwood.losses import RANKING
from sapwood.metrics import ranking as measures
from sapwood.runtime import kernels
from sapwood.runtime.execution import SERIAL, Execution

PAIR = np.dtype([("gradient", "i4"), ("hessian", "u4")])
QUERIES = Queries.from_group([5, 1, 12, 30, 2], 50)
every_loss = pytest.mark.parametrize("name", RANKING)


def make(name, seed=0):
    rng = np.random.default_rng(seed)
    loss = RANKING[name]().bind(QUERIES)
    loss.before_round(3)
    return loss, rng.integers(0, 5, 50).astype(float), rng.normal(size=(1, 50))


def gradients(loss, y, raw, weight=None, n_threads=1):
    (gradients,) = loss.fixed_gradients(y, raw, weight, Execution(n_threads))
    pairs = gradients.data.view(PAIR)
    return pairs["gradient"] / gradients.scale.gradient, pairs["hessian"] / gradients.scale.hessian


@every_loss
class TestEveryLoss:
    def test_the_name_is_the_key_in_the_table(self, name):
        assert RANKING[name].name == name

    def test_queries_are_required(self, name):
        with pytest.raises(ValueError, match=f"loss='{name}' requires the queries"):
            RANKING[name]().bind(None)

    def test_a_step_against_the_gradient_lowers_the_loss(self, name):
        loss, y, raw = make(name)
        before = loss.mean(y, raw, None, SERIAL)
        gradient, hessian = gradients(loss, y, raw)
        for _ in range(30):
            raw = raw - 0.1 * gradient / (hessian + 1e-3)
            gradient, hessian = gradients(loss, y, raw)
        assert loss.mean(y, raw, None, SERIAL) < before - 0.05

    def test_only_differences_of_scores_matter(self, name):
        loss, y, raw = make(name)
        shifted = raw + np.repeat([4.0, -2.0, 8.0, 0.0, 16.0], QUERIES.sizes)
        np.testing.assert_allclose(gradients(loss, y, shifted), gradients(loss, y, raw), atol=1e-7)
        assert loss.mean(y, shifted, None, SERIAL) == pytest.approx(loss.mean(y, raw, None, SERIAL), rel=1e-9)

    def test_queries_are_independent(self, name):
        loss, y, raw = make(name)
        alone = RANKING[name]().bind(Queries.from_group([5], 5))
        alone.before_round(3)
        part = gradients(alone, y[:5], np.ascontiguousarray(raw[:, :5]))
        np.testing.assert_allclose(np.array(gradients(loss, y, raw))[:, :5], part, atol=1e-7)

    def test_a_query_of_one_row_or_one_relevance_has_no_gradients(self, name):
        loss, y, raw = make(name)
        y[6:18] = 2
        gradient, _ = gradients(loss, y, raw)
        assert gradient[5] == 0
        if name != "xendcg":  # whose targets are drawn
            assert (gradient[6:18] == 0).all()

    def test_extreme_scores_stay_finite(self, name):
        loss, y, raw = make(name)
        for scale in (0.0, 1e3, 1e8):
            gradient, hessian = gradients(loss, y, raw * scale)
            assert np.isfinite([gradient, hessian]).all()
            assert (hessian >= 0).all()
            assert np.isfinite(loss.mean(y, raw * scale, None, SERIAL))

    @pytest.mark.parametrize("wrong", [-1.0, 0.5, 32.0])
    def test_invalid_relevances_raise(self, name, wrong):
        loss, y, _ = make(name)
        y[7] = wrong
        with pytest.raises(ValueError, match=f"y must hold relevances, integers from 0 to 31; got {wrong:g} in row 7"):
            loss.check_targets(y)

    def test_base_score_is_zero(self, name):
        loss, y, _ = make(name)
        assert loss.base_score(y, None).tolist() == [0.0]


def test_pairwise_gradient_and_hessian_are_derivatives():
    loss, y, raw = make("pairwise")
    gradient, hessian = gradients(loss, y, raw)

    def total(raw):
        values = np.empty(QUERIES.n_queries)
        gain, unit = loss._gains(y, 1)
        kernels.pair_values(kernels.RankedRows(gain, raw[0], None, QUERIES.begin, unit), 1.0, values, 1)
        return values.sum()

    for row in (0, 4, 5, 9, 40):
        step = np.zeros_like(raw)
        step[0, row] = 1e-4
        assert gradient[row] == pytest.approx((total(raw + step) - total(raw - step)) / 2e-4, abs=1e-6)
        assert hessian[row] == pytest.approx((total(raw + step) - 2 * total(raw) + total(raw - step)) / 1e-8, abs=1e-4)


def test_the_loss_of_lambdamart_is_one_minus_its_metric():
    _, y, raw = make("lambdamart")
    for metric, function in (("ndcg", measures.ndcg), ("map", measures.average_precision), ("mrr", measures.reciprocal_rank)):
        loss = RANKING["lambdamart"](metric=metric, truncation=5).bind(QUERIES)
        assert loss.mean(y, raw, None, SERIAL) == 1 - function(y, raw[0], QUERIES, k=5)


def test_listwise_targets_are_drawn_anew_each_round():
    loss, y, raw = make("xendcg")
    first = gradients(loss, y, raw)
    assert np.array_equal(gradients(loss, y, raw), first)
    loss.before_round(4)
    assert not np.array_equal(gradients(loss, y, raw), first)
