"""Everything that the sections of a report share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sapwood.data.tables import ArrayTable
from sapwood.model.explain import TreeExplainer
from sapwood.report.forest import PackedForest, pack_forest
from sapwood.report.measures import Losses, Score, losses_of, scores_of
from sapwood.report.subject import MULTICLASS, Subject
from sapwood.runtime.caching import cached_property

SAMPLE = 400  # rows of scatter plots and of SHAP values
SAMPLED_NUMBERS = 4_000_000  # maximum of rows x columns
COLUMNS_SHOWN = 10  # in charts of importance, SHAP values and partial dependence
OUTPUTS_SHOWN = 12


@dataclass
class Context:
    """Subject of a report, the choices of the user, and results that several sections use."""

    subject: Subject
    reference: Any = None
    slice_by: Any = None
    sensitive: Any = None
    notes: Mapping[str, str] | None = None

    @cached_property
    def scores(self) -> list[Score]:
        return scores_of(self.subject)

    @cached_property
    def losses(self) -> Losses | None:
        return losses_of(self.subject)

    @cached_property
    def sample(self) -> np.ndarray:
        """Numbers of the rows of charts and examples."""
        n_columns = max(1, self.subject.model.encoding.n_columns)
        return self.subject.sample_rows(max(20, min(SAMPLE, SAMPLED_NUMBERS // n_columns)))

    @cached_property
    def sample_values(self) -> np.ndarray:
        """(n_sample, n_columns) float64"""
        return self.subject.values(self.sample)

    @cached_property
    def shap(self) -> tuple[np.ndarray, np.ndarray]:
        """SHAP values of the sample, (n_sample, n_columns, n_outputs), and base values, (n_outputs,)."""
        explainer = TreeExplainer(self.subject.model)
        values, base = explainer.values(ArrayTable(self.sample_values), self.subject.execution)
        return values, base[0]

    @cached_property
    def shap_importance(self) -> np.ndarray:
        """(n_columns,) mean absolute SHAP values, summed over outputs."""
        return np.abs(self.shap[0]).mean(axis=0).sum(axis=1)

    @cached_property
    def top_columns(self) -> list[int]:
        """Columns of charts, by mean absolute SHAP value."""
        order = np.argsort(-self.shap_importance, kind="stable")
        return [int(c) for c in order[:COLUMNS_SHOWN] if self.shap_importance[c] > 0]

    @cached_property
    def outputs_shown(self) -> list[int]:
        """Outputs of charts: all, or the most frequent classes."""
        k = self.subject.model.n_outputs
        if k <= OUTPUTS_SHOWN or self.subject.task != MULTICLASS or self.subject.rows.y is None:
            return list(range(min(k, OUTPUTS_SHOWN)))
        counts = np.bincount(self.subject.rows.y, minlength=k)
        return sorted(np.argsort(-counts, kind="stable")[:OUTPUTS_SHOWN].tolist())

    @cached_property
    def forest(self) -> PackedForest:
        return pack_forest(self.subject.model, self.sample_values)
