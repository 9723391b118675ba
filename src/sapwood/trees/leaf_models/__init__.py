"""Leaf models: the functions that leaves add to the raw predictions of their rows. `LEAF_MODELS` is the table."""

from sapwood.trees.leaf_models.base import LeafModel
from sapwood.trees.leaf_models.constant import ConstantLeaves
from sapwood.trees.leaf_models.linear import LinearLeaves

LEAF_MODELS: dict[str, type[LeafModel]] = {model.name: model for model in (ConstantLeaves, LinearLeaves)}

__all__ = ["LEAF_MODELS", "ConstantLeaves", "LeafModel", "LinearLeaves"]
