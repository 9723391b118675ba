"""Functions of all importers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class ImportedModelError(ValueError):
    """A model of another library that cannot be expressed here, or no model at all."""


@contextmanager
def whole_model(library: str) -> Iterator[None]:
    """Around reading what a library wrote: whatever is not where it should be is one error."""
    try:
        yield
    except ImportedModelError:
        raise
    except (KeyError, IndexError, ValueError, TypeError, AttributeError, OverflowError) as error:
        raise ImportedModelError(f"damaged model of {library}: {type(error).__name__}: {error}") from error
