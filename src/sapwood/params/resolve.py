"""Resolution of parameters by column, to arrays and objects by position."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np

from sapwood.data.binning import MAX_CUTS, Binning
from sapwood.data.checks import parameter_floats
from sapwood.data.columns import Schema, is_float
from sapwood.encoding import ENCODERS
from sapwood.encoding.calendar import PARTS
from sapwood.encoding.cross import CENTERED, OPERATIONS, Cross
from sapwood.params.columns import Features
from sapwood.trees.features import InteractionGroups, InteractionOrder, Interactions
from sapwood.trees.forced import ForcedSplit

DEFAULT_BINS, MAX_BINS = 255, 65_535  # default and maximum of max_bins
MONOTONIC = {"pos": 1, "neg": -1, "no_cst": 0, "increasing": 1, "decreasing": -1, "none": 0}


def missing_values(value: Any) -> frozenset[Any]:
    """Return the values that count as missing, besides NaN, None and NA."""
    values = [] if value is None else value if isinstance(value, list | tuple) else [value]
    for item in values:
        if not isinstance(item, Real | str):
            raise ValueError(f"missing must consist of numbers and strings; got {item!r}")
        if not isinstance(item, str) and not is_float(item):
            raise ValueError("missing has an integer that is too large for a float")
    return frozenset(item if isinstance(item, str) else float(item) for item in values if item == item)


def monotonic(value: Any, features: Features) -> np.ndarray | None:
    """Return (n_features,) int8 of -1, 0, 1; None if no feature is constrained."""
    value = features.value_of("monotonic_cst", value)
    if value is None:
        return None
    out = np.zeros(features.n_features, dtype=np.int8)
    if isinstance(value, Mapping):
        for feature, direction in value.items():
            out[features.positions(feature, "monotonic_cst")] = _direction(direction)
    else:
        directions = list(value)
        if len(directions) != features.n_features:
            raise ValueError(f"monotonic_cst has shape ({len(directions)},) but the input data X has {features.n_features} features.")
        out[:] = [_direction(direction) for direction in directions]
    return out if out.any() else None


def _direction(value: Any) -> int:
    found = MONOTONIC.get(value, value) if isinstance(value, str) else value
    if isinstance(found, bool) or not isinstance(found, Real) or found not in (-1, 0, 1):
        raise ValueError(f"monotonic_cst must consist of -1 (decreasing), 0 (unconstrained) and 1 (increasing); got {value!r}")
    return int(float(found))


def interactions(value: Any, features: Features) -> Interactions | None:
    """Return the features that may be used together on a path; None for all."""
    value = features.value_of("interaction_cst", value)
    if value is None:
        return None
    if isinstance(value, str):
        return InteractionOrder({"no_interactions": 1, "pairwise": 2}[value])
    groups = []
    for group in value:
        if isinstance(group, str | type) or not (isinstance(group, Iterable) or callable(group)):
            raise ValueError(f"interaction_cst must be a sequence of groups of features, or 'pairwise' or 'no_interactions'; got {value!r}")
        groups.append(frozenset(features.positions(group, "interaction_cst")))
    if not groups:
        raise ValueError("interaction_cst must have at least one group of features; got none")
    return InteractionGroups(groups, features.n_features)


def categories(value: Any, features: Features, by_type: list[int]) -> list[int] | None:
    """Return the columns to treat as categorical; None for those that are categorical by their dtype. Columns of a FeatureSpec are added to
    those by dtype."""
    selected = features.value_of("categorical_features", value)
    if isinstance(selected, str):  # 'from_dtype'
        return None
    positions = [] if selected is None else features.positions(selected, "categorical_features")
    return positions if selected is value else sorted({*positions, *by_type})


def encodings(value: Any, features: Features) -> dict[int | None, list[str]]:
    """Return the names of encoders by column; under None those of all other columns. An empty list means 'auto'."""
    out: dict[int | None, list[str]] = {}
    value = features.value_of("categorical_encoding", value)
    value = "auto" if value is None else value  # a FeatureSpec without encodings
    for feature, chosen in value.items() if isinstance(value, Mapping) else [(None, value)]:
        names = [chosen] if isinstance(chosen, str) else list(chosen)
        for name in names:
            if name not in ENCODERS and not (name == "auto" and len(names) == 1):
                known = ", ".join(("auto", *ENCODERS))
                of = "" if feature is None else f" for the feature {feature!r}"
                raise ValueError(f"categorical_encoding must consist of {known}; got {name!r}{of}")
        if not names or len(set(names)) < len(names):
            raise ValueError(f"categorical_encoding must be a non-empty list without duplicates; got {chosen!r}")
        columns = [None] if feature is None else features.positions(feature, "categorical_encoding")
        out |= dict.fromkeys(columns, [] if names == ["auto"] else names)
    return out


def calendar_parts(value: Any, features: Features, schema: Schema) -> dict[int, list[str] | None]:
    """Return the names of calendar parts by datetime column; None for the parts that vary."""
    datetimes = [f for f, kind in sorted(schema.kinds.items()) if kind.name == "datetime"]
    if value is None:
        return {}
    out: dict[int, list[str] | None] = {}
    for columns, chosen in value.items() if isinstance(value, Mapping) else [(None, value)]:
        names = None if isinstance(chosen, str) and chosen == "auto" else [chosen] if isinstance(chosen, str) else list(chosen)
        for name in names or []:
            if name not in PARTS:
                raise ValueError(f"datetime_features must be 'auto', or consist of {', '.join(PARTS)}; got {name!r}")
        if names is not None and (not names or len(set(names)) < len(names)):
            raise ValueError(f"datetime_features must be a non-empty list without duplicates; got {chosen!r}")
        positions = datetimes if columns is None else features.positions(columns, "datetime_features")
        for f in positions:
            if f not in datetimes:
                raise ValueError(
                    f"datetime_features names the column {schema.name(f)}, which is a {schema.kind(f).describe()}, not a datetime"
                )
        out |= dict.fromkeys(positions, names)
    return out


def crosses(value: Any, features: Features, schema: Schema) -> list[Cross]:
    """Return the cross features, without the means of categories."""
    out: list[Cross] = []
    for one in value or ():
        if not isinstance(one, list | tuple) or len(one) != 3 or not isinstance(one[0], str) or one[0] not in OPERATIONS:
            raise ValueError(f"cross_features must be a list of (operation, column, column), operation one of {OPERATIONS}; got {one!r}")
        first, second = (features.position(column, "cross_features") for column in one[1:])
        for column, is_category in ((first, False), (second, one[0] == CENTERED)):
            kind = schema.kind(column)
            if kind.is_category != is_category:
                needs = "a category" if is_category else "a number"
                raise ValueError(f"cross_features: {one!r} needs {needs}, but the column {schema.name(column)} is a {kind.describe()}")
        if Cross(one[0], (first, second)) in out:
            raise ValueError(f"cross_features has {one!r} twice: leave one of them out")
        out.append(Cross(one[0], (first, second)))
    return out


def feature_weights(value: Any, features: Features) -> np.ndarray | None:
    """Return the (n_features,) float64 factors of gains when features are compared; None for 1."""
    value = features.value_of("feature_weights", value)
    if value is None:
        return None
    out = np.ones(features.n_features)
    if isinstance(value, Mapping):
        for feature, weight in value.items():
            out[features.positions(feature, "feature_weights")] = parameter_floats(weight, "feature_weights")
    else:
        weights = parameter_floats(value, "feature_weights")
        if weights.shape != (features.n_features,):
            raise ValueError(f"feature_weights has shape {weights.shape}, but X has {features.n_features} features")
        out = weights.copy()
    if not (np.isfinite(out) & (out >= 0)).all():
        raise ValueError(f"feature_weights must be finite and non-negative; got {out[~(np.isfinite(out) & (out >= 0))][0]}")
    return out


def forced_splits(value: Any, features: Features) -> ThresholdSplit | None:
    """Read forced splits from a nested dict, JSON text or the path of a JSON file."""
    if value is None:
        return None
    if isinstance(value, Path) or (isinstance(value, str) and not value.lstrip().startswith("{")):
        value = Path(value).read_text(encoding="utf-8")
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except json.JSONDecodeError as error:
            raise ValueError(f"forced_splits is not JSON: {error}") from None
    return _read_split(value, features, 0)


@dataclass(frozen=True)
class ThresholdSplit:
    """Forced split by threshold, with the splits below it. `on` converts it to bins."""

    feature: int
    threshold: float
    missing_left: bool
    left: ThresholdSplit | None
    right: ThresholdSplit | None

    def cut_points(self) -> Iterator[tuple[int, float]]:
        """Yield the features and thresholds of this split and of all splits below it."""
        yield self.feature, self.threshold
        for child in (self.left, self.right):
            if child is not None:
                yield from child.cut_points()

    def on(self, binning: Binning) -> ForcedSplit:
        """Return the split by bin."""
        children = [None if child is None else child.on(binning) for child in (self.left, self.right)]
        return ForcedSplit(self.feature, binning.bin_at(self.feature, self.threshold), self.missing_left, *children)


def _read_split(value: Any, features: Features, depth: int) -> ThresholdSplit:
    known = {"feature", "threshold", "missing_left", "left", "right"}
    if depth > 64:
        raise ValueError("forced_splits must have at most 64 levels")
    if not isinstance(value, Mapping) or not {"feature", "threshold"} <= set(value) or set(value) - known:
        raise ValueError(
            "forced_splits must be a dict with 'feature' and 'threshold', and optionally 'missing_left', 'left' and 'right', "
            f"which are such dicts; got {value!r}"
        )
    feature, threshold = features.position(value["feature"], "forced_splits"), value["threshold"]
    if isinstance(threshold, bool) or not isinstance(threshold, Real) or not is_float(threshold) or not np.isfinite(float(threshold)):
        raise ValueError(f"forced_splits must have finite numbers as thresholds; got {threshold!r} for the feature {value['feature']!r}")
    left, right = (None if value.get(side) is None else _read_split(value[side], features, depth + 1) for side in ("left", "right"))
    return ThresholdSplit(feature, float(threshold), bool(value.get("missing_left", False)), left, right)


def cut_points(value: Any, features: Features) -> dict[int, np.ndarray]:
    """Return the bin boundaries by feature: ascending float64."""
    out: dict[int, np.ndarray] = {}
    for feature, cuts in (features.value_of("cut_points", value) or {}).items():
        boundaries = np.unique(parameter_floats(cuts, "cut_points"))
        if boundaries.ndim != 1 or not np.isfinite(boundaries).all() or len(boundaries) > MAX_CUTS:
            raise ValueError(f"cut_points of the feature {feature!r} must be at most {MAX_CUTS} finite numbers; got {cuts!r}")
        out |= dict.fromkeys(features.positions(feature, "cut_points"), boundaries)
    return out


def bins_of_features(value: Any, features: Features) -> np.ndarray:
    """Return the (n_features,) int maximum number of bins of each feature."""
    out = np.full(features.n_features, int(value) if isinstance(value, Integral) else DEFAULT_BINS)
    value = features.value_of("max_bins", value)
    if isinstance(value, Integral) or value is None:
        return out
    by_feature = value.items() if isinstance(value, Mapping) else enumerate(value)
    if not isinstance(value, Mapping) and len(value) != features.n_features:
        raise ValueError(f"max_bins has {len(value)} numbers, but X has {features.n_features} features")
    for feature, n_bins in by_feature:
        if isinstance(n_bins, bool) or not isinstance(n_bins, Integral) or not 2 <= int(n_bins) <= MAX_BINS:
            raise ValueError(f"max_bins must be from 2 to {MAX_BINS}; got {n_bins!r} for the feature {feature!r}")
        out[features.positions(feature, "max_bins")] = n_bins
    return out
