"""Task of a table: classification, regression, ranking or survival, by its target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from sapwood.cli.errors import CommandError
from sapwood.cli.text import number, short

if TYPE_CHECKING:
    import numpy as np

    from sapwood.cli.roles import Data, Roles

Task = Literal["classification", "regression", "ranking", "survival"]
MOST_CLASSES = 20  # distinct integers that are classes; more are numbers
METRICS = {  # the first is the main metric
    "binary": ["roc_auc", "log_loss", "accuracy"],
    "multiclass": ["log_loss", "accuracy"],
    "multilabel": ["log_loss"],
    "regression": ["rmse", "mae", "r2"],
    "multi-output": ["rmse", "mae"],
    "ranking": ["ndcg@10", "map", "mrr"],
    "survival": ["concordance"],
    "poisson": ["poisson_deviance", "mae", "rmse"],
    "gamma": ["gamma_deviance", "mae", "rmse"],
    "absolute_error": ["mae", "rmse", "r2"],
}


@dataclass(frozen=True)
class Inferred:
    """Task and how it was found."""

    task: Task
    reason: str


def infer(data: Data, roles: Roles, given: Task | None) -> Inferred:
    """Return the task of a table."""
    import numpy as np

    y = data.y
    if y is None:
        raise CommandError("--target is missing: name the column to predict")
    if given is not None:
        return Inferred(given, "--task")
    if data.qid is not None:
        return Inferred("ranking", "rows have queries")
    if roles.event is not None:
        return Inferred("survival", "--event")
    if y.ndim == 2:
        labels = bool(np.isin(y, (0, 1)).all())
        return Inferred("classification" if labels else "regression", f"{y.shape[1]} targets{' of 0 and 1' if labels else ''}")
    return _of_column(y)


def _of_column(y: np.ndarray) -> Inferred:
    import numpy as np

    if y.dtype.kind in "OUSb":
        return Inferred("classification", f"target of {'bools' if y.dtype.kind == 'b' else 'text'}, {len(_distinct(y))} values")
    if y.dtype.kind not in "iuf":
        raise CommandError(f"the target has the type {y.dtype}; it must be numbers, text or bools")
    values = np.unique(y)
    whole = bool((values == np.round(values)).all())
    if whole and len(values) == 2:
        return Inferred("classification", f"target of 2 values, {values[0]:g} and {values[1]:g}")
    consecutive = whole and values[0] in (0, 1) and len(values) == values[-1] - values[0] + 1
    if consecutive and len(values) <= MOST_CLASSES:
        return Inferred("classification", f"target of the integers {values[0]:g} to {values[-1]:g}")
    return Inferred("regression", f"target of {len(values):,} distinct numbers, {number(float(values[0]))} to {number(float(values[-1]))}")


def _distinct(y: np.ndarray) -> list[Any]:
    return sorted(set(y.tolist()), key=str)


def make_estimator(task: Task, parameters: dict[str, Any]) -> Any:
    """Return the estimator of a task."""
    from sapwood.estimators import BoostingClassifier, BoostingRanker, BoostingRegressor
    from sapwood.params.table import TABLES

    cls: Any = {"classification": BoostingClassifier, "ranking": BoostingRanker}.get(task, BoostingRegressor)
    known = TABLES[cls.__name__.removeprefix("Boosting")]
    if task == "survival":
        parameters = {"loss": "cox"} | parameters
    if unknown := [name for name in parameters if name not in known]:
        raise CommandError(f"--{unknown[0].replace('_', '-')} is no parameter of {task}; sapwood parameters --task {task} lists them")
    estimator = cls(**parameters)
    try:
        estimator._validate_params()
    except ValueError as error:
        raise CommandError(str(error)) from None
    return estimator


def kind_of(estimator: Any) -> str:
    """Return the key of METRICS for a fitted estimator."""
    from sklearn.base import is_classifier

    if is_classifier(estimator):
        if estimator.model_.link == "logit" and estimator.model_.n_outputs > 1:
            return "multilabel"
        return "binary" if len(estimator.classes_) <= 2 else "multiclass"
    if type(estimator).__name__ == "BoostingRanker":
        return "ranking"
    loss = str(getattr(estimator, "loss", ""))
    if loss in ("cox", "aft"):
        return "survival"
    if estimator.model_.n_outputs > 1:
        return "multi-output"
    return loss if loss in METRICS else "regression"


def describe_classes(classes: Any) -> str:
    """Return the classes as text."""
    shown = ", ".join(short(value, 20) for value in list(classes)[:5])
    return f"{len(classes)} classes: {shown}{', ...' if len(classes) > 5 else ''}"
