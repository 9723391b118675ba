"""Plots of models trained on the data sets that scikit-learn bundles, and the coverage of prediction intervals and sets.

python examples/insight.py [folder]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.inspection import permutation_importance
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from sapwood import BoostingClassifier, BoostingRegressor, plots
from sapwood.uncertainty import CalibratedClassifier, ConformalClassifier, ConformalRegressor

mpl.use("agg")


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)

    def save(name: str, ax: Any) -> None:
        ax.figure.savefig(folder / f"{name}.png", dpi=110)
        print(f"{folder / name}.png")

    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    regressor = BoostingRegressor(max_iter=60, learning_rate=0.08, max_leaf_nodes=12).fit(
        X_train, y_train, eval_sets={"test": (X_test, y_test)}
    )
    save("tree", plots.plot_tree(regressor))
    save("importance", plots.plot_importance(regressor))
    permuted = permutation_importance(regressor, X_test, y_test, random_state=0)
    save("permutation_importance", plots.plot_importance(regressor, importances=permuted))
    save("dependence", plots.plot_dependence(regressor, X_train, "bmi"))
    save("dependence_of_two", plots.plot_dependence(regressor, X_train, ("bmi", "s5")))

    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    stopped = BoostingClassifier(early_stopping=True, max_iter=300).fit(X_train, y_train, eval_sets={"test": (X_test, y_test)})
    save("learning_curves", plots.plot_learning_curves(stopped))
    if hasattr(stopped, "explain"):
        save("shap_summary", plots.plot_shap_summary(stopped.explain(X_test)))

    X, y = load_wine(return_X_y=True, as_frame=True)
    save("dependence_of_classes", plots.plot_dependence(BoostingClassifier(max_iter=50).fit(X, y), X, "proline"))

    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y > y.median(), test_size=0.5, random_state=0)
    bold = BoostingClassifier(max_iter=50, learning_rate=0.3)
    honest = CalibratedClassifier(bold, calibration_size=0.4).fit(X_train, y_train)
    shown = {"trained only": bold.fit(X_train, y_train), "calibrated": honest}
    save("calibration", plots.plot_calibration(shown, X_test, y_test, n_bins=6))
    losses = {name: log_loss(y_test, model.predict_proba(X_test)) for name, model in shown.items()}
    print("\ndiabetes above its median, log-loss: " + ", ".join(f"{name} {loss:.3f}" for name, loss in losses.items()))

    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
    for method in ("split", "cv+"):
        classifier = ConformalClassifier(BoostingClassifier(max_iter=20), method=method, conformity="aps")
        sets = classifier.fit(X_train, y_train).predict_set(X_test)
        covered = sets[np.arange(len(sets)), y_test]
        print(f"digits, 90 % sets ({method}): hold the truth in {covered.mean():.1%}, {sets.sum(axis=1).mean():.2f} classes each")
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    for method in ("split", "cv+"):
        intervals = (
            ConformalRegressor(BoostingRegressor(max_iter=60, max_leaf_nodes=8), method=method)
            .fit(X_train, y_train)
            .predict_interval(X_test)
        )
        covered = (intervals[:, 0] <= y_test) & (y_test <= intervals[:, 1])
        print(f"diabetes, 90 % intervals ({method}): hold the truth in {covered.mean():.1%}, {np.diff(intervals).mean():.0f} wide")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "insight"))
