"""Data of the page for its script: JSON, compressed and written as base64 text, which no name can break out of."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import numpy as np


def numbers(values: Any, digits: int = 5) -> Any:
    """Return an array as nested lists of numbers with some significant digits; None for what is not finite."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim > 1:
        return [numbers(part, digits) for part in array]
    if array.ndim == 0:
        return numbers(array[None], digits)[0]
    return [short(value, digits) for value in array.tolist()]


def short(value: float, digits: int = 5) -> float | int | None:
    """Return a number with some significant digits."""
    if not np.isfinite(value):
        return None
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 2**53 else rounded


def binary(array: np.ndarray) -> dict[str, Any]:
    """Return an array as JSON data, to the last bit: the type of its numbers and their bytes (little-endian)."""
    plain = np.ascontiguousarray(array)
    return {"type": plain.dtype.name, "bytes": base64.b64encode(plain.astype(plain.dtype.newbyteorder("<"), copy=False).tobytes()).decode()}


def pack(data: Any) -> str:
    """Return JSON data as text for the page; the same text for the same data."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    return base64.b64encode(gzip.compress(text.encode(errors="replace"), compresslevel=9, mtime=0)).decode()


def unpack(text: str) -> Any:
    """Return the data of `pack`."""
    return json.loads(gzip.decompress(base64.b64decode(text)))
