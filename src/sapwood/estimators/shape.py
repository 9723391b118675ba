"""Shape of the data of a fit: the facts that presets decide by."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.data.dataset import Dataset
from sapwood.estimators.inputs import FitCall
from sapwood.losses import Loss
from sapwood.losses.multi_output import MultiOutputLoss
from sapwood.losses.ranking import RankingLoss
from sapwood.params.presets import Shape
from sapwood.runtime.execution import Execution

KINDS = {"logit": "binary", "softmax": "multiclass", "log": "count"}  # by link


def shape_of(data: Dataset, loss: Loss, call: FitCall, scoring: Any, execution: Execution) -> Shape:
    """Shape of a fit on these rows. `scoring` is the parameter of early stopping."""
    options = call.options
    single = {"callbacks are given": options.callbacks, "eval_sets are given": options.eval_sets}
    return Shape(
        n_rows=execution.total(data.n_rows),
        n_features=data.table.n_features,
        kind=kind_of(loss),
        n_outputs=loss.n_outputs,
        measure_hessian=lambda: row_hessian(data, loss, execution),
        validates=call.validation.any,
        single=next((reason for reason, applies in single.items() if applies), ""),
        separate_outputs=has_separate_outputs(loss),
        stops=loss.has_loss_values or scoring != "loss",
    )


def kind_of(loss: Loss) -> str:
    """Kind of the targets of a loss."""
    return "survival" if loss.survival else "ranking" if isinstance(loss, RankingLoss) else KINDS.get(loss.link, "regression")


def has_separate_outputs(loss: Loss) -> bool:
    """Whether each of several outputs has targets and a loss of its own. Quantiles of one target do not: they must not cross."""
    return isinstance(loss, MultiOutputLoss) and not loss.outputs_are_comparable and loss.has_loss_values


def row_hessian(data: Dataset, loss: Loss, execution: Execution) -> float:
    """Mean hessian of a row and output at the base score, weights included."""
    y, weight = data.take(data.y), data.weights
    loss.check_all_targets(y, execution)
    queries = data.queries if data.queries is None or data.rows is None else data.queries.take(data.rows)
    raw = np.repeat(loss.base_score(y, weight, execution)[:, None], len(y), axis=1)
    bound = loss.bind(queries, execution)
    bound.before_round(0)
    _, hessians = bound.weighted_gradients(y, raw, weight, execution)
    return sum(execution.exact_sums(hessians)) / (execution.total(len(y)) * loss.n_outputs)
