"""Estimators in notebooks: parameters that were set or chosen, curves, importances and the first tree as HTML."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from sapwood.callbacks.training_curve import score_curves
from sapwood.model.small_tree import small_tree
from sapwood.params.table import changed
from sapwood.runtime import html

COLUMNS_SHOWN = 8
LONGEST = 80


def estimator_html(estimator: Any) -> str:
    """Return an estimator, fitted or not, as HTML."""
    values = {name: getattr(estimator, name) for name in estimator._parameters}
    given = changed(estimator._parameters, values)
    fitted = hasattr(estimator, "model_")
    parts = [f"<div><strong>{escape(type(estimator).__name__)}</strong> {_state(estimator) if fitted else 'not fitted'}</div>"]
    if given:
        parts.append(
            html.table(
                ["parameter", "value"], [[name, _text(value)] for name, value in given.items()], "Parameters that differ from the defaults"
            )
        )
    else:
        parts.append("<div>All parameters have their default values.</div>")
    if fitted:
        parts += _fitted(estimator, given)
    return f"<div>{''.join(parts)}</div>"


def _state(estimator: Any) -> str:
    model = estimator.model_
    best = "" if model.n_rounds_used == model.n_rounds else f", of which prediction uses {model.n_rounds_used:,}"
    rows = estimator.provenance_.get("n_rows")
    trained = f" on {int(rows):,} rows" if rows is not None else ""
    size = f"{model.encoding.n_columns:,} columns: {model.n_rounds:,} rounds{best}, {model.n_trees:,} trees, loss {model.loss}"
    return escape(f"fitted{trained} x {size}")


def _fitted(estimator: Any, given: dict[str, Any]) -> list[str]:
    model, parts = estimator.model_, []
    resolved = estimator.resolved_params_
    chosen = [[name, _text(value), resolved.reasons[name]] for name, value in resolved.items() if name not in given]
    if chosen:
        shown = html.table(["parameter", "value", "reason"], chosen)
        parts.append(f"<details><summary>{len(chosen)} values chosen by preset={escape(repr(estimator.preset))}</summary>{shown}</details>")
    mark = model.n_rounds_used if model.n_rounds_used < model.n_rounds else None
    parts.append(score_curves(estimator._scores, 0, mark))
    gains = estimator.feature_importances_
    if gains.any():
        names = [str(name) for name in model.schema.names or map("column {}".format, range(len(gains)))]
        order = np.argsort(-gains, kind="stable")[:COLUMNS_SHOWN].tolist()
        parts.append(html.bars(["column", "fraction of gain"], [(names[c], float(gains[c])) for c in order if gains[c] > 0]))
        parts.append(f"<details open><summary>First tree</summary>{small_tree(model)}</details>")
    return parts


def _text(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
