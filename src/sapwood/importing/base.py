"""What the importers share."""

from __future__ import annotations


class ImportedModelError(ValueError):
    """A model of another library that cannot be expressed here, or no model at all."""
