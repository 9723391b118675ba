"""Metrics: a function with a name and a direction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sapwood.data.queries import Queries
from sapwood.runtime import kernels


@dataclass(frozen=True)
class Metric:
    """A number that says how well predictions fit.

    Attributes
    ----------
    name : what it is called in `evals_result_`
    function : (y, predicted, sample_weight) -> float; for a metric `of_queries` (y, predicted, queries, sample_weight)
    higher_is_better : else lower is
    response : the method of the estimator that gives `predicted`: "predict", "predict_proba" or "decision_function"
    of_queries : whether it looks at the rows of a query together
    cut : the name of the function's argument that a name such as "ndcg@10" sets; None where there is none
    takes_weight : whether the function knows sample weights
    """

    name: str
    function: Callable[..., float]
    higher_is_better: bool = False
    response: str = "predict"
    of_queries: bool = False
    cut: str | None = None
    takes_weight: bool = True

    def __call__(self, y: Any, predicted: Any, sample_weight: Any = None, queries: Queries | None = None) -> float:
        """The metric of some rows."""
        if self.of_queries:
            if queries is None:
                raise ValueError(f"the metric {self.name!r} needs to know the queries of its rows: it is for BoostingRanker")
            return float(self.function(y, predicted, queries, sample_weight))
        weights = {"sample_weight": sample_weight} if sample_weight is not None and self.takes_weight else {}
        return float(self.function(y, predicted, **weights))

    def at(self, name: str, value: float) -> Metric:
        """The same, cut as a name such as "ndcg@10" says."""
        function, cut = self.function, self.cut
        assert cut is not None

        def with_cut(*args: Any, **kwargs: Any) -> float:
            return function(*args, **kwargs, **{cut: value})

        return replace(self, name=name, function=with_cut)


def exact_mean(values: np.ndarray, weight: np.ndarray | None) -> float:
    """The weighted mean, by a sum that does not depend on the order of rows: it may decide when training stops."""
    values = np.ascontiguousarray(values, dtype=np.float64)
    if weight is None:
        return kernels.exact_sum(values) / len(values)
    weight = np.ascontiguousarray(weight, dtype=np.float64)
    return kernels.exact_sum(values * weight) / kernels.exact_sum(weight)
