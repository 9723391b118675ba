"""Arguments of `fit` on a cluster: collections of rows become lists of pieces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from os import PathLike
from typing import Any

from sapwood.callbacks import TRAIN, VALIDATION
from sapwood.cluster.rows import ROW_ARGUMENTS, is_column_name
from sapwood.estimators.inputs import FitCall, FitInput
from sapwood.estimators.partition import check_partition_support
from sapwood.estimators.saving import read_path
from sapwood.params.signatures import FitArguments
from sapwood.training.checkpoint import Checkpoint

OPTIONS = ("classes", "decay", "eval_metric", "callbacks", "init_model")
Pieces = dict[str, Any]  # argument -> list of pieces, or the name of a column of X


@dataclass(frozen=True)
class ClusterArguments:
    """Arguments of a fit on a cluster.

    Attributes
    ----------
    sets : data set -> argument -> list of pieces in the order of the rows, or the name of a column of X
    options : other arguments of the method
    checkpoint : file that the driver writes
    keeps_state : whether training can go on after a worker was lost, instead of from the first round
    """

    sets: dict[str, Pieces]
    options: dict[str, Any]
    checkpoint: Checkpoint | None
    keeps_state: bool

    @classmethod
    def of(
        cls, estimator: Any, method: str, arguments: FitArguments, split: Callable[[dict[str, Any], str], dict[str, list[Any]]]
    ) -> ClusterArguments:
        """Check the arguments and return them.

        `split` is a function (collections by argument, suffix of the names of arguments) that returns the pieces of each collection.
        """
        check_supported(estimator, arguments)
        call = FitCall.of(arguments)
        inputs = {TRAIN: call.train, VALIDATION: call.validation, **call.options.given_sets()}
        groups = {TRAIN: arguments.groups}
        sets = {name: split_set(_row_arguments(one, groups.get(name)), one.suffix, split) for name, one in inputs.items() if one.any}
        default = {field.name: field.default for field in fields(FitArguments)}
        options = {name: getattr(arguments, name) for name in OPTIONS if getattr(arguments, name) is not default[name]}
        if isinstance(options.get("init_model"), str | PathLike):
            options["init_model"] = read_path(options["init_model"])
        checkpoint = None if arguments.checkpoint is None else Checkpoint.of(arguments.checkpoint)
        return cls(sets, options, checkpoint, method != "refit")


def check_supported(estimator: Any, arguments: FitArguments) -> None:
    """Raise a ValueError for parameters and arguments that do not work on a cluster, before the rows are touched."""
    check_partition_support(estimator)
    if getattr(estimator, "_skl_callbacks", None):
        raise ValueError("callbacks of scikit-learn (set_callbacks) do not work on a cluster: pass callbacks=[...] to fit")
    if arguments.checkpoint is not None and estimator.boosting == "ordered":
        raise ValueError("checkpoint cannot be combined with boosting='ordered' on a cluster: its state has values for each row")
    several = estimator.validation_folds not in (None, "auto") or estimator.refit_all is True or estimator.n_models not in (1, "auto")
    if arguments.checkpoint is not None and several:
        raise ValueError("checkpoint cannot be combined with validation_folds, refit_all or n_models on a cluster: leave one of them out")
    if arguments.checkpoint is not None and _may_train_several(estimator, arguments):
        raise ValueError(
            f"checkpoint cannot be combined with preset={estimator.preset!r} on a cluster, which may train several models: set "
            "validation_folds=None and refit_all=False, pass X_val, or leave the checkpoint out"
        )
    for name, value in vars(arguments).items():
        if name in ("group", "group_val") and value is not None:
            qid = name.replace("group", "qid")
            raise ValueError(f"{name} does not work on a cluster, where a query may begin in one partition and end in another: use {qid}")


def _may_train_several(estimator: Any, arguments: FitArguments) -> bool:
    """Whether the preset may choose folds or a second training on all rows, which depends on rows that are not loaded yet."""
    chooses = estimator.preset in ("auto", "best") and estimator.max_iter == "auto" and estimator.early_stopping is not False
    chosen = "auto" in (estimator.validation_folds, estimator.refit_all)
    return chooses and chosen and arguments.X_val is None and not arguments.eval_sets and not arguments.callbacks


def _row_arguments(inputs: FitInput, groups: Any) -> dict[str, Any]:
    given = {"X": inputs.X, "y": inputs.y, "sample_weight": inputs.sample_weight, "offset": inputs.offset, "groups": groups}
    given |= {name.removesuffix("_val"): value for name, value in inputs.more.items()}
    if "group" in given:
        raise ValueError(f"group{inputs.suffix} does not work on a cluster: use qid")
    return {name: given[name] for name in ROW_ARGUMENTS if given.get(name) is not None}


def split_set(given: dict[str, Any], suffix: str, split: Callable[[dict[str, Any], str], dict[str, list[Any]]]) -> Pieces:
    """Return the pieces of the arguments of a data set. All must have the same number of pieces."""
    for name in ("X", "y"):
        if name not in given:
            raise ValueError(f"{name}{suffix} was not provided")
    columns = {name: value for name, value in given.items() if name != "X" and is_column_name(value)}
    pieces = split({name: value for name, value in given.items() if name not in columns}, suffix)
    n = len(pieces["X"])
    if n == 0:
        raise ValueError(f"X{suffix} has no partitions")
    for name, own in pieces.items():
        if len(own) != n:
            raise ValueError(f"{name}{suffix} has {len(own)} partitions, X{suffix} has {n}: they must be partitioned alike")
    return {**pieces, **columns}
