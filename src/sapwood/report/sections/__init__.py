"""Sections of a report. `SECTIONS` is the table, in the order of the page."""

from collections.abc import Callable

from sapwood.report.context import Context
from sapwood.report.sections.base import Section
from sapwood.report.sections.calibration import calibration_section
from sapwood.report.sections.card import card_section
from sapwood.report.sections.data import data_section
from sapwood.report.sections.dependence import dependence_section
from sapwood.report.sections.drift import drift_section
from sapwood.report.sections.errors import errors_section
from sapwood.report.sections.fairness import fairness_section
from sapwood.report.sections.importance import importance_section
from sapwood.report.sections.learning import learning_section
from sapwood.report.sections.parameters import parameters_section
from sapwood.report.sections.scores import scores_section
from sapwood.report.sections.shap import shap_section
from sapwood.report.sections.slices import slices_section
from sapwood.report.sections.trees import trees_section
from sapwood.report.sections.what_if import what_if_section

SECTIONS: tuple[Callable[[Context], Section | None], ...] = (
    scores_section,
    data_section,
    learning_section,
    calibration_section,
    errors_section,
    importance_section,
    shap_section,
    dependence_section,
    what_if_section,
    trees_section,
    slices_section,
    fairness_section,
    drift_section,
    parameters_section,
    card_section,
)

__all__ = ["SECTIONS", "Section"]
