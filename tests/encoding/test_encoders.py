import numpy as np
import pytest

from sapwood.data.binning import NUMBER, ONE_VS_REST, PARTITION
from sapwood.encoding import ENCODERS, Count, CrossFittedTarget, OneHot, Partition, Target
from sapwood.encoding.base import CategoryKeys, EncodingTargets
from sapwood.encoding.lookup import Lookup, combine, key_space
from sapwood.encoding.target_cv import prior_rows

N = 400
rng = np.random.default_rng(0)
CODES = rng.integers(-1, 9, N).astype(np.int32)
Y = rng.normal(size=N)
WEIGHT = rng.random(N)


def column(codes=CODES, n_levels=9):
    return CategoryKeys((0,), (n_levels,), combine([codes], [n_levels]))


def ordered_means(codes, y, weight, order, prior, mean):
    """Ordered target statistics, row by row."""
    out = np.empty(len(y))
    place = np.argsort(order)
    for i in range(len(y)):
        before = (codes == codes[i]) & (place < place[i])
        out[i] = ((weight * y)[before].sum() + prior * mean) / (weight[before].sum() + prior)
    return out


class TestTarget:
    @pytest.mark.parametrize("weight", [None, WEIGHT])
    @pytest.mark.parametrize("n_permutations", [1, 3])
    def test_equals_twin(self, weight, n_permutations):
        targets = EncodingTargets(Y[None], weight, seed=3)
        (encoded,) = Target(2.0, n_permutations).fit(column(), targets)
        w = np.ones(N) if weight is None else weight
        mean = np.average(Y, weights=w)
        expected = [ordered_means(CODES, Y, w, targets.order(p), 2.0, mean) for p in range(n_permutations)]
        np.testing.assert_allclose(encoded.training, np.mean(expected, axis=0), atol=1e-7)
        for code in range(-1, 9):
            own = code == CODES
            expected = ((w * Y)[own].sum() + 2.0 * mean) / (w[own].sum() + 2.0)
            assert encoded.lookup.read([np.array([code])])[0] == pytest.approx(expected, abs=1e-7)

    def test_no_row_uses_its_own_or_later_targets(self):
        targets = EncodingTargets(Y[None])
        order = targets.order(0)
        (before,) = Target().fit(column(), targets)
        changed = Y.copy()
        changed[order[200:]] += rng.permutation(200) - 99.5  # keeps the mean of all rows
        (after,) = Target().fit(column(), EncodingTargets(changed[None]))
        np.testing.assert_allclose(before.training[order[:200]], after.training[order[:200]], atol=1e-6)
        assert not np.allclose(before.training[order[201:]], after.training[order[201:]], atol=1e-3)

    def test_unseen_levels_are_missing(self):
        (encoded,) = Target().fit(column(np.where(CODES == 4, 5, CODES)), EncodingTargets(Y[None]))
        assert encoded.lookup.read([np.array([4])])[0] == encoded.lookup.read([np.array([-1])])[0] != pytest.approx(Y.mean())

    def test_without_missing_rows_unseen_levels_have_the_mean_of_all(self):
        (encoded,) = Target().fit(column(np.abs(CODES)), EncodingTargets(Y[None]))
        np.testing.assert_allclose(encoded.lookup.read([np.array([-1])]), Y.mean())

    def test_the_order_is_that_of_row_ids(self):
        """Held-out rows do not change the order of the others."""
        ids = np.flatnonzero(rng.random(N) < 0.5)
        whole, part = EncodingTargets(Y[None], seed=7), EncodingTargets(Y[None, ids], ids=ids, seed=7)
        np.testing.assert_array_equal(ids[part.order(2)], [row for row in whole.order(2) if row in set(ids)])

    def test_permutations_and_seeds_differ(self):
        orders = [EncodingTargets(Y[None], seed=seed).order(p).tolist() for seed in (0, 1) for p in (0, 1)]
        assert all(a != b for i, a in enumerate(orders) for b in orders[:i])

    def test_one_statistic_per_target(self):
        classes = (rng.integers(0, 3, N) == np.arange(3)[:, None]).astype(float)
        encoded = Target().fit(column(), EncodingTargets(classes))
        assert len(encoded) == 3
        np.testing.assert_allclose(sum(e.training for e in encoded), 1.0)  # the fractions of all classes

    def test_a_row_without_a_target_counts_as_the_mean_of_the_others(self):
        known = np.arange(N) % 3 > 0
        gaps, filled = np.where(known, Y, np.inf), np.where(known, Y, Y[known].mean())
        (one,), (other,) = (Target().fit(column(), EncodingTargets(y[None])) for y in (gaps, filled))
        np.testing.assert_allclose(one.training, other.training, atol=1e-6)

    def test_sums_are_exact(self):
        """The order of rows does not change sums of large and small targets."""
        y = np.where(np.arange(N) % 2 == 0, 1e9, 1e-3) * rng.normal(size=N)
        (one,) = Target().fit(column(), EncodingTargets(y[None]))
        order = rng.permutation(N)
        (other,) = Target().fit(column(CODES[order]), EncodingTargets(y[None, order]))
        np.testing.assert_array_equal(one.lookup.values, other.lookup.values)


