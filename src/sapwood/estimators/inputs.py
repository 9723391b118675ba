"""Arguments of `fit`, before they are checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sapwood.callbacks import TRAIN, VALIDATION, Callback
from sapwood.data.named_columns import take_columns
from sapwood.data.reading import Source
from sapwood.params.signatures import FitArguments
from sapwood.runtime.caching import cached_property
from sapwood.training.checkpoint import Checkpoint

if TYPE_CHECKING:
    from sapwood.typing import Path


@dataclass(frozen=True)
class FitInput:
    """Training data or an evaluation set as passed to `fit`, unchecked.

    Attributes
    ----------
    more : arguments that only some estimators have, by name
    suffix : end of the argument names in error messages: "", "_val", or " of eval_sets[...]"
    """

    X: Any
    y: Any
    sample_weight: Any = None
    more: dict[str, Any] = field(default_factory=dict)
    suffix: str = ""
    offset: Any = None

    @property
    def any(self) -> bool:
        """Whether any argument is given."""
        return any(value is not None for value in (self.X, self.y, self.sample_weight, self.offset, *self.more.values()))

    @cached_property
    def source(self) -> Source:
        return Source(self.X)

    def with_values(self, groups: Any = None) -> tuple[FitInput, Any]:
        """Return the input and `groups`, with the values of columns in the place of their names."""
        of_rows = {name: value for name, value in self.more.items() if name.startswith("qid")}
        given = {"y": self.y, "sample_weight": self.sample_weight, "offset": self.offset, **of_rows, "groups": groups}
        X, values = take_columns(self.source, {self._argument(name): value for name, value in given.items() if value is not None})
        if not values:
            return self if self.source.stream is None else replace(self, X=self.source.stream), groups
        y, weight, offset, *more, groups = (values.get(self._argument(name), value) for name, value in given.items())
        inputs = replace(self, X=X, y=y, sample_weight=weight, offset=offset, more=self.more | dict(zip(of_rows, more, strict=True)))
        return inputs, groups

    def _argument(self, name: str) -> str:
        """Return the name of an argument as the user gave it, for error messages."""
        return name if name.endswith(self.suffix) else name + self.suffix


@dataclass(frozen=True)
class FitOptions:
    """Evaluation sets, metrics, callbacks and checkpoint of a fit."""

    groups: Any = None
    eval_sets: Any = None
    eval_metric: Any = None
    callbacks: Sequence[Callback] = ()
    checkpoint: Checkpoint | Path | None = None

    def named_sets(self) -> dict[str, FitInput]:
        """Return the evaluation sets by name, with the values of columns in the place of their names."""
        return {name: inputs.with_values()[0] for name, inputs in self.given_sets().items()}

    def given_sets(self) -> dict[str, FitInput]:
        """Return the evaluation sets by name, as they were given."""
        eval_sets = self.eval_sets or {}
        if not isinstance(eval_sets, Mapping):
            if not isinstance(eval_sets, (list, tuple)):
                raise ValueError(f"eval_sets must be a dict of name -> (X, y), or a list of (X, y); got {type(eval_sets).__name__}")
            eval_sets = {f"eval_{i}": eval_set for i, eval_set in enumerate(eval_sets)}
        for name in eval_sets:
            if name in (TRAIN, VALIDATION):
                raise ValueError(f"eval_sets must not have the name {name!r}: it is reserved for the rows of fit; use another name")
        return {name: _eval_input(name, eval_set) for name, eval_set in eval_sets.items()}


@dataclass(frozen=True)
class FitCall:
    """A call of `fit`, `partial_fit` or `refit`: training rows, evaluation set for early stopping, options."""

    train: FitInput
    validation: FitInput
    options: FitOptions

    @classmethod
    def of(cls, a: FitArguments) -> FitCall:
        def not_none(**values: Any) -> dict[str, Any]:
            return {name: value for name, value in values.items() if value is not None}

        train = FitInput(a.X, a.y, a.sample_weight, not_none(group=a.group, qid=a.qid), offset=a.offset)
        more = not_none(group_val=a.group_val, qid_val=a.qid_val)
        validation = FitInput(a.X_val, a.y_val, a.sample_weight_val, more, "_val", a.offset_val)
        return cls(train, validation, FitOptions(a.groups, a.eval_sets, a.eval_metric, a.callbacks or (), a.checkpoint))

    def with_values(self) -> FitCall:
        """Return the call with the values of columns of X in the place of their names. Reads these columns of a stream."""
        train, groups = self.train.with_values(self.options.groups)
        return FitCall(train, self.validation.with_values()[0], replace(self.options, groups=groups))


def _eval_input(name: str, eval_set: Any) -> FitInput:
    suffix = f" of eval_sets[{name!r}]"
    if isinstance(eval_set, Mapping):
        more = {key: value for key, value in eval_set.items() if key not in ("X", "y", "sample_weight", "offset")}
        inputs = FitInput(eval_set.get("X"), eval_set.get("y"), eval_set.get("sample_weight"), more, suffix, eval_set.get("offset"))
    elif isinstance(eval_set, (list, tuple)) and 2 <= len(eval_set) <= 4:
        x, y, weight, offset = (*eval_set, None, None)[:4]
        inputs = FitInput(x, y, weight, suffix=suffix, offset=offset)
    else:
        raise ValueError(
            f"eval_sets[{name!r}] must be (X, y), (X, y, sample_weight), (X, y, sample_weight, offset) or a dict of arguments of fit; "
            f"got {type(eval_set).__name__}"
        )
    if inputs.X is None or inputs.y is None:
        raise ValueError(f"eval_sets[{name!r}] lacks {'X' if inputs.X is None else 'y'}")
    return inputs
