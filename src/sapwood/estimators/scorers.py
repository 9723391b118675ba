"""Scores of a fit: loss, metrics and scikit-learn's scorers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.metrics import get_scorer_names

from sapwood.callbacks import TRAIN, Measure, Round
from sapwood.data.queries import Queries
from sapwood.estimators.fit_result import FitResult
from sapwood.estimators.fitted_view import FittedView, Prototype
from sapwood.estimators.targets import Targets
from sapwood.estimators.tasks import Task
from sapwood.metrics import METRICS, Metric, as_metric, is_scorer
from sapwood.runtime import kernels
from sapwood.runtime.execution import Execution
from sapwood.training.boosting import BoostingDataset

SCORED_TRAINING_ROWS = 10_000  # sample of the training rows, for metrics other than the loss


@dataclass(frozen=True)
class Scoring:
    """Creates the measures of the data sets of a fit.

    Attributes
    ----------
    scoring : parameter `scoring` of the estimator
    result : result of the fit, as far as it is known before training
    """

    scoring: Any
    task: Task[Any]
    targets: Targets
    prototype: Prototype
    result: FitResult
    execution: Execution

    def measures(self, stop_set: str | None, eval_sets: Collection[str], eval_metric: Any) -> dict[str, list[Measure]]:
        """Return the measures of each data set. Early stopping uses the first measure of `stop_set`."""
        scoring = [] if stop_set is None else [self._measure(self.scoring)]
        metrics = eval_metric if isinstance(eval_metric, (list, tuple)) else [] if eval_metric is None else [eval_metric]
        requested = [self._measure(metric) for metric in metrics]
        if requested and not eval_sets:
            raise ValueError("eval_metric is given, but there is no evaluation set: pass eval_sets, or use early stopping")
        default = [self._measure("loss")]
        measures = {TRAIN: scoring} if scoring else {}
        for name in eval_sets:
            chosen = [*scoring, *requested] if name == stop_set else requested or scoring or default
            measures[name] = list({measure.name: measure for measure in chosen}.values())
        return measures

    def _measure(self, choice: Any) -> Measure:
        """Return the measure for an element of `eval_metric` or for the parameter `scoring`."""
        choice = self.task.metric(choice)
        if isinstance(choice, str) and choice == "loss":
            return Measure("loss", False, lambda state, data: data.loss.mean(data.y, data.raw, data.weight, self.execution))
        metric = None if choice is None or is_scorer(choice) else as_metric(choice)
        if metric is not None:
            return Measure(metric.name, metric.higher_is_better, _MetricScore(self, metric))
        if isinstance(choice, str) and choice not in get_scorer_names():
            raise ValueError(f"metric {choice!r} is unknown; choose from loss, {', '.join(METRICS)}, or a scorer of scikit-learn")
        return Measure(_scorer_name(choice), True, _ScorerScore(self, self.prototype.scorer(choice)))

    def scored(self, state: Round, data: BoostingDataset, all_rows: bool = False) -> _Scored:
        """Return a view of the estimator for the rows of a data set, of all partitions. A large training set is sampled, unless all rows
        are needed."""
        n_rows = data.rows.total
        chosen: slice | np.ndarray = slice(None)
        if data is state.train_set and not all_rows and n_rows > SCORED_TRAINING_ROWS:
            chosen = kernels.sample_rows(data.n_rows, data.rows.first, SCORED_TRAINING_ROWS / n_rows, 0)
        gather = self.execution.gather
        view = self.prototype.view(replace(self.result, model=state.model), gather(data.raw[:, chosen].T))
        weight = None if data.weight is None else gather(data.weight[chosen])
        return _Scored(view, gather(data.y[chosen]), weight, None if data.queries is None else data.queries.gathered(self.execution))


@dataclass(frozen=True)
class _Scored:
    """View of the estimator, with the targets and weights of the rows to score."""

    view: FittedView
    y: np.ndarray
    weight: np.ndarray | None
    queries: Queries | None


@dataclass(frozen=True)
class _MetricScore:
    scoring: Scoring
    metric: Metric

    def __call__(self, state: Round, data: BoostingDataset) -> float:
        metric, prototype = self.metric, self.scoring.prototype
        if not prototype.has_method(metric.response):
            raise ValueError(f"the metric {metric.name!r} needs {metric.response}, which {prototype.name} does not have")
        scored = self.scoring.scored(state, data, all_rows=metric.of_queries)
        predicted = getattr(scored.view, metric.response)(scored.view.rows())
        y = scored.y if metric.response == "predict_proba" else self.scoring.targets.decode(scored.y)
        return metric(y, predicted, scored.weight, scored.queries)


@dataclass(frozen=True)
class _ScorerScore:
    scoring: Scoring
    scorer: Any

    def __call__(self, state: Round, data: BoostingDataset) -> float:
        scored = self.scoring.scored(state, data)
        weights = {} if scored.weight is None else {"sample_weight": scored.weight}
        return float(self.scorer(scored.view, scored.view.rows(), self.scoring.targets.decode(scored.y), **weights))


def _scorer_name(scorer: Any) -> str:
    function = getattr(scorer, "_score_func", scorer)  # of scikit-learn's scorers
    return scorer if isinstance(scorer, str) else getattr(function, "__name__", "score")
