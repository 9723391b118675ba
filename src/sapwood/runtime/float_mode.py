"""How this thread rounds floating-point results and treats subnormal numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import ParamSpec, TypeVar

from sapwood.runtime import kernels

P = ParamSpec("P")
R = TypeVar("R")


class DefaultFloatMode:
    """Context in which this thread rounds to nearest and keeps subnormal numbers, whatever other code has set. That is restored afterwards.

    Kernels do so themselves; NumPy code of fits and predictions, and code that reads and writes files, runs in this context.
    """

    __slots__ = ("before",)
    before: int

    def __enter__(self) -> None:
        self.before = kernels.set_float_mode(kernels.DEFAULT_FLOAT_MODE)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        kernels.set_float_mode(self.before)


def in_default_float_mode(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator: run a function in `DefaultFloatMode`."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with DefaultFloatMode():
            return function(*args, **kwargs)

    return call
