"""Reads survival targets into the two forms that losses use: signed times and time bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.data.checks import check_finite, check_length, check_numbers, float_array, refuse_mask, shape_of


def signed_times(y: Any, n_rows: int, name: str) -> np.ndarray:
    """Return times, (n_rows,) float64: positive for an event, negative (or -0.0) for a right-censored row.

    `y` is such an array, two columns (time; 1 for an event, 0 for censored), or a structured array of a bool and a time.
    """
    fields = getattr(getattr(y, "dtype", None), "names", None)
    if fields is not None:
        return _from_fields(y, fields, n_rows, name)
    if shape_of(y)[1:] == (2,):
        both = _two_columns(y, n_rows, name)
        check_finite(both[:, 0], name)
        flags = np.isin(both[:, 1], (0, 1))
        if not flags.all():
            row = int(np.argmin(flags))
            raise ValueError(f"the second column of {name} must be 1 (event) or 0 (censored); got {both[row, 1]:g} in row {row}")
        return _signed(both[:, 0], both[:, 1] == 1, name)
    return check_numbers(y, n_rows, name)


def time_bounds(y: Any, n_rows: int, name: str) -> np.ndarray:
    """Return lower and upper bounds of the event time, (n_rows, 2) float64: equal if known, 0 or infinity if unbounded.

    `y` is such an array, signed times, or a structured array of a bool and a time.
    """
    if getattr(getattr(y, "dtype", None), "names", None) is None and shape_of(y)[1:] == (2,):
        bounds = _two_columns(y, n_rows, name)
        if np.isnan(bounds).any():
            row = int(np.argmax(np.isnan(bounds).any(axis=1)))
            raise ValueError(f"Input {name} contains NaN: in row {row} ({bounds[row].tolist()})")
        return np.maximum(bounds, 0.0) if np.isneginf(bounds).any() else bounds
    times = signed_times(y, n_rows, name)
    return np.column_stack([np.abs(times), np.where(np.signbit(times), np.inf, np.abs(times))])


def _two_columns(y: Any, n_rows: int, name: str) -> np.ndarray:
    refuse_mask(y, name)
    try:
        both = float_array(y, n_rows, name)
    except ValueError as error:
        raise ValueError(f"{name} must be numeric: {error}") from None
    check_length(both, n_rows, name)
    return both


def _from_fields(y: np.ndarray, fields: tuple[str, ...], n_rows: int, name: str) -> np.ndarray:
    flags = [field for field in fields if y.dtype[field].kind == "b"]
    if len(fields) != 2 or len(flags) != 1:
        raise ValueError(f"{name} as a structured array must have two fields, a bool (True for an event) and a time; got {y.dtype}")
    (time,) = (field for field in fields if field != flags[0])
    return _signed(check_numbers(y[time], n_rows, name), y[flags[0]], name)


def _signed(time: np.ndarray, event: np.ndarray, name: str) -> np.ndarray:
    if (time < 0).any():
        row = int(np.argmax(time < 0))
        raise ValueError(f"{name} must have non-negative times; got {time[row]:g} in row {row}")
    return np.where(event, time, -time)
