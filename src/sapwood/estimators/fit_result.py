"""Result of a fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sapwood.device.opencl import Transfers
from sapwood.estimators.targets import Targets
from sapwood.model import Model
from sapwood.params.presets import ResolvedParams

Scores = Mapping[str, Mapping[str, list[float]]]  # data set -> metric -> score before the first round and after each round


@dataclass(frozen=True)
class FitResult:
    """Result of a fit: everything that an estimator stores.

    Attributes
    ----------
    model : trained model; its schema has the columns
    targets : kind of the targets; None for a model that this estimator did not train
    init : fitted estimator or model of the initial raw predictions
    constraints : text for each column
    stops : whether training could stop early
    scores : scores of all data sets
    train_score, validation_score : scores of early stopping; higher is better
    provenance : version, number of rows, digest of the data
    timed_out : whether `time_limit` ended training
    resolved : values chosen for parameters that were 'auto'
    transfers : bytes that were moved between host and device; None without a device
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
    timed_out: bool = False
    resolved: ResolvedParams = field(default_factory=lambda: ResolvedParams({}))
    transfers: Transfers | None = None
