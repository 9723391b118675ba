"""Damaged sparse matrices raise an error before they are used."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from sapwood import BoostingClassifier, BoostingRegressor
from sapwood.data.sparse_formats import CHECKS, check_sparse
from sapwood.uncertainty import ConformalRegressor

N_ROWS, N_COLUMNS = 60, 6
rng = np.random.default_rng(0)
DENSE = np.where(rng.random((N_ROWS, N_COLUMNS)) < 0.4, rng.normal(size=(N_ROWS, N_COLUMNS)), 0.0)
DENSE[0] = 1.0  # each column has an entry
Y = DENSE @ np.arange(1.0, N_COLUMNS + 1)
HUGE = 10**9


@pytest.fixture(scope="module")
def model():
    return BoostingRegressor(max_iter=5, min_samples_leaf=2).fit(sparse.csr_array(DENSE), Y)


def put(name, at, value):
    """Change an entry of an array."""

    def damage(X):
        getattr(X, name)[at] = value

    return damage


def replace(name, make):
    """Replace an array."""

    def damage(X):
        setattr(X, name, make(getattr(X, name)))

    return damage


def put_coordinate(axis, value):
    def damage(X):
        index = X.coords[axis].copy()
        index[5] = value
        X.coords = tuple(index if a == axis else own for a, own in enumerate(X.coords))

    return damage


COMPRESSED = {
    "huge index": (put("indices", 5, HUGE), r"`indices\[5\]` is 1000000000, and must be from 0 to \d+"),
    "index of one too many": (put("indices", 3, N_ROWS), r"`indices\[3\]` is 60"),
    "negative index": (put("indices", 2, -1), r"`indices\[2\]` is -1"),
    "short indices": (replace("indices", lambda own: own[:-1]), "`indices` has"),
    "short data": (replace("data", lambda own: own[:-1]), "`data`"),
    "indices of floats": (replace("indices", lambda own: own.astype(float)), "`indices` must hold whole numbers, not float64"),
    "pointers of floats": (replace("indptr", lambda own: own.astype(float)), "`indptr` must hold whole numbers, not float64"),
    "two-dimensional indices": (replace("indices", lambda own: own[None]), "`indices` must be an array with 1 axes"),
    "objects": (replace("data", lambda own: own.astype(object)), "`data` must hold numbers, not objects"),
    "no array": (replace("indptr", lambda own: None), "`indptr` must be an array"),
    "short pointers": (replace("indptr", lambda own: own[:-1]), r"`indptr` has \d+ entries, and must have \d+"),
    "long pointers": (replace("indptr", lambda own: np.append(own, own[-1])), r"`indptr` has \d+ entries, and must have \d+"),
    "pointers that fall": (put("indptr", 2, 0), "`indptr` falls at entry 2"),
    "huge pointer": (put("indptr", 2, HUGE), "`indptr` falls at entry 3"),
    "huge last pointer": (put("indptr", -1, HUGE), r"`indptr` ends with 1000000000, but there are \d+ entries"),
    "pointers that do not begin with 0": (put("indptr", 0, 1), "`indptr` begins with 1"),
    "negative pointer": (put("indptr", 0, -1), "`indptr` begins with -1"),
}
COORDINATES = {
    "huge row": (put_coordinate(0, HUGE), r"`coords\[0\]\[5\]` is 1000000000, and must be from 0 to 59"),
    "huge column": (put_coordinate(1, HUGE), r"`coords\[1\]\[5\]` is 1000000000, and must be from 0 to 5"),
    "negative row": (put_coordinate(0, -1), r"`coords\[0\]\[5\]` is -1"),
    "short rows": (replace("coords", lambda own: (own[0][:-1], own[1])), r"axis 0 has \d+ indices"),
    "rows of floats": (replace("coords", lambda own: (own[0].astype(float), own[1])), "axis 0 must be a one-dimensional array of whole"),
    "three axes": (replace("coords", lambda own: (*own, own[0])), "3 index arrays for 2 axes"),
    "short data": (replace("data", lambda own: own[:-1]), "`data`"),
    "two-dimensional data": (replace("data", lambda own: own[None]), "`data` must be an array with 1 axes"),
}
DAMAGES = {
    "csr": {**COMPRESSED, "index of one too many": (put("indices", 3, N_COLUMNS), r"`indices\[3\]` is 6")},
    "csc": COMPRESSED,
    "bsr": {
        **{name: COMPRESSED[name] for name in ("huge index", "negative index", "short data", "huge pointer", "huge last pointer")},
        "blocks that do not fit": (replace("data", lambda own: np.ones((len(own), 7, 1))), "do not fill a table of shape"),
        "empty blocks": (replace("data", lambda own: own[:, :0]), "have no entries"),
        "flat data": (replace("data", lambda own: own.reshape(-1)), "`data` must be an array with 3 axes"),
    },
    "coo": COORDINATES,
    "dia": {
        "short offsets": (replace("offsets", lambda own: own[:-1]), r"`offsets` has \d+ entries, and `data` \d+ diagonals"),
        "long offsets": (replace("offsets", lambda own: np.append(own, 0)), r"`offsets` has \d+ entries, and `data` \d+ diagonals"),
        "huge offset": (replace("offsets", lambda own: np.append(own[:-1].astype(np.int64), 2**32)), "`offsets` must be from"),
        "low offset": (replace("offsets", lambda own: np.append(own[:-1].astype(np.int64), -(2**32))), "`offsets` must be from"),
        "flat data": (replace("data", lambda own: own.ravel()), "`data` must be an array with 2 axes"),
    },
    "lil": {
        "huge column": (lambda X: X.rows[3].__setitem__(0, HUGE), "`indices.* is 1000000000"),
        "negative column": (lambda X: X.rows[3].__setitem__(0, -1), "is -1"),
        "long data": (lambda X: X.data[3].extend([1.0] * 1000), "row 3 must have two lists of the same length"),
        "short data": (lambda X: X.data[3].pop(), "row 3 must have two lists of the same length"),
        "no lists": (replace("rows", lambda own: np.array([None] * N_ROWS)), "row 0 must have two lists"),
        "fraction": (lambda X: X.rows[3].__setitem__(0, 0.5), "the columns of row 3 must be whole numbers"),
        "too many rows": (replace("rows", lambda own: np.append(own, own)), "there are 120 and 60 lists for 60 rows"),
        "text": (lambda X: X.rows[3].__setitem__(0, "x"), ""),
        "a value of text": (lambda X: X.data[3].__setitem__(0, "x"), ""),
    },
    "dok": {
        "huge key": (lambda X: X._dict.__setitem__((HUGE, 0), 1.0), ""),
        "negative key": (lambda X: X._dict.__setitem__((-1, 0), 1.0), ""),
        "text": (lambda X: X._dict.__setitem__(("x", 0), 1.0), r"the key \('x', 0\) must be 2 whole numbers"),
        "fraction": (lambda X: X._dict.__setitem__((0.5, 0), 1.0), "must be 2 whole numbers"),
        "three numbers": (lambda X: X._dict.__setitem__((0, 0, 0), 1.0), "must be 2 whole numbers"),
        "no pair": (lambda X: X._dict.__setitem__(5, 1.0), "must be 2 whole numbers"),
    },
}
CASES = [
    pytest.param(form, kind, *case, id=f"{form}_{kind}-{what}")
    for form, cases in DAMAGES.items()
    for kind in ("matrix", "array")
    for what, case in cases.items()
]


def make(form, kind="array"):
    options = {"blocksize": (2, 3)} if form == "bsr" else {}
    return getattr(sparse, f"{form}_{kind}")(DENSE, **options)


@pytest.mark.parametrize(("form", "kind", "damage", "message"), CASES)
def test_damaged_matrices_raise(model, form, kind, damage, message):
    X = make(form, kind)
    damage(X)
    for call in (model.predict, model.explain, model.apply, lambda X: BoostingRegressor(max_iter=1).fit(X, Y)):
        with pytest.raises(ValueError, match=f"X is a damaged sparse matrix: .*{message}"):
            call(X)


def test_every_format_has_a_check():
    assert set(CHECKS) == {"csr", "csc", "bsr", "coo", "dia", "lil", "dok"} == set(DAMAGES)


@pytest.mark.parametrize("form", CHECKS)
@pytest.mark.parametrize("kind", ["matrix", "array"])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_valid_matrices_pass(model, form, kind, index):
    X = make(form, kind)
    for name in ("indices", "indptr", "offsets"):
        if hasattr(X, name):
            setattr(X, name, getattr(X, name).astype(index))
    np.testing.assert_array_equal(model.predict(X), model.predict(DENSE))


def test_unusual_but_valid(model):
    expected = model.predict(DENSE)
    spare = make("csr")
    spare.indices, spare.data = np.append(spare.indices, [HUGE, -1]).astype(np.int32), np.append(spare.data, [1.0, 1.0])  # beyond the last
    other_order = make("csr")
    for name in ("indices", "indptr"):
        setattr(other_order, name, getattr(other_order, name).astype(">i4"))
    unsigned = make("csc")
    unsigned.indices = unsigned.indices.astype(np.uint32)
    off_the_table = make("dia")
    off_the_table.offsets = np.append(off_the_table.offsets, 100_000)
    off_the_table.data = np.vstack([off_the_table.data, np.ones((1, off_the_table.data.shape[1]))])
    for X in (spare, other_order, unsigned, off_the_table):
        np.testing.assert_array_equal(model.predict(X), expected)
    np.testing.assert_array_equal(check_sparse(sparse.csr_array((0, 3))).toarray(), np.zeros((0, 3)))


def test_a_wrong_sorted_flag(model):
    """The sorted flag of SciPy may be outdated."""
    X = make("csr")
    assert X.has_canonical_format
    first, last = X.indptr[0], X.indptr[1]
    X.indices[first:last] = X.indices[first:last][::-1].copy()
    X.data[first:last] = X.data[first:last][::-1].copy()
    np.testing.assert_array_equal(model.predict(X), model.predict(DENSE))
    X.indices[first] = X.indices[first + 1]  # a duplicate: the sum
    np.testing.assert_array_equal(model.predict(X), model.predict(np.vstack([X.toarray()[:1], DENSE[1:]])))


def test_other_arguments(model):
    damaged = make("csc", "matrix")
    damaged.indices[5] = HUGE
    sound = make("csc")
    with pytest.raises(ValueError, match="damaged sparse matrix"):
        BoostingRegressor(max_iter=1).fit(sound, Y, eval_sets=[(damaged, Y)])
    with pytest.raises(ValueError, match="damaged sparse matrix"):
        ConformalRegressor(BoostingRegressor(max_iter=1)).fit(damaged, Y)
    with pytest.raises(ValueError, match="damaged sparse matrix"):
        ConformalRegressor(BoostingRegressor(max_iter=1)).fit(sound, Y).predict(damaged)
    with pytest.raises(ValueError, match="damaged sparse matrix"):
        model.model_.predict(damaged)
    for y in (damaged, damaged[:, 0]):
        with pytest.raises((ValueError, TypeError)):
            BoostingClassifier(max_iter=1).fit(sound, y)


def test_pandas_frame():
    columns = {f"c{c}": pd.arrays.SparseArray(DENSE[:, c], fill_value=0.0) for c in range(N_COLUMNS)}
    model = BoostingRegressor(max_iter=2).fit(pd.DataFrame(columns), Y)
    columns["c1"].sp_index.indices[1] = HUGE
    with pytest.raises(ValueError, match=r"X is a damaged sparse matrix: `indices\[\d+\]` is 1000000000"):
        model.predict(pd.DataFrame(columns, copy=False))
