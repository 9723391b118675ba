"""Advice for parameters of other libraries, for error messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sapwood.params.foreign.counterpart import Library


def advice(libraries: Mapping[str, Library], name: str, value: Any, known: Iterable[str], of_fit: bool = False) -> str | None:
    """Return what to use instead of a parameter of another library; None if the name is not known.

    `known` are the parameters of the estimator and the arguments of `fit`: others are not advised. `of_fit`: it was given to `fit`.
    """
    known = set(known)
    found = {one.name: one.names[name] for one in libraries.values() if name in one.names}
    usable = {library: one for library, one in found.items() if not one.ours or one.ours in known}
    translated: dict[str, list[str]] = {}
    described: dict[str, list[str]] = {}
    for library, one in usable.items():
        values = {} if one.in_fit else one.translate(value)
        if values:
            text = f"use {', '.join(f'{key}={own!r}' for key, own in values.items())}{' in the constructor' if of_fit else ''}"
            translated.setdefault(text, []).append(library)
        else:
            described.setdefault(one.describe(of_fit), []).append(library)
    texts = translated or described
    return f"it is a parameter of {'; of '.join(f'{_listed(of)}: {text}' for text, of in texts.items())}" if texts else None


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
