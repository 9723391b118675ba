"""Estimators that are fitted on the workers of a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np
import ray

from sapwood.callbacks import Callback
from sapwood.cluster.arguments import ClusterArguments
from sapwood.cluster.driver import fit_on_cluster
from sapwood.cluster.estimators import ClusterClassifier, ClusterEstimator
from sapwood.estimators import BoostingClassifier, BoostingRanker, BoostingRegressor
from sapwood.estimators.base import BaseBoosting
from sapwood.params.signatures import FitArguments
from sapwood.ray.collections import PREDICTIONS, is_collection, is_dataset, predict_lazily, split
from sapwood.ray.engine import RayEngine


class TuneReport(Callback):
    """Report the scores of every round to Ray Tune or Ray Train, from the process that calls `fit`.

    The reported metrics are "train-loss", "validation-loss", ... (data set and metric), and "n_rounds".
    """

    first_partition_only = True


class RayEstimator(ClusterEstimator):
    """Mixin of estimators that are fitted on the workers of a Ray cluster.

    X is a `ray.data.Dataset`, a list of paths of Parquet files, or a list of references to tables; y and the other arguments with a value
    for each row are names of columns of X, or lists of references to arrays. Datasets of other arguments have one block for each of X.

    Parameters
    ----------
    n_workers : int
        Number of workers: actors that live as long as the fit.
    cpus_per_worker : float
        CPUs that a worker reserves, and number of its threads.
    """

    n_workers: int
    cpus_per_worker: float
    _settings = {"n_workers": 2, "cpus_per_worker": 1}  # noqa: RUF012

    def _fit_on_cluster(self, local: BaseBoosting, method: str, arguments: FitArguments) -> tuple[BaseBoosting, dict[str, Any]]:
        for name, least in (("n_workers", 1), ("cpus_per_worker", 0)):
            if not getattr(self, name) >= least:
                raise ValueError(f"{name} must be at least {least}; got {getattr(self, name)!r}")
        callbacks = arguments.callbacks or ()
        on_round = _report if any(isinstance(callback, TuneReport) for callback in callbacks) else None
        given = ClusterArguments.of(local, method, replace(arguments, callbacks=_without_reports(callbacks)), split)
        with closing(RayEngine(self.n_workers, self.cpus_per_worker)) as engine:
            return fit_on_cluster(engine, local, method, given, on_round)

    def _is_collection(self, X: Any) -> bool:
        return is_collection(X)

    def _predict_collection(self, predict: Callable[..., np.ndarray], sample: np.ndarray, X: Any, offset: Any) -> Any:
        return predict_lazily(predict, X, offset)

    def _compute(self, values: Any) -> Any:
        if is_dataset(values):
            return np.concatenate([batch[PREDICTIONS] for batch in values.iter_batches(batch_format="numpy")])
        if isinstance(values, list) and values and isinstance(values[0], ray.ObjectRef):
            return np.concatenate([np.asarray(one) for one in ray.get(values)])
        return values

    def score(self, X: Any, y: Any, sample_weight: Any = None, **options: Any) -> float:
        """Return the score of the predictions. For a Dataset, y, sample_weight and the options are names of columns."""
        if not is_dataset(X):
            return super().score(X, y, sample_weight, **options)
        frame = X.to_pandas()
        named = {name: frame[value] for name, value in options.items() if isinstance(value, str)}
        weight = None if sample_weight is None else frame[sample_weight]
        known = getattr(self, "feature_names_in_", None)
        return float(self.to_local().score(frame if known is None else frame[list(known)], frame[y], weight, **options | named))


def _without_reports(callbacks: Any) -> list[Callback] | None:
    return [callback for callback in callbacks if not isinstance(callback, TuneReport)] or None


def _report(n_rounds: int, scores: dict[str, dict[str, float]]) -> None:
    """Report the scores of a round to the trial or the training run that this process belongs to."""
    metrics: dict[str, Any] = {f"{on}-{name}": value for on, of in scores.items() for name, value in of.items()}
    from ray import tune

    tune.report({**metrics, "n_rounds": n_rounds})


class RayBoostingClassifier(RayEstimator, ClusterClassifier, BoostingClassifier):
    """BoostingClassifier that is fitted on the workers of a Ray cluster."""


class RayBoostingRegressor(RayEstimator, BoostingRegressor):
    """BoostingRegressor that is fitted on the workers of a Ray cluster."""


class RayBoostingRanker(RayEstimator, BoostingRanker):
    """BoostingRanker that is fitted on the workers of a Ray cluster."""


def tune_resources(n_workers: int = 2, cpus_per_worker: float = 1) -> Any:
    """Return the resources of a trial of Ray Tune that fits with this many workers: `tune.with_resources(trainable, tune_resources(4))`."""
    from ray.tune import PlacementGroupFactory

    return PlacementGroupFactory([{"CPU": 1}, *({"CPU": cpus_per_worker} for _ in range(n_workers))])
