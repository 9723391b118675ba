"""Fits whose rows are in several partitions."""

from __future__ import annotations

from typing import Any, TypeVar

from sapwood.estimators.base import BaseBoosting
from sapwood.params.signatures import FitArguments
from sapwood.runtime.execution import Execution

Estimator = TypeVar("Estimator", bound=BaseBoosting)


def fit_partition(estimator: Estimator, execution: Execution, X: Any, y: Any, **arguments: Any) -> Estimator:
    """Fit an estimator on the rows of a data set, of which this is one partition.

    Every partition calls it with an equal estimator, its own rows (maybe none) of every argument, and an execution whose collective joins
    the partitions. All get the same fitted estimator, byte for byte the one that `fit` returns for all rows, in the order of partitions.

    Parameters
    ----------
    X, y, arguments : as for `fit`
        Queries of a ranker must be whole within a partition.
    """
    return estimator._train("fit", FitArguments(X=X, y=y, **arguments), execution)
