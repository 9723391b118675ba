"""Arguments of `fit`, before they are checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sapwood.callbacks import TRAIN, VALIDATION, Callback
from sapwood.data.reading import Source
from sapwood.params.signatures import FitArguments
from sapwood.training.checkpoint import Checkpoint

if TYPE_CHECKING:
    from sapwood.typing import Path


@dataclass(frozen=True)
class FitInput:
    """A table with targets as the user gave it. The names of its arguments end with the suffix."""

    X: Any
    y: Any
    sample_weight: Any = None
    more: dict[str, Any] = field(default_factory=dict)  # arguments of some estimators only, by name
    suffix: str = ""
    offset: Any = None

    @property
    def any(self) -> bool:
        return any(value is not None for value in (self.X, self.y, self.sample_weight, self.offset, *self.more.values()))

    @cached_property
    def source(self) -> Source:
        return Source(self.X)


@dataclass(frozen=True)
class FitOptions:
    """Evaluation sets, metrics and callbacks of a fit."""

    groups: Any = None
    eval_sets: Any = None
    eval_metric: Any = None
    callbacks: Sequence[Callback] = ()
    checkpoint: Checkpoint | Path | None = None

    def named_sets(self) -> dict[str, FitInput]:
        sets = self.eval_sets or {}
        if not isinstance(sets, Mapping):
            if not isinstance(sets, (list, tuple)):
                raise ValueError(f"eval_sets must be a dict of name -> (X, y), or a list of such; got {type(sets).__name__}")
            sets = {f"eval_{i}": one for i, one in enumerate(sets)}
        for name in sets:
            if name in (TRAIN, VALIDATION):
                raise ValueError(f"eval_sets must not be called {name!r}: this is the name of the rows of fit itself")
        return {name: _given_set(name, one) for name, one in sets.items()}


@dataclass(frozen=True)
class FitCall:
    """A call of `fit`, `partial_fit` or `refit`: training rows, evaluation set for early stopping, options."""

    train: FitInput
    validation: FitInput
    options: FitOptions

    @classmethod
    def of(cls, a: FitArguments) -> FitCall:
        def given(**values: Any) -> dict[str, Any]:
            return {name: value for name, value in values.items() if value is not None}

        train = FitInput(a.X, a.y, a.sample_weight, given(group=a.group, qid=a.qid), offset=a.offset)
        more = given(group_val=a.group_val, qid_val=a.qid_val)
        validation = FitInput(a.X_val, a.y_val, a.sample_weight_val, more, "_val", a.offset_val)
        return cls(train, validation, FitOptions(a.groups, a.eval_sets, a.eval_metric, a.callbacks or (), a.checkpoint))


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