def twin_of_shrunk_means(codes, y, weight, of):
    """Means of levels among the rows `of`, shrunk by the moments of a random-effects model, level by level."""
    codes, y, weight = codes[of], y[of], weight[of]
    mean = np.average(y, weights=weight)
    levels = {code: (weight[codes == code].sum(), np.average(y[codes == code], weights=weight[codes == code])) for code in set(codes)}
    total = weight.sum()
    within = sum(w * (v - levels[c][1]) ** 2 for c, v, w in zip(codes, y, weight, strict=True)) / (total - len(levels))
    spread = sum(n * (m - mean) ** 2 for n, m in levels.values())
    between = (spread - (len(levels) - 1) * within) / (total - sum(n**2 for n, _ in levels.values()) / total)
    if between <= 0:
        return dict.fromkeys(levels, mean)
    prior = within / between
    return {code: (n * m + prior * mean) / (n + prior) for code, (n, m) in levels.items()}


class TestCrossFittedTarget:
    @pytest.mark.parametrize("weight", [None, 1 + WEIGHT])
    @pytest.mark.parametrize("signal", [0.0, 1.0])
    def test_equals_twin(self, weight, signal):
        y = Y + signal * CODES
        targets = EncodingTargets(y[None], weight, seed=3)
        (encoded,) = CrossFittedTarget(4).fit(column(), targets)
        w, fold = np.ones(N) if weight is None else weight, targets.folds(4)
        for k in range(4):
            expected = twin_of_shrunk_means(CODES, y, w, fold != k)
            np.testing.assert_allclose(encoded.training[fold == k], [expected[code] for code in CODES[fold == k]], atol=1e-6)
        expected = twin_of_shrunk_means(CODES, y, w, np.full(N, True))
        np.testing.assert_allclose(encoded.lookup.read([np.arange(-1, 9)]), [expected[code] for code in range(-1, 9)], atol=1e-6)

    def test_a_row_does_not_depend_on_the_targets_of_its_fold(self):
        y = Y + CODES
        targets = EncodingTargets(y[None])
        own = targets.folds(5) == 2
        (before,) = CrossFittedTarget().fit(column(), targets)
        (after,) = CrossFittedTarget().fit(column(), EncodingTargets(np.where(own, 100 * rng.normal(size=N), y)[None]))
        np.testing.assert_allclose(before.training[own], after.training[own], rtol=1e-5)  # the unit of the integers changes
        assert not np.allclose(before.training[~own], after.training[~own], rtol=0.1)

    def test_levels_without_signal_have_the_mean_of_all_rows(self):
        n_levels, y = 200, rng.normal(size=20_000)
        codes = np.repeat(np.arange(n_levels), 100).astype(np.int32)
        y -= np.repeat(y.reshape(n_levels, 100).mean(axis=1), 100)  # all levels have the same mean
        (encoded,) = CrossFittedTarget().fit(column(codes, n_levels), EncodingTargets(y[None]))
        np.testing.assert_allclose(encoded.lookup.values, y.mean(), atol=1e-6)

    def test_the_weight_of_the_mean_is_the_ratio_of_the_variances(self):
        """1,000 levels of 50 rows each: variance 4 within levels, 1 between them."""
        codes = np.repeat(np.arange(1000), 50)
        y = 2 * rng.normal(size=50_000) + rng.normal(size=1000)[codes]
        sums, weights = np.bincount(codes, y), np.bincount(codes).astype(float)
        assert prior_rows(sums, weights, (y**2).sum()) == pytest.approx(4, rel=0.2)
        assert prior_rows(sums[:1], weights[:1], 1.0) == np.inf
        assert prior_rows(np.arange(5.0), np.ones(5), 30.0) == np.inf  # levels of one row each

    def test_folds_are_those_of_row_ids(self):
        """Held-out rows do not change the folds of the others."""
        ids = np.flatnonzero(rng.random(N) < 0.5)
        whole, part = EncodingTargets(Y[None], seed=7), EncodingTargets(Y[None, ids], ids=ids, seed=7)
        np.testing.assert_array_equal(whole.folds(5)[ids], part.folds(5))
        assert np.bincount(whole.folds(5), minlength=5).min() > N / 10

    def test_a_row_of_weight_zero_is_absent(self):
        weight = (np.arange(N) % 4 > 0).astype(float)
        y = np.where(weight > 0, Y + CODES, 1e3)
        ids = np.flatnonzero(weight)
        (one,) = CrossFittedTarget().fit(column(), EncodingTargets(y[None], weight))
        (other,) = CrossFittedTarget().fit(column(CODES[ids]), EncodingTargets(y[None, ids], ids=ids))
        np.testing.assert_allclose(one.training[ids], other.training, rtol=1e-6)


