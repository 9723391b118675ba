"""What a fitted estimator tells of itself: its columns, what they add to predictions, how much they matter, its trees in other forms."""

from __future__ import annotations

import copy
import os
import sys
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from sapwood.estimators.init_score import initial_raw
from sapwood.estimators.tables import first_table, table_like
from sapwood.inspection.describe import Description, describe
from sapwood.inspection.recursion import recursion_of
from sapwood.model import Explanation, Model
from sapwood.model.explain import TreeExplainer
from sapwood.model.export import ExportError, export
from sapwood.model.model import IMPORTANCES
from sapwood.params import resolve
from sapwood.params.resolve import Features
from sapwood.runtime.execution import local_execution

WITH_ROWS = ("permutation", "shap")  # importances that are of rows, not of the trees alone
HISTOGRAMS = "sklearn.ensemble._hist_gradient_boosting.gradient_boosting"


class ExplainedEstimator:
    """Looks into the model of an estimator."""

    model_: Model
    init: Any
    n_jobs: int | None
    feature_spec: Any
    _constraints: list[str]

    def describe_features(self, X: Any = None) -> Description:
        """What is taken for what: name, kind, levels or range, share of missing values, bins and constraints of each column; after the fit
        also the features that categories and datetimes are made into.

        Parameters
        ----------
        X : table, optional
            Before the fit: a table that might be fitted on. After it: one to predict, or none.

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
                raise ValueError("Before the fit, describe_features needs a table: describe_features(X)")
            new = first_table(copy.copy(self), X)
            features = Features(new.n_features, new.schema.names, X, self.feature_spec)
            return describe(new.schema, new, None, resolve.constraints(self, features))
        schema, table = model.schema, None if X is None else table_like(self, X, model.schema)
        return describe(schema, table, model, self._constraints)

    def explain(self, X: Any, *, background: Any = None, interactions: bool = False, offset: Any = None) -> Explanation:
        """What each feature adds to each row's raw prediction: exact Shapley values of the trees.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
        background : table, optional
            Rows that stand for features that are not known ("interventional" values); without, the training rows do, as each tree counted
            them ("path-dependent" values).
        interactions : bool
            Whether to give values for each two features. They add up to those of each feature.
        offset : array, optional
            As given to `predict`: where the raw predictions start. It counts among the base values.

        Returns
        -------
        Explanation
            With the attributes and shapes of a `shap.Explanation`: `values` add up to the raw prediction less `base_values`.

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
            raise ValueError("background and interactions=True do not go together: interactions are path-dependent")
        schema, execution = self.model_.schema, local_execution(self.n_jobs)
        table = table_like(self, X, schema)
        explainer = TreeExplainer(self.model_, background=None if background is None else table_like(self, background, schema))
        values, base = (explainer.interactions if interactions else explainer.values)(table, execution)
        start = initial_raw(self, X, offset, len(base), self.model_)
        base = base if start is None else base + start
        names = getattr(self, "feature_names_in_", None)
        one = self.model_.n_outputs == 1
        return Explanation(values[..., 0] if one else values, base[:, 0] if one else base, X, None if names is None else list(names))

    def export(self, format: str, path: str | os.PathLike[str] | None = None, **options: Any) -> Any:
        """The model in another form, for prediction without this library.

        Parameters
        ----------
        format : {"c", "onnx", "treelite", "lightgbm", "xgboost", "shap"}
        path : optional
            Where to write it.
        options : of the format
            See docs/export.md.

        Returns
        -------
        str, dict or an object of the library whose format it is
        """
        check_is_fitted(self)
        if getattr(self, "init_", None) is not None:
            raise ExportError(f"init={self.init!r} is not part of the trees: export it on its own, and the trees by model_.export")
        return export(self.model_, format, path, self._export_classes, options)

    @property
    def _export_classes(self) -> list[Any] | None:
        """The labels that an exported model predicts."""
        return None

    @property
    def feature_importances_(self) -> np.ndarray:
        """The share of each feature in the total gain of splits; see `importances` for other kinds."""
        gains = self.importances("gain")
        if not gains.any():
            return gains
        gains /= gains.max()  # the sum of the largest might not be a number
        return gains / gains.sum()

    def importances(
        self,
        kind: str = "gain",
        X: Any = None,
        y: Any = None,
        *,
        scoring: Any = None,
        n_repeats: int = 5,
        sample_weight: Any = None,
        random_state: Any = 0,
    ) -> np.ndarray:
        """(n_features,): how much each feature matters.

        Parameters
        ----------
        kind : {"gain", "split", "cover", "permutation", "shap"}
            How trees used a feature: total gain of its splits, their number, or the training rows they sent on. Or how much it matters for
            the rows X: "permutation": how much the score of (X, y) falls when the feature's values change rows; "shap": the mean of the
            absolute Shapley values, added up over outputs.
        X, y : rows for "permutation", and (without y) for "shap"
        scoring, n_repeats, sample_weight, random_state : of "permutation", as for `sklearn.inspection.permutation_importance`
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
        from sklearn.inspection import permutation_importance  # here, for it takes all of scikit-learn's ensembles with it

        return permutation_importance(self, X, y, scoring=scoring, **rest).importances_mean

    # Asked by scikit-learn

    def __sklearn_is_fitted__(self) -> bool:
        """Asked first by its `inspection`, and then for a class, not a method, where it might use "recursion"."""
        asked_for = sys.modules.get(HISTOGRAMS)  # imported by whoever asks: by us it would be for nothing, mostly, and takes a while
        if asked_for is not None:
            asked_for.BaseHistGradientBoosting.register(ExplainedEstimator)
        return hasattr(self, "model_")

    def _compute_partial_dependence_recursion(self, grid: Any, target_features: np.ndarray) -> np.ndarray:
        """(n_outputs, n_points): for `sklearn.inspection`, which knows columns by their number in its X; ours are those of the fit."""
        check_is_fitted(self)
        return recursion_of(self.model_, grid, target_features, isinstance(self, RegressorMixin))
