"""Scores of a fit: the loss, metrics, and scikit-learn's scorers."""

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
from sapwood.training.boosting import Rows

SCORED_TRAINING_ROWS = 10_000  # of the training rows, for a scorer other than the loss


@dataclass(frozen=True)
class Scoring:
    """Makes measures for the sets of a fit.

    Attributes
    ----------
    scoring : parameter of the estimator
    result : of the fit, as far as it is known before training
    """

    scoring: Any
    task: Task[Any]
    targets: Targets
    prototype: Prototype
    result: FitResult
    execution: Execution

    def measures(self, stop_set: str | None, sets: Collection[str], eval_metric: Any) -> dict[str, list[Measure]]:
        """Measures of each set; the first is that of early stopping, which reads the set `stop_set`."""
        scoring = [] if stop_set is None else [self._measure(self.scoring)]
        listed = eval_metric if isinstance(eval_metric, (list, tuple)) else [] if eval_metric is None else [eval_metric]
        asked = [self._measure(one) for one in listed]
        if asked and not sets:
            raise ValueError("eval_metric is given, but there is no evaluation set: give eval_sets, or use early stopping")
        default = [self._measure("loss")]
        measures = {TRAIN: scoring} if scoring else {}
        for name in sets:
            chosen = [*scoring, *asked] if name == stop_set else asked or scoring or default
            measures[name] = list({measure.name: measure for measure in chosen}.values())
        return measures

    def _measure(self, given: Any) -> Measure:
        given = self.task.metric(given)
        if isinstance(given, str) and given == "loss":
            return Measure("loss", False, lambda state, rows: rows.loss.mean(rows.y, rows.raw, rows.weight, self.execution))
        metric = None if given is None or is_scorer(given) else as_metric(given)
        if metric is not None:
            return Measure(metric.name, metric.higher_is_better, _MetricScore(self, metric))
        if isinstance(given, str) and given not in get_scorer_names():
            raise ValueError(f"metric {given!r} is unknown; choose from loss, {', '.join(METRICS)}, or a scorer of scikit-learn")
        return Measure(_scorer_name(given), True, _ScorerScore(self, self.prototype.scorer(given)))

    def scored(self, state: Round, rows: Rows, all_rows: bool = False) -> _Scored:
        """View of the estimator for rows of a set, of all partitions: of training rows not more than a score needs."""
        n_rows = rows.rows.total
        chosen: slice | np.ndarray = slice(None)
        if rows is state.rows and not all_rows and n_rows > SCORED_TRAINING_ROWS:
            chosen = kernels.sample_rows(rows.n_rows, rows.rows.first, SCORED_TRAINING_ROWS / n_rows, 0)
        gather = self.execution.gather
        view = self.prototype.view(replace(self.result, model=state.model), gather(rows.raw[:, chosen].T))
        weight = None if rows.weight is None else gather(rows.weight[chosen])
        return _Scored(view, gather(rows.y[chosen]), weight, None if rows.queries is None else rows.queries.gathered(self.execution))


@dataclass(frozen=True)
class _Scored:
    """Rows that are scored."""

    view: FittedView
    y: np.ndarray
    weight: np.ndarray | None
    queries: Queries | None


@dataclass(frozen=True)
class _MetricScore:
    scoring: Scoring
    metric: Metric

    def __call__(self, state: Round, rows: Rows) -> float:
        metric, prototype = self.metric, self.scoring.prototype
        if not prototype.responds(metric.response):
            raise ValueError(f"the metric {metric.name!r} needs {metric.response}, which {prototype.name} does not have")
        scored = self.scoring.scored(state, rows, all_rows=metric.of_queries)
        predicted = getattr(scored.view, metric.response)(scored.view.rows())
        y = scored.y if metric.response == "predict_proba" else self.scoring.targets.decode(scored.y)
        return metric(y, predicted, scored.weight, scored.queries)


@dataclass(frozen=True)
class _ScorerScore:
    scoring: Scoring
    scorer: Any

    def __call__(self, state: Round, rows: Rows) -> float:
        scored = self.scoring.scored(state, rows)
        weights = {} if scored.weight is None else {"sample_weight": scored.weight}
        return float(self.scorer(scored.view, scored.view.rows(), self.scoring.targets.decode(scored.y), **weights))


def _scorer_name(scorer: Any) -> str:
    function = getattr(scorer, "_score_func", scorer)  # of scikit-learn's scorers
    return scorer if isinstance(scorer, str) else getattr(function, "__name__", "score")
