"""Selection of rows of tables and arrays of any library."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse

from sapwood.data.frames import open_frame


def take_rows(values: Any, rows: np.ndarray) -> Any:
    """Return rows, by number, of a table or of one value per row, as an object of the same kind; lists stay lists."""
    if isinstance(values, np.ndarray):
        return values[rows]
    if sparse.issparse(values):
        return values.tocsr()[rows]
    if isinstance(values, list | tuple):
        return [values[row] for row in rows]
    frame = open_frame(values)
    if frame is None:
        series = nw.from_native(values, pass_through=True, allow_series=True)
        return series[rows].to_native() if isinstance(series, nw.Series) else np.asarray(values)[rows]
    return frame[rows].to_native()


def count_rows(values: Any) -> int:
    """Return the number of rows of a table or of one value per row."""
    frame = None if isinstance(values, np.ndarray | list | tuple) or sparse.issparse(values) else open_frame(values)
    shape = getattr(values, "shape", ()) if frame is None else frame.shape
    return int(shape[0]) if shape else len(values)
