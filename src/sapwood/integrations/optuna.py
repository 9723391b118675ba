"""Optuna: a callback that prunes trials."""

from __future__ import annotations

from typing import Any

import optuna

from sapwood.callbacks import TRAIN, Callback, Round

__all__ = ["PruningCallback"]


class PruningCallback(Callback):
    """Report the score of a trial after every round, and end the fit of a trial that the pruner gives up.

    Parameters
    ----------
    trial : optuna.Trial
        The trial that the fit belongs to.
    metric : str, optional
        Name of the reported metric: one of `eval_metric`, or the metric of early stopping. None: the first one of the set.
    on : str, optional
        Name of the evaluation set. None: the first one.
    every : int, default=1
        Report every so many rounds.

    Raises
    ------
    optuna.TrialPruned
        From `fit`, if the trial is pruned. The estimator is left as it was before the fit.
    ValueError
        If there is no such set or metric, or if the study minimizes a metric that is to be maximized.

    Examples
    --------
    >>> import optuna
    >>> from sklearn.datasets import make_regression
    >>> from sapwood import BoostingRegressor
    >>> from sapwood.integrations.optuna import PruningCallback
    >>> X, y = make_regression(300, random_state=0)
    >>> def objective(trial):
    ...     model = BoostingRegressor(learning_rate=trial.suggest_float("learning_rate", 0.01, 0.5, log=True))
    ...     model.fit(X[:200], y[:200], eval_sets=[(X[200:], y[200:])], eval_metric="rmse", callbacks=[PruningCallback(trial)])
    ...     return min(model.evals_result_["eval_0"]["rmse"])
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study(pruner=optuna.pruners.MedianPruner())
    >>> study.optimize(objective, n_trials=3)
    >>> len(study.trials)
    3
    """

    def __init__(self, trial: optuna.Trial, metric: str | None = None, *, on: str | None = None, every: int = 1) -> None:
        self.trial, self.metric, self.on, self.every = trial, metric, on, every

    def before_training(self, state: Round) -> None:
        on, name = self._reported(state)
        directions = optuna.study.StudyDirection
        needed = directions.MAXIMIZE if state.measure(on, name).higher_is_better else directions.MINIMIZE
        if self.trial.study.direction != needed:
            verb = needed.name.lower()
            raise ValueError(f"the study has to {verb} {name!r}: optuna.create_study(direction={verb!r})")

    def after_round(self, state: Round) -> bool:
        if state.n_rounds % self.every == 0:
            on, name = self._reported(state)
            self.trial.report(state.scores[on][name][-1], state.n_rounds)
            if self.trial.should_prune():
                raise optuna.TrialPruned(f"pruned after {state.n_rounds} rounds")
        return False

    def _reported(self, state: Round) -> tuple[str, str]:
        """Return the names of the set and the metric that are reported."""
        sets: dict[str, Any] = {on: measures for on, measures in state.measures.items() if on != TRAIN and measures}
        if not sets:
            raise ValueError("PruningCallback needs the score of an evaluation set: give fit eval_sets and eval_metric, or stop early")
        on = next(iter(sets)) if self.on is None else self.on
        if on not in sets:
            raise ValueError(f"on={on!r} is not an evaluation set with a metric; choose from {', '.join(sets)}")
        names = [measure.name for measure in sets[on]]
        name = names[0] if self.metric is None else self.metric
        if name not in names:
            raise ValueError(f"metric={name!r} is not computed on {on!r}; choose from {', '.join(names)}")
        return on, name
