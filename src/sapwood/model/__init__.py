"""trees -> predict, explain, save."""

from sapwood.model.explain import Explanation
from sapwood.model.file import ModelFormatError
from sapwood.model.model import Model

__all__ = ["Explanation", "Model", "ModelFormatError"]
