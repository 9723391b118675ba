"""Inspection of a fitted estimator: its columns, Shapley values, importances, exports."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np
from sklearn import get_config
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from sapwood.data.reading import Source
from sapwood.data.tables import Table
from sapwood.estimators.notebook import estimator_html
from sapwood.estimators.tables import first_table
from sapwood.inspection.describe import Description, describe
from sapwood.inspection.recursion import recursion_of
from sapwood.model import Explanation, Model
from sapwood.model.explain import TreeExplainer
from sapwood.model.export import ExportError, export
from sapwood.model.model import IMPORTANCES
from sapwood.params.column_plan import ColumnPlan
from sapwood.params.columns import Features
from sapwood.runtime.execution import SERIAL, local_execution

if TYPE_CHECKING:
    from sapwood.typing import ArrayLike, Path, RandomState, ReportOptions, Scorer, TableLike

WITH_ROWS = ("permutation", "shap")  # importances that are computed from rows
HISTOGRAMS = "sklearn.ensemble._hist_gradient_boosting.gradient_boosting"


class ExplainedEstimator(ABC):
    """Mixin of estimators: inspection and export of the model."""

    model_: Model
    init: Any
    init_: Any
    n_jobs: int | None
    feature_spec: Any
    _constraints: list[str]

    @abstractmethod
    def _values(self) -> Any:
        """Return the values of all parameters."""

    @abstractmethod
    def _read(self, source: Source) -> Table:
        """Read a table with the columns of the model."""

    @abstractmethod
    def _initial_raw(self, source: Source, offset: Any, n_rows: int) -> np.ndarray | None:
        """Return the (n_rows, n_outputs) initial raw predictions from `init_` and an offset; None for 0."""

    def describe_features(self, X: TableLike | None = None) -> Description:
        """Describe the columns: name, kind, levels or range, fraction of missing values, bins and constraints.

        After `fit`, also the features that categorical and datetime columns are encoded into.

        Parameters
        ----------
        X : table, optional
            Table to describe. Required before `fit`.

        Returns
        -------
        Description

        Examples
        --------
        >>> import pandas as pd
        >>> from sapwood import BoostingRegressor
        >>> X = pd.DataFrame({"age": [20, 35, None], "member": [True, False, True]})
        >>> print(BoostingRegressor(monotonic_cst={"age": 1}).describe_features(X))
        name   | kind   | values   | missing | bins | constraints
        -------+--------+----------+---------+------+------------
        age    | number | 20 to 35 | 33.3%   |      | rises
        member | bool   | 0 to 1   | 0.0%    |      |
        """
        model = getattr(self, "model_", None)
        if model is None:
            if X is None:
                raise ValueError("describe_features needs a table before fit: describe_features(X)")
            values, source = self._values(), Source(X)
            new = first_table(values, source, type(self).__name__, SERIAL)
            columns = ColumnPlan.resolve(values, Features(new.n_features, new.schema.names, source, self.feature_spec))
            return describe(new.schema, new, None, columns.describe())
        return describe(model.schema, None if X is None else self._read(Source(X)), model, self._constraints)

    def explain(
        self, X: TableLike, *, background: TableLike | None = None, interactions: bool = False, offset: ArrayLike | None = None
    ) -> Explanation:
        """Compute exact SHAP values: the contribution of each feature to the raw prediction of each row.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
        background : table, optional
            Background rows for interventional SHAP values. None: path-dependent SHAP values, from the training rows counted in each node.
        interactions : bool, default=False
            Whether to return SHAP interaction values for pairs of features. They add up to the values of single features.
        offset : array-like, optional
            Initial raw predictions, as in `predict`; they are part of the base values.

        Returns
        -------
        Explanation
            With the attributes and shapes of a `shap.Explanation`: `values` add up to the raw prediction minus `base_values`.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_diabetes
        >>> from sapwood import BoostingRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = BoostingRegressor().fit(X, y)
        >>> found = model.explain(X[:3])
        >>> bool(np.allclose(found.values.sum(axis=1) + found.base_values, model.predict(X[:3])))
        True
        """
        check_is_fitted(self)
        if background is not None and interactions:
            raise ValueError("background cannot be combined with interactions=True: interactions are path-dependent; leave one out")
        source, execution = Source(X), local_execution(self.n_jobs)
        table = self._read(source)
        explainer = TreeExplainer(self.model_, background=None if background is None else self._read(Source(background)))
        values, base = (explainer.interactions if interactions else explainer.values)(table, execution)
        initial = self._initial_raw(source, offset, len(base))
        base = base if initial is None else base + initial
        names = getattr(self, "feature_names_in_", None)
        single = self.model_.n_outputs == 1
        return Explanation(values[..., 0] if single else values, base[:, 0] if single else base, X, None if names is None else list(names))

    def export(
        self, format: Literal["c", "onnx", "treelite", "lightgbm", "xgboost", "shap"] | str, path: Path | None = None, **options: Any
    ) -> Any:
        """Export the model for prediction with other software.

        Parameters
        ----------
        format : {"c", "onnx", "treelite", "lightgbm", "xgboost", "shap"}
        path : path, optional
            File to write.
        options
            Options of the format: see docs/export.md.

        Returns
        -------
        str, dict or an object of the other library
        """
        check_is_fitted(self)
        if getattr(self, "init_", None) is not None:
            raise ExportError(f"init={self.init!r} cannot be exported: export it separately, and the trees with model_.export")
        return export(self.model_, format, path, self._export_classes, options)

    def report(self, X: TableLike, y: ArrayLike | None = None, path: Path = "report.html", **options: Unpack[ReportOptions]) -> None:
        """Write a report of the model and of rows: one HTML file that needs no network.

        The arguments are those of `sapwood.report.write_report`, without `model`.

        Examples
        --------
        >>> import os, tempfile
        >>> from sklearn.datasets import load_diabetes
        >>> from sapwood import BoostingRegressor
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> model = BoostingRegressor(max_iter=5).fit(X[:300], y[:300])
        >>> model.report(X[300:], y[300:], os.path.join(tempfile.mkdtemp(), "report.html"), reference=X[:300])
        """
        from sapwood.report import write_report  # imports this package

        write_report(self, X, y, path, **options)

    @property
    def _export_classes(self) -> list[Any] | None:
        """Class labels that an exported model predicts; None for raw predictions or numbers."""
        return None

    @property
    def feature_importances_(self) -> np.ndarray:
        """Fraction of the total gain of splits that each column has; see `importances` for other kinds."""
        gains = self.importances("gain")
        if not gains.any():
            return gains
        gains /= gains.max()  # avoids overflow of the sum
        return gains / gains.sum()

    def importances(
        self,
        kind: Literal["gain", "split", "cover", "permutation", "shap"] | str = "gain",
        X: TableLike | None = None,
        y: ArrayLike | None = None,
        *,
        scoring: str | Scorer | None = None,
        n_repeats: int = 5,
        sample_weight: ArrayLike | None = None,
        random_state: RandomState = 0,
    ) -> np.ndarray:
        """Importance of each column.

        Parameters
        ----------
        kind : {"gain", "split", "cover", "permutation", "shap"}, default="gain"
            - "gain": total gain of the splits on the column;
            - "split": number of splits on the column;
            - "cover": number of training rows that reach these splits;
            - "permutation": decrease of the score on (X, y) if the values of the column are permuted;
            - "shap": mean absolute SHAP value over the rows of X, summed over outputs.
        X, y : table and targets, optional
            For "permutation"; "shap" needs X only.
        scoring, n_repeats, sample_weight, random_state
            For "permutation", as in `sklearn.inspection.permutation_importance`.

        Returns
        -------
        array of shape (n_features,)
        """
        check_is_fitted(self)
        if kind not in WITH_ROWS:
            if kind not in IMPORTANCES:
                raise ValueError(f"kind={kind!r} is unknown; choose from {', '.join([*IMPORTANCES, *WITH_ROWS])}")
            return self.model_.importances(kind)
        for name, value in {"X": X, "y": y}.items():
            if value is None and (name == "X" or kind == "permutation"):
                raise ValueError(f"kind={kind!r} needs {name}: importances({kind!r}, X{', y' if kind == 'permutation' else ''})")
        if kind == "shap":
            values = np.abs(self.explain(X).values).mean(axis=0)
            return values if values.ndim == 1 else values.sum(axis=1)
        if scoring is None and not isinstance(self, ClassifierMixin | RegressorMixin):
            raise ValueError(f"kind='permutation' needs scoring for {type(self).__name__}: a function (estimator, X, y) -> float")
        rest = {"n_repeats": n_repeats, "random_state": random_state, "sample_weight": sample_weight}
        from sklearn.inspection import permutation_importance  # slow to import

        return permutation_importance(self, X, y, scoring=scoring, **rest).importances_mean

    def _repr_html_(self) -> str:
        """Return the estimator as HTML: parameters that differ from the defaults; if fitted, curves, importances and the first tree."""
        return estimator_html(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Called by Jupyter. With scikit-learn's setting display="text", only the text."""
        bundle = {"text/plain": repr(self)}
        return {**bundle, "text/html": self._repr_html_()} if get_config()["display"] == "diagram" else bundle

    # Called by scikit-learn

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether the estimator is fitted.

        `sklearn.inspection` calls this method first, and then uses method="recursion" only for instances of `BaseHistGradientBoosting`:
        the class is registered here as a subclass of it. We do not import that module, which is slow; its caller has imported it.
        """
        module = sys.modules.get(HISTOGRAMS)
        if module is not None:
            module.BaseHistGradientBoosting.register(ExplainedEstimator)
        return hasattr(self, "model_")

    def _compute_partial_dependence_recursion(self, grid: Any, target_features: np.ndarray) -> np.ndarray:
        """Return the (n_outputs, n_points) partial dependence for `sklearn.inspection`. `target_features` are column indices."""
        check_is_fitted(self)
        return recursion_of(self.model_, grid, target_features, isinstance(self, RegressorMixin))
