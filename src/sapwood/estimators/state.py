"""State of estimators for pickle, joblib and skops: plain data instead of objects of Sapwood.

Libraries that ask which types of a file may be trusted, such as skops, then find only the class of the estimator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sapwood.estimators.targets import ClassLabels, MultiLabels, SoftLabels
from sapwood.model import Model
from sapwood.params.presets import Choice, ResolvedParams

KIND = "__sapwood__"


def to_plain(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state with objects of Sapwood as dicts. An object that occurs twice is one dict."""
    plain = {id(value): _plain(value) for value in state.values()}
    return {name: plain[id(value)] for name, value in state.items()}


def from_plain(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state with the objects again."""
    objects = {id(value): _object(value) for value in state.values()}
    return {name: objects[id(value)] for name, value in state.items()}


def _object(value: Any) -> Any:
    return READERS[value[KIND]](value) if type(value) is dict and KIND in value else value


def _plain(value: Any) -> Any:
    if type(value) is Model:
        return {KIND: "Model", "bytes": value.to_bytes()}
    if type(value) is ResolvedParams:
        return {KIND: "ResolvedParams", "values": dict(value), "reasons": dict(value.reasons)}
    if type(value) in LABELS:
        return {KIND: type(value).__name__, "classes": value.classes}
    return value


def _resolved(stored: Mapping[str, Any]) -> ResolvedParams:
    return ResolvedParams({name: Choice(value, stored["reasons"][name]) for name, value in stored["values"].items()})


LABELS: tuple[type[ClassLabels], ...] = (ClassLabels, MultiLabels, SoftLabels)
READERS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "Model": lambda stored: Model.from_bytes(stored["bytes"]),
    "ResolvedParams": _resolved,
    **{kind.__name__: lambda stored, kind=kind: kind(stored["classes"]) for kind in LABELS},  # type: ignore[misc]
}
