"""How this thread rounds floating-point results and treats subnormal numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sapwood.runtime import kernels


@contextmanager
def default_float_mode() -> Iterator[None]:
    """Round to nearest and keep subnormal numbers, whatever other code set for this thread; restore that afterwards.

    Kernels do so themselves. A fit does so for its NumPy code, too.
    """
    before = kernels.set_float_mode(kernels.DEFAULT_FLOAT_MODE)
    try:
        yield
    finally:
        kernels.set_float_mode(before)
