"""Tasks: regression, classification and ranking. A task reads targets, weights and queries, and selects the loss."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np

from sapwood.data.checks import check_quantiles, check_weights, parameter_floats
from sapwood.data.dataset import Dataset
from sapwood.data.queries import Queries
from sapwood.data.row_range import RowRange
from sapwood.data.tables import Table
from sapwood.estimators.inputs import FitInput
from sapwood.estimators.targets import ClassLabels, Numbers, Relevances, Targets, read_classes
from sapwood.losses import RANKING, REGRESSION, Loss
from sapwood.losses.multi_output import MultiOutputLoss
from sapwood.losses.multi_quantile import MultiQuantileLoss
from sapwood.losses.registry import find_loss
from sapwood.metrics import as_metric
from sapwood.params.signatures import ClassifierSignatures, CommonParameters, RankerSignatures, RegressorSignatures
from sapwood.runtime.execution import Execution
from sapwood.training.warm_start import WarmStart

Parameters = TypeVar("Parameters", bound=CommonParameters)


class Task(ABC, Generic[Parameters]):
    """Base class of tasks: the steps of a fit that depend on the kind of targets. A task has parameters, but no state."""

    extra_arguments: tuple[str, ...] = ()  # of `fit`, besides X, y, sample_weight and offset

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters

    @abstractmethod
    def read_targets(self, y: Any, n_rows: int, start: WarmStart, execution: Execution) -> tuple[Targets, np.ndarray]:
        """Return the kind of the training targets, and the encoded targets; their first axis is rows."""

    @abstractmethod
    def loss(self, targets: Targets) -> Loss:
        """Return the loss for these targets."""

    def dataset(self, inputs: FitInput, table: Table, y: np.ndarray, targets: Targets, execution: Execution) -> Dataset:
        """Return the data set of a table with encoded targets, and with checked weights and queries."""
        allowed = {f"{name}{'_val' if inputs.suffix == '_val' else ''}" for name in self.extra_arguments}
        if unknown := set(inputs.more) - allowed:
            known = ("X", "y", "sample_weight", "offset", *self.extra_arguments)
            raise ValueError(f"{unknown.pop()!r}{inputs.suffix} is unknown; choose from {', '.join(known)}")
        return Dataset(table, y, self.weights(inputs.sample_weight, y, targets, f"sample_weight{inputs.suffix}", execution))

    def weights(self, weight: Any, y: np.ndarray, targets: Targets, name: str, execution: Execution) -> np.ndarray | None:
        """Return the checked weights of rows; None for equal weights."""
        return check_weights(weight, len(y), name, allow_zeros=not execution.is_local)

    def metric(self, choice: Any) -> Any:
        """Return the metric for an element of `eval_metric` or for `scoring`, with the settings of the task."""
        return choice


class Regression(Task[RegressorSignatures]):
    """Regression: targets are numbers."""

    def single_loss(self) -> Any:
        """Return the loss of one column of targets."""
        p = self.parameters
        if not isinstance(p.quantile, (list, tuple, np.ndarray)):
            return find_loss(p.loss, REGRESSION, p)
        if p.loss != "quantile":
            raise ValueError(f"several quantiles need loss='quantile'; got quantile={p.quantile!r} and loss={p.loss!r}")
        return MultiQuantileLoss(check_quantiles(p.quantile))

    def read_targets(self, y: Any, n_rows: int, start: WarmStart, execution: Execution) -> tuple[Targets, np.ndarray]:
        loss = self.single_loss()
        y = loss.read_targets(y, n_rows, "y")
        multi_output = y.ndim == 2 and loss.n_outputs == 1 and not loss.survival
        loss_of_all = MultiOutputLoss([self.single_loss() for _ in range(y.shape[1])]) if multi_output else loss
        return Numbers(1 if y.ndim == 1 else y.shape[1], loss, loss_of_all), y

    def loss(self, targets: Targets) -> Loss:
        assert isinstance(targets, Numbers)
        return targets.loss


class Classification(Task[ClassifierSignatures]):
    """Classification: targets are classes."""

    def read_targets(self, y: Any, n_rows: int, start: WarmStart, execution: Execution) -> tuple[Targets, np.ndarray]:
        kind: ClassLabels = start.targets or _read_all_classes(y, n_rows, execution)
        if start.targets is not None and (start.how == "warm_start" or type(kind) is ClassLabels):
            new = _read_all_classes(y, n_rows, execution)
            # warm_start is for the same rows; new rows of the other methods need not have every class.
            known = np.isin(new.classes, kind.classes).all() and (start.how != "warm_start" or len(new.classes) == len(kind.classes))
            if type(new) is not type(kind) or not known:
                raise ValueError(f"{start.how} continues a model with classes {kind.classes.tolist()}, but y has {new.classes.tolist()}")
        return kind, kind.encode(y, n_rows, "y")

    def loss(self, targets: Targets) -> Loss:
        assert isinstance(targets, ClassLabels)
        return targets.make_loss(self.parameters.loss, self.parameters)

    def weights(self, weight: Any, y: np.ndarray, targets: Targets, name: str, execution: Execution) -> np.ndarray | None:
        weight = super().weights(weight, y, targets, name, execution)
        if self.parameters.class_weight is None:
            return weight
        assert isinstance(targets, ClassLabels)
        class_weight = self.parameters.class_weight
        if isinstance(class_weight, dict):
            parameter_floats(list(class_weight.values()), "class_weight")
        counted = np.ones(len(y), dtype=bool)
        if isinstance(class_weight, str) and weight is not None:
            counted = weight > 0  # rows of weight 0 do not change the balance
        own, by_class = RowRange.of(int(np.count_nonzero(counted)), execution), np.zeros(len(y))
        by_class[counted] = targets.row_weights(class_weight, execution.gather(y[counted]))[own.own]
        return by_class if weight is None else weight * by_class


def _read_all_classes(y: Any, n_rows: int, execution: Execution) -> ClassLabels:
    """Return the kind of the targets, with the classes of all partitions."""
    own = read_classes(y, n_rows)
    return own if execution.is_local else own.united(execution.collective.gather_objects(own))


class Ranking(Task[RankerSignatures]):
    """Ranking: targets are relevances of rows for queries."""

    extra_arguments: tuple[str, ...] = ("group", "qid")

    def read_targets(self, y: Any, n_rows: int, start: WarmStart, execution: Execution) -> tuple[Targets, np.ndarray]:
        targets = Relevances()
        return targets, targets.encode(y, n_rows, "y")

    def loss(self, targets: Targets) -> Loss:
        p = self.parameters
        more = {}
        if p.loss == "lambdamart":
            more = {"metric": p.rank_metric, "truncation": p.lambdarank_truncation, "normalize": bool(p.lambdarank_norm)}
        return RANKING[str(p.loss)](self.label_gain(), **more)

    def dataset(self, inputs: FitInput, table: Table, y: np.ndarray, targets: Targets, execution: Execution) -> Dataset:
        data, end = super().dataset(inputs, table, y, targets, execution), "_val" if inputs.suffix == "_val" else ""
        if not execution.is_local and not inputs.more:
            raise ValueError(f"several partitions of the rows need group{end} or qid{end}: a query must be in one partition")
        queries = Queries.of(inputs.more.get(f"group{end}"), inputs.more.get(f"qid{end}"), table.n_rows, inputs.suffix)
        return replace(data, queries=queries)

    def metric(self, choice: Any) -> Any:
        if choice is None:
            choice = "ndcg"  # the metric of `score`
        if isinstance(choice, str) and choice.partition("@")[0] == "ndcg" and self.parameters.label_gain is not None:
            metric = as_metric(choice)
            assert metric is not None
            return replace(metric, function=partial(metric.function, label_gain=self.label_gain()))
        return choice

    def label_gain(self) -> np.ndarray | None:
        """Return the gain of each relevance; None for 2^y - 1."""
        if self.parameters.label_gain is None:
            return None
        gain = parameter_floats(self.parameters.label_gain, "label_gain")
        if gain.ndim != 1 or not len(gain) or not np.isfinite(gain).all() or (np.diff(gain) < 0).any() or gain[0] < 0:
            raise ValueError(
                f"label_gain must be a list of finite, non-negative numbers that do not decrease; got {self.parameters.label_gain!r}"
            )
        return gain
