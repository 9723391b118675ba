"""Metric: a function with a name and a direction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sapwood.data.queries import Queries
from sapwood.runtime import kernels


@dataclass(frozen=True)
class Metric:
    """Metric of predictions.

    Attributes
    ----------
    name : name in `evals_result_`
    function : function (y, predicted, sample_weight) -> float; with `of_queries`, (y, predicted, queries, sample_weight) -> float
    higher_is_better : whether higher values are better
    response : method of the estimator that returns `predicted`: "predict", "predict_proba" or "decision_function"
    of_queries : whether the metric is computed by query
    cut : argument of the function that a name such as "ndcg@10" sets; None if there is none
    takes_weight : whether the function supports sample weights
    """

    name: str
    function: Callable[..., float]
    higher_is_better: bool = False
    response: str = "predict"
    of_queries: bool = False
    cut: str | None = None
    takes_weight: bool = True

    def __call__(self, y: Any, predicted: Any, sample_weight: Any = None, queries: Queries | None = None) -> float:
        """Return the metric of predictions."""
        if self.of_queries:
            if queries is None:
                raise ValueError(f"the metric {self.name!r} requires the queries of the rows: use BoostingRanker")
            return float(self.function(y, predicted, queries, sample_weight))
        weights = {"sample_weight": sample_weight} if sample_weight is not None and self.takes_weight else {}
        return float(self.function(y, predicted, **weights))

    def at(self, name: str, value: float) -> Metric:
        """Return the metric with the parameter of a name such as "ndcg@10"."""
        function, cut = self.function, self.cut
        assert cut is not None

        def with_cut(*args: Any, **kwargs: Any) -> float:
            return function(*args, **kwargs, **{cut: value})

        return replace(self, name=name, function=with_cut)


def exact_mean(values: np.ndarray, weight: np.ndarray | None) -> float:
    """Return the weighted mean, by an exact sum: early stopping must not depend on the order of rows."""
    values = np.ascontiguousarray(values, dtype=np.float64)
    if weight is None:
        return kernels.exact_sum(values) / len(values)
    weight = np.ascontiguousarray(weight, dtype=np.float64)
    return kernels.exact_sum(values * weight) / kernels.exact_sum(weight)
