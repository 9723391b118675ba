"""Estimators that are fitted on the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from distributed import Client, get_client

from sapwood.cluster.arguments import ClusterArguments
from sapwood.cluster.driver import fit_on_cluster
from sapwood.cluster.estimators import ClusterClassifier, ClusterEstimator
from sapwood.dask.collections import is_collection, predict_lazily, split
from sapwood.dask.engine import DaskEngine
from sapwood.estimators import BoostingClassifier, BoostingRanker, BoostingRegressor
from sapwood.estimators.base import BaseBoosting
from sapwood.params.signatures import FitArguments


class DaskEstimator(ClusterEstimator):
    """Mixin of estimators that are fitted on the workers of a Dask cluster.

    X, y and the other arguments with a value for each row are Dask DataFrames, Series or Arrays, lists of Delayed or Future objects, or
    (X only) a list of paths of Parquet files; all with the same partitions. Arguments other than X may be names of columns of X.

    Parameters
    ----------
    client : distributed.Client, optional
        Client of the cluster. None: the current one. It is not a parameter of `get_params`, since it cannot be copied.
    """

    client: Client | None
    _settings = {"client": None}  # noqa: RUF012
    _hidden = ("client",)

    def _fit_on_cluster(self, local: BaseBoosting, method: str, arguments: FitArguments) -> tuple[BaseBoosting, dict[str, Any]]:
        given = ClusterArguments.of(local, method, arguments, split)
        client = self.client if self.client is not None else get_client()
        return fit_on_cluster(DaskEngine(client), local, method, given)

    def _is_collection(self, X: Any) -> bool:
        return is_collection(X)

    def _predict_collection(self, predict: Callable[..., np.ndarray], sample: np.ndarray, X: Any, offset: Any) -> Any:
        return predict_lazily(predict, sample, X, offset)

    def _compute(self, values: Any) -> Any:
        return values.compute() if hasattr(values, "compute") else values


class DaskBoostingClassifier(DaskEstimator, ClusterClassifier, BoostingClassifier):
    """BoostingClassifier that is fitted on the workers of a Dask cluster."""


class DaskBoostingRegressor(DaskEstimator, BoostingRegressor):
    """BoostingRegressor that is fitted on the workers of a Dask cluster."""


class DaskBoostingRanker(DaskEstimator, BoostingRanker):
    """BoostingRanker that is fitted on the workers of a Dask cluster."""
