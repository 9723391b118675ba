"""Search of parameters with Optuna."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial, TrialState
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

from sapwood.callbacks import VALIDATION, Callback, Round
from sapwood.cli.errors import CommandError
from sapwood.cli.task import METRICS
from sapwood.metrics import METRICS as ALL
from sapwood.metrics import Metric, find_metric

if TYPE_CHECKING:
    from sapwood.cli.roles import Data

MAX_ROUNDS, PATIENCE = 2000, 30
SPACE: dict[str, dict[str, Any]] = {
    "learning_rate": {"low": 0.01, "high": 0.3, "log": True},
    "max_leaf_nodes": {"low": 4, "high": 128, "log": True},
    "min_samples_leaf": {"low": 1, "high": 100, "log": True},
    "l2_regularization": {"low": 1e-3, "high": 100.0, "log": True},
    "subsample": {"low": 0.5, "high": 1.0},
    "max_features_tree": {"low": 0.3, "high": 1.0},
}
CATEGORIES: dict[str, dict[str, Any]] = {
    "cat_smooth": {"low": 1.0, "high": 100.0, "log": True},
    "cat_l2": {"low": 1.0, "high": 100.0, "log": True},
}
FIRST: dict[str, float] = {"learning_rate": 0.1, "max_leaf_nodes": 31, "min_samples_leaf": 20, "l2_regularization": 1.0, "subsample": 1.0,
         "max_features_tree": 1.0, "cat_smooth": 30.0, "cat_l2": 30.0}  # fmt: skip


def read_space(path: Path | None, rows: Data, fixed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters to search: of a TOML file, or the default ones; without those that are given."""
    space: dict[str, Any] = dict(SPACE)
    if rows.names is not None and any(
        str(field.type) in ("string", "large_string") or "dictionary" in str(field.type) for field in rows.X.schema
    ):
        space |= CATEGORIES
    if path is not None:
        try:
            space = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise CommandError(f"--space {path}: not a TOML file: {error}") from None
        for name, values in space.items():
            ranges = isinstance(values, dict) and {"low", "high"} <= set(values) <= {"low", "high", "log"}
            if not ranges and not (isinstance(values, list) and values):
                raise CommandError(f"--space {path}: {name} must be a list of choices or {{low = ..., high = ..., log = true}}")
    left = {name.replace("-", "_"): values for name, values in space.items() if name.replace("-", "_") not in fixed}
    if not left:
        raise CommandError("there is nothing to search: all parameters of the space are given")
    return left


