"""Gradient-boosted trees that put the rows of a query in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any, ClassVar

import numpy as np

from sapwood.callbacks import Callback
from sapwood.data.checks import check_numbers
from sapwood.data.dataset import Dataset
from sapwood.data.queries import Queries
from sapwood.data.tables import Table
from sapwood.estimators.base import ATTRIBUTES, BaseBoosting
from sapwood.estimators.inputs import FitInput, FitOptions
from sapwood.estimators.warm_start import warm_start_of_fit, warm_start_of_partial_fit
from sapwood.losses import RANKING, Loss
from sapwood.metrics import as_metric
from sapwood.metrics.ranking import ndcg
from sapwood.model.rounds import Rounds
from sapwood.params import table as config
from sapwood.runtime.execution import local_execution
from sapwood.training.checkpoint import Checkpoint
from sapwood.training.warm_start import WarmStart


class BoostingRanker(BaseBoosting, parameters=config.RANKER):
    __doc__ = f"""Gradient-boosted trees that put the rows of a query in order.

    The target is a relevance: a whole number from 0 on. Rows of a query lie side by side; `fit` is told of them by `group`, their
    numbers of rows, or by `qid`, the query of each row.

    Parameters
    ----------
{config.describe(config.RANKER)}

    Attributes
    ----------
    {ATTRIBUTES}

    Examples
    --------
    >>> import numpy as np
    >>> from sapwood import BoostingRanker
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(500, 3)), np.repeat(np.arange(50), 10)
    >>> y = np.digitize(X[:, 0], [0, 1])
    >>> round(BoostingRanker().fit(X, y, qid=qid).score(X, y, qid=qid), 1)
    1.0
    """

    # Under scikit-learn's metadata routing queries come along without being asked for: there is no ranking without them.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": False, "qid": True}
    __metadata_request__partial_fit: ClassVar[dict[str, bool]] = {"groups": False, "qid": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"qid": True}

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        group: Any = None,
        qid: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        group_val: Any = None,
        qid_val: Any = None,
        offset: Any = None,
        offset_val: Any = None,
        groups: Any = None,
        eval_sets: Any = None,
        eval_metric: Any = None,
        callbacks: Sequence[Callback] | None = None,
        checkpoint: Checkpoint | str | PathLike[str] | None = None,
        init_model: Any = None,
    ) -> BoostingRanker:
        """Train on a table.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
            Numbers; NaN means missing.
        y : array of shape (n_rows,)
            Relevances: whole numbers from 0 on.
        sample_weight : array of shape (n_rows,), optional
            What the gradients of a row are multiplied by. In metrics a query counts by the mean of its rows.
        group : array of shape (n_queries,)
            The number of rows of each query, in the order of the rows.
        qid : array of shape (n_rows,)
            The query of each row, instead of `group`. The rows of a query must lie side by side.
        X_val, y_val, sample_weight_val, group_val, qid_val : optional
            Rows for early stopping, instead of some of the queries.
        offset, offset_val : array of shape (n_rows,), optional
            What the scores of each row start from. Predictions take the same argument.
        groups : array of shape (n_rows,), optional
            For the splitter `validation_split`; if not given, the queries.
        eval_sets : dict of name -> dict of X, y, qid or group, and perhaps sample_weight; or a list of such; optional
            More rows to watch; they decide nothing.
        eval_metric, callbacks, checkpoint, init_model : optional
            As for the other estimators.

        Returns
        -------
        self
        """
        given = FitInput(X, y, sample_weight, {"group": group, "qid": qid}, offset=offset)
        validation = FitInput(X_val, y_val, sample_weight_val, {"group_val": group_val, "qid_val": qid_val}, "_val", offset_val)
        watching = FitOptions(groups, eval_sets, eval_metric, callbacks or (), checkpoint)
        self._fit_anew(given, validation, watching, warm_start_of_fit(self, init_model))
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        group: Any = None,
        qid: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        group_val: Any = None,
        qid_val: Any = None,
        offset: Any = None,
        offset_val: Any = None,
        groups: Any = None,
        eval_sets: Any = None,
        eval_metric: Any = None,
        callbacks: Sequence[Callback] | None = None,
        checkpoint: Checkpoint | str | PathLike[str] | None = None,
    ) -> BoostingRanker:
        """As for the other estimators; the queries of the rows as in `fit`."""
        given = FitInput(X, y, sample_weight, {"group": group, "qid": qid}, offset=offset)
        validation = FitInput(X_val, y_val, sample_weight_val, {"group_val": group_val, "qid_val": qid_val}, "_val", offset_val)
        watching = FitOptions(groups, eval_sets, eval_metric, callbacks or (), checkpoint)
        self._fit_anew(given, validation, watching, warm_start_of_partial_fit(self))
        return self

    def refit(
        self, X: Any, y: Any, sample_weight: Any = None, *, decay: float = 0.9, group: Any = None, qid: Any = None, offset: Any = None
    ) -> BoostingRanker:
        """As for the other estimators; the queries of the rows as in `fit`."""
        self._refit(FitInput(X, y, sample_weight, {"group": group, "qid": qid}, offset=offset), decay)
        return self

    def predict(self, X: Any, *, offset: Any = None, rounds: Rounds = None) -> np.ndarray:
        """(n_rows,) float64: scores; within a query a higher one belongs higher up. `rounds` as for the other estimators."""
        return self._raw_predict(X, offset, rounds)[:, 0]

    def staged_predict(self, X: Any, *, offset: Any = None) -> Iterator[np.ndarray]:
        """`predict` after each round."""
        return (raw[:, 0] for raw in self._staged_raw(X, offset))

    def score(
        self, X: Any, y: Any, sample_weight: Any = None, *, group: Any = None, qid: Any = None, offset: Any = None, k: int | None = None
    ) -> float:
        """NDCG of the first k rows of each query (None for all), mean over queries."""
        scores = self.predict(X, offset=offset)
        queries = Queries.of(group, qid, len(scores))
        y = self._validation_targets(y, len(scores), "y")
        weight = self._weights(sample_weight, y, len(scores), "sample_weight")
        return ndcg(y, scores, queries, weight, k, self.label_gain, local_execution(self.n_jobs))

    def _part(self, given: FitInput, table: Table, y: np.ndarray) -> Dataset:
        end = "_val" if given.suffix == "_val" else ""
        unknown = set(given.more) - {f"group{end}", f"qid{end}"}
        if unknown:
            raise ValueError(f"{unknown.pop()!r}{given.suffix} is unknown; choose from X, y, sample_weight, offset, group, qid")
        queries = Queries.of(given.more.get(f"group{end}"), given.more.get(f"qid{end}"), table.n_rows, given.suffix)
        weight = self._weights(given.sample_weight, y, table.n_rows, f"sample_weight{given.suffix}")
        return Dataset(table, y, weight, queries)

    def _meant_metric(self, given: Any) -> Any:
        if given is None:
            given = "ndcg"  # what `score` is
        if isinstance(given, str) and given.partition("@")[0] == "ndcg" and self.label_gain is not None:
            metric = as_metric(given)
            assert metric is not None
            given = replace(metric, function=partial(metric.function, label_gain=self._label_gain()))
        return given

    def _targets(self, y: Any, n_rows: int, start: WarmStart) -> tuple[np.ndarray, Loss]:
        y = self._validation_targets(y, n_rows, "y")
        more = {}
        if self.loss == "lambdamart":
            more = {"metric": self.rank_metric, "truncation": self.lambdarank_truncation, "normalize": bool(self.lambdarank_norm)}
        return y, RANKING[str(self.loss)](self._label_gain(), **more)

    def _validation_targets(self, y: Any, n_rows: int, name: str = "y_val") -> np.ndarray:
        return check_numbers(y, n_rows, name)

    def _original_targets(self, y: np.ndarray) -> np.ndarray:
        return y

    def _label_gain(self) -> np.ndarray | None:
        if self.label_gain is None:
            return None
        gain = np.asarray(self.label_gain, dtype=np.float64)
        if gain.ndim != 1 or not len(gain) or not np.isfinite(gain).all() or (np.diff(gain) < 0).any() or gain[0] < 0:
            raise ValueError(f"label_gain must be a list of finite numbers from 0 on that do not fall; got {self.label_gain!r}")
        return gain

    def _set_fitted_data(self, data: dict[str, Any]) -> None:
        super()._set_fitted_data(data)
        if self.model_.n_outputs != 1:
            raise ValueError("a ranking has one output")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
