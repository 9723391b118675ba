"""Errors of importers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

FEW_COLUMNS = 1 << 20  # that any file may claim
MAX_ROWS = 2**53  # of a node
MAX_COVER = 1e300  # weight of the rows of a node
MAX_SET_BYTES = 1 << 30


class ImportedModelError(ValueError):
    """Raised if a model of another library cannot be imported, or is damaged."""


def in_range(values: np.ndarray, low: float, high: float, what: str) -> np.ndarray:
    """Return numbers that are all from `low` to `high`. To be called before they are converted to a narrower type."""
    wrong = ~((values >= low) & (values <= high))  # NaN is wrong, too
    if wrong.any():
        raise ImportedModelError(f"{what} is {values[wrong].flat[0]}, and must be from {low:g} to {high:g}")
    return values


def check_columns(n_columns: int, n_bytes: int) -> int:
    """Return the number of columns, unless it is far more than a file of so many bytes can speak of."""
    most = max(FEW_COLUMNS, n_bytes)
    if not 1 <= n_columns <= most:
        raise ImportedModelError(f"a model of {n_bytes:,} bytes has {n_columns} columns; from 1 to {most:,} can be imported")
    return n_columns


def check_outputs(n_outputs: int, n_values: int) -> int:
    """Return the number of outputs, unless there are fewer values of leaves."""
    if not 1 <= n_outputs <= max(1, n_values):
        raise ImportedModelError(f"{n_outputs} outputs for {n_values} value(s) of leaves: a round is not whole")
    return n_outputs


def check_sets(n_sets: int, n_levels: int) -> None:
    """Raise if the sets of levels at a category's splits would take too much memory."""
    if n_sets * n_levels > MAX_SET_BYTES:
        raise ImportedModelError(f"a category of {n_levels:,} levels is split {n_sets:,} times: too much to be imported")


@contextmanager
def reading_model(library: str) -> Iterator[None]:
    """Context manager that raises an ImportedModelError for any malformed model."""
    try:
        yield
    except ImportedModelError:
        raise
    except (KeyError, IndexError, ValueError, TypeError, AttributeError, OverflowError) as error:
        raise ImportedModelError(f"damaged model of {library}: {type(error).__name__}: {error}") from error
