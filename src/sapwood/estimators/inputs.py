"""What users give to `fit`, before it is checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from sapwood.callbacks import TRAIN, VALIDATION, Callback
from sapwood.training.checkpoint import Checkpoint


@dataclass(frozen=True)
class FitInput:
    """A table as the user gave it. The names of its arguments end with the suffix."""

    X: Any
    y: Any
    sample_weight: Any = None
    more: dict[str, Any] = field(default_factory=dict)  # what only some estimators take, by name
    suffix: str = ""
    offset: Any = None

    @property
    def any(self) -> bool:
        return any(value is not None for value in (self.X, self.y, self.sample_weight, self.offset, *self.more.values()))


@dataclass(frozen=True)
class FitOptions:
    """How training is watched."""

    groups: Any
    eval_sets: Any
    eval_metric: Any
    callbacks: Sequence[Callback]
    checkpoint: Checkpoint | str | PathLike[str] | None = None

    def named_sets(self) -> dict[str, FitInput]:
        sets = self.eval_sets or {}
        if not isinstance(sets, Mapping):
            if not isinstance(sets, (list, tuple)):
                raise ValueError(f"eval_sets must be a dict of name -> (X, y), or a list of such; got {type(sets).__name__}")
            sets = {f"eval_{i}": one for i, one in enumerate(sets)}
        for name in sets:
            if name in (TRAIN, VALIDATION):
                raise ValueError(f"eval_sets must not be called {name!r}: the rows of fit itself are")
        return {name: _given_set(name, one) for name, one in sets.items()}


def _given_set(name: str, one: Any) -> FitInput:
    suffix = f" of eval_sets[{name!r}]"
    if isinstance(one, Mapping):
        more = {key: value for key, value in one.items() if key not in ("X", "y", "sample_weight", "offset")}
        given = FitInput(one.get("X"), one.get("y"), one.get("sample_weight"), more, suffix, one.get("offset"))
    elif isinstance(one, (list, tuple)) and 2 <= len(one) <= 4:
        x, y, weight, offset = (*one, None, None)[:4]
        given = FitInput(x, y, weight, suffix=suffix, offset=offset)
    else:
        raise ValueError(
            f"eval_sets[{name!r}] must be (X, y), (X, y, sample_weight), (X, y, sample_weight, offset) or a dict of arguments of fit; "
            f"got {type(one).__name__}"
        )
    if given.X is None or given.y is None:
        raise ValueError(f"eval_sets[{name!r}] lacks {'X' if given.X is None else 'y'}")
    return given


def refuse_more(given: FitInput) -> None:
    """Raise for arguments that an estimator does not take."""
    if given.more:
        raise ValueError(f"{next(iter(given.more))!r}{given.suffix} is unknown; choose from X, y, sample_weight, offset")
