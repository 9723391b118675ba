import numpy as np
import pytest

from sapwood.data.binning import Binning
from sapwood.data.pages import Pages
from sapwood.data.tables import ArrayTable
from sapwood.runtime import kernels
from sapwood.runtime.execution import SERIAL, Execution
from sapwood.trees.growth import TreeInput, make_grower
from tests.paging import cut
from tests.reference import binning as twin


def make(n_rows, n_features, seed=0, n_threads=1):
    """Table with missing values in every third feature, its pages, and the expected bins."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, n_features)).round(1)
    x[:, ::3][rng.random(x[:, ::3].shape) < 0.1] = np.nan
    table = ArrayTable(x)
    binning = Binning.fit(table, 20, None, None, 0, Execution(n_threads))
    cuts = [binning.cuts[a:b] for a, b in zip(binning.begin[:-1], binning.begin[1:], strict=True)]
    bins = np.column_stack([twin.bins_of(x[:, f], cuts[f]) for f in range(n_features)])
    return x, Pages.build(table, binning, Execution(n_threads)), bins


def bins_of(pages):
    """Bins of all pages, (n_rows, n_features)."""
    whole = np.concatenate([page.codes for page in pages.pages], axis=1)
    return np.concatenate([group[:, : pages.layout.width] for group in whole], axis=1)[:, : pages.binning.n_features]


shapes = pytest.mark.parametrize("n_features", [1, 3, 4, 28, 64, 65, 150])


class TestBuild:
    @shapes
    def test_holds_the_bins(self, n_features):
        x, pages, bins = make(90, n_features)
        np.testing.assert_array_equal(bins_of(pages), bins)
        np.testing.assert_array_equal(pages.layout.missing, np.isnan(x).any(axis=0))
        assert pages.n_rows == 90

    @shapes
    def test_rows_are_within_a_cache_line(self, n_features):
        page = make(50, n_features)[1].pages[0].codes
        stride = page.shape[2]
        assert page.ctypes.data % 64 == 0
        assert 64 % stride == 0
        assert stride % 4 == 0

    @shapes
    def test_padding_is_empty(self, n_features):
        _, pages, _ = make(50, n_features)
        page = pages.pages[0].codes
        assert not page[:, :, pages.layout.width :].any()
        assert not page[-1, :, n_features - (len(page) - 1) * pages.layout.width : pages.layout.width].any()

    @pytest.mark.parametrize("dtype", [np.float16, ">f8", np.longdouble])
    def test_types_that_are_converted(self, dtype):
        x, pages, _ = make(70, 5)
        again = Pages.build(ArrayTable(x.astype(dtype).astype(np.float64)), pages.binning, SERIAL)
        converted = Pages.build(ArrayTable(x.astype(dtype)), pages.binning, SERIAL)
        np.testing.assert_array_equal(bins_of(converted), bins_of(again))

    def test_unseen_values_have_bins(self):
        _, pages, _ = make(80, 3)
        new = np.array([[np.inf, -np.inf, 0.0], [np.nan, np.nan, np.nan], [1e300, -1e300, 7.7]])
        built = bins_of(Pages.build(ArrayTable(new), pages.binning, SERIAL))
        n_cuts = np.diff(pages.binning.begin)
        assert built[0].tolist()[:2] == [n_cuts[0], 0]
        assert built[1].tolist() == (n_cuts + 1).tolist()
        np.testing.assert_array_equal(pages.binning.missing_bins, n_cuts + 1)

    def test_threads_leave_no_trace(self):
        once, threaded = make(40_000, 5)[1], make(40_000, 5, n_threads=3)[1]
        np.testing.assert_array_equal(once.pages[0].codes, threaded.pages[0].codes)


class TestSelectionsAndPages:
    @shapes
    @pytest.mark.parametrize("n_pages", [1, 2, 7])
    def test_cut_keeps_the_rows(self, n_features, n_pages):
        _, pages, bins = make(90, n_features)
        several = cut(pages, n_pages)
        assert len(several.pages) == n_pages
        assert several.n_rows == 90
        np.testing.assert_array_equal(bins_of(several), bins)

    @shapes
    @pytest.mark.parametrize("page_rows", [1, 13, 90, 200])
    def test_page_rows(self, n_features, page_rows):
        x, pages, bins = make(90, n_features)
        several = Pages.build(ArrayTable(x), pages.binning, SERIAL, page_rows=page_rows)
        assert [page.first_row for page in several.pages] == list(range(0, 90, page_rows))
        np.testing.assert_array_equal(bins_of(several), bins)

    @shapes
    def test_selected_rows(self, n_features):
        x, pages, bins = make(90, n_features)
        for rows in (np.flatnonzero(np.random.default_rng(1).random(90) < 0.4), np.arange(90), np.array([89]), np.empty(0, dtype=int)):
            taken = Pages.build(ArrayTable(x), pages.binning, SERIAL, rows)
            assert taken.n_rows == len(rows)
            assert len(taken.pages) == 1
            assert taken.layout.width == pages.layout.width
            np.testing.assert_array_equal(bins_of(taken), bins[rows])
            np.testing.assert_array_equal(taken.layout.missing, np.isnan(x[rows]).any(axis=0))


class TestGrower:
    """Pages in a grower."""

    def root(self, grower, n_rows):
        gradient = np.random.default_rng(2).integers(-1000, 1000, n_rows).astype(np.int32)
        settings = kernels.TreeSettings(kernels.HistogramFormat(0, 20), kernels.SplitRules(), 0, 0)
        gain = grower.start(TreeInput(gradient.view(np.uint8), settings))
        return gain, grower.search.histogram(0)

    @pytest.mark.parametrize("n_features", [3, 70])
    def test_histograms_count_the_bins(self, n_features):
        _, pages, bins = make(300, n_features)
        gain, histogram = self.root(make_grower(pages, 0, SERIAL), 300)
        begin = 0
        for f, n_cuts in enumerate(np.diff(pages.binning.begin)):
            n_bins = n_cuts + 1 + pages.layout.missing[f]
            np.testing.assert_array_equal(histogram[begin : begin + n_bins, 2], np.bincount(bins[:, f], minlength=n_bins))
            begin += n_bins
        assert begin == len(histogram)
        cut_gain, cut_histogram = self.root(make_grower(cut(pages, 4), 0, Execution(2)), 300)
        assert cut_gain == gain
        np.testing.assert_array_equal(cut_histogram, histogram)
