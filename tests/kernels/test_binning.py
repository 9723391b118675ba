import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels.views import VIEWS, view_of
from tests.reference import binning as twin

INF = np.inf
NUMBERS = st.floats(allow_nan=False, width=64)
COLUMNS = st.lists(st.one_of(NUMBERS, st.just(np.nan), st.integers(-3, 3).map(float)), min_size=1, max_size=60)


def find_cuts(kernels, column, max_bins=255, rows=None, weight=None, n_threads=1):
    (cuts,) = kernels.find_cuts(np.asarray(column).reshape(-1, 1), rows, weight, max_bins, n_threads)
    return cuts


class TestFindCuts:
    def test_few_values_are_cut_halfway(self, kernels):
        np.testing.assert_array_equal(find_cuts(kernels, [3.0, 1.0, 1.0, 2.0, 7.0]), [1.5, 2.5, 5.0])

    @pytest.mark.parametrize("n_distinct", [1, 2, 7, 8])
    def test_as_many_values_as_bins_have_a_bin_each(self, kernels, n_distinct):
        column = np.arange(n_distinct).repeat(3) * 0.1
        np.testing.assert_array_equal(find_cuts(kernels, column, max_bins=8), twin.cut_points(column, 8))
        assert len(find_cuts(kernels, column, max_bins=8)) == n_distinct - 1

    @pytest.mark.parametrize("max_bins", [2, 3, 16, 255])
    @pytest.mark.parametrize("n", [300, 4095, 4096, 6000])  # from 4096 on, sorted by digits
    def test_many_values_fill_bins_of_equal_weight(self, kernels, max_bins, n):
        column = np.random.default_rng(n).normal(size=n)
        cuts = find_cuts(kernels, column, max_bins)
        np.testing.assert_array_equal(cuts, twin.cut_points(column, max_bins))
        sizes = np.bincount(twin.bins_of(column, cuts), minlength=max_bins)
        assert len(cuts) == max_bins - 1
        assert sizes.min() >= n // max_bins - 1
        assert sizes.max() <= -(-n // max_bins) + 1

    def test_heavy_values_end_their_bins(self, kernels):
        rng = np.random.default_rng(0)
        column = np.concatenate([rng.normal(size=500), np.full(400, 0.25), np.full(200, -1.0)])
        cuts = find_cuts(kernels, column, max_bins=12)
        np.testing.assert_array_equal(cuts, twin.cut_points(column, 12))
        distinct = np.unique(column)
        for heavy in (0.25, -1.0):
            above = distinct[distinct > heavy].min()
            assert ((cuts >= heavy) & (cuts < above)).sum() == 1

    @pytest.mark.parametrize("n_below", [90, 95, 100, 105])
    def test_a_heavy_value_shares_its_bin_with_few_others(self, kernels, n_below):
        column = np.concatenate([np.arange(n_below) / n_below, np.full(300, 1.0), np.arange(2.0, 102.0)])
        bins = twin.bins_of(column, find_cuts(kernels, column, max_bins=10))
        others = column[bins == bins[n_below]] != 1.0
        assert others.sum() < len(column) / 10 / 2

    @given(column=COLUMNS, max_bins=st.integers(2, 20))
    def test_equals_twin(self, kernels, column, max_bins):
        np.testing.assert_array_equal(find_cuts(kernels, column, max_bins), twin.cut_points(column, max_bins))

    @given(column=COLUMNS, max_bins=st.integers(2, 20))
    def test_cuts_lie_between_values(self, kernels, column, max_bins):
        cuts = find_cuts(kernels, column, max_bins)
        values = twin.distinct(column)[0]
        above = np.searchsorted(values, cuts, side="right")
        assert len(cuts) <= max_bins - 1
        assert (np.diff(above) > 0).all()  # each keeps other values apart
        assert ((above > 0) & (above < len(values))).all()
        assert (values[above - 1] <= cuts).all()
        assert (cuts < values[above % max(1, len(values))]).all()

    @given(column=st.lists(st.integers(-8, 8).map(float), min_size=1, max_size=30), max_bins=st.integers(2, 12), data=st.data())
    def test_weights_are_repetitions(self, kernels, column, max_bins, data):
        counts = np.array(data.draw(st.lists(st.integers(1, 5), min_size=len(column), max_size=len(column))))
        weighted = find_cuts(kernels, column, max_bins, weight=counts.astype(float))
        np.testing.assert_array_equal(weighted, find_cuts(kernels, np.repeat(column, counts), max_bins))

    def test_fractional_weights_equal_twin(self, kernels):
        rng = np.random.default_rng(1)
        column, weight = rng.normal(size=700), rng.integers(1, 64, 700) / 8
        np.testing.assert_array_equal(find_cuts(kernels, column, 32, weight=weight), twin.cut_points(column, 32, weight))

    @pytest.mark.parametrize("low, high", [(-INF, INF), (-INF, 0.0), (0.0, INF), (1e308, 1.7e308), (-1.7e308, 1.7e308), (0.0, 5e-324)])
    def test_extreme_neighbours_are_kept_apart(self, kernels, low, high):
        (cut,) = find_cuts(kernels, [high, low])
        assert low <= cut < high

    @pytest.mark.parametrize("low", [0.0, 1.0, -1.0, 1e300, -1e-310, 5e-324])
    def test_adjacent_floats_are_kept_apart(self, kernels, low):
        high = np.nextafter(low, INF)
        (cut,) = find_cuts(kernels, [low, high])
        assert low <= cut < high

    def test_negative_zero_is_zero(self, kernels):
        assert len(find_cuts(kernels, [0.0, -0.0])) == 0
        np.testing.assert_array_equal(find_cuts(kernels, [-0.0, 1.0, 0.0, -1.0]), [-0.5, 0.5])

    @pytest.mark.parametrize("column", [[np.nan] * 4, [5.0] * 4, [5.0, np.nan], [INF, INF], [-np.nan, np.nan]])
    def test_nothing_to_tell_apart_no_cuts(self, kernels, column):
        assert find_cuts(kernels, column).shape == (0,)

    def test_order_and_threads_leave_no_trace(self, kernels):
        rng = np.random.default_rng(2)
        x, weight = rng.normal(size=(500, 5)).round(2), rng.random(500)
        order = rng.permutation(500)
        once = kernels.find_cuts(x, None, weight, 30, 1)
        again = kernels.find_cuts(x[order], None, weight[order], 30, 3)
        for a, b in zip(once, again, strict=True):
            np.testing.assert_array_equal(a, b)

    def test_chosen_rows_only(self, kernels):
        rng = np.random.default_rng(3)
        column, weight = rng.normal(size=200), rng.integers(1, 9, 200) / 4
        rows = np.flatnonzero(rng.random(200) < 0.5).astype(np.uint32)
        chosen = find_cuts(kernels, column, 16, rows=rows, weight=weight)
        np.testing.assert_array_equal(chosen, twin.cut_points(column[rows], 16, weight[rows]))

    def test_bad_arguments(self, kernels):
        x = np.zeros((3, 2))
        with pytest.raises(ValueError, match="max_bins"):
            kernels.find_cuts(x, None, None, 1, 1)
        with pytest.raises(ValueError, match="row out of range"):
            kernels.find_cuts(x, np.array([0, 3], dtype=np.uint32), None, 8, 1)
        with pytest.raises(ValueError, match="weight"):
            kernels.find_cuts(x, None, np.ones(2), 8, 1)
        with pytest.raises(ValueError, match="convert it to float64"):
            kernels.find_cuts(x.astype(np.float16), None, None, 8, 1)


def bin_table(kernels, x, cuts, width=None, stride=None, first_row=0, page_rows=None, n_threads=1):
    """The bins of a table by the kernel, (n_rows, n_features), and the flags of missing values."""
    n_rows, n_features = x.shape
    width = width or n_features
    stride = stride or -(-width // 4) * 4
    page_rows = page_rows or first_row + n_rows
    n_groups = -(-n_features // width)
    page = np.zeros((n_groups, page_rows, stride), dtype=np.uint8)
    missing = np.zeros(n_features, dtype=np.uint8)
    all_cuts = np.concatenate([*cuts, np.empty(0)])
    begin = np.concatenate([[0], np.cumsum([len(c) for c in cuts])]).astype(np.int64)
    buffer = kernels.PageBuffer(page, width, missing, np.zeros_like(missing))
    kernels.bin_table(x, kernels.CutPoints(all_cuts, begin), buffer, first_row, 0, n_threads)
    flat = np.concatenate([group[:, :width] for group in page], axis=1)[:, :n_features]
    untouched = np.concatenate([flat[:first_row], flat[first_row + n_rows :]])
    assert not untouched.any()
    assert not page[:, :, width:].any()
    return flat[first_row : first_row + n_rows], missing


def twin_bins(x, cuts):
    return np.column_stack([twin.bins_of(x[:, f], c) for f, c in enumerate(cuts)])


def random_cuts(rng, n_features, most=254, low=-2.0, high=2.0):
    return [np.unique(rng.uniform(low, high, rng.integers(0, most + 1))) for _ in range(n_features)]


FLOATS, INTEGERS = ["f4", "f8"], ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?"]


class TestBinTable:
    @pytest.mark.parametrize("n_rows", [1, 7, 8, 9, 63, 64, 65, 200])  # around lanes and tiles
    @pytest.mark.parametrize("dtype", FLOATS)
    def test_floats_equal_searchsorted(self, kernels, dtype, n_rows):
        rng = np.random.default_rng(n_rows)
        x = rng.normal(size=(n_rows, 5)).astype(dtype)
        x[rng.random(x.shape) < 0.1] = np.nan
        x[rng.random(x.shape) < 0.1] = INF
        x[rng.random(x.shape) < 0.1] = -INF
        cuts = random_cuts(rng, 5)
        bins, missing = bin_table(kernels, x, cuts)
        np.testing.assert_array_equal(bins, twin_bins(x, cuts))
        np.testing.assert_array_equal(missing, np.isnan(x).any(axis=0))

    @pytest.mark.parametrize("dtype", INTEGERS)
    def test_integers_equal_searchsorted(self, kernels, dtype):
        rng = np.random.default_rng(5)
        low, high = (0, 1) if dtype == "?" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        x = rng.integers(low, high, (100, 3), dtype=dtype, endpoint=True)
        ends = float(low), float(high)
        cuts = [np.unique(rng.uniform(*ends, size)) for size in (1, 20, 254)]
        cuts[1] = np.unique([*cuts[1], *x[:5, 1].astype(float)])  # equal to values
        bins, missing = bin_table(kernels, x, cuts)
        np.testing.assert_array_equal(bins, twin_bins(x, cuts))
        assert not missing.any()

    @pytest.mark.parametrize("n_cuts", [0, 1, 2, 3, 127, 128, 129, 253, 254])
    def test_every_number_of_cuts(self, kernels, n_cuts):
        cuts = [np.arange(n_cuts, dtype=float)]
        x = np.concatenate([np.arange(-1, n_cuts + 1), np.arange(-1, n_cuts + 1) + 0.5, [np.nan, INF, -INF]])[:, None]
        np.testing.assert_array_equal(bin_table(kernels, x, cuts)[0], twin_bins(x, cuts))

    @given(cuts=st.lists(NUMBERS, max_size=40, unique=True).map(sorted), data=st.data())
    def test_at_most_a_cut_exactly_where_at_most_its_bin(self, kernels, cuts, data):
        own = NUMBERS if not cuts else st.one_of(NUMBERS, st.sampled_from(cuts))
        x = np.array(data.draw(st.lists(own, min_size=1, max_size=20)))
        cuts = np.array(cuts)
        bins = bin_table(kernels, x[:, None], [cuts])[0][:, 0].astype(int)
        np.testing.assert_array_equal(x[:, None] <= cuts, bins[:, None] <= np.arange(len(cuts)))

    @pytest.mark.parametrize("view", VIEWS)
    def test_strides(self, kernels, view):
        rng = np.random.default_rng(6)
        x = view_of(rng.normal(size=(120, 12)), view)
        cuts = random_cuts(rng, x.shape[1])
        np.testing.assert_array_equal(bin_table(kernels, x, cuts)[0], twin_bins(x, cuts))

    @pytest.mark.parametrize("width, stride", [(1, 4), (3, 4), (4, 16), (7, 8), (11, 12), (20, 20)])
    def test_groups_of_features(self, kernels, width, stride):
        rng = np.random.default_rng(7)
        x = rng.normal(size=(90, 11))
        x[::7, 4] = np.nan
        cuts = random_cuts(rng, 11)
        bins, missing = bin_table(kernels, x, cuts, width, stride, first_row=13, page_rows=130)
        np.testing.assert_array_equal(bins, twin_bins(x, cuts))
        np.testing.assert_array_equal(np.flatnonzero(missing), [4])

    def test_a_column_at_a_time_gives_the_same_page(self, kernels):
        rng = np.random.default_rng(8)
        x = rng.normal(size=(50, 10))
        x[3, 9] = np.nan
        cuts = random_cuts(rng, 10)
        all_cuts, begin = np.concatenate(cuts), np.concatenate([[0], np.cumsum([len(c) for c in cuts])]).astype(np.int64)
        pages, flags = np.zeros((2, 3, 50, 4), dtype=np.uint8), np.zeros((2, 10), dtype=np.uint8)
        native = kernels.CutPoints(all_cuts, begin)
        whole, by_column = (kernels.PageBuffer(page, 4, own, own.copy()) for page, own in zip(pages, flags, strict=True))
        kernels.bin_table(x, native, whole, 0, 0, 1)
        for f in range(10):
            kernels.bin_table(x[:, f : f + 1], native, by_column, 0, f, 1)
        np.testing.assert_array_equal(*pages)
        np.testing.assert_array_equal(*flags)

    def test_threads_leave_no_trace(self, kernels):
        rng = np.random.default_rng(9)
        x = rng.normal(size=(40_000, 3))
        x[35_000, 1] = np.nan
        cuts = random_cuts(rng, 3)
        for once, threaded in zip(bin_table(kernels, x, cuts), bin_table(kernels, x, cuts, n_threads=3), strict=True):
            np.testing.assert_array_equal(once, threaded)

    def test_missing_flags_are_only_ever_raised(self, kernels):
        x, missing = np.zeros((2, 2)), np.array([1, 0], dtype=np.uint8)
        cuts = kernels.CutPoints(np.empty(0), np.zeros(3, dtype=np.int64))
        kernels.bin_table(x, cuts, kernels.PageBuffer(np.zeros((1, 2, 4), dtype=np.uint8), 2, missing, missing.copy()), 0, 0, 1)
        np.testing.assert_array_equal(missing, [1, 0])

    @pytest.mark.parametrize(
        "change",
        [
            {"first_feature": -1},
            {"first_feature": 1},
            {"width": 0},
            {"width": 5},
            {"width": 1},
            {"first_row": 1},
            {"first_row": -1},
            {"codes": np.zeros((1, 4, 4), dtype=np.uint8)},
            {"codes": np.zeros((0, 5, 4), dtype=np.uint8)},
            {"missing": np.zeros(3, dtype=np.uint8)},
            {"clashes": np.zeros(1, dtype=np.uint8)},
            {"cuts": np.zeros(2)},
            {"cuts_begin": np.array([0, 3], dtype=np.int64)},
            {"cuts_begin": np.array([0, 2, 3], dtype=np.int64)[:2]},
            {"cuts_begin": np.array([0, 4, 3], dtype=np.int64)},
            {"cuts_begin": np.empty(0, dtype=np.int64)},
            {"cuts": np.arange(258.0), "cuts_begin": np.array([0, 3, 258], dtype=np.int64)},
        ],
        ids=lambda change: "-".join(change),
    )
    def test_bad_arguments(self, kernels, change):
        good = {
            "codes": np.zeros((1, 5, 4), dtype=np.uint8),
            "width": 2,
            "missing": np.zeros(2, dtype=np.uint8),
            "clashes": np.zeros(2, dtype=np.uint8),
            "cuts": np.arange(3.0),
            "cuts_begin": np.array([0, 2, 3], dtype=np.int64),
            "first_row": 0,
            "first_feature": 0,
        }

        def call(codes, width, missing, clashes, cuts, cuts_begin, first_row, first_feature):
            native, page = kernels.CutPoints(cuts, cuts_begin), kernels.PageBuffer(codes, width, missing, clashes)
            kernels.bin_table(np.zeros((5, 2)), native, page, first_row, first_feature, 1)

        call(**good)
        with pytest.raises(ValueError):
            call(**{**good, **change})

    @pytest.mark.parametrize("codes", [np.zeros((1, 4, 8), dtype=np.uint8)[:, :, ::2], np.zeros((1, 4, 4)), np.zeros(16, dtype=np.uint8)])
    def test_a_page_that_would_be_copied_is_refused(self, kernels, codes):
        with pytest.raises(TypeError):
            kernels.PageBuffer(codes, 2, np.zeros(2, dtype=np.uint8), np.zeros(2, dtype=np.uint8))


class TestSampleRows:
    @pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.9])
    def test_about_that_share(self, kernels, share):
        n = 50_000
        rows = kernels.sample_rows(n, 0, share, 123)
        spread = np.sqrt(n * share * (1 - share))
        assert abs(len(rows) - n * share) <= 4 * spread
        assert (np.diff(rows.astype(np.int64)) > 0).all()
        assert len(rows) == 0 or rows[-1] < n

    def test_all(self, kernels):
        np.testing.assert_array_equal(kernels.sample_rows(100, 0, 1.0, 5), np.arange(100))

    def test_a_row_is_chosen_wherever_its_page_begins(self, kernels):
        whole = kernels.sample_rows(1000, 0, 0.3, 9)
        parts = [kernels.sample_rows(250, start, 0.3, 9) + start for start in range(0, 1000, 250)]
        np.testing.assert_array_equal(np.concatenate(parts), whole)

    def test_keys_and_the_upper_half_of_row_ids_matter(self, kernels):
        one = set(kernels.sample_rows(1000, 0, 0.5, 1).tolist())
        for first_row, key in ((0, 2), (1 << 32, 1)):
            other = set(kernels.sample_rows(1000, first_row, 0.5, key).tolist())
            assert 150 < len(one & other) < 350  # as if drawn anew

    @pytest.mark.parametrize("n, share", [(-1, 0.5), (1 << 32, 0.5), (10, -0.1), (10, 1.1), (10, np.nan)])
    def test_bad_arguments(self, kernels, n, share):
        with pytest.raises(ValueError):
            kernels.sample_rows(n, 0, share, 0)
