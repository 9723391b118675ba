"""What is measured while an estimator trains: the loss, metrics, and scorers of scikit-learn."""

from __future__ import annotations

import copy
from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.metrics._scorer import _BaseScorer

from sapwood.callbacks import TRAIN, VALIDATION, Measure, Round
from sapwood.metrics import METRICS, Metric, as_metric
from sapwood.runtime import kernels
from sapwood.runtime.execution import Execution
from sapwood.training.boosting import Rows

if TYPE_CHECKING:
    from sapwood.estimators.base import BaseBoosting

SCORED_TRAINING_ROWS = 10_000  # of the training rows, for a scorer other than the loss


def make_measures(
    estimator: BaseBoosting, stops: bool, sets: Collection[str], eval_metric: Any, execution: Execution
) -> dict[str, list[Measure]]:
    """What is measured on each set; first what early stopping watches."""
    scoring = [_measure(estimator, estimator.scoring, execution)] if stops else []
    listed = eval_metric if isinstance(eval_metric, (list, tuple)) else [] if eval_metric is None else [eval_metric]
    asked = [_measure(estimator, one, execution) for one in listed]
    if asked and not sets:
        raise ValueError("eval_metric is given, but no rows to measure: give eval_sets, or let early stopping keep some aside")
    default = [_measure(estimator, "loss", execution)]
    measures = {TRAIN: scoring} if stops else {}
    for name in sets:
        chosen = [*scoring, *asked] if name == VALIDATION else asked or scoring or default
        measures[name] = list({measure.name: measure for measure in chosen}.values())
    return measures


def _measure(estimator: BaseBoosting, given: Any, execution: Execution) -> Measure:
    given = estimator._meant_metric(given)
    if isinstance(given, str) and given == "loss":
        return Measure("loss", False, lambda state, rows: rows.loss.mean(rows.y, rows.raw, rows.weight, execution))
    # As a parameter a function is a scorer, (estimator, X, y) -> float; for `eval_metric` it is one of (y, predicted).
    plain = given is None or isinstance(given, _BaseScorer) or (given is estimator.scoring and not isinstance(given, (str, Metric)))
    metric = None if plain else as_metric(given)
    if metric is not None:
        return Measure(metric.name, metric.higher_is_better, partial(_by_metric, estimator, metric))
    if isinstance(given, str) and given not in get_scorer_names():
        raise ValueError(f"metric {given!r} is unknown; choose from loss, {', '.join(METRICS)}, or a scorer of scikit-learn")
    return Measure(_scorer_name(given), True, partial(_by_scorer, estimator, check_scoring(estimator, given)))


def _by_metric(estimator: BaseBoosting, metric: Metric, state: Round, rows: Rows) -> float:
    if not hasattr(estimator, metric.response):
        raise ValueError(f"the metric {metric.name!r} needs {metric.response}, which {type(estimator).__name__} does not have")
    known, ids, chosen = _known(estimator, state, rows, all_rows=metric.of_queries)
    predicted = getattr(known, metric.response)(ids)
    y = rows.y[chosen] if metric.response == "predict_proba" else estimator._original_targets(rows.y[chosen])
    return metric(y, predicted, None if rows.weight is None else rows.weight[chosen], rows.queries)


def _by_scorer(estimator: BaseBoosting, scorer: Any, state: Round, rows: Rows) -> float:
    known, ids, chosen = _known(estimator, state, rows)
    weights = {} if rows.weight is None else {"sample_weight": rows.weight[chosen]}
    return float(scorer(known, ids, estimator._original_targets(rows.y[chosen]), **weights))


def _known(estimator: BaseBoosting, state: Round, rows: Rows, all_rows: bool = False) -> tuple[BaseBoosting, np.ndarray, Any]:
    """An estimator that answers from the raw predictions kept for the rows, what to ask it, and which rows that is: of training rows
    not more than a score needs."""
    n_rows, chosen = rows.pages.n_rows, slice(None)
    if rows is state.rows and not all_rows and n_rows > SCORED_TRAINING_ROWS:
        chosen = kernels.sample_rows(n_rows, 0, SCORED_TRAINING_ROWS / n_rows, 0)
    raw = rows.raw[:, chosen].T
    known = copy.copy(estimator)
    known.model_ = state.model
    known.__dict__["_raw_predict"] = lambda X, *_: raw[X[:, 0]]  # no need to walk the trees again
    return known, np.broadcast_to(np.arange(len(raw))[:, None], (len(raw), estimator.n_features_in_)), chosen


def _scorer_name(scorer: Any) -> str:
    function = getattr(scorer, "_score_func", scorer)
    return scorer if isinstance(scorer, str) else getattr(function, "__name__", "score")
