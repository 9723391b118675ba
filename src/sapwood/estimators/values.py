"""Conversion of parameter values to JSON data and back, for files.

Strings, bools, None, finite numbers and lists are stored as they are. Any other value is an object with one entry: type name -> content.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sapwood.params.columns import TYPES, FeatureSpec

TYPE_NAMES = {f"{kind.__module__}.{kind.__qualname__}": kind for kind in TYPES}
NUMBERS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
ARRAY_KINDS = "biufUOMm"  # bools, numbers, strings, objects that are data, times
ARRAY_TYPE = re.compile(rf"[<>|=]?[{ARRAY_KINDS}]\d{{0,9}}(\[\w{{1,9}}\])?", re.ASCII)
MAX_DEPTH = 20  # of nested lists


class NotData(ValueError):
    """Raised for a value that is not data, such as a function."""


class Unsaved:
    """Placeholder of a parameter that could not be saved, in a loaded estimator. `fit` raises an error until the parameter is set."""

    def __init__(self, what: str) -> None:
        self.what = what

    def __repr__(self) -> str:
        return f"<not saved: {self.what}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unsaved) and self.what == other.what

    def __hash__(self) -> int:
        return hash(self.what)


def to_data(value: Any) -> Any:
    """Return a value as JSON data. Raise NotData if it is not data."""
    if value is None or isinstance(value, bool | np.bool_):
        return None if value is None else bool(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else {"number": str(float(value))}
    if isinstance(value, list):
        return [to_data(item) for item in value]
    for name, kind, content in CONTAINERS:
        if isinstance(value, kind):
            return {name: content(value)}
    if hasattr(value, "__array__") and not isinstance(value, type):
        return {"array": array_to_data(np.asarray(value))}
    if isinstance(value, type) and value in TYPES:
        return {"type": next(name for name, kind in TYPE_NAMES.items() if kind is value)}
    if isinstance(value, os.PathLike):
        return {"path": os.fspath(value)}
    if isinstance(value, Unsaved):
        return {"unsaved": value.what}
    raise NotData(describe(value))


def _items(mapping: Mapping[Any, Any]) -> list[Any]:
    return [[to_data(key), to_data(value)] for key, value in mapping.items()]


CONTAINERS: list[tuple[str, type, Callable[[Any], Any]]] = [
    ("tuple", tuple, lambda value: [to_data(item) for item in value]),
    ("set", set, lambda value: sorted((to_data(item) for item in value), key=repr)),
    ("dict", dict, _items),
    ("range", range, lambda value: [value.start, value.stop, value.step]),
    ("slice", slice, lambda value: [to_data(end) for end in (value.start, value.stop, value.step)]),
    ("FeatureSpec", FeatureSpec, lambda value: [_items(value.columns), to_data(value.interactions)]),
]


def array_to_data(array: np.ndarray) -> dict[str, Any]:
    """Return the dtype, shape and values of an array as JSON data."""
    if array.dtype.kind not in ARRAY_KINDS:
        raise NotData(f"an array of {array.dtype}")
    flat = array.ravel().astype(np.int64) if array.dtype.kind in "Mm" else array.ravel()
    return {"dtype": array.dtype.str, "shape": list(array.shape), "values": [to_data(item) for item in flat.tolist()]}


def from_data(data: Any, depth: int = 0) -> Any:
    """Return a value from the output of `to_data`. Raise a ValueError for anything else."""
    if depth > MAX_DEPTH:
        raise ValueError("a value is nested too deeply")
    if isinstance(data, list):
        return [from_data(item, depth + 1) for item in data]
    if not isinstance(data, dict):
        return data
    if len(data) != 1:
        raise ValueError(f"a value must be an object with one entry; got {len(data)}")
    ((name, content),) = data.items()
    try:
        return READERS[name](content, depth)
    except (KeyError, TypeError, OverflowError) as error:
        raise ValueError(f"a value of type {name[:60]!r} is malformed ({error})") from None


def _read_items(items: Any, depth: int) -> dict[Any, Any]:
    return {from_data(key, depth + 1): from_data(value, depth + 1) for key, value in items}


def _read_spec(content: Any, depth: int) -> FeatureSpec:
    columns, interactions = content
    return FeatureSpec(_read_items(columns, depth), from_data(interactions, depth + 1))


def array_from_data(content: Any, depth: int = 0) -> np.ndarray:
    """Return an array from the output of `array_to_data`."""
    name, values = _text(content["dtype"]), from_data(content["values"], depth + 1)
    if not ARRAY_TYPE.fullmatch(name) or not isinstance(values, list):
        raise ValueError(f"arrays of dtype {name[:60]!r} are not supported")
    dtype = np.dtype(name)
    if dtype.kind == "U" and dtype.itemsize > 4 * max(1, max(map(len, values), default=0)):
        raise ValueError("the dtype of an array of strings is wider than its strings")
    flat = np.empty(len(values), dtype=dtype)
    try:
        flat[:] = np.array(values, dtype=np.int64) if dtype.kind in "Mm" else values
    except OverflowError:
        raise ValueError(f"an array of dtype {name} has a number that is too large for it") from None
    return flat.reshape(content["shape"])


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a string")
    return value


READERS: dict[str, Callable[[Any, int], Any]] = {
    "number": lambda of, depth: NUMBERS[of],
    "tuple": lambda of, depth: tuple(from_data(list(of), depth + 1)),
    "set": lambda of, depth: set(from_data(list(of), depth + 1)),
    "dict": _read_items,
    "range": lambda of, depth: range(*of),
    "slice": lambda of, depth: slice(*from_data(list(of), depth + 1)),
    "FeatureSpec": _read_spec,
    "array": array_from_data,
    "type": lambda of, depth: TYPE_NAMES[of],
    "path": lambda of, depth: Path(_text(of)),
    "unsaved": lambda of, depth: Unsaved(_text(of)),
}


def describe(value: Any) -> str:
    """Describe a value without its address in memory: the text is the same in every process."""
    name = getattr(value, "__qualname__", None)
    return f"{type(value).__name__} {name}" if isinstance(name, str) else f"an object of {type(value).__qualname__}"
