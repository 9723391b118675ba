"""Samplers of whole queries, and of a fraction of each class."""

import numpy as np
import pytest

from sapwood import BoostingClassifier
from sapwood.data.queries import Queries
from sapwood.runtime.execution import SERIAL
from sapwood.sampling.rows import Stratified, WholeQueries
from tests.sampling.test_rows import make

N = 20_000
QUERIES = Queries.from_group(np.tile([1, 7, 32], N // 40), N)
CLASSES = np.random.default_rng(0).choice(3, N, p=[0.9, 0.0985, 0.0015]).astype(float)


def test_whole_queries():
    rows = WholeQueries(0.3).bind(QUERIES, CLASSES).draw(make(), 5, SERIAL)
    drawn = QUERIES.of_row[rows]
    assert (np.diff(rows) > 0).all()
    assert (np.bincount(drawn, minlength=QUERIES.n_queries)[np.unique(drawn)] == QUERIES.sizes[np.unique(drawn)]).all()
    assert abs(len(np.unique(drawn)) / QUERIES.n_queries - 0.3) < 0.04


def test_at_least_one_query():
    few = Queries.from_group([3, 4], 7)
    assert all(len(WholeQueries(0.01).bind(few, CLASSES[:7]).draw(make(7), key, SERIAL)) in (3, 4) for key in range(20))


@pytest.mark.parametrize("fraction", [0.5, 0.1, 1e-4])
def test_the_fraction_holds_for_each_class(fraction):
    sampler = Stratified(fraction).bind(None, CLASSES)
    for key in (1, 2):
        rows = sampler.draw(make(), key, SERIAL)
        assert (np.diff(rows) > 0).all()
        expected = [max(1, round(fraction * n)) for n in np.bincount(CLASSES.astype(int))]
        np.testing.assert_array_equal(np.bincount(CLASSES[rows].astype(int)), expected)


@pytest.mark.parametrize("sampler", [WholeQueries(0.3), Stratified(0.3)])
def test_another_key_another_draw(sampler):
    bound = sampler.bind(QUERIES, CLASSES)
    first, again, other = (bound.draw(make(), key, SERIAL) for key in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_stratified_classifier():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2_000, 4)), rng.choice(3, 2_000, p=[0.8, 0.18, 0.02])
    fits = [BoostingClassifier(max_iter=5, subsample=0.3, stratified=True, n_jobs=n).fit(X, y) for n in (1, 2)]
    assert fits[0].model_.to_bytes() == fits[1].model_.to_bytes()
    assert [tree.count[0] for tree in fits[0].model_.trees] == [sum(round(0.3 * n) for n in np.bincount(y))] * 5
    with pytest.raises(ValueError, match="stratified=True cannot be combined with sampling='mvs'"):
        BoostingClassifier(subsample=0.3, stratified=True, sampling="mvs").fit(X, y)
