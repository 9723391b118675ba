"""Gradient-boosted trees for ranking."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sapwood.data.checks import check_numbers, check_weights
from sapwood.data.queries import Queries
from sapwood.estimators.base import BaseBoosting
from sapwood.estimators.tasks import Ranking
from sapwood.metrics.ranking import ndcg
from sapwood.model import Model
from sapwood.params.signatures import RankerSignatures
from sapwood.params.table import RANKER
from sapwood.runtime.execution import local_execution

if TYPE_CHECKING:
    from sapwood.typing import ArrayLike, Path, Rounds, TableLike


class BoostingRanker(RankerSignatures, BaseBoosting, parameters=RANKER):
    """Gradient-boosted trees for ranking.

    Targets are relevances: non-negative integers. The rows of a query are contiguous; `fit` takes either `group`, the number of rows of
    each query, or `qid`, the query of each row.

    Parameters are documented in the constructor, and at run time in this docstring.

    Attributes
    ----------
    n_iter_ : int
        Number of rounds of training.
    best_iteration_ : int
        Number of rounds that prediction uses.
    n_features_in_ : int
        Number of columns of the training table.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the columns, if all are strings.
    is_categorical_ : array of shape (n_features_in_,) of bool, or None
        Which columns are categorical; None if there is none.
    do_early_stopping_ : bool
        Whether training could stop early.
    train_score_, validation_score_ : array of shape (n_iter_ + 1,)
        Scores of early stopping before the first round and after each; empty without early stopping (or without validation rows).
    evals_result_ : dict of set -> metric -> list
        Metrics after each round, on "train" and "validation" with early stopping, and on `eval_sets`.
    provenance_ : dict
        Version of Sapwood, number of training rows, and a hash of all data that the model depends on.
    resolved_params_ : dict
        Values chosen for parameters that were 'auto'. Its attribute `reasons` says why.
    time_limit_reached_ : bool
        Whether `time_limit` ended training.
    feature_importances_ : array of shape (n_features_in_,)
        Fraction of the total gain that each column has.
    model_ : Model
        Trees, bins and encodings.

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

    # With scikit-learn's metadata routing, `qid` is passed on without a request: ranking needs the queries.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": False, "qid": True}
    __metadata_request__partial_fit: ClassVar[dict[str, bool]] = {"groups": False, "qid": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"qid": True}

    _task = Ranking

    def predict(self, X: TableLike, *, offset: ArrayLike | None = None, rounds: Rounds = None, path: Path | None = None) -> np.ndarray:
        """Predict scores. Rows with higher scores rank higher within their query.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
        offset : array-like of shape (n_rows,), optional
            Initial raw predictions, as in `fit`.
        rounds : int or (first, last), optional
            Number of rounds to use, or a range of rounds with `last` excluded. None: all rounds up to the best one.
        path : path, optional
            Parquet file to which the scores are written, in the column "prediction". Then nothing is returned.

        Returns
        -------
        array of shape (n_rows,)
            For a stream, such as the result of `sapwood.scan`, an iterator over the arrays of its batches.
        """
        return self._in_batches(lambda X, offset: self._predict_from_raw(self._raw_predict(X, offset, rounds)), X, offset, path)

    def staged_predict(self, X: TableLike, *, offset: ArrayLike | None = None) -> Iterator[np.ndarray]:
        """`predict` after each round."""
        return (self._predict_from_raw(raw) for raw in self._staged_raw(X, offset))

    def score(
        self,
        X: TableLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        group: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        k: int | None = None,
    ) -> float:
        """Mean NDCG of the first k rows of each query (None: all rows)."""
        check_is_fitted(self)
        X, y, sample_weight, offset, qid = self._with_values(X, y, sample_weight, offset, qid=qid)
        scores = self._predict_from_raw(self._raw_predict(X, offset))
        queries = Queries.of(group, qid, len(scores))
        y = check_numbers(y, len(scores), "y")
        weight = check_weights(sample_weight, len(scores), "sample_weight")
        return ndcg(y, scores, queries, weight, k, self.label_gain, local_execution(self.n_jobs))

    def _predict_from_raw(self, raw: np.ndarray) -> np.ndarray:
        return raw[:, 0]

    def _score_predicted(self, y: Any, predicted: np.ndarray, sample_weight: Any) -> float:
        raise ValueError("a scorer cannot call BoostingRanker.score: it does not know the queries; use scoring='ndcg' instead")

    def _set_fitted_data(self, data: dict[str, Any], model: Model, init: Any) -> None:
        super()._set_fitted_data(data, model, init)
        if self.model_.n_outputs != 1:
            raise ValueError(f"a ranker must have 1 output; got {self.model_.n_outputs}")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
