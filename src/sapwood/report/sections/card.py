"""Section: model card."""

from __future__ import annotations

from typing import Any

from sapwood.report.context import Context
from sapwood.report.markup import element, facts, join, note, number, plural
from sapwood.report.sections.base import Section
from sapwood.report.sections.scores import interval
from sapwood.report.subject import TASK_NAMES
from sapwood.version import __version__

HEADINGS = ("Intended use", "Limitations", "Training data", "Contact")  # of notes that a model card should have


def card_section(context: Context) -> Section:
    subject = context.subject
    notes = dict(context.notes or {})
    parts: list[Any] = [facts(_details(context))]
    if context.scores:
        scores = [(one.measure.title, f"{number(one.value)} ({interval(one)})") for one in context.scores[:5]]
        parts += [element("h3", f"Evaluation on {plural(subject.n_rows, 'row')}"), facts(scores)]
    for heading, text in notes.items():
        parts += [element("h3", heading), *(element("p", line) for line in str(text).split("\n\n"))]
    missing = [heading for heading in HEADINGS if heading.lower() not in {str(name).lower() for name in notes}]
    if missing:
        parts.append(note(f'Not stated: {", ".join(missing).lower()}. Pass notes={{"{missing[0]}": "..."}} to add text to this card.'))
    return Section("card", "Model card", join(parts))


def _details(context: Context) -> list[tuple[str, str]]:
    subject, model = context.subject, context.subject.model
    provenance = {} if subject.estimator is None else subject.estimator.provenance_
    leaves = sum(tree.n_leaves for tree in model.trees[: model.n_rounds_used * model.trees_per_round])
    pairs = [
        (
            "Model",
            type(subject.given).__name__
            + ("" if subject.given is (subject.estimator or model) else f" of a {type(subject.estimator or model).__name__}"),
        ),
        ("Task", TASK_NAMES[subject.task]),
        ("Loss", f"{model.loss} (link: {model.link})"),
        (
            "Size",
            f"{plural(model.n_rounds_used, 'round')}, {plural(model.n_rounds_used * model.trees_per_round, 'tree')}, {leaves:,} leaves",
        ),
        ("Columns", f"{len(subject.names)}, of which trees use {len(subject.by_importance)}"),
    ]
    if subject.classes:
        pairs.append(("Classes", ", ".join(map(str, subject.classes[:20])) + (" …" if len(subject.classes) > 20 else "")))
    if "n_rows" in provenance:
        pairs.append(("Training rows", f"{int(provenance['n_rows']):,}"))
    if "data" in provenance:
        pairs.append(("Digest of the training data", str(provenance["data"])))
    pairs.append(("Trained with", f"Sapwood {provenance.get('sapwood', __version__)}"))
    pairs.append(("Report written by", f"Sapwood {__version__}"))
    return pairs
