"""`sapwood report`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from sapwood.cli.errors import CommandError
from sapwood.cli.files.paths import Reading, check_output
from sapwood.cli.output import Output
from sapwood.cli.roles import Roles
from sapwood.cli.text import count

Names = Annotated[list[str] | None, Parameter(negative="")]


def report(
    model: str,
    data: list[str],
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("report.html"),
    reference: Names = None,
    slice_by: Names = None,
    sensitive: Names = None,
    title: str | None = None,
    roles: Roles = Roles(),
    reading: Reading = Reading(),
    out: Output = Output(),
) -> None:
    """Write a report of a model and a table: one HTML file that needs no network.

    Scores, calibration, errors, importances, SHAP values, partial dependence, trees, and a form for single predictions.

    Parameters
    ----------
    model
        Model file.
    data
        Files, patterns or folders; - is stdin. Best rows that the model was not trained on.
    output
        HTML file to write.
    reference
        Files of another table, such as the training rows: the report shows the drift from it.
    slice_by
        Column to divide errors by. May be repeated.
    sensitive
        Column to compare predictions and errors by (fairness). May be repeated.
    title
        Title of the report.
    """
    from sapwood.cli.files.reading import read_tables
    from sapwood.cli.models import feature_names, load_model, with_stored_roles
    from sapwood.cli.roles import divide
    from sapwood.report import write_report

    check_output(output)
    estimator = load_model(model)
    roles, names = with_stored_roles(estimator, roles), feature_names(estimator)
    table = read_tables(data, reading, estimator.n_features_in_)
    rows = divide(table, _known_roles(roles, getattr(table, "column_names", None)), names)
    other = divide(read_tables(reference, reading, estimator.n_features_in_), Roles(), names).X if reference else None
    chosen: dict[str, Any] = {"sample_weight": rows.weight, "qid": rows.qid, "offset": rows.offset, "reference": other, "title": title}
    columns = {"slice_by": slice_by, "sensitive": sensitive}
    chosen |= {option: None if given is None else _groups(table, given, roles, option) for option, given in columns.items()}
    write_report(estimator, rows.X, rows.y, output, **chosen)
    size = output.stat().st_size
    out.say(f"Report of {count(rows.n_rows, 'row')} written to {output} ({size / 2**20:.1f} MB)")
    if out.json:
        out.result_json({"report": str(output), "n_rows": rows.n_rows, "bytes": size})


def _known_roles(roles: Roles, names: list[str] | None) -> Roles:
    """Return the roles without a target that the table does not have: a report without targets has no scores."""
    if names is None or not roles.target or all(name in names for name in roles.targets()):
        return roles
    return replace(roles, target=None, event=None)


def _groups(table: Any, names: list[str], roles: Roles, option: str) -> dict[str, Any]:
    """Return the values of columns, which need not be columns of the model, by name."""
    from sapwood.cli.roles import divide

    known = getattr(table, "column_names", [])
    if unknown := [name for name in names if name not in known]:
        raise CommandError(f"--{option.replace('_', '-')} {unknown[0]}: there is no such column")
    chosen = divide(table, _known_roles(replace(roles, features=names), known), names)
    return {name: chosen.X[name].to_numpy() for name in names}
