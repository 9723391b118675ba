"""Signature of a fit, as text: two fits with the same signature give the same bytes."""

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

DEEPEST = 6  # objects within objects
LISTED = 16  # numbers of an array that are listed one by one
SHOWN = 80  # letters of a value in a message


@dataclass(frozen=True)
class FitSignature:
    """Of a fit.

    Attributes
    ----------
    settings : what was asked for, by name, as text
    data : of each set of rows
    """

    settings: Mapping[str, str]
    data: Mapping[str, Fingerprint]

    def to_json(self) -> dict[str, Any]:
        return {"settings": dict(self.settings), "data": {name: one.to_json() for name, one in self.data.items()}}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> FitSignature:
        return cls(data["settings"], {name: Fingerprint.from_json(one) for name, one in data["data"].items()})

    def difference(self, now: FitSignature) -> str | None:
        """In words, what is not the same now; None if all is."""
        for name in {**self.settings, **now.settings}:
            then, later = (of.settings.get(name, "nothing") for of in (self, now))
            if then != later:
                return f"{name} was {_short(then)}, now it is {_short(later)}"
        for name in {**self.data, **now.data}:
            if name not in self.data or name not in now.data:
                return f"the set {name!r} {'is gone' if name in self.data else 'is new'}"
            found = self.data[name].difference(now.data[name])
            if found is not None:
                return f"the set {name!r} was other data: {found}"
        return None


def as_text(value: Any, depth: int = DEEPEST) -> str:
    """The same for what is the same, in any process: no addresses. Functions are told by their names."""
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
    if hasattr(value, "__array__"):  # a column of a frame, say
        return _array_text(np.asarray(value), depth)
    if depth == 0:
        return type(value).__qualname__

    def inner(part: Any) -> str:
        return as_text(part, depth - 1)

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
    if values.size <= LISTED or values.dtype.kind not in "biuf":
        return f"array({as_text(values.tolist(), depth)})"
    return f"array of {'x'.join(map(str, values.shape))}, {of_array(values)}"


def _short(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[: SHOWN // 2]}...{text[-SHOWN // 2 :]}"
