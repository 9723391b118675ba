"""Parameters by column, given by name, position, dtype or callable, resolved to arrays and objects by position."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np

from sapwood.data.binning import MAX_CUTS, Binning
from sapwood.data.columns import Schema
from sapwood.encoding import ENCODERS
from sapwood.encoding.calendar import PARTS
from sapwood.params.columns import Features
from sapwood.trees.features import InteractionGroups, InteractionOrder, Interactions
from sapwood.trees.forced import ForcedSplit

DEFAULT_BINS, MAX_BINS = 255, 65_535  # of a feature
MONOTONIC = {"pos": 1, "neg": -1, "no_cst": 0, "increasing": 1, "decreasing": -1, "none": 0}


def missing_values(value: Any) -> frozenset[Any]:
    """Values that count as missing, besides those that always do."""
    given = [] if value is None else value if isinstance(value, list | tuple) else [value]
    for one in given:
        if not isinstance(one, Real | str):
            raise ValueError(f"missing must consist of numbers and strings; got {one!r}")
    return frozenset(one if isinstance(one, str) else float(one) for one in given if one == one)


def monotonic(value: Any, features: Features) -> np.ndarray | None:
    """(n_features,) int8 of -1, 0, 1; None where no feature is constrained."""
    value = features.said("monotonic_cst", value)
    if value is None:
        return None
    out = np.zeros(features.n_features, dtype=np.int8)
    if isinstance(value, Mapping):
        for feature, direction in value.items():
            out[features.positions(feature, "monotonic_cst")] = _direction(direction)
    else:
        given = list(value)
        if len(given) != features.n_features:
            raise ValueError(f"monotonic_cst has shape ({len(given)},) but the input data X has {features.n_features} features.")
        out[:] = [_direction(direction) for direction in given]
    return out if out.any() else None


def _direction(value: Any) -> int:
    found = MONOTONIC.get(value, value) if isinstance(value, str) else value
    if isinstance(found, bool) or not isinstance(found, Real) or found not in (-1, 0, 1):
        raise ValueError(f"monotonic_cst must consist of -1 (decreasing), 0 (unconstrained) and 1 (increasing); got {value!r}")
    return int(float(found))


def interactions(value: Any, features: Features) -> Interactions | None:
    """Features that may be used together on a path."""
    value = features.said("interaction_cst", value)
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
    """Columns that the user declares categorical; with a FeatureSpec, besides those that are by their dtype. None: only those."""
    said = features.said("categorical_features", value)
    if isinstance(said, str):  # 'from_dtype'
        return None
    named = [] if said is None else features.positions(said, "categorical_features")
    return named if said is value else sorted({*named, *by_type})


def encodings(value: Any, features: Features) -> dict[int | None, list[str]]:
    """Names of encoders by column, and for all others under None; none for those that are chosen automatically."""
    out: dict[int | None, list[str]] = {}
    value = features.said("categorical_encoding", value)
    value = "auto" if value is None else value  # a FeatureSpec without encodings
    for feature, chosen in value.items() if isinstance(value, Mapping) else [(None, value)]:
        names = [chosen] if isinstance(chosen, str) else list(chosen)
        for name in names:
            if name not in ENCODERS and not (name == "auto" and len(names) == 1):
                known = ", ".join(("auto", *ENCODERS))
                of = "" if feature is None else f" for the feature {feature!r}"
                raise ValueError(f"categorical_encoding must consist of {known}; got {name!r}{of}")
        if not names or len(set(names)) < len(names):
            raise ValueError(f"categorical_encoding must have each encoding once; got {chosen!r}")
        columns = [None] if feature is None else features.positions(feature, "categorical_encoding")
        out |= dict.fromkeys(columns, [] if names == ["auto"] else names)
    return out


def calendar_parts(value: Any, features: Features, schema: Schema) -> dict[int, list[str] | None]:
    """Names of calendar parts by column of datetimes; None: those that are chosen automatically."""
    moments = [f for f, kind in sorted(schema.kinds.items()) if kind.name == "datetime"]
    if value is None:
        return {}
    out: dict[int, list[str] | None] = {}
    for columns, chosen in value.items() if isinstance(value, Mapping) else [(None, value)]:
        names = None if isinstance(chosen, str) and chosen == "auto" else [chosen] if isinstance(chosen, str) else list(chosen)
        for name in names or []:
            if name not in PARTS:
                raise ValueError(f"datetime_features must be 'auto', or consist of {', '.join(PARTS)}; got {name!r}")
        if names is not None and (not names or len(set(names)) < len(names)):
            raise ValueError(f"datetime_features must have at least one part, and each once; got {chosen!r}")
        at = moments if columns is None else features.positions(columns, "datetime_features")
        for f in at:
            if f not in moments:
                raise ValueError(
                    f"datetime_features names the column {schema.name(f)}, which is a {schema.kind(f).describe()}, not a datetime"
                )
        out |= dict.fromkeys(at, names)
    return out


def feature_weights(value: Any, features: Features) -> np.ndarray | None:
    """(n_features,) float64: factors of the gains when features are compared."""
    value = features.said("feature_weights", value)
    if value is None:
        return None
    out = np.ones(features.n_features)
    if isinstance(value, Mapping):
        for feature, weight in value.items():
            out[features.positions(feature, "feature_weights")] = weight
    else:
        given = np.asarray(value, dtype=np.float64)
        if given.shape != (features.n_features,):
            raise ValueError(f"feature_weights has shape {given.shape}, but X has {features.n_features} features")
        out = given.copy()
    if not (np.isfinite(out) & (out >= 0)).all():
        raise ValueError(f"feature_weights must be finite and non-negative; got {out[~(np.isfinite(out) & (out >= 0))][0]}")
    return out


def forced_splits(value: Any, features: Features) -> WantedSplit | None:
    """Splits from a nested dict, JSON text or the path of a JSON file."""
    if value is None:
        return None
    if isinstance(value, Path) or (isinstance(value, str) and not value.lstrip().startswith("{")):
        value = Path(value).read_text(encoding="utf-8")
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except json.JSONDecodeError as error:
            raise ValueError(f"forced_splits is not JSON: {error}") from None
    return _wanted(value, features, 0)


@dataclass(frozen=True)
class WantedSplit:
    """A split that the user asks for, by threshold."""

    feature: int
    threshold: float
    missing_left: bool
    left: WantedSplit | None
    right: WantedSplit | None

    def cut_points(self) -> Iterator[tuple[int, float]]:
        """Features and thresholds of this split and all below."""
        yield self.feature, self.threshold
        for below in (self.left, self.right):
            if below is not None:
                yield from below.cut_points()

    def on(self, binning: Binning) -> ForcedSplit:
        """The same split by bin."""
        at = binning.bin_at(self.feature, self.threshold)
        below = [None if wanted is None else wanted.on(binning) for wanted in (self.left, self.right)]
        return ForcedSplit(self.feature, at, self.missing_left, *below)


def _wanted(value: Any, features: Features, depth: int) -> WantedSplit:
    known = {"feature", "threshold", "missing_left", "left", "right"}
    if depth > 64:
        raise ValueError("forced_splits has more than 64 levels")
    if not isinstance(value, Mapping) or not {"feature", "threshold"} <= set(value) or set(value) - known:
        raise ValueError(
            "forced_splits must be a dict with 'feature' and 'threshold', and optionally 'missing_left', 'left' and 'right', "
            f"which are such dicts; got {value!r}"
        )
    feature, threshold = features.position(value["feature"], "forced_splits"), value["threshold"]
    if isinstance(threshold, bool) or not isinstance(threshold, Real) or not np.isfinite(float(threshold)):
        raise ValueError(f"forced_splits must have finite numbers as thresholds; got {threshold!r} for the feature {value['feature']!r}")
    left, right = (None if value.get(side) is None else _wanted(value[side], features, depth + 1) for side in ("left", "right"))
    return WantedSplit(feature, float(threshold), bool(value.get("missing_left", False)), left, right)


def cut_points(value: Any, features: Features) -> dict[int, np.ndarray]:
    """Bin boundaries by feature: ascending float64."""
    out: dict[int, np.ndarray] = {}
    for feature, cuts in (features.said("cut_points", value) or {}).items():
        given = np.unique(np.asarray(cuts, dtype=np.float64))
        if given.ndim != 1 or not np.isfinite(given).all() or len(given) > MAX_CUTS:
            raise ValueError(f"cut_points of the feature {feature!r} must be at most {MAX_CUTS} finite numbers; got {cuts!r}")
        out |= dict.fromkeys(features.positions(feature, "cut_points"), given)
    return out


def bins_of_features(value: Any, features: Features) -> np.ndarray:
    """(n_features,) int: maximum number of bins of each feature."""
    out = np.full(features.n_features, int(value) if isinstance(value, Integral) else DEFAULT_BINS)
    value = features.said("max_bins", value)
    if isinstance(value, Integral) or value is None:
        return out
    given = value.items() if isinstance(value, Mapping) else enumerate(value)
    if not isinstance(value, Mapping) and len(value) != features.n_features:
        raise ValueError(f"max_bins has {len(value)} numbers, but X has {features.n_features} features")
    for feature, most in given:
        if isinstance(most, bool) or not isinstance(most, Integral) or not 2 <= int(most) <= MAX_BINS:
            raise ValueError(f"max_bins must be from 2 to {MAX_BINS}; got {most!r} for the feature {feature!r}")
        out[features.positions(feature, "max_bins")] = most
    return out
