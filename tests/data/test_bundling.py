import numpy as np
import pytest

from sapwood.data import bundling as module
from sapwood.data.binning import Binning
from sapwood.data.bundling import NO_DEFAULT, ROW_LIST, ColumnLayout
from sapwood.data.pages import Pages
from sapwood.data.tables import ArrayTable
from sapwood.runtime.execution import SERIAL, Execution
from sapwood.trees.growth import make_grower


def choose(x, n_threads=1):
    table = ArrayTable(np.asarray(x, dtype=np.float64))
    binning = Binning.fit(table, 255, None, None, 0, Execution(n_threads))
    return table, binning, ColumnLayout.choose(table, binning, Execution(n_threads))


def one_hot(rng, n_rows, n_kinds):
    return np.eye(n_kinds)[rng.integers(0, n_kinds, n_rows)]


def thin(rng, n_rows, n_features, density=0.05):
    return np.where(rng.random((n_rows, n_features)) < density, rng.normal(size=(n_rows, n_features)), 0.0)


class TestChoose:
    def test_numbers_have_their_own_columns(self):
        _, _, storage = choose(np.random.default_rng(0).normal(size=(3_000, 5)))
        assert storage.is_plain
        assert storage.native is None
        assert storage.column.tolist() == [0, 1, 2, 3, 4]

    def test_small_tables_are_not_bundled(self):
        assert choose(one_hot(np.random.default_rng(0), 500, 5))[2].is_plain

    def test_one_hot_columns_are_bundled(self):
        rng = np.random.default_rng(1)
        _, _, storage = choose(np.column_stack([rng.normal(size=3_000), one_hot(rng, 3_000, 9), rng.normal(size=3_000)]))
        assert storage.column.tolist() == [0, *[1] * 9, 2]
        assert storage.default_bin.tolist() == [NO_DEFAULT, *[0] * 9, NO_DEFAULT]

    def test_overlapping_columns_are_not_bundled(self):
        rng = np.random.default_rng(2)
        _, _, storage = choose(np.column_stack([one_hot(rng, 3_000, 5), one_hot(rng, 3_000, 7)]))
        assert [len(set(storage.column[part])) for part in (slice(5), slice(5, 12))] == [1, 1]
        assert storage.n_columns == 2

    def test_many_sparse_features_are_in_row_lists(self):
        rng = np.random.default_rng(3)
        _, _, storage = choose(np.column_stack([rng.normal(size=(3_000, 2)), thin(rng, 3_000, 20)]))
        assert storage.column.tolist() == [0, 1, *[ROW_LIST] * 20]

    def test_a_few_sparse_features_are_not(self):
        rng = np.random.default_rng(4)
        assert choose(np.column_stack([rng.normal(size=(3_000, 2)), thin(rng, 3_000, 3)]))[2].is_plain

    def test_a_column_has_at_most_256_codes(self):
        rng = np.random.default_rng(5)
        table, binning, storage = choose(one_hot(rng, 20_000, 200))
        assert 1 < storage.n_columns <= 3
        make_grower(Pages.build(table, binning, SERIAL, columns=storage), 0, SERIAL)

    def test_missing_may_be_the_default_bin(self):
        rng = np.random.default_rng(6)
        x = thin(rng, 3_000, 12)
        x[x == 0] = np.nan
        _, binning, storage = choose(np.column_stack([rng.normal(size=3_000), x]))
        assert (storage.default_bin[1:] == binning.missing_bins[1:]).all()


class TestBuild:
    """A page has the same bins as a page without bundles."""

    def decode(self, pages):
        """Bins of one page, (n_rows, n_features)."""
        (page,), storage = pages.pages, pages.layout.columns
        flat = np.concatenate([group[:, : pages.layout.width] for group in page.codes], axis=1) if len(page.codes) else None
        bins = np.zeros((pages.n_rows, len(storage.column)), dtype=int)
        first = dict.fromkeys(range(storage.n_columns), 1) | {ROW_LIST: 0}
        for f, (column, common, stored) in enumerate(zip(storage.column, storage.default_bin, storage.missing_bins, strict=True)):
            if common == NO_DEFAULT:
                bins[:, f] = flat[:, column]
                continue
            bins[:, f] = common
            if column == ROW_LIST:
                rows = np.repeat(np.arange(pages.n_rows), np.diff(page.lists[0].astype(int)))
                codes = page.lists[1].astype(int) - first[ROW_LIST]
            else:
                rows, codes = np.arange(pages.n_rows), flat[:, column].astype(int) - first[column]
            own = (codes >= 0) & (codes < stored)
            bins[rows[own], f] = codes[own] + (codes[own] >= common)
            first[column] += stored
        return bins

    @pytest.mark.parametrize("n_threads", [1, 3])
    def test_holds_the_bins(self, n_threads):
        rng = np.random.default_rng(7)
        x = np.column_stack([rng.normal(size=(30_000, 2)), one_hot(rng, 30_000, 5), thin(rng, 30_000, 12)])
        x[rng.random(x.shape) < 0.001] = np.nan
        table, binning, storage = choose(x, n_threads)
        assert (storage.column == ROW_LIST).any()
        stored = Pages.build(table, binning, Execution(n_threads), columns=storage)
        plain = Pages.build(table, binning, Execution(n_threads), columns=ColumnLayout.plain(binning))
        np.testing.assert_array_equal(self.decode(stored), plain.pages[0].codes[0, :, : x.shape[1]])
        np.testing.assert_array_equal(stored.layout.missing, plain.layout.missing)

    @pytest.mark.parametrize("with_thin", [False, True])
    def test_an_overlap_outside_the_sample(self, with_thin, monkeypatch):
        monkeypatch.setattr(module, "EXCLUSION_ROWS", 1_000)
        rng = np.random.default_rng(8)
        x = np.column_stack([rng.normal(size=9_000), one_hot(rng, 9_000, 5), thin(rng, 9_000, 12 if with_thin else 0)])
        x[1, 1:4] = 1  # not among every ninth row
        table, binning, storage = choose(x)
        assert len(set(storage.column[1:6])) == 1
        pages = Pages.build(table, binning, SERIAL, columns=storage)
        assert (pages.layout.columns.column[2:4] == ROW_LIST).all() if with_thin else len(set(pages.layout.columns.column[1:6])) == 3
        plain = Pages.build(table, binning, SERIAL, columns=ColumnLayout.plain(binning))
        np.testing.assert_array_equal(self.decode(pages), plain.pages[0].codes[0, :, : x.shape[1]])

    def test_a_selection_of_the_rows(self):
        rng = np.random.default_rng(9)
        table, binning, storage = choose(np.column_stack([rng.normal(size=3_000), one_hot(rng, 3_000, 5), thin(rng, 3_000, 12)]))
        pages = Pages.build(table, binning, SERIAL, columns=storage)
        rows = np.flatnonzero(rng.random(3_000) < 0.3)
        np.testing.assert_array_equal(self.decode(Pages.build(table, binning, SERIAL, rows, storage)), self.decode(pages)[rows])
        part = Pages(pages.layout, [pages.pages[0].take(rows)])
        np.testing.assert_array_equal(self.decode(part), self.decode(pages)[rows])
