"""Damaged sparse matrices: a ValueError, or the predictions of the dense table that the arrays describe. Anything else is a finding."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse

from fuzz.judge import Finding
from sapwood import BoostingRegressor
from sapwood.data.sparse_formats import CHECKS

N_ROWS, N_COLUMNS = 30, 6
INTEGERS = [-1, 0, 1, 2, 5, 6, 7, 29, 30, 31, 255, 2**31 - 1, -(2**31), 10**9, 2**31, 2**32, 2**32 + 1, 2**62, 2**63 - 1, -(2**63)]
ARRAYS = {
    "csr": ["data", "indices", "indptr"],
    "csc": ["data", "indices", "indptr"],
    "bsr": ["data", "indices", "indptr"],
    "coo": ["data", "coords"],
    "dia": ["data", "offsets"],
    "lil": ["data", "rows"],
    "dok": ["_dict"],
}
Rng = np.random.Generator


def prepare() -> tuple[np.ndarray, Any]:
    """A table, and a model of it."""
    rng = np.random.default_rng(0)
    table = np.where(rng.random((N_ROWS, N_COLUMNS)) < 0.5, rng.normal(size=(N_ROWS, N_COLUMNS)).round(2), 0.0)
    table[0] = 1.0
    return table, BoostingRegressor(max_iter=3, min_samples_leaf=2, n_jobs=1).fit(table, table[:, 0] * table[:, 1])


def mutate(prepared: tuple[np.ndarray, Any], number: int) -> tuple[str, int, Any]:
    """A matrix of a format, one to three of whose arrays are changed."""
    rng = np.random.default_rng([number, 0xC5C])
    form = str(rng.choice(list(CHECKS)))
    options = {"blocksize": (2, 3)} if form == "bsr" else {}
    X = getattr(sparse, f"{form}_{rng.choice(['matrix', 'array'])}")(prepared[0], **options)
    ways = []
    for _ in range(int(rng.integers(1, 4))):
        name = str(rng.choice(ARRAYS[form]))
        way = WAYS[int(rng.integers(len(WAYS)))] if form not in ("lil", "dok") else change_lists
        ways.append(f"{name}:{way.__name__}")
        try:
            way(X, name, rng)
        except (ValueError, TypeError, IndexError, OverflowError, AttributeError):
            continue  # SciPy refused it, or an earlier change left nothing to change
    return "+".join([form, *ways]), 0, X


def _get(X: Any, name: str, rng: Rng) -> np.ndarray:
    return np.array(X.coords[int(rng.integers(2))]) if name == "coords" else np.array(getattr(X, name))


def _set(X: Any, name: str, array: Any, rng: Rng) -> None:
    if name == "coords":
        axis = int(rng.integers(2))
        array = tuple(array if i == axis else own for i, own in enumerate(X.coords))
    setattr(X, name, array)


def change_number(X: Any, name: str, rng: Rng) -> None:
    array = _get(X, name, rng)
    wide = array.astype(np.int64) if array.dtype.kind == "i" and rng.random() < 0.5 else array
    flat = wide.reshape(-1)
    flat[rng.integers(len(flat))] = INTEGERS[int(rng.integers(len(INTEGERS)))]
    _set(X, name, wide, rng)


def change_length(X: Any, name: str, rng: Rng) -> None:
    array = _get(X, name, rng)
    ways = [array[:-1], array[:0], np.concatenate([array, array]), np.concatenate([array, array[-1:]]), array[::-1].copy(), array[::2]]
    _set(X, name, ways[int(rng.integers(len(ways)))], rng)


def change_type(X: Any, name: str, rng: Rng) -> None:
    array = _get(X, name, rng)
    ways = [array.astype(np.float64), array.astype(np.int8), array.astype(np.uint64), array.astype(object), array[None], array.ravel()]
    ways += [array.astype(array.dtype.newbyteorder()), None, array.tolist(), array.astype(np.int64)]
    _set(X, name, ways[int(rng.integers(len(ways)))], rng)


def change_shape(X: Any, name: str, rng: Rng) -> None:
    X._shape = tuple(int(rng.choice([0, 1, 5, 6, 7, 29, 30, 31, 60, 1000])) if rng.random() < 0.5 else n for n in X._shape)


def change_flags(X: Any, name: str, rng: Rng) -> None:
    """What SciPy remembers of the order."""
    X.has_sorted_indices = X.has_canonical_format = bool(rng.integers(2))
    array = _get(X, name, rng)
    _set(X, name, rng.permutation(array), rng)


def change_lists(X: Any, name: str, rng: Rng) -> None:
    values: list[Any] = [*INTEGERS, 0.5, "x", None, [], (1, 2)]
    value = values[int(rng.integers(len(values)))]
    if name == "_dict":
        keys: list[Any] = [(value, 0), (0, value), value, (0, 0, 0), (1, 1)]
        X._dict[keys[int(rng.integers(len(keys)))]] = 1.0 if rng.random() < 0.7 else value
        return
    rows, row = getattr(X, name), int(rng.integers(len(getattr(X, name))))
    ways = [lambda: rows[row].append(value), lambda: rows[row].pop(), lambda: rows.__setitem__(row, value)]
    ways += [lambda: rows[row].__setitem__(0, value), lambda: setattr(X, name, rows[:-1]), lambda: rows[row].reverse()]
    ways[int(rng.integers(len(ways)))]()


WAYS = [change_number, change_number, change_number, change_length, change_type, change_shape, change_flags]


def judge(prepared: tuple[np.ndarray, Any], seed: int, X: Any) -> str:
    """'refused', 'same', or 'another table'."""
    table, model = prepared
    wanted = plain_table(X)
    warnings.simplefilter("ignore")  # of SciPy, on types of indices
    try:
        found = model.predict(X)
        BoostingRegressor(max_iter=1, min_samples_leaf=2, n_jobs=1).fit(X, np.arange(X.shape[0], dtype=float))
    except ValueError as error:  # SciPy refuses some sound ones: other byte orders, unsigned indices
        if wanted is not None and "damaged sparse matrix" in str(error):
            raise Finding(f"a sound matrix was refused: {error}") from None
        return "refused"
    except BaseException as error:
        raise Finding(f"{type(error).__name__}: {error}") from error
    if wanted is None:
        raise Finding("a damaged matrix was accepted")
    if not np.array_equal(found, model.predict(wanted)):
        raise Finding("predictions are not those of the dense table")
    return "same" if np.array_equal(wanted, table) else "another table"


def plain_table(X: Any) -> np.ndarray | None:
    """The dense table that the arrays of a matrix describe, by loops; None if they describe none."""
    try:
        return PLAIN[X.format](X)
    except (ValueError, TypeError, IndexError, KeyError, AttributeError, OverflowError):
        return None


def _empty(X: Any) -> np.ndarray:
    n_rows, n_columns = X.shape
    if not 0 < n_rows * n_columns <= 10**6:
        raise ValueError
    return np.zeros((n_rows, n_columns))


def _index(value: Any, n: int) -> int:
    if not isinstance(value, int | np.integer) or not 0 <= value < n:
        raise IndexError
    return int(value)


def _plain_compressed(X: Any) -> np.ndarray:
    out = _empty(X)
    parts = ((X.data, 3 if X.format == "bsr" else 1, "biuf"), (X.indices, 1, "iu"), (X.indptr, 1, "iu"))
    if not all(isinstance(own, np.ndarray) and own.ndim == n_axes and own.dtype.kind in kinds for own, n_axes, kinds in parts):
        raise ValueError
    if len(X.data) != len(X.indices):
        raise ValueError
    view = out.T if X.format == "csc" else out
    height, width = X.data.shape[1:] if X.format == "bsr" else (1, 1)
    n_lines, n_across = view.shape[0] // height, view.shape[1] // width
    pointers = X.indptr.tolist()
    if n_lines * height != view.shape[0] or n_across * width != view.shape[1] or len(pointers) != n_lines + 1 or pointers[0] != 0:
        raise ValueError
    for line in range(n_lines):
        if not pointers[line] <= pointers[line + 1] <= len(X.indices):
            raise ValueError
        for k in range(pointers[line], pointers[line + 1]):
            at = _index(X.indices[k], n_across)
            view[line * height : (line + 1) * height, at * width : (at + 1) * width] += X.data[k]
    return out


def _plain_coordinates(X: Any) -> np.ndarray:
    out = _empty(X)
    if not isinstance(X.data, np.ndarray) or X.data.ndim != 1 or X.data.dtype.kind not in "biuf" or len(X.coords) != 2:
        raise ValueError
    for own in X.coords:
        if not isinstance(own, np.ndarray) or own.ndim != 1 or own.dtype.kind not in "iu" or len(own) != len(X.data):
            raise ValueError
    for row, column, value in zip(*X.coords, X.data, strict=True):
        out[_index(row, X.shape[0]), _index(column, X.shape[1])] += value
    return out


def _plain_diagonals(X: Any) -> np.ndarray:
    out = _empty(X)
    sound = all(isinstance(own, np.ndarray) for own in (X.data, X.offsets)) and X.data.ndim == 2 and X.offsets.ndim == 1
    if not sound or X.offsets.dtype.kind not in "iu" or len(X.offsets) != len(X.data) or X.data.dtype.kind not in "biuf":
        raise ValueError
    if len(X.offsets) and max(map(abs, X.offsets.tolist())) > 2**31 - 1 - max(X.shape):
        raise ValueError
    for offset, diagonal in zip(X.offsets.tolist(), X.data, strict=True):
        for column in range(max(0, offset), min(len(diagonal), X.shape[1], X.shape[0] + offset)):
            out[column - offset, column] += diagonal[column]
    return out


def _plain_lists(X: Any) -> np.ndarray:
    out = _empty(X)
    if not len(X.rows) == len(X.data) == X.shape[0]:
        raise ValueError
    for row, (columns, values) in enumerate(zip(X.rows, X.data, strict=True)):
        if not isinstance(columns, list) or not isinstance(values, list):
            raise TypeError
        for column, value in zip(columns, values, strict=True):
            out[row, _index(column, X.shape[1])] += float(value)
    return out


def _plain_keys(X: Any) -> np.ndarray:
    out = _empty(X)
    for key, value in X._dict.items():
        row, column = key
        out[_index(row, X.shape[0]), _index(column, X.shape[1])] = float(value)
    return out


PLAIN = {
    "csr": _plain_compressed,
    "csc": _plain_compressed,
    "bsr": _plain_compressed,
    "coo": _plain_coordinates,
    "dia": _plain_diagonals,
    "lil": _plain_lists,
    "dok": _plain_keys,
}
