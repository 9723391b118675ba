"""Checks of the index arrays of SciPy sparse matrices, which the compiled functions of SciPy use without checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import numpy as np

MAX_INDEX = 2**31 - 1  # of SciPy's narrower index type
UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}


def check_sparse(X: Any, name: str = "X") -> Any:
    """Return a SciPy matrix or array after checking its index arrays. Raises ValueError if they are invalid.

    The LIL and DOK formats are converted to CSR and COO.
    """
    try:
        return CHECKS[X.format](X)
    except _Fault as fault:
        raise ValueError(f"{name} is a damaged sparse matrix: {fault}. Build it again from its entries") from None


class _Fault(Exception):
    """Raised for an invalid matrix."""


def _array(X: Any, name: str, n_axes: int, kinds: str = "") -> np.ndarray:
    """Return the array of a matrix with this name. Without `kinds` it may hold anything but objects, which SciPy cannot convert."""
    array = getattr(X, name, None)
    if not isinstance(array, np.ndarray) or array.ndim != n_axes:
        raise _Fault(f"`{name}` must be an array with {n_axes} axes")
    if not kinds and array.dtype.kind == "O":
        raise _Fault(f"`{name}` must hold numbers, not objects")
    if kinds and array.dtype.kind not in kinds:
        raise _Fault(f"`{name}` must hold whole numbers, not {array.dtype}")
    return array


def _check_range(index: np.ndarray, n: int, name: str) -> None:
    """Raise if an index is not in [0, n). In one pass: a negative number is large as an unsigned number."""
    plain = index if index.dtype.isnative else index.astype(np.int64)
    if len(plain) and plain.view(UNSIGNED[plain.itemsize]).max() >= n:
        at = int(np.argmax((plain < 0) | (plain >= n)))
        raise _Fault(f"`{name}[{at}]` is {int(plain[at])}, and must be from 0 to {n - 1}")


def _check_pointers(X: Any, n_lines: int, n_entries: int) -> int:
    """Check `indptr`, which must ascend from 0. Return the number of entries."""
    pointers = _array(X, "indptr", 1, "iu")
    if len(pointers) != n_lines + 1:
        raise _Fault(f"`indptr` has {len(pointers)} entries, and must have {n_lines + 1}")
    if pointers[0] != 0:
        raise _Fault(f"`indptr` begins with {pointers[0]}, not with 0")
    falls = pointers[1:] < pointers[:-1]
    if falls.any():
        raise _Fault(f"`indptr` falls at entry {int(np.argmax(falls)) + 1}")
    last = int(pointers[-1])
    if last > n_entries:
        raise _Fault(f"`indptr` ends with {last}, but there are {n_entries} entries")
    return last


def _check_compressed(X: Any, blocks: tuple[int, int] = (1, 1)) -> Any:
    """Check the CSR, CSC or BSR format."""
    indices, n_values = _array(X, "indices", 1, "iu"), len(X.data)
    shape = X.shape if len(X.shape) == 2 else (1, *X.shape)
    if shape[0] % blocks[0] or shape[1] % blocks[1]:
        raise _Fault(f"blocks of {blocks} do not fill a table of shape {shape}")
    if len(indices) != n_values:
        raise _Fault(f"`indices` has {len(indices)} entries, and `data` {n_values}")
    n_blocks, by_column = (shape[0] // blocks[0], shape[1] // blocks[1]), X.format == "csc"
    n_entries = _check_pointers(X, n_blocks[by_column], n_values)
    _check_range(indices[:n_entries], n_blocks[not by_column], "indices")
    return X


def _check_lines(X: Any) -> Any:
    _array(X, "data", 1)
    return _check_compressed(X)


def _check_blocks(X: Any) -> Any:
    blocks = _array(X, "data", 3).shape[1:]
    if not min(blocks):
        raise _Fault(f"blocks of {blocks} have no entries")
    return _check_compressed(X, blocks)


def _check_coordinates(X: Any) -> Any:
    coordinates: Sequence[Any] = getattr(X, "coords", None) or (X.row, X.col)
    n_entries = len(_array(X, "data", 1))
    if len(coordinates) != len(X.shape):
        raise _Fault(f"there are {len(coordinates)} index arrays for {len(X.shape)} axes")
    for axis, (index, n) in enumerate(zip(coordinates, X.shape, strict=True)):
        if not isinstance(index, np.ndarray) or index.ndim != 1 or index.dtype.kind not in "iu":
            raise _Fault(f"the indices of axis {axis} must be a one-dimensional array of whole numbers")
        if len(index) != n_entries:
            raise _Fault(f"axis {axis} has {len(index)} indices, and `data` {n_entries} entries")
        _check_range(index, n, f"coords[{axis}]")
    return X


def _check_diagonals(X: Any) -> Any:
    data, offsets = _array(X, "data", 2), _array(X, "offsets", 1, "iu")
    if len(data) != len(offsets):
        raise _Fault(f"`offsets` has {len(offsets)} entries, and `data` {len(data)} diagonals")
    most = MAX_INDEX - max(X.shape)
    if (offsets < -most).any() or (offsets > most).any():
        raise _Fault(f"`offsets` must be from {-most} to {most}")
    return X


def _check_lists(X: Any) -> Any:
    columns, values = _array(X, "rows", 1, "O"), _array(X, "data", 1, "O")
    if not len(columns) == len(values) == X.shape[0]:
        raise _Fault(f"there are {len(columns)} and {len(values)} lists for {X.shape[0]} rows")
    for row, (own, other) in enumerate(zip(columns, values, strict=True)):
        if not isinstance(own, list) or not isinstance(other, list) or len(own) != len(other):
            raise _Fault(f"row {row} must have two lists of the same length")
        if not all(isinstance(column, Integral) for column in own):
            raise _Fault(f"the columns of row {row} must be whole numbers")
    try:
        return _check_lines(X.tocsr())
    except (TypeError, ValueError, OverflowError) as error:
        raise _Fault(str(error)) from None


def _check_keys(X: Any) -> Any:
    n_axes = len(X.shape)
    for key in X.keys():  # noqa: SIM118
        own = key if n_axes > 1 else (key,)
        if not isinstance(own, tuple) or len(own) != n_axes or not all(isinstance(index, Integral) for index in own):
            raise _Fault(f"the key {key!r} must be {n_axes} whole numbers")
    try:
        return _check_coordinates(X.tocoo())
    except (TypeError, ValueError, OverflowError) as error:
        raise _Fault(str(error)) from None


CHECKS: dict[str, Callable[[Any], Any]] = {
    "csr": _check_lines,
    "csc": _check_lines,
    "bsr": _check_blocks,
    "coo": _check_coordinates,
    "dia": _check_diagonals,
    "lil": _check_lists,
    "dok": _check_keys,
}
