"""Plots of models with matplotlib (extra `plot`). Each function draws on `ax`, or on new axes, and returns the axes."""

from sapwood.plots.calibration import plot_calibration
from sapwood.plots.dependence import plot_dependence
from sapwood.plots.importance import plot_importance
from sapwood.plots.learning import plot_learning_curves
from sapwood.plots.shap import plot_shap_summary
from sapwood.plots.tree import plot_tree

__all__ = ["plot_calibration", "plot_dependence", "plot_importance", "plot_learning_curves", "plot_shap_summary", "plot_tree"]
