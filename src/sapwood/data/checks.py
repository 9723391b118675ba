"""Validation of targets and weights. Error messages name the argument, the row and the value."""

from __future__ import annotations

from collections.abc import Iterator, Set
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d

from sapwood.data.frames import is_missing


def check_numbers(y: Any, n_rows: int, name: str, several: bool = False) -> np.ndarray:
    """Return a finite numeric target, (n_rows,); or, with `several`, (n_rows, n_outputs), where NaN is a missing target."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None")
    refuse_mask(y, name)
    refuse_iterator(y, name)
    if getattr(getattr(y, "dtype", None), "kind", "") in ("M", "m"):
        raise ValueError(f"{name} must be numeric: it has dtype {y.dtype}; convert it to numbers first, for example to days since a date")
    if _is_column(y) and y.dtype.kind in "fiub" and len(y):
        y = y.astype(np.float64, copy=False)
    else:
        try:
            y = float_array(y, n_rows, name, ensure_2d=False)
        except (ValueError, TypeError) as error:
            _refuse_missing(y, name)
            raise ValueError(f"{name} must be numeric: {error}") from None
    if not several or y.ndim != 2 or y.shape[1] <= 1:
        y = y if _is_column(y) else column_or_1d(y, warn=True)
        check_finite(y, name)
    elif np.isinf(y).any():
        row, column = np.argwhere(np.isinf(y))[0]
        raise ValueError(f"Input {name} contains infinity: {np.isinf(y).sum()} in total, the first in row {row}, column {column}")
    check_length(y, n_rows, name)
    return np.ascontiguousarray(y)


def check_quantiles(levels: Any) -> list[float]:
    """Return a list of several quantile levels."""
    given = np.asarray(levels)
    if (
        given.ndim != 1
        or len(given) < 2
        or given.dtype.kind not in "iuf"
        or not ((given >= 0) & (given <= 1)).all()
        or (np.diff(given) <= 0).any()
    ):
        raise ValueError(f"quantile must be a number from 0 to 1, or an ascending list of at least two; got {levels!r}")
    return [float(level) for level in given]


def check_labels(y: Any, n_rows: int, name: str) -> np.ndarray:
    """Return a target of class labels of any type."""
    y = read_labels(y, n_rows, name)
    if y.dtype.kind == "O":
        _refuse_long_integers(y, name)
    if y.dtype.kind not in "biu":
        check_classification_targets(y)
    return y


def read_labels(y: Any, n_rows: int, name: str) -> np.ndarray:
    """Return a target of class labels without checking that they are discrete."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None")
    refuse_mask(y, name)
    refuse_iterator(y, name)
    y = y if _is_column(y) else column_or_1d(y, warn=True)
    if y.dtype.kind in "OMm":
        _refuse_missing(y, name, "labels")
    elif y.dtype.kind == "f":
        check_finite(y, name)
    check_length(y, n_rows, name)
    return y


def check_weights(weight: Any, n_rows: int, name: str, allow_zeros: bool = False) -> np.ndarray | None:
    """Return non-negative weights, (n_rows,) float64; None if `weight` is None."""
    if weight is None:
        return None
    if isinstance(weight, Real):
        refuse_large(weight, name)
        weight = np.full(n_rows, weight)
    refuse_mask(weight, name)
    weight = float_array(weight, 0, name, ensure_2d=False)
    if weight.shape != (n_rows,):
        raise ValueError(f"{name}.shape == {weight.shape}, expected {(n_rows,)}!")
    check_finite(weight, name)
    if (weight < 0).any():
        row = int(np.argmax(weight < 0))
        raise ValueError(f"{name} must not be negative; got {weight[row]:g} in row {row}")
    if not weight.any() and not allow_zeros:
        raise ValueError(f"{name} must not be zero for all rows")
    return np.ascontiguousarray(weight)


def float_array(values: Any, n_rows: int, name: str, **options: Any) -> np.ndarray:
    """Return values as a float64 array: scikit-learn's `check_array`, with its options, and an error that names numbers that are too large.

    An array without rows is allowed if `n_rows` is 0.
    """
    try:
        return check_array(values, dtype=np.float64, ensure_all_finite=False, input_name=name, ensure_min_samples=min(1, n_rows), **options)
    except OverflowError:
        refuse_large(values, name)
        raise


def refuse_large(values: Any, name: str) -> None:
    """Raise a ValueError for an integer that is too large for a float, in a list or an array of objects."""
    array = np.asarray(values)
    for index, value in np.ndenumerate(array) if array.dtype.kind == "O" else ():
        try:
            float(value)
        except OverflowError:
            where = f" in row {index[0]}" if index else ""
            raise ValueError(f"{name} has a number that is too large for a float{where}: divide {name} by a constant") from None
        except (TypeError, ValueError):  # not a number: others name it
            continue


def parameter_floats(values: Any, name: str) -> np.ndarray:
    """Return the numbers of a parameter as a float64 array."""
    try:
        return np.asarray(values, dtype=np.float64)
    except OverflowError:
        raise ValueError(f"{name} has a number that is too large for a float") from None


def _refuse_long_integers(y: np.ndarray, name: str) -> None:
    for row, label in enumerate(y):
        if isinstance(label, int) and not -(2**63) <= label < 2**63:
            raise ValueError(f"{name} has an integer that does not fit into int64 in row {row}: convert the labels to strings")


def _is_column(y: Any) -> bool:
    """Whether y is a plain one-dimensional array, which needs no conversion by scikit-learn."""
    return type(y) is np.ndarray and y.ndim == 1


def shape_of(y: Any) -> tuple[int, ...]:
    """Return the shape of an array, a data frame or a list."""
    shape = getattr(y, "shape", None)
    return np.asarray(y).shape if shape is None else tuple(shape)


def _refuse_missing(y: Any, name: str, what: str = "values") -> None:
    """Raise for None, NaN, NaT or NA in a target of objects or times."""
    values = np.asarray(y)
    if values.dtype.kind in "Mm":
        absent = np.isnat(values)
    else:
        absent = np.fromiter(map(is_missing, values.ravel()), dtype=bool, count=values.size).reshape(values.shape)
    if absent.any():
        row = int(np.argwhere(absent)[0][0])
        raise ValueError(f"Input {name} contains missing {what}: {absent.sum()} in total, the first in row {row} ({values[row]})")


def refuse_iterator(values: Any, name: str) -> None:
    """Raise for a generator and the like, which NumPy takes for a single object."""
    kind = type(values).__name__
    if isinstance(values, Iterator):
        raise TypeError(f"{name} is a {kind}, which can be read only once: make a list of it, list({name})")
    if isinstance(values, Set | str | bytes):
        raise TypeError(f"{name} is a {kind}, which has no rows in an order: give an array, a list or a data frame")


def refuse_mask(values: Any, name: str) -> None:
    if np.ma.is_masked(values):
        masked = np.ma.getmaskarray(values).ravel()
        raise ValueError(f"{name} must not have masked values: {masked.sum()} in total, the first in row {int(np.argmax(masked))}")


def check_finite(values: np.ndarray, name: str) -> None:
    broken = ~np.isfinite(values)
    if broken.any():
        row = int(np.argmax(broken))
        raise ValueError(
            f"Input {name} contains NaN, infinity or a value too large: {broken.sum()} in total, the first in row {row} ({values[row]})"
        )


def check_length(y: np.ndarray, n_rows: int, name: str) -> None:
    if len(y) != n_rows:
        X = name.replace("y", "X")
        raise ValueError(f"Found input variables with inconsistent numbers of samples: {X} has {n_rows}, {name} has {len(y)}")
