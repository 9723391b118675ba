"""Fit on a data set whose rows are in several partitions."""

from __future__ import annotations

from typing import Any, TypeVar

from sapwood.estimators.base import BaseBoosting
from sapwood.params.signatures import FitArguments
from sapwood.runtime.execution import Execution

Estimator = TypeVar("Estimator", bound=BaseBoosting)


def fit_partition(estimator: Estimator, execution: Execution, X: Any, y: Any, **arguments: Any) -> Estimator:
    """Fit an estimator on a data set of which this process holds one partition.

    Every partition calls this function with an equal estimator, its own rows (possibly none) of every argument, and an execution whose
    collective joins the partitions. All partitions get the same fitted estimator: byte for byte that of `fit` on all rows, in the order of
    the partitions.

    Parameters
    ----------
    X, y, arguments : as for `fit`
        The rows of a query must be in one partition.
    """
    return estimator._train("fit", FitArguments(X=X, y=y, **arguments), execution)
