"""Section: parameters."""

from __future__ import annotations

from typing import Any

from sapwood.params.table import changed
from sapwood.report.context import Context
from sapwood.report.markup import element, join, note, plural, table
from sapwood.report.sections.base import Section

LONGEST = 120


def parameters_section(context: Context) -> Section | None:
    estimator = context.subject.estimator
    if estimator is None:
        return None
    return Section("parameters", "Parameters", parameters_html(estimator))


def parameters_html(estimator: Any) -> Any:
    """Return tables of the parameters: those that were set, those that the preset chose, and the rest."""
    values = {name: getattr(estimator, name) for name in estimator._parameters}
    given = changed(estimator._parameters, values)
    resolved = getattr(estimator, "resolved_params_", None) or {}
    reasons = getattr(resolved, "reasons", {})
    chosen = {name: resolved[name] for name in values if name in resolved and name not in given}
    rest = {name: value for name, value in values.items() if name not in given and name not in chosen}
    parts = [
        table(["parameter", "value"], [[name, _text(value)] for name, value in given.items()], "Parameters that differ from the defaults")
        if given
        else note("All parameters have their default values."),
    ]
    if chosen:
        rows = [[name, _text(value), reasons.get(name, "")] for name, value in chosen.items()]
        parts.append(table(["parameter", "value", "reason"], rows, f"Values chosen by preset={getattr(estimator, 'preset', None)!r}"))
    listed = table(["parameter", "value"], [[name, _text(value)] for name, value in rest.items()], "Parameters at their defaults")
    parts.append(element("details", element("summary", f"{plural(len(rest), 'parameter')} at their defaults"), listed))
    return join(parts)


def _text(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
