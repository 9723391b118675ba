"""The trained model: prediction, SHAP values, merging, files and export."""

from sapwood.data.container import ModelFormatError
from sapwood.model.explain import Explanation
from sapwood.model.model import Model

__all__ = ["Explanation", "Model", "ModelFormatError"]