class TestLevels:
    @pytest.mark.parametrize("encoder, kind", [(Partition(), PARTITION), (OneHot(), ONE_VS_REST)])
    def test_levels_are_numbered(self, encoder, kind):
        (encoded,) = encoder.fit(column(np.where(CODES == 4, 5, CODES)), EncodingTargets(Y[None]))
        assert encoded.lookup.kind == kind
        assert encoded.training is None
        np.testing.assert_array_equal(encoded.lookup.read([np.array([-1, 0, 3, 4, 5, 8])]), [np.nan, 0, 3, np.nan, 4, 7])

    @pytest.mark.parametrize("most", [2, 5, 255])
    def test_the_most_frequent_levels_have_their_own_codes(self, most):
        codes = np.repeat(np.arange(600), np.arange(600) % 7 + 1).astype(np.int32)
        (encoded,) = Partition(most).fit(column(codes, 600), EncodingTargets(np.zeros((1, len(codes)))))
        counts = np.bincount(codes)
        found = encoded.lookup.read([np.arange(600)])
        assert sorted(set(found)) == list(range(most))
        own = np.flatnonzero(found < most - 1)
        assert len(own) == most - 1
        assert counts[own].min() >= counts[found == most - 1].max()


def test_counts():
    (encoded,) = Count().fit(column(np.where(CODES == 4, 5, CODES)), EncodingTargets(Y[None]))
    expected = [(CODES == -1).sum(), (CODES == -1).sum(), np.isin(CODES, (4, 5)).sum()]
    np.testing.assert_array_equal(encoded.lookup.read([np.array([-1, 4, 5])]), expected)
    (encoded,) = Count().fit(column(np.abs(CODES)), EncodingTargets(Y[None]))
    assert encoded.lookup.read([np.array([-1])]) == [0]


@pytest.mark.parametrize("name", ENCODERS)
def test_every_encoder_returns_features_of_the_column(name):
    encoder = ENCODERS[name]()
    assert encoder.name == name
    for encoded in encoder.fit(column(), EncodingTargets(Y[None])):
        assert encoded.lookup.columns == (0,)
        assert (np.diff(encoded.lookup.keys) > 0).all()
        assert encoded.training is None or encoded.training.shape == (N,)


class TestLookup:
    def test_combinations_have_unique_keys(self):
        a, b, c = (codes.ravel() for codes in np.meshgrid(np.arange(-1, 3), np.arange(-1, 5), np.arange(-1, 2)))
        keys = combine([a, b, c], [3, 5, 2])
        assert sorted(keys) == list(range(key_space([3, 5, 2])))

    @pytest.mark.parametrize("n_levels", [(5, 7), (40_000, 50_000)])  # by a dense table, and by binary search
    def test_values_by_key(self, n_levels):
        codes = [rng.integers(-1, n, 50) for n in n_levels]
        keys = np.unique(combine(codes, n_levels))
        lookup = Lookup((0, 1), n_levels, keys, np.arange(len(keys)) + 0.5, -1.0, NUMBER)
        np.testing.assert_array_equal(lookup.read(codes), np.searchsorted(keys, combine(codes, n_levels)) + 0.5)
        others = [np.where(codes[0] == 2, 3, 2), codes[1]]
        known = np.isin(combine(others, n_levels), keys)
        np.testing.assert_array_equal(lookup.read(others)[~known], -1.0)

    def test_a_code_that_is_not_a_number_is_missing(self):
        np.testing.assert_array_equal(combine([np.array([np.nan, -1.0, 0.0, 2.0])], [3]), [0, 0, 1, 3])

    def test_an_empty_lookup(self):
        lookup = Lookup((0, 1), (40_000, 50_000), np.empty(0, dtype=np.int64), np.empty(0), np.nan, NUMBER)
        assert np.isnan(lookup.read([np.array([1]), np.array([2])])).all()
