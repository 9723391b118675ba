"""Signature of a fit: two fits with equal signatures return the same model, byte for byte."""

from __future__ import annotations

import hashlib
import types
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sapwood.data.fingerprint import Fingerprint, of_array
from sapwood.model import Model

MAX_DEPTH = 6  # of nested objects
MAX_LISTED = 16  # larger arrays are hashed
MAX_SHOWN = 80  # characters of a value in an error message


@dataclass(frozen=True)
class FitSignature:
    """Signature of a fit.

    Attributes
    ----------
    settings : parameters and other settings by name, as text
    data : fingerprint of each data set by name
    """

    settings: Mapping[str, str]
    data: Mapping[str, Fingerprint]

    def to_json(self) -> dict[str, Any]:
        return {"settings": dict(self.settings), "data": {name: one.to_json() for name, one in self.data.items()}}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> FitSignature:
        return cls(data["settings"], {name: Fingerprint.from_json(one) for name, one in data["data"].items()})

    def difference(self, new: FitSignature) -> str | None:
        """Describe the first difference to a new signature; None if the two are equal."""
        for name in {**self.settings, **new.settings}:
            old_value, new_value = (signature.settings.get(name, "nothing") for signature in (self, new))
            if old_value != new_value:
                return f"{name} was {_short(old_value)}, now it is {_short(new_value)}"
        for name in {**self.data, **new.data}:
            if name not in self.data or name not in new.data:
                return f"the data set {name!r} is {'missing' if name in self.data else 'new'}"
            found = self.data[name].difference(new.data[name])
            if found is not None:
                return f"the data set {name!r} has changed: {found}"
        return None


def as_text(value: Any, depth: int = MAX_DEPTH) -> str:
    """Return a text that is equal for equal values in any process: without addresses, functions by name."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return repr(value)
    if isinstance(value, np.ndarray):
        return _array_text(value, depth)
    if isinstance(value, Model):
        return f"Model of {value.n_rounds} rounds, {hashlib.sha256(value.to_bytes()).hexdigest()[:16]}"
    if isinstance(value, type | types.FunctionType | types.BuiltinFunctionType):
        return f"{value.__module__}.{value.__qualname__}"
    if hasattr(value, "__array__"):  # such as a column of a data frame
        return _array_text(np.asarray(value), depth)
    if depth == 0:
        return type(value).__qualname__

    def inner(item: Any) -> str:
        return as_text(item, depth - 1)

    if isinstance(value, list | tuple):
        return f"[{', '.join(map(inner, value))}]"
    if isinstance(value, set | frozenset):
        return f"{{{', '.join(sorted(map(inner, value)))}}}"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{inner(key)}: {inner(one)}' for key, one in value.items())}}}"
    if isinstance(value, types.MethodType):
        return f"{inner(value.__self__)}.{value.__name__}"
    if isinstance(value, partial):
        return f"partial({inner(value.func)}, {inner(value.args)}, {inner(value.keywords)})"
    own = {name: one for name, one in getattr(value, "__dict__", {}).items() if not name.startswith("_")}
    return f"{type(value).__qualname__}({', '.join(f'{name}={inner(one)}' for name, one in own.items())})"


def _array_text(values: np.ndarray, depth: int) -> str:
    if values.size <= MAX_LISTED or values.dtype.kind not in "biuf":
        return f"array({as_text(values.tolist(), depth)})"
    return f"array of {'x'.join(map(str, values.shape))}, {of_array(values)}"


def _short(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN // 2]}...{text[-MAX_SHOWN // 2 :]}"
