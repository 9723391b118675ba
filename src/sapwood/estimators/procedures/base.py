"""Base class of training procedures, and the trainer that they share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sapwood.callbacks import Callback, Measure, Scores
from sapwood.data.dataset import Dataset
from sapwood.data.pages import Pages
from sapwood.data.sorted import SortedRows
from sapwood.encoding.encoding import FittedEncoding
from sapwood.estimators.fit_data import FitData
from sapwood.model import Model
from sapwood.params.plan import FitPlan
from sapwood.runtime.execution import Execution
from sapwood.training.boosting import Rows, TrainingPlan, train
from sapwood.training.checkpoint import CheckpointWriter
from sapwood.training.warm_start import WarmStart


@dataclass(frozen=True)
class Trained:
    """Trained model, and its scores: set -> metric -> before the first round and after each round."""

    model: Model
    measures: Mapping[str, Sequence[Measure]]
    scores: Mapping[str, Mapping[str, list[float]]]


@dataclass(frozen=True)
class Trainer:
    """Trains models on selections of the rows of a fit. All models have the same encoding and the same bins.

    Attributes
    ----------
    sets : rows of the fit
    plan : parameters of the fit
    start : model that the fit continues, if any
    encoded : encoding, fitted to the training rows
    build : function of a table and a selection of its rows that bins them
    measures : function of a model and the names of evaluation sets that returns the metrics of each set
    callbacks : function of a model that returns the callbacks of a training run
    open_checkpoint : function of the metrics that opens the checkpoint of the fit
    """

    sets: FitData
    plan: FitPlan
    start: WarmStart
    encoded: FittedEncoding
    build: Callable[..., Pages | SortedRows]
    measures: Callable[[Model, Sequence[str]], dict[str, list[Measure]]]
    callbacks: Callable[[Model], Sequence[Callback]]
    open_checkpoint: Callable[[dict[str, list[Measure]]], CheckpointWriter]
    execution: Execution

    def binned(self, data: Dataset) -> Rows:
        """Bin the rows of a data set."""
        encoded = self.encoded
        table = encoded.features if data.table is self.sets.train.table else encoded.encoding.apply(data.table)
        return Rows.of(data.binned(self.build(table, data.rows), self.execution))

    def select(self, rows: Rows, data: Dataset) -> Rows:
        """Rows of a selection of the training rows, from the binned training rows."""
        assert isinstance(rows.pages, Pages)
        assert data.rows is not None
        whole = self.sets.train.rows
        positions = data.rows if whole is None else np.searchsorted(whole, data.rows)
        return Rows.of(data.binned(rows.pages.take(positions), self.execution))

    def training(self, rows: Rows, seed: int | None = None) -> TrainingPlan:
        """Plan of a training run."""
        return self.plan.training(self.encoded.encoding, rows, self.sets.seed if seed is None else seed, self.execution)

    def first_model(self, rows: Rows, training: TrainingPlan) -> Model:
        """Model that a training run starts from."""
        model = self.start.own_model(rows, self.sets.loss, self.execution)
        if model is not None:
            return model
        base_score = self.sets.targets.base_score(rows, self.sets.loss, self.execution)
        return training.first_model(rows, base_score, schema=self.sets.schema, encoding=self.encoded.encoding)

    def train(self, rows: Rows, eval_sets: Mapping[str, Rows], training: TrainingPlan) -> Trained:
        """Train a model with the scores, the callbacks and the checkpoint of the fit."""
        model = self.first_model(rows, training)
        measures = self.measures(model, list(eval_sets))
        scores = Scores(measures, self.start.scores)
        callbacks = [scores, *self.callbacks(model)]
        model = train(rows, eval_sets, model, training, self.execution, callbacks, self.open_checkpoint(measures))
        return Trained(model, measures, scores.values)


class Procedure:
    """How the model of a fit comes about: by one training run, or by several whose results are combined."""

    def run(self, trainer: Trainer) -> Trained:
        raise TypeError(f"{type(self).__name__} does not train a model")
