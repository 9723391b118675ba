"""trees -> predict, save."""

from sapwood.model.file import ModelFormatError
from sapwood.model.model import Model

__all__ = ["Model", "ModelFormatError"]
