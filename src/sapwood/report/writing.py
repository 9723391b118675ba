"""Writes a report of a model and rows as one HTML file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

from sapwood.model import disk
from sapwood.report.context import Context
from sapwood.report.markup import number, plural
from sapwood.report.page import page_header, render_page
from sapwood.report.sections import SECTIONS
from sapwood.report.sections.scores import interval
from sapwood.report.subject import TASK_NAMES, Subject

if TYPE_CHECKING:
    from sapwood.typing import ArrayLike, ReportOptions, TableLike

Path = str | os.PathLike[str]


def render(
    model: Any,
    X: TableLike,
    y: Any = None,
    *,
    sample_weight: ArrayLike | None = None,
    reference: TableLike | None = None,
    slice_by: Any = None,
    sensitive: Any = None,
    title: str | None = None,
    notes: Mapping[str, str] | None = None,
    qid: ArrayLike | None = None,
    group: ArrayLike | None = None,
    offset: ArrayLike | None = None,
) -> str:
    """Return a report as HTML. See `write_report` for the arguments."""
    subject = Subject(model, X, y, sample_weight, qid, group, offset)
    context = Context(subject, reference, slice_by, sensitive, notes)
    sections = [section for make in SECTIONS if (section := make(context)) is not None]
    findings = [text for section in sections for text in section.findings]
    name = type(subject.given).__name__
    subtitle = f"{name}: {TASK_NAMES[subject.task]} with {plural(len(subject.names), 'column')}"
    header = page_header(title or f"Report of a {name}", subtitle, _cards(context), findings)
    shared = {"forest": context.forest.data if subject.by_importance else None}
    return render_page(title or f"Report of a {name}", header, sections, shared)


def write_report(
    model: Any,
    X: TableLike,
    y: Any = None,
    path: Path = "report.html",
    **options: Unpack[ReportOptions],
) -> None:
    """Write a report of a model and rows: one HTML file that needs no network.

    Scores are computed on all rows; charts show a sample of them. The file is written atomically, and is the same for the same arguments.

    Parameters
    ----------
    model : fitted Sapwood estimator, estimator of `sapwood.uncertainty`, or Model
    X : table with the columns of the fit; rows that the model was not trained on
    y : targets, optional
        Without targets, the report has no scores and errors.
    path : str or path, default="report.html"
    sample_weight : array-like of shape (n_rows,), optional
    reference : table, optional
        Second table, such as the training rows: the report shows the drift from it to X.
    slice_by : name or names of columns, array-like of shape (n_rows,), or dict of name -> array-like, optional
        Columns to divide errors by, besides the most important columns of the model.
    sensitive : as `slice_by`, optional
        Columns to compare predictions and errors by (fairness).
    title : str, optional
    notes : dict of heading -> text, optional
        Text of the model card, such as "Intended use" and "Limitations".
    qid, group : array-like, optional
        Queries of a ranking task, as in `fit`.
    offset : array-like, optional
        Initial raw predictions, as in `predict`.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sapwood import BoostingClassifier
    >>> from sapwood.report import write_report
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = BoostingClassifier(max_iter=20).fit(X[:400], y[:400])
    >>> path = os.path.join(tempfile.mkdtemp(), "report.html")
    >>> write_report(model, X[400:], y[400:], path, reference=X[:400])
    """
    disk.write(path, render(model, X, y, **options).encode())


def _cards(context: Context) -> list[tuple[str, str, str]]:
    subject, model = context.subject, context.subject.model
    cards = [(one.measure.title, number(one.value), f"95%: {interval(one)}" if one.low == one.low else "") for one in context.scores[:2]]
    rounds = f"{model.n_rounds_used:,}"
    return [
        *cards,
        ("Rows", f"{subject.n_rows:,}", "the training rows" if subject.is_training_data else ""),
        ("Columns", f"{len(subject.names):,}", f"{len(subject.by_importance):,} used by trees"),
        ("Rounds", rounds, plural(model.n_rounds_used * model.trees_per_round, "tree")),
    ]
