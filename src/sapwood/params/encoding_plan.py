"""Parameters of categorical and datetime columns: how columns are encoded as features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from sapwood.data.columns import Schema
from sapwood.data.dataset import Dataset
from sapwood.encoding import Count, CrossFittedTarget, Encoder, OneHot, Partition, Target
from sapwood.encoding.base import EncodingTargets
from sapwood.encoding.calendar import AUTO, CalendarPart
from sapwood.encoding.cross import CENTERED, Cross
from sapwood.encoding.encoding import ColumnEncoders, Encoding, FittedEncoding
from sapwood.encoding.levels import MAX_LEVELS
from sapwood.encoding.lookup import MAX_KEYS, key_space
from sapwood.losses import Loss
from sapwood.model import Model
from sapwood.params import resolve
from sapwood.params.columns import Features
from sapwood.params.signatures import ResolvedParameters
from sapwood.runtime.execution import Execution
from sapwood.training.warm_start import WarmStart

AUTO_LEVELS = MAX_LEVELS  # with more levels, 'auto' uses target statistics: levels would share bins, and sets of levels overfit
MAX_COMBINATIONS = 256


@dataclass(frozen=True)
class EncodingPlan:
    """Encoders of categorical columns and calendar parts of datetime columns.

    Attributes
    ----------
    encoders : encoders by categorical column
    combinations : groups of categorical columns that are encoded together, with their encoder
    calendar : names of calendar parts by datetime column; None for the parts that vary
    crosses : features that are computed from two columns
    """

    encoders: Mapping[int, Sequence[Encoder]]
    combinations: Sequence[tuple[tuple[int, ...], Encoder]]
    calendar: Mapping[int, Sequence[str] | None]
    crosses: Sequence[Cross] = ()

    @classmethod
    def resolve(cls, p: ResolvedParameters, features: Features, schema: Schema, max_bins: np.ndarray) -> EncodingPlan:
        encoders = _encoders(p, features, schema, max_bins)
        groups = _combinations(p, {column: len(schema.kind(column).levels) for column in schema.categories})
        crosses = resolve.crosses(p.cross_features, features, schema)
        return cls(encoders, groups, resolve.calendar_parts(p.datetime_features, features, schema), crosses)

    def fit(self, data: Dataset, loss: Loss, seed: int, start: WarmStart, execution: Execution, same_rows: bool = True) -> FittedEncoding:
        """Fit the encoding to the training rows. `same_rows`: whether the model that is continued may have been trained on these rows."""
        if start.model is not None and start.new_rows:
            return FittedEncoding(start.model.encoding, data.table)
        fitted = self._encode_categories(data, loss, seed, execution)
        parts = list(self._calendar_parts(data, start.model, execution))
        fitted = replace(fitted, encoding=fitted.encoding.with_parts(parts)) if parts else fitted
        crosses = [self._fit_cross(cross, data, seed, execution) for cross in self.crosses]
        fitted = replace(fitted, encoding=fitted.encoding.with_crosses(crosses)) if crosses else fitted
        if start.model is None:
            return fitted
        fitted = fitted.continue_with(start.model.encoding, start.how)
        # With many classes, only the most frequent ones have target statistics. Other rows may have other frequent classes: then the values
        # of these rows would not match the features of the model, and are looked up as in `predict`.
        some_classes = loss.link == "softmax" and len(loss.encoding_targets(data.y, execution)) < loss.n_outputs
        return replace(fitted, training={}) if some_classes and not same_rows else fitted

    def _encode_categories(self, data: Dataset, loss: Loss, seed: int, execution: Execution) -> FittedEncoding:
        table, schema = data.table, data.table.schema
        if not schema.categories:
            return FittedEncoding(Encoding(table.n_features), table)
        plan = ColumnEncoders({column: list(of) for column, of in self.encoders.items()}, list(self.combinations))
        n_levels = {column: len(schema.kind(column).levels) for column in schema.categories}
        described = loss.encoding_targets(data.take(data.y), execution)
        targets = EncodingTargets(described, data.weights, data.ids, seed, execution, data.first_id(execution))
        return plan.fit(table, n_levels, targets, data.rows)

    def _fit_cross(self, cross: Cross, data: Dataset, seed: int, execution: Execution) -> Cross:
        if cross.operation != CENTERED:
            return cross
        columns = [data.take(data.table.column(column)) for column in cross.columns]
        values = np.asarray(columns[0], dtype=np.float64)[None]
        targets = EncodingTargets(values, data.weights, data.ids, seed, execution, data.first_id(execution))
        return cross.fit(columns, len(data.table.schema.kind(cross.columns[1]).levels), targets)

    def _calendar_parts(self, data: Dataset, previous: Model | None, execution: Execution) -> Iterator[CalendarPart]:
        """Yield the calendar parts that become features: by default those that vary between rows, or those of the continued model."""
        table = data.table
        for column, names in sorted(self.calendar.items()):
            if names is None and previous is not None:
                names = [part.part for _, part in sorted(previous.encoding.parts.items()) if part.column == column]
            moments = data.take(table.column(column))
            for name in AUTO if names is None else names:
                part = CalendarPart(column, name, table.schema.kind(column).zone)
                values = part.read([moments])
                low, high = (execution.largest(float(np.nanmax(sign * values, initial=-np.inf))) for sign in (-1.0, 1.0))
                if names is not None or -low < high:
                    yield part


def _encoders(p: ResolvedParameters, features: Features, schema: Schema, max_bins: np.ndarray) -> dict[int, list[Encoder]]:
    encodings = resolve.encodings(p.categorical_encoding, features)
    without_histograms = (
        f"tree_method={p.tree_method!r}" if p.tree_method in ("exact", "approx") else "max_bins above 255" if max_bins.max() > 255 else None
    )
    make = {
        "partition": lambda column: Partition(int(max_bins[column])),
        "onehot": lambda column: OneHot(int(max_bins[column])),
        "target": lambda column: Target(p.target_prior, p.target_permutations),
        "target_cv": lambda column: CrossFittedTarget(),
        "count": lambda column: Count(),
    }
    encoders: dict[int, list[Encoder]] = {}
    for column in schema.categories:
        names = encodings.get(column, encodings.get(None, []))
        for name in names:
            if without_histograms and name in ("partition", "onehot"):
                raise ValueError(
                    f"categorical_encoding={name!r} of the column {schema.name(column)} cannot be combined with {without_histograms}: "
                    "sets of levels are found from histograms; use 'target', 'target_cv' or 'count'"
                )
        if not names:
            names = ["target"] if without_histograms or len(schema.kind(column).levels) > AUTO_LEVELS else ["partition"]
        encoders[column] = [make[name](column) for name in names]
    return encoders


def _combinations(p: ResolvedParameters, n_levels: dict[int, int]) -> list[tuple[tuple[int, ...], Encoder]]:
    """Return the groups of categorical columns that are combined into one feature, with its encoder."""
    groups = [group for size in range(2, p.max_combination + 1) for group in combinations(n_levels, size)]
    groups = [group for group in groups if key_space([n_levels[column] for column in group]) <= MAX_KEYS]
    if len(groups) > MAX_COMBINATIONS:
        raise ValueError(
            f"max_combination={p.max_combination} would make {len(groups)} combinations of {len(n_levels)} categorical columns; "
            f"at most {MAX_COMBINATIONS} are supported: reduce it, or select fewer columns in categorical_features"
        )
    return [(group, Target(p.target_prior, p.target_permutations)) for group in groups]
