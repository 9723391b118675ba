"""Base class of training procedures, and the trainer that they share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sapwood.callbacks import VALIDATION, Callback, Measure, Scores
from sapwood.callbacks.comparison import Comparison
from sapwood.data.dataset import Dataset
from sapwood.data.pages import Pages
from sapwood.data.sorted import SortedRows
from sapwood.encoding.encoding import FittedEncoding
from sapwood.estimators.fit_data import FitData
from sapwood.model import Model
from sapwood.params.plan import FitPlan
from sapwood.params.presets import ResolvedParams
from sapwood.runtime.execution import Execution
from sapwood.training.boosting import BoostingDataset, TrainingPlan, train
from sapwood.training.checkpoint import CheckpointWriter
from sapwood.training.warm_start import WarmStart


@dataclass(frozen=True)
class Trained:
    """Trained model, and its scores: data set -> metric -> score before the first round and after each round.

    `resolved` are the parameters that were chosen.
    """

    model: Model
    measures: Mapping[str, Sequence[Measure]]
    scores: Mapping[str, Mapping[str, list[float]]]
    resolved: ResolvedParams


@dataclass(frozen=True)
class Trainer:
    """Trains models on selections of the rows of a fit. All models have the same encoding and the same bins.

    Attributes
    ----------
    data : data of the fit
    plan : parameters of the fit
    alternatives : other parameters. They train a model of the first fold, too; the best parameters train all others
    start : warm start of the fit
    encoded : encoding, fitted to the training rows
    build : function (table, rows) that bins selected rows of a table
    in_files : whether binned rows may be stored in files
    measures : function (model, names of evaluation sets) that returns the metrics of each data set
    callbacks : function (model, fraction of the time limit at which the run must end) that returns the callbacks of a training run
    open_checkpoint : function (measures, name of the run) that opens the checkpoint of a training run
    """

    data: FitData
    plan: FitPlan
    start: WarmStart
    encoded: FittedEncoding
    build: Callable[..., Pages | SortedRows]
    in_files: bool
    measures: Callable[[Model, Sequence[str]], dict[str, list[Measure]]]
    callbacks: Callable[[Model, float], Sequence[Callback]]
    open_checkpoint: Callable[[dict[str, list[Measure]], str], CheckpointWriter]
    execution: Execution
    alternatives: Sequence[Alternative] = ()

    def binned(self, dataset: Dataset) -> BoostingDataset:
        """Bin the rows of a data set."""
        encoded = self.encoded
        table = encoded.features if dataset.table is self.data.train.table else encoded.encoding.apply(dataset.table)
        return BoostingDataset.of(dataset.binned(self.build(table, dataset.rows), self.execution))

    def selector(self) -> Callable[[Dataset], BoostingDataset]:
        """Return a function that bins the training set, or a selection of its rows.

        In memory, all rows are binned once. In files, a selection has pages of its own, so that no page has rows that are not visited.
        """
        if self.in_files:
            return self.binned
        all_rows = self.binned(self.data.train)
        return lambda selection: all_rows if selection is self.data.train else self._select(all_rows, selection)

    def _select(self, train_set: BoostingDataset, selection: Dataset) -> BoostingDataset:
        """Return a selection of the rows of the binned training set."""
        assert isinstance(train_set.pages, Pages)
        assert selection.rows is not None
        train_rows = self.data.train.rows
        positions = selection.rows if train_rows is None else np.searchsorted(train_rows, selection.rows)
        return BoostingDataset.of(selection.binned(train_set.pages.take(positions), self.execution))

    def training(self, train_set: BoostingDataset, seed: int | None = None) -> TrainingPlan:
        """Return the plan of a training run."""
        return self.plan.training(self.encoded.encoding, train_set, self.data.seed if seed is None else seed, self.execution)

    def first_model(self, train_set: BoostingDataset, training: TrainingPlan) -> Model:
        """Return the model that a training run extends: that of the warm start, or a new one."""
        model = self.start.own_model(train_set, self.data.loss, self.execution)
        if model is not None:
            return model
        base_score = self.data.targets.base_score(train_set, self.data.loss, self.execution)
        return training.first_model(train_set, base_score, schema=self.data.schema, encoding=self.encoded.encoding)

    def train(
        self,
        train_set: BoostingDataset,
        eval_sets: Mapping[str, BoostingDataset],
        training: TrainingPlan,
        until: float = 1.0,
        run: str = "",
        more: Sequence[Callback] = (),
    ) -> Trained:
        """Train a model with the scores, the callbacks and the checkpoint of the fit, until a fraction of the time limit has passed.

        `run` is the name of one of several training runs; each has a checkpoint of its own. `more` are callbacks of this run alone.
        """
        model = self.first_model(train_set, training)
        measures = self.measures(model, list(eval_sets))
        scores = Scores(measures, self.start.scores)
        callbacks = [scores, *self.callbacks(model, until), *more]
        model = train(train_set, eval_sets, model, training, self.execution, callbacks, self.open_checkpoint(measures, run))
        return Trained(model, measures, scores.values, self.data.resolved)


@dataclass(frozen=True)
class Alternative:
    """Other parameters of a fit, which are compared with its own on the rows of the first fold.

    Attributes
    ----------
    name : name of the training run
    propose : function (trainer, model of the first fold) that returns a trainer with the other parameters, or None
    margin : fraction of the score by which they must be better
    compare_every : rounds between comparisons: training ends when they are not better; None to compare the best rounds only
    """

    name: str
    propose: Callable[[Trainer, Model], Trainer | None]
    margin: float = 0.0
    compare_every: int | None = None

    def callbacks(self, run: Trained) -> list[Callback]:
        """Return the callbacks of the training run with the other parameters. `run` is that with the parameters of the fit."""
        scores = run.scores[VALIDATION][run.measures[VALIDATION][0].name]
        return [] if self.compare_every is None else [Comparison(scores, self.compare_every, self.margin)]


class Procedure(ABC):
    """Base class of training procedures."""

    @abstractmethod
    def run(self, trainer: Trainer) -> Trained:
        """Train the model of a fit."""
