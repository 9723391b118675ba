"""Callbacks of scikit-learn, where it has them (from 1.9 on): a fit is a task, each round one of its subtasks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sapwood.callbacks import Callback, Round
from sapwood.estimators.fit_result import FitResult

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""

    def with_callbacks(method: Any) -> Any:
        return method


class ScikitCallbacks(Callback):
    """Pass each round on to the callbacks that `estimator.set_callbacks` was given, or that a search handed down."""

    estimator: Any
    data: dict[str, Any]
    result: FitResult

    def __init__(self, estimator: Any, X: Any, y: Any, result: FitResult) -> None:
        self.estimator, self.data, self.result = estimator, {"estimator": estimator, "X": X, "y": y}, result
        self.fit_task: Any = None

    @staticmethod
    def wanted(estimator: Any) -> bool:
        return bool(getattr(estimator, "_skl_callbacks", None))

    def before_training(self, state: Round) -> None:
        self.fit_task = self.estimator._init_callback_context(max_subtasks=max(1, state.max_rounds - state.n_rounds))
        self.fit_task.call_on_fit_task_begin(**self.data)

    def before_round(self, state: Round) -> None:
        self.round_task: Any = self.fit_task.subcontext(task_name="round")
        self.round_task.call_on_fit_task_begin(**self.data)

    def after_round(self, state: Round) -> bool:
        return self.round_task.call_on_fit_task_end(**self.data, reconstruction_attributes=lambda: self._so_far(state))

    def after_training(self, state: Round) -> None:
        if self.fit_task is not None:
            self.fit_task.call_on_fit_task_end(**self.data, reconstruction_attributes=lambda: self._so_far(state))

    def _so_far(self, state: Round) -> dict[str, Any]:
        """Attributes that make the estimator predict as if training had ended here."""
        return self.estimator._fitted_attributes(replace(self.result, model=state.model.copy()))
