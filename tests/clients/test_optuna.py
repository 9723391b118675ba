"""Trials are pruned by the scores of evaluation sets."""

from __future__ import annotations

import optuna
import pytest

from sapwood import BoostingClassifier
from sapwood.integrations.optuna import PruningCallback

optuna.logging.set_verbosity(optuna.logging.WARNING)


def objective(cancer, eval_metric="log_loss", **arguments):
    X, y = cancer

    def fit(trial):
        model = BoostingClassifier(learning_rate=trial.suggest_float("learning_rate", 1e-4, 0.5, log=True), max_iter=20)
        callback = PruningCallback(trial, **arguments)
        model.fit(X[:400], y[:400], eval_sets={"valid": (X[400:], y[400:])}, eval_metric=eval_metric, callbacks=[callback])
        return model.evals_result_["valid"]["log_loss"][-1]

    return fit


def test_bad_trials_are_pruned(cancer):
    pruner = optuna.pruners.MedianPruner(n_startup_trials=2, n_warmup_steps=3)
    study = optuna.create_study(pruner=pruner, sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective(cancer), n_trials=8)
    states = {state: study.get_trials(states=[state]) for state in (optuna.trial.TrialState.PRUNED, optuna.trial.TrialState.COMPLETE)}
    pruned, complete = states.values()
    assert pruned and complete
    assert all(len(trial.intermediate_values) == 20 for trial in complete)
    assert max(trial.value for trial in complete[2:]) < min(max(trial.intermediate_values.values()) for trial in pruned) + 0.7
    assert complete[0].intermediate_values[20] == complete[0].value


def test_every_few_rounds(cancer):
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0), pruner=optuna.pruners.NopPruner())
    study.optimize(objective(cancer, every=5), n_trials=1)
    assert list(study.trials[0].intermediate_values) == [5, 10, 15, 20]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metric": "rmse"}, "metric='rmse' is not computed on 'valid'; choose from log_loss, roc_auc"),
        ({"on": "test"}, "on='test' is not an evaluation set with a metric; choose from valid"),
        ({"metric": "roc_auc"}, "the study has to maximize 'roc_auc'"),
    ],
)
def test_errors(cancer, arguments, message):
    study = optuna.create_study()
    with pytest.raises(ValueError, match=message):
        study.optimize(objective(cancer, ["log_loss", "roc_auc"], **arguments), n_trials=1)


def test_without_an_evaluation_set(cancer):
    trial = optuna.create_study().ask()
    with pytest.raises(ValueError, match="needs the score of an evaluation set"):
        BoostingClassifier(max_iter=2).fit(*cancer, callbacks=[PruningCallback(trial)])
