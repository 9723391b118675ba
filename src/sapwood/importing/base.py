"""Errors of importers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class ImportedModelError(ValueError):
    """Raised if a model of another library cannot be imported, or is damaged."""


@contextmanager
def reading_model(library: str) -> Iterator[None]:
    """Context manager that raises an ImportedModelError for any malformed model."""
    try:
        yield
    except ImportedModelError:
        raise
    except (KeyError, IndexError, ValueError, TypeError, AttributeError, OverflowError) as error:
        raise ImportedModelError(f"damaged model of {library}: {type(error).__name__}: {error}") from error
