"""Sparse tables give the same models and predictions as their dense copies, in every format."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from sapwood import BoostingClassifier, BoostingRegressor
from sapwood.data.binning import Binning
from sapwood.data.bundling import ROW_LIST, ColumnLayout
from sapwood.data.pages import Pages
from sapwood.data.sparse import SparseTable
from sapwood.data.tables import ArrayTable, FrameTable
from sapwood.runtime import kernels
from sapwood.runtime.execution import SERIAL, Execution


def table(n_rows, n_features, density, seed=0, values="few"):
    """CSR array and its dense copies, in which entries that are not stored are 0, and missing."""
    rng = np.random.default_rng(seed)
    there = rng.random((n_rows, n_features)) < density * np.linspace(0.5, 1.5, n_features)
    data = {"few": rng.integers(-2, 4, there.sum()), "one": np.ones(there.sum()), "many": rng.normal(size=there.sum())}[values]
    filled = np.zeros((n_rows, n_features))
    filled[there] = data
    rows, columns = np.nonzero(there)
    matrix = sparse.csr_array((data.astype(float), (rows, columns)), shape=there.shape)  # keeps entries that are zero
    return matrix, filled, np.where(there, filled, np.nan)


SHAPES = {
    "tiny": (40, 3, 0.5, 0, "few"),
    "lists": (3000, 80, 0.03, 1, "few"),
    "reals": (3000, 40, 0.1, 2, "many"),
    "one-hot": (3000, 200, 0.004, 3, "one"),
    "dense columns": (2500, 12, 0.7, 4, "many"),
}


def fit(X, y, weight=None, **parameters):
    return BoostingRegressor(**({"max_iter": 4, "min_samples_leaf": 5, "early_stopping": False} | parameters)).fit(X, y, weight)


@pytest.mark.parametrize("absent", ["zero", "missing"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_the_same_bytes_and_predictions_as_dense(shape, absent):
    matrix, with_zeros, with_missing = table(*shape)
    dense = with_zeros if absent == "zero" else with_missing
    rng = np.random.default_rng(9)
    y = with_zeros[:, :3].sum(axis=1) + rng.normal(size=len(dense))
    for weight in (None, rng.random(len(dense))):
        fitted, expected = fit(matrix, y, weight, sparse_absent=absent), fit(dense, y, weight, sparse_absent=absent)
        assert fitted.model_.to_bytes() == expected.model_.to_bytes()
        for rows in (slice(None), slice(0, 5)):
            assert_array_equal(fitted.predict(matrix[rows]), expected.predict(dense[rows]))


class TestFrames:
    """pandas frames with sparse columns stay sparse."""

    @pytest.fixture
    def frames(self):
        """Frames that do not store zeros, frames that do not store missing values, and their dense copies."""
        matrix, with_zeros, with_missing = table(*SHAPES["lists"])
        names = [f"word {f}" for f in range(matrix.shape[1])]
        zeros, missing = (pd.DataFrame(dense, columns=names) for dense in (with_zeros, with_missing))
        zeros["word 1"] = zeros["word 1"] != 0
        return {
            "zero": (
                zeros.astype({name: pd.SparseDtype(bool, False) if name == "word 1" else pd.SparseDtype(float, 0.0) for name in names}),
                zeros,
            ),
            "missing": (missing.astype(pd.SparseDtype(float, np.nan)), missing),
        }

    @pytest.mark.parametrize("absent", ["zero", "missing"])
    def test_the_same_bytes_and_predictions_as_dense(self, frames, absent, monkeypatch):
        kept, dense = frames[absent]
        y = np.nan_to_num(dense.to_numpy(dtype=float))[:, :3].sum(axis=1)
        expected = fit(dense, y)
        monkeypatch.setattr(FrameTable, "__init__", None)  # no column is read as a dense one
        fitted = fit(kept, y)
        assert fitted.model_.to_bytes() == expected.model_.to_bytes()
        assert_array_equal(fitted.predict(kept[kept.columns[::-1]]), expected.predict(kept))
        monkeypatch.undo()
        assert_array_equal(fitted.predict(dense), expected.predict(kept))
        with pytest.raises(ValueError, match="yet now missing:\n- word 3"):
            fitted.predict(kept.drop(columns="word 3"))

    def test_missing_values(self, frames):
        kept, dense = frames["zero"]
        y = np.arange(len(dense)) % 7
        assert fit(kept, y, missing=2).model_.to_bytes() == fit(dense, y, missing=2).model_.to_bytes()

    def test_other_columns_are_read_one_by_one(self, frames):
        (zero, dense), (missing, _) = frames.values()
        y = np.arange(len(dense)) % 7
        mixed = pd.concat([zero, missing.add_prefix("more "), dense.add_prefix("dense ")], axis=1)
        every = mixed.apply(lambda column: column.sparse.to_dense() if hasattr(column.dtype, "fill_value") else column)
        assert fit(mixed, y).model_.to_bytes() == fit(every, y).model_.to_bytes()


FORMATS = [f"{name}_{kind}" for name in ("csr", "csc", "coo", "lil", "bsr") for kind in ("matrix", "array")]


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_bytes(name):
    matrix, dense, _ = table(*SHAPES["lists"])
    y = dense[:, 0] + dense[:, 1]
    other = getattr(sparse, name)(matrix)
    assert fit(other, y).model_.to_bytes() == fit(matrix, y).model_.to_bytes()
    assert_array_equal(fit(matrix, y).predict(other), fit(matrix, y).predict(dense))


@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "i4", "i8", "u2", "f2"])
def test_every_type_of_number(dtype):
    matrix, dense, _ = table(*SHAPES["lists"])
    matrix, dense = abs(matrix), abs(dense)
    y = dense[:, 0] + dense[:, 1]
    assert fit(sparse.csr_array(matrix, dtype=dtype) if dtype != "f2" else matrix, y).model_.to_bytes() == fit(dense, y).model_.to_bytes()


def test_rows_out_of_order_and_duplicates():
    scrambled = sparse.csr_array((np.array([1.0, 2, 3, 4] * 30), np.array([2, 0, 2, 1] * 30), np.arange(0, 121, 4)), shape=(30, 3))
    before = scrambled.data.copy(), scrambled.indices.copy()
    fitted = fit(scrambled, np.arange(30.0))
    assert fitted.model_.to_bytes() == fit(scrambled.toarray(), np.arange(30.0)).model_.to_bytes()
    assert_array_equal(scrambled.data, before[0])
    assert_array_equal(scrambled.indices, before[1])


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_threads_leave_no_trace(n_jobs):
    matrix, dense, _ = table(9000, 60, 0.05)
    y = dense[:, 0] - dense[:, 5]
    assert fit(matrix, y, n_jobs=n_jobs).model_.to_bytes() == fit(dense, y, n_jobs=1).model_.to_bytes()


@pytest.mark.parametrize(
    "parameters",
    [
        {"early_stopping": True, "max_iter": 8},
        {"tree_method": "exact"},
        {"bin_sample_rows": None},
        {"bin_sample_rows": 500},
        {"min_rows_in_bin": 40},
        {"missing": 2},
        {"max_bins": 3},
        {"grow_policy": "symmetric"},
        {"max_leaf_nodes": 100, "min_samples_leaf": 1},
    ],
    ids=str,
)
def test_other_methods(parameters):
    matrix, dense, _ = table(*SHAPES["lists"])
    y = dense[:, 0] + dense[:, 1] + np.random.default_rng(1).normal(size=len(dense))
    fitted, expected = fit(matrix, y, **parameters), fit(dense, y, **parameters)
    assert fitted.model_.to_bytes() == expected.model_.to_bytes()
    assert_array_equal(fitted.predict(matrix), expected.predict(dense))


def test_zero_may_mean_missing():
    matrix, dense, _ = table(*SHAPES["lists"])
    y = dense[:, 0]
    assert fit(matrix, y, missing=0).model_.to_bytes() == fit(dense, y, missing=0).model_.to_bytes()


def test_missing_entries():
    matrix, dense, _ = table(*SHAPES["lists"])
    y = dense[:, 0]
    matrix.data[::7] = np.nan
    dense = matrix.toarray()
    fitted = fit(matrix, y)
    assert fitted.model_.to_bytes() == fit(dense, y).model_.to_bytes()
    assert_array_equal(fitted.predict(matrix), fitted.predict(dense))


def test_several_classes():
    matrix, dense, _ = table(*SHAPES["lists"])
    y = np.digitize(dense[:, :3].sum(axis=1), [0, 1])
    fitted = BoostingClassifier(max_iter=3).fit(matrix, y)
    assert_array_equal(fitted.predict_proba(matrix), fitted.predict_proba(dense))


def test_exclusive_features_are_bundled_and_an_overlap_outside_the_sample_is_found(monkeypatch):
    matrix, dense, _ = table(3000, 30, 0.02, values="one")
    eye = sparse.csr_array(np.eye(30)[np.random.default_rng(0).integers(0, 30, 3000)])
    one_hot = SparseTable(eye)
    storage = ColumnLayout.choose(one_hot, Binning.fit(one_hot, 255, None, None, 0, SERIAL), SERIAL)
    assert storage.n_columns == 1
    monkeypatch.setattr("sapwood.data.sparse.SAMPLE_ROWS", 100)
    monkeypatch.setattr("sapwood.data.bundling.MIN_LISTED", 100)
    both = SparseTable(matrix)
    binning = Binning.fit(both, 255, None, None, 0, SERIAL)
    assert ColumnLayout.choose(both, binning, SERIAL).n_columns < 20
    y = dense[:, 0] + dense[:, 1]
    assert fit(matrix, y).model_.to_bytes() == fit(dense, y).model_.to_bytes()


def test_lists_of_some_rows():
    matrix, dense, _ = table(*SHAPES["lists"])
    sparse_table = SparseTable(matrix)
    binning = Binning.fit(sparse_table, 255, None, None, 0, SERIAL)
    pages = Pages.build(sparse_table, binning, SERIAL)
    assert (pages.layout.columns.column == ROW_LIST).sum() > 50
    rows = np.flatnonzero(np.arange(len(dense)) % 3 == 1)
    part = Pages.build(sparse_table, binning, SERIAL, rows, pages.layout.columns).pages[0]
    direct = Pages.build(SparseTable(matrix[rows]), binning, SERIAL, columns=pages.layout.columns).pages[0]
    assert_array_equal(part.lists[0], direct.lists[0])
    assert_array_equal(part.lists[1], direct.lists[1])
    assert_array_equal(part.codes, direct.codes)


def test_reading_blocks():
    matrix, dense, with_missing = table(*SHAPES["lists"])
    for given, expected in ((SparseTable(matrix), dense), (SparseTable(matrix, implicit_missing=True), with_missing)):
        assert_array_equal(given.dense(slice(7, 20)), expected[7:20])
        assert_array_equal(given.read(np.array([3, 9, 11]), 0, 80), expected[[3, 9, 11]])
        assert_array_equal(given.read(slice(0, 3000, 5), 0, 80), expected[::5])
        assert_array_equal(given.read(slice(None), 4, 9), expected[:, 4:9])
        assert_array_equal(given.read(np.array([3, 9]), 4, 9), expected[[3, 9], 4:9])


def test_cut_points_are_those_of_the_dense_table():
    matrix, dense, _ = table(*SHAPES["reals"])
    weight, rows = np.random.default_rng(0).random(len(dense)), np.arange(0, len(dense), 2)
    for given in ((None, None), (weight, None), (weight, rows)):
        found, expected = (Binning.fit(t, 16, *given, 0, Execution(2)) for t in (SparseTable(matrix), ArrayTable(dense)))
        assert_array_equal(found.begin, expected.begin)
        assert_array_equal(found.cuts, expected.cuts)


@pytest.mark.parametrize(
    ("indices", "indptr", "message"),
    [
        ([0, 3], [0, 1, 2], "in range"),
        ([-1, 0], [0, 1, 2], "in range"),
        ([1, 0], [0, 2, 2], "ascending"),
        ([1, 1], [0, 2, 2], "ascending"),
        ([0, 1], [0, 2, 1], "in range"),
        ([0, 1], [1, 2, 2], "in range"),
        ([0, 1], [0, 1, 3], "in range"),
        ([0], [0, 1, 2], "do not fit"),
    ],
)
def test_broken_matrices_are_refused(indices, indptr, message):
    with pytest.raises(ValueError, match=message):
        kernels.SparseMatrix(np.ones(2), np.array(indices, dtype=np.int32), np.array(indptr, dtype=np.int64), 3, False, 1)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32, np.float64])
@pytest.mark.parametrize(("n_rows", "n_features", "density"), [(1, 1, 1.0), (37, 5, 0.6), (900, 40, 0.2), (3, 500, 0.01), (50, 7, 0.0)])
def test_transpose(n_rows, n_features, density, dtype):
    rng = np.random.default_rng(n_rows)
    dense = (rng.integers(1, 100, (n_rows, n_features)) * (rng.random((n_rows, n_features)) < density)).astype(dtype)
    rows = sparse.csr_array(dense)
    matrix = kernels.SparseMatrix(rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int64), n_features, False, 1)
    for n_threads in (1, 3):
        transposed = matrix.transposed(n_threads)
        for found, expected in ((transposed, dense.T), (transposed.transposed(n_threads), dense)):
            out = np.empty(expected.shape)
            found.fill_dense(0, 0, expected.shape[1], out, 1)
            assert_array_equal(out, expected)