class Tuning:
    """A study of an estimator on rows.

    Attributes
    ----------
    metric : metric to optimize
    path : file of the study
    """

    estimator: Any
    rows: Data
    space: dict[str, Any]
    path: Path
    folds: list[tuple[np.ndarray, np.ndarray]]
    metric: Metric
    study: optuna.Study

    def __init__(self, estimator: Any, rows: Data, metric: str | None, n_folds: int, seed: int, space: dict[str, Any], path: Path) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.estimator, self.rows, self.space, self.path = estimator, rows, space, path
        self.folds = _folds(estimator, rows, n_folds, seed)
        name = metric or _default_metric(estimator, rows)
        found = find_metric(name)
        if found is None:
            raise CommandError(f"--metric {name} is unknown; choose from {', '.join(ALL)}")
        self.metric = found
        self.study = self._open(seed)

    def _open(self, seed: int) -> optuna.Study:
        """Create or continue the study. A study of other rows or settings is refused."""
        about = {
            "metric": self.metric.name,
            "folds": len(self.folds),
            "space": repr(sorted(self.space.items())),
            "data": _digest(self.rows),
        }
        about["parameters"] = repr(
            sorted((k, v) for k, v in self.estimator.get_params(deep=False).items() if k not in ("n_jobs", "verbose"))
        )
        if not self.path.parent.is_dir():
            raise CommandError(f"--study {self.path}: the folder {self.path.parent} does not exist")
        sampler = optuna.samplers.TPESampler(seed=seed)
        study = optuna.create_study(
            storage=JournalStorage(JournalFileBackend(str(self.path))),
            study_name="sapwood",
            load_if_exists=True,
            sampler=sampler,
            pruner=optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=20),
            direction="maximize" if self.metric.higher_is_better else "minimize",
        )
        if not study.user_attrs:
            for name, value in about.items():
                study.set_user_attr(name, value)
            study.enqueue_trial(
                {name: FIRST[name] for name, choice in self.space.items() if name in FIRST and _contains(choice, FIRST[name])}
            )
        if changed := [name for name, value in about.items() if study.user_attrs.get(name) != value]:
            raise CommandError(f"--study {self.path} is of another search: the {changed[0]} has changed; use another file")
        return study

    def run(self, n_trials: int, timeout: float | None, show: Callable[[FrozenTrial], None]) -> None:
        """Run trials until the study has `n_trials`, or until the time is over."""
        left = n_trials - len(self.study.get_trials(deepcopy=False, states=(TrialState.COMPLETE, TrialState.PRUNED)))
        if left > 0:
            self.study.optimize(self._trial, n_trials=left, timeout=timeout, callbacks=[lambda study, trial: show(trial)])
        if not self.n_complete:
            raise CommandError("no trial was completed: give more time with --timeout")

    def _trial(self, trial: optuna.Trial) -> float:
        values = {name: _suggest(trial, name, choice) for name, choice in self.space.items()}
        scores, rounds = [], []
        for fold, (chosen, held_out) in enumerate(self.folds):
            estimator = clone(self.estimator).set_params(**values, **self._stopping())
            train, test = self.rows.take(chosen), self.rows.take(held_out)
            validation = {f"{name}_val": value for name, value in test.fit_arguments().items()}
            callbacks = [PruneTrial(trial)] if fold == 0 else []
            estimator.fit(**train.fit_arguments(), **validation, callbacks=callbacks)
            scores.append(float(estimator.validation_score_.max()))
            rounds.append(max(1, estimator.best_iteration_))
        trial.set_user_attr("rounds", float(np.mean(rounds)))
        return self.signed(float(np.mean(scores)))

    def _stopping(self) -> dict[str, Any]:
        own = self.estimator.get_params(deep=False)
        stopping = {"early_stopping": True, "scoring": self.metric.name, "preset": "classic"}
        defaults = {"max_iter": MAX_ROUNDS, "n_iter_no_change": PATIENCE}
        return stopping | {name: value for name, value in defaults.items() if own[name] == "auto"}

    def signed(self, score: float) -> float:
        """Return the metric for a score for which higher is better, and the other way round."""
        return score if self.metric.higher_is_better else -score

    @property
    def n_complete(self) -> int:
        return len(self.study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)))

    @property
    def best_score(self) -> float:
        return float(self.study.best_value)

    @property
    def best_number(self) -> int:
        return self.study.best_trial.number

    def best_parameters(self) -> dict[str, Any]:
        """Return the parameters of the best trial, with its rounds for all rows instead of early stopping."""
        n_folds = len(self.folds)
        rounds = round(self.study.best_trial.user_attrs["rounds"] * n_folds / (n_folds - 1))
        if (given := self.estimator.max_iter) != "auto":
            rounds = min(rounds, given)
        return {**self.study.best_params, "max_iter": rounds, "early_stopping": False}


class PruneTrial(Callback):
    """Reports the validation score of each round, and ends a trial that the pruner gives up."""

    def __init__(self, trial: optuna.Trial) -> None:
        self.trial = trial

    def after_round(self, state: Round) -> bool:
        measure = state.measures[VALIDATION][0]
        self.trial.report(state.scores[VALIDATION][measure.name][-1], state.n_rounds)
        if self.trial.should_prune():
            raise optuna.TrialPruned
        return False


def _contains(choice: Any, value: float) -> bool:
    return value in choice if isinstance(choice, list) else choice["low"] <= value <= choice["high"]


def _suggest(trial: optuna.Trial, name: str, choice: Any) -> Any:
    if isinstance(choice, list):
        return trial.suggest_categorical(name, choice)
    whole = all(isinstance(choice[end], int) and not isinstance(choice[end], bool) for end in ("low", "high"))
    suggest = trial.suggest_int if whole else trial.suggest_float
    try:
        return suggest(name, choice["low"], choice["high"], log=bool(choice.get("log")))
    except (ValueError, TypeError) as error:
        raise CommandError(f"--space: {name}: {error}") from None


def _folds(estimator: Any, rows: Data, n_folds: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    groups = rows.groups if rows.groups is not None else rows.qid
    strata = rows.y if is_classifier(estimator) and rows.y.ndim == 1 else None
    cls: Any = GroupKFold if groups is not None else KFold if strata is None else StratifiedKFold
    splits = cls(n_folds, shuffle=True, random_state=seed).split(np.arange(rows.n_rows), strata, groups)
    return [(np.sort(chosen), np.sort(held_out)) for chosen, held_out in splits]


def _default_metric(estimator: Any, rows: Data) -> str:
    """Return a metric that rewards good probabilities and rankings."""
    if is_classifier(estimator):
        return "log_loss"
    if type(estimator).__name__ == "BoostingRanker":
        return METRICS["ranking"][0]
    loss = str(estimator.loss)
    return "concordance" if loss in ("cox", "aft") else METRICS[loss if loss in METRICS else "regression"][0]


def _digest(rows: Data) -> str:
    """Return a digest of the shape, the names and the targets of rows."""
    digest = hashlib.sha256(repr((rows.n_rows, rows.X.shape[1], rows.names)).encode())
    digest.update(np.ascontiguousarray(rows.y.astype(str) if rows.y.dtype.kind == "O" else rows.y).tobytes())
    return digest.hexdigest()[:16]
