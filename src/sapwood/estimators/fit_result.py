"""Result of a fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sapwood.estimators.targets import Targets
from sapwood.model import Model

Scores = Mapping[str, Mapping[str, list[float]]]  # set -> measure -> before the first round, and after each


@dataclass(frozen=True)
class FitResult:
    """All that a fit leaves in an estimator.

    Attributes
    ----------
    model : trained; its schema has the columns
    targets : kind of the targets; None for a model that was not trained here
    init : fitted estimator or model whose raw predictions are the initial ones
    constraints : of each column, in words
    stops : whether training might have stopped early
    scores : of all sets
    train_score, validation_score : of early stopping; higher is better
    provenance : version, number of rows, digest of the data
    """

    model: Model
    targets: Targets | None = None
    init: Any = None
    constraints: list[str] = field(default_factory=list)
    stops: bool = False
    scores: Scores = field(default_factory=dict)
    train_score: np.ndarray = field(default_factory=lambda: np.array([]))
    validation_score: np.ndarray = field(default_factory=lambda: np.array([]))
    provenance: dict[str, str | int] = field(default_factory=dict)
