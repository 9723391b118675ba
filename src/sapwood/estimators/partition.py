"""Fit on a data set whose rows are in several partitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from sapwood.estimators.base import BaseBoosting
from sapwood.model import Model
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


def check_partition_support(estimator: BaseBoosting) -> None:
    """Validate the parameters of an estimator, and raise a ValueError for those that need all rows in one process.

    `fit_partition` raises the same errors, after it has read the rows.
    """
    estimator._validate_params()
    if estimator.tree_method in ("exact", "approx"):
        raise _needs_all_rows(f"tree_method={estimator.tree_method!r}", "use tree_method='hist'")
    bins: Any = estimator.max_bins
    if isinstance(bins, Mapping):
        bins = list(bins.values())
    if np.asarray(bins).dtype.kind in "iu" and np.max(bins, initial=0) > 255:
        raise _needs_all_rows(f"max_bins={estimator.max_bins!r}", "use at most 255 bins")
    if estimator.validation_split is not None:
        raise _needs_all_rows(f"validation_split={estimator.validation_split!r}", "use validation_fraction, or X_val")
    if estimator.init is not None and not isinstance(estimator.init, Model):
        try:
            check_is_fitted(estimator.init)
        except NotFittedError:
            raise _needs_all_rows(f"init={estimator.init!r}", "fit it first") from None


def _needs_all_rows(what: str, remedy: str) -> ValueError:
    return ValueError(f"{what} cannot be combined with several partitions of the rows: {remedy}")
