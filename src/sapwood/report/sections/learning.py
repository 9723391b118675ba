"""Section: learning curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sapwood.data.tables import ArrayTable
from sapwood.report.context import Context
from sapwood.report.markup import chart, element, join, note, plural
from sapwood.report.measures import measure_raw, measures_of
from sapwood.report.payload import numbers
from sapwood.report.sections.base import Section
from sapwood.report.subject import RANK

POINTS = 200  # maximum of a curve
STAGES, STAGED_ROWS = 40, 2_000  # of the curve on the rows of the report


def learning_section(context: Context) -> Section:
    subject = context.subject
    scores: Mapping[str, Mapping[str, Any]] = {} if subject.estimator is None else subject.estimator.evals_result_
    curves, n_models = curves_data(scores), _n_averaged(subject.estimator)
    staged = _staged(context) if n_models == 1 else None
    if staged is not None:
        curves.append(staged)
    best, total = subject.model.n_rounds_used, subject.model.n_rounds
    text = f"The model has {plural(total, 'round')} and {plural(subject.model.n_trees, 'tree')}."
    if best < total:
        text += f" Early stopping chose the first {plural(best, 'round')}, which prediction uses."
    if n_models > 1:
        text += f" It is the mean of {n_models} models, each with other held-out rows; the curves are mean scores of their rounds."
    body = chart("learning", "Score after each round") if curves else note("No scores were recorded during training.")
    return Section("learning", "Learning curves", join([element("p", text), body]), {"curves": curves, "best": best, "total": total})


def curves_data(scores: Mapping[str, Mapping[str, Any]], first: int = 1) -> list[dict[str, Any]]:
    """Return the curves of recorded scores: data set -> metric -> scores by round."""
    out = []
    for on, by_metric in scores.items():
        for metric, values in by_metric.items():
            at = (
                np.unique(np.linspace(0, len(values) - 1, min(POINTS, len(values))).astype(np.int64))
                if len(values)
                else np.array([], dtype=int)
            )
            out.append(
                {"set": on, "metric": metric, "rounds": (at + first).tolist(), "values": numbers(np.asarray(values, dtype=float)[at])}
            )
    return out


def _n_averaged(estimator: Any) -> int:
    """Return the number of models that were averaged. Their rounds follow one another: the first rounds are those of one model."""
    chosen = getattr(estimator, "resolved_params_", None) or {}
    given = [chosen.get(name, getattr(estimator, name, None)) for name in ("validation_folds", "n_models")]
    return max((n for n in given if isinstance(n, int)), default=1)


def _staged(context: Context) -> dict[str, Any] | None:
    """Return the curve of the main measure on rows of the report."""
    subject = context.subject
    if subject.rows.y is None or subject.task == RANK or not subject.model.n_rounds_used:
        return None
    if subject.estimator is not None and subject.estimator.init_ is not None:
        return None
    (measure, *_), rows = measures_of(subject), subject.sample_rows(STAGED_ROWS)
    values, targets = subject.values(rows), subject.rows.take(rows)
    n = subject.model.n_rounds_used
    stages = np.unique(np.linspace(1, n, min(n, STAGES)).astype(np.int64)).tolist()
    raw = np.tile(subject.model.base_score, (len(rows), 1))
    before, found = 0, []
    for stage in stages:
        raw = raw + subject.model.predict_raw(ArrayTable(values), subject.execution, (before, stage)) - subject.model.base_score
        found.append(measure_raw(subject, measure, targets, raw))
        before = stage
    return {"set": "rows of this report", "metric": measure.title, "rounds": stages, "values": numbers(found)}
