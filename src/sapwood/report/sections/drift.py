"""Section: drift between two tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.data.columns import Kind
from sapwood.data.reading import read_table
from sapwood.data.tables import Table
from sapwood.estimators import BoostingClassifier
from sapwood.report.context import Context
from sapwood.report.drift import LARGE, SMALL, ColumnDrift, compare
from sapwood.report.markup import chart, element, join, note, number, percent, plural, table
from sapwood.report.payload import numbers
from sapwood.report.sections.base import Section
from sapwood.report.subject import ReportColumn, Subject, sample_rows

COLUMNS = 100  # compared
CLASSIFIED_ROWS = 2_000  # of each table, for the classifier that tells them apart
ROUNDS = 30


def drift_section(context: Context) -> Section | None:
    if context.reference is None:
        return None
    subject = context.subject
    other = read_table(context.reference, subject.model.schema, None if subject.estimator is None else type(subject.estimator).__name__)
    order = [*subject.by_importance, *(c for c in range(len(subject.names)) if c not in set(subject.by_importance))][:COLUMNS]
    found = [compare(_column(subject, other, c), subject.column(c)) for c in order]
    found.sort(key=lambda one: -one.psi)
    predictions = _predictions(subject, other)
    rows = [
        [one.name, number(one.psi, 3), one.verdict, number(one.distance, 3), f"{percent(one.missing[0])} → {percent(one.missing[1])}"]
        for one in [*predictions, *found]
    ]
    auc = domain_auc(subject, other)
    text = (
        f"The rows of this report ({plural(subject.n_rows, 'row')}) compared with the reference table ({plural(other.n_rows, 'row')}). "
        f"The population stability index (PSI), less its mean by chance, is small below {SMALL} and large from {LARGE}."
    )
    told = f"A classifier tells the two tables apart with a ROC AUC of {auc:.2f} (0.5: not at all; 1: always)." if auc == auc else ""
    html = join(
        [
            element("p", text),
            element("p", told) if told else None,
            element("div", id="drift-control", class_="controls"),
            chart("drift", "Distribution in the reference table and in the rows of this report"),
            table(["column", "PSI", "drift", "distance", "missing"], rows, "Drift by column, the largest first", numeric=(1, 3, 4)),
            note("Distance: Kolmogorov-Smirnov for numbers, total variation for categories.") if rows else None,
        ]
    )
    far = [one.name for one in found if one.verdict == "large"]
    some = ", ".join(far[:3]) + (", …" if len(far) > 3 else "")
    findings = [f"{plural(len(far), 'column')} with large drift from the reference table: {some}."] if far else []
    return Section("drift", "Drift", html, {"columns": [_data(one) for one in [*predictions, *found]], "auc": numbers(auc)}, findings)


def _column(subject: Subject, other: Table, c: int) -> ReportColumn:
    return ReportColumn(subject.names[c], subject.model.schema.kind(c), other.column(c).astype(np.float64))


def _predictions(subject: Subject, other: Table) -> list[ColumnDrift]:
    """Compare the raw predictions of both tables, for the first outputs."""
    raw, own = subject.model.predict_raw(other, subject.execution), subject.model.predict_raw(subject.table, subject.execution)
    out = []
    for k, label in enumerate(subject.labels[:4]):
        name = "raw prediction" if len(subject.labels) == 1 else f"raw prediction of {label}"
        out.append(compare(ReportColumn(name, Kind(), raw[:, k]), ReportColumn(name, Kind(), own[:, k])))
    return out


def _data(one: ColumnDrift) -> dict[str, Any]:
    return {
        "name": one.name,
        "labels": one.labels,
        "reference": numbers(one.reference),
        "current": numbers(one.current),
        "psi": numbers(one.psi),
    }


def domain_auc(subject: Subject, other: Table) -> float:
    """Return the ROC AUC, on held-out rows, of a classifier that tells the two tables apart; NaN if there are too few rows."""
    parts = []
    for one in (other, subject.table):
        rows = sample_rows(one.n_rows, CLASSIFIED_ROWS)
        parts.append(
            np.column_stack([one.sample(rows, first, last) for first, last in one.feature_blocks(one.n_features)]).astype(np.float64)
        )
    n = min(map(len, parts))
    if n < 40 or parts[0].shape[1] > 1000:
        return float("nan")
    X, y = np.concatenate(parts), np.repeat([0, 1], [len(part) for part in parts])
    X[X < -1e300] = np.nan
    test = np.arange(len(y)) % 2 == 1
    model = BoostingClassifier(max_iter=ROUNDS, early_stopping=False, n_jobs=subject.execution.n_threads).fit(X[~test], y[~test])
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(y[test], model.predict_proba(X[test])[:, 1]))
