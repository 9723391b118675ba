"""Support for scikit-learn's callbacks (from scikit-learn 1.9 on): a fit is a task, each round a subtask."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sapwood.callbacks import Callback, Round
from sapwood.estimators.fit_result import FitResult

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Empty replacement: scikit-learn has no callbacks before 1.9."""

    def with_callbacks(method: Any) -> Any:
        return method


class ScikitCallbacks(Callback):
    """Call the scikit-learn callbacks of an estimator: those of `set_callbacks`, or of a search that fits the estimator."""

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
        return self.round_task.call_on_fit_task_end(**self.data, reconstruction_attributes=lambda: self._attributes(state))

    def after_training(self, state: Round) -> None:
        if self.fit_task is not None:
            self.fit_task.call_on_fit_task_end(**self.data, reconstruction_attributes=lambda: self._attributes(state))

    def _attributes(self, state: Round) -> dict[str, Any]:
        """Return the fitted attributes of the estimator with the model trained so far."""
        return self.estimator._fitted_attributes(replace(self.result, model=state.model.copy()))
