"""Alternatives to the parameters that a preset chose, where the shape of the data does not say which are better."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from sapwood.data.columns import Schema
from sapwood.encoding.cross import CENTERED, DIFFERENCE, PRODUCT
from sapwood.model import Model
from sapwood.params import presets
from sapwood.params.presets import AUTO, FEW_ROWS, VERY_FEW_ROWS, Choice, ResolvedParams, Shape
from sapwood.params.signatures import CommonParameters, ResolvedParameters

Resolved = tuple[ResolvedParameters, ResolvedParams]
LEAVES = 31  # of leaf-wise trees that are compared with symmetric ones
MOST_NUMBERS, MOST_CATEGORIES = 4, 2  # columns of the largest importance that are combined
MIN_CUTS = 8  # of a number that is combined: a number of few values is split at each of them anyway


def leafwise_trees(p: CommonParameters, chosen: ResolvedParams, shape: Shape) -> Resolved | None:
    """Return parameters with leaf-wise trees instead of symmetric ones; None if they are not compared."""
    compares = VERY_FEW_ROWS <= shape.n_rows < FEW_ROWS and shape.kind in ("regression", "count", "binary") and shape.n_outputs == 1
    if not compares or chosen.get("grow_policy") != "symmetric" or chosen.get("validation_folds") is None:
        return None
    shape, reason = presets.with_given(shape, p), "better than symmetric trees on the rows of the first fold"
    growth = {"grow_policy": Choice("leafwise", reason), "max_leaf_nodes": Choice(LEAVES, reason)}
    growth["max_depth"] = Choice(None, "max_leaf_nodes limits the size of trees")
    return presets.with_choices(p, shape, presets.PRESETS[p.preset](shape) | growth)


def may_cross(p: CommonParameters, chosen: ResolvedParams, shape: Shape) -> bool:
    """Return whether cross features are compared with none."""
    if chosen.get("cross_features", AUTO) is not None or chosen.get("max_iter") is None or p.preset not in ("auto", "best"):
        return False
    constrained = p.monotonic_cst is not None or p.interaction_cst is not None or p.feature_spec is not None or p.pages_dir is not None
    return presets.compares_crosses(presets.with_given(shape, p)) and not constrained


def cross_candidates(model: Model, schema: Schema) -> list[tuple[str, str | int, str | int]]:
    """Return cross features of the columns that a model uses most: differences and products of numbers, numbers centered by category."""
    importance = model.importances("gain")
    names = schema.names
    by_name = names is not None and all(isinstance(name, str) for name in names) and len(set(names)) == len(names)
    ranked = [int(c) for c in np.argsort(-importance, kind="stable") if importance[c] > 0]
    numbers = [c for c in ranked if schema.kind(c).name == "number" and len(model.binning.cuts_of(c)) >= MIN_CUTS][:MOST_NUMBERS]
    categories = [c for c in ranked if schema.kind(c).is_category][:MOST_CATEGORIES]
    pairs = [(operation, *pair) for pair in combinations(sorted(numbers), 2) for operation in (DIFFERENCE, PRODUCT)]
    pairs += [(CENTERED, number, category) for number in sorted(numbers) for category in sorted(categories)]
    return [(operation, str(names[a]), str(names[b])) if by_name and names is not None else (operation, a, b) for operation, a, b in pairs]
