"""How this thread rounds floating-point results and treats subnormal numbers."""

from __future__ import annotations

from types import TracebackType

from sapwood.runtime import kernels


class DefaultFloatMode:
    """Context in which this thread rounds to nearest and keeps subnormal numbers, whatever other code has set. That is restored afterwards.

    Kernels do so themselves; NumPy code of fits and predictions runs in this context.
    """

    __slots__ = ("before",)
    before: int

    def __enter__(self) -> None:
        self.before = kernels.set_float_mode(kernels.DEFAULT_FLOAT_MODE)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        kernels.set_float_mode(self.before)
