"""Cross-validated training curves."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GroupKFold, check_cv

from sapwood.callbacks import Callback, Round
from sapwood.data.selection import take_rows
from sapwood.estimators.base import BaseBoosting

if TYPE_CHECKING:
    from sapwood.typing import ArrayLike, EvalMetric, Splitter, TableLike

TEST, FITTED = "test", "fitted"  # names of the evaluation sets


def cv(
    estimator: BaseBoosting,
    X: TableLike,
    y: ArrayLike,
    *,
    cv: int | Splitter | Iterable[Any] = 5,
    metrics: EvalMetric = "loss",
    sample_weight: ArrayLike | None = None,
    qid: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    train: bool = False,
    patience: int | None = None,
    min_delta: float = 0.0,
    as_frame: bool = False,
) -> Any:
    """Compute cross-validated learning curves: metrics on the test rows of each fold after each round.

    Parameters
    ----------
    estimator : BoostingClassifier, BoostingRegressor or BoostingRanker
        Estimator to clone. Its `early_stopping` is ignored.
    X, y, sample_weight
        As in `fit`.
    cv : int, cross-validation splitter or iterable, default=5
        Number of folds, or how to split. All metrics use the same folds.
    metrics : str, callable or list, default="loss"
        Metrics, as `eval_metric` of `fit`.
    qid : array-like of shape (n_rows,), optional
        Query of each row, for a ranker. An integer `cv` is then the number of folds of a GroupKFold by query.
    groups : array-like of shape (n_rows,), optional
        Groups for the splitter. Default for a ranker: the queries.
    train : bool, default=False
        Whether to compute the metrics on the training rows as well.
    patience : int, optional
        Stop all folds when the mean of the first metric has not improved by more than `min_delta` in this many rounds. The folds are then
        trained in parallel, and the curves end at the best round.
    min_delta : float, default=0.0
        Minimum improvement that counts for `patience`.
    as_frame : bool, default=False
        Whether to return a pandas DataFrame.

    Returns
    -------
    dict of name -> array of shape (n_rounds,), or a DataFrame with these columns
        "round", from 1 on; for each metric "test_<metric>_mean", "test_<metric>_std" and "test_<metric>_fold<i>"; with `train` the same
        with "train_".

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sapwood import BoostingRegressor, cv
    >>> X, y = load_diabetes(return_X_y=True)
    >>> curves = cv(BoostingRegressor(max_iter=50), X, y, metrics="rmse")
    >>> len(curves["test_rmse_mean"])
    50
    """
    if not isinstance(estimator, BaseBoosting):
        raise TypeError(f"estimator must be a Sapwood estimator; got {type(estimator).__name__}")
    if patience is not None and patience < 1:
        raise ValueError(f"patience must be >= 1 or None; got {patience}")
    arguments = {"X": X, "y": y, "sample_weight": sample_weight, "qid": qid}
    data = {name: values for name, values in arguments.items() if values is not None}
    folds = [_Fold(estimator, data, *split, metrics, train) for split in _splits(estimator, cv, data, groups)]
    fitted = [fold() for fold in folds] if patience is None else _fit_in_parallel(folds, patience, min_delta)
    table = _table([estimator.evals_result_ for estimator in fitted])
    if patience is not None:
        first = next(name for name in table if name.startswith(TEST) and name.endswith("_mean"))
        best = int(np.nanargmax(folds[0].sign * table[first])) + 1
        table = {name: values[:best] for name, values in table.items()}
    if as_frame:
        import pandas

        return pandas.DataFrame(table)
    return table


def _splits(estimator: BaseBoosting, cv: Any, data: dict[str, Any], groups: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    if "qid" in data:
        groups = data["qid"] if groups is None else groups
        cv = GroupKFold(cv) if isinstance(cv, int) else cv
    for train_rows, test_rows in check_cv(cv, data["y"], classifier=is_classifier(estimator)).split(data["X"], data["y"], groups):
        yield np.sort(train_rows), np.sort(test_rows)


class _Fold:
    """Fit of one fold. `sign` is 1 if higher values of the first metric are better, -1 otherwise; it is known after the first round."""

    def __init__(
        self, estimator: BaseBoosting, data: dict[str, Any], train_rows: np.ndarray, test_rows: np.ndarray, metrics: Any, train: bool
    ) -> None:
        self.estimator = clone(estimator).set_params(early_stopping=False)
        self.train_set, self.test_set = ({name: take_rows(a, rows) for name, a in data.items()} for rows in (train_rows, test_rows))
        self.metrics, self.train = metrics, train
        self.sign = 0.0

    def __call__(self, *callbacks: Callback) -> BaseBoosting:
        eval_sets = {TEST: self.test_set} | ({FITTED: self.train_set} if self.train else {})
        return self.estimator.fit(**self.train_set, eval_sets=eval_sets, eval_metric=self.metrics, callbacks=callbacks)


def _fit_in_parallel(folds: list[_Fold], patience: int, min_delta: float) -> list[BaseBoosting]:
    """Fit each fold in its own thread. The threads synchronize after each round."""
    stopping = _MeanStopping(folds, patience, min_delta)

    def run(number: int) -> BaseBoosting:
        try:
            return folds[number](_ReportRound(number, stopping.report))
        except BaseException:
            stopping.barrier.abort()  # the other folds must not wait
            raise

    with ThreadPoolExecutor(len(folds)) as threads:
        futures = [threads.submit(run, number) for number in range(len(folds))]
        try:
            errors = [future.exception() for future in futures]
        except BaseException:  # an interrupt
            stopping.barrier.abort()
            raise
    for error in sorted((e for e in errors if e is not None), key=lambda e: isinstance(e, threading.BrokenBarrierError)):
        raise error
    return [future.result() for future in futures]


class _MeanStopping:
    """Early stopping of all folds on the mean of their scores."""

    def __init__(self, folds: list[_Fold], patience: int, min_delta: float) -> None:
        self.folds, self.patience, self.min_delta = folds, patience, min_delta
        self.barrier = threading.Barrier(len(folds), action=self._decide)
        self.latest = np.empty(len(folds))
        self.means: list[float] = []
        self.stop = False

    def report(self, number: int, state: Round) -> bool:
        name, scores = next(iter(state.scores[TEST].items()))
        self.folds[number].sign = 1.0 if state.measure(TEST, name).higher_is_better else -1.0
        self.latest[number] = scores[-1]
        self.barrier.wait()
        return self.stop

    def _decide(self) -> None:
        mean = self.folds[0].sign * float(self.latest.mean())
        self.means.append(-math.inf if math.isnan(mean) else mean)
        if len(self.means) > self.patience:
            self.stop = max(self.means[-self.patience :]) <= self.means[-self.patience - 1] + self.min_delta


class _ReportRound(Callback):
    def __init__(self, number: int, report: Callable[[int, Round], bool]) -> None:
        self.number, self.report = number, report

    def after_round(self, state: Round) -> bool:
        return self.report(self.number, state)


def _table(results: list[dict[str, dict[str, list[float]]]]) -> dict[str, np.ndarray]:
    table: dict[str, np.ndarray] = {}
    for on, title in ((TEST, "test"), (FITTED, "train")):
        for name in results[0].get(on, {}):
            curves = np.array([result[on][name] for result in results])  # (n_folds, n_rounds)
            table.setdefault("round", np.arange(1, curves.shape[1] + 1))
            table[f"{title}_{name}_mean"], table[f"{title}_{name}_std"] = curves.mean(axis=0), curves.std(axis=0)
            table |= {f"{title}_{name}_fold{i}": curve for i, curve in enumerate(curves)}
    return table
