"""Parameters by column, resolved to column positions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sapwood.data.columns import Schema
from sapwood.params import resolve
from sapwood.params.columns import Features
from sapwood.params.resolve import ThresholdSplit
from sapwood.params.signatures import ResolvedParameters
from sapwood.trees.features import InteractionGroups, Interactions


@dataclass(frozen=True)
class ColumnPlan:
    """Constraints and bins of each column of the table.

    Attributes
    ----------
    monotonic : (n_columns,) int8 of -1, 0, 1; None if no column is constrained
    interactions : columns that may be used together on a path; None for all
    weights : (n_columns,) float64 factors of gains; None for 1
    cut_points : bin boundaries by column
    max_bins : (n_columns,) int maximum number of bins
    forced : forced splits at the top of every tree
    """

    n_columns: int
    monotonic: np.ndarray | None
    interactions: Interactions | None
    weights: np.ndarray | None
    cut_points: Mapping[int, np.ndarray]
    max_bins: np.ndarray
    forced: ThresholdSplit | None

    @classmethod
    def resolve(cls, p: ResolvedParameters, features: Features) -> ColumnPlan:
        return cls(
            n_columns=features.n_features,
            monotonic=resolve.monotonic(p.monotonic_cst, features),
            interactions=resolve.interactions(p.interaction_cst, features),
            weights=resolve.feature_weights(p.feature_weights, features),
            cut_points=resolve.cut_points(p.cut_points, features),
            max_bins=resolve.bins_of_features(p.max_bins, features),
            forced=resolve.forced_splits(p.forced_splits, features),
        )

    def check_kinds(self, schema: Schema) -> None:
        """Raise a ValueError if a setting for numeric columns is used for a categorical column."""
        numeric_only = {
            "monotonic_cst": [] if self.monotonic is None else np.flatnonzero(self.monotonic).tolist(),
            "forced_splits": [] if self.forced is None else [feature for feature, _ in self.forced.cut_points()],
            "cut_points": list(self.cut_points),
        }
        for parameter, columns in numeric_only.items():
            for column in columns:
                if schema.kind(column).is_category:
                    what = f"the column {schema.name(column)}, which is a {schema.kind(column).describe()}"
                    raise ValueError(f"{parameter} names {what}: only numeric columns are supported; leave it out")

    def describe(self) -> list[str]:
        """Describe the constraints of each column."""
        descriptions: list[list[str]] = [[] for _ in range(self.n_columns)]
        for f, texts in enumerate(descriptions):
            if self.monotonic is not None and self.monotonic[f]:
                texts.append("rises" if self.monotonic[f] > 0 else "falls")
            if self.weights is not None and self.weights[f] != 1:
                texts.append(f"weight {self.weights[f]:g}")
            if f in self.cut_points:
                texts.append(f"{len(self.cut_points[f])} cut points")
        for number, group in enumerate(self.interactions.groups if isinstance(self.interactions, InteractionGroups) else []):
            for f in group:
                descriptions[f].append(f"group {number}")
        return [", ".join(texts) for texts in descriptions]
