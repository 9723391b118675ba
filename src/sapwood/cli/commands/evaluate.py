"""`sapwood evaluate`."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from sapwood.cli.errors import CommandError
from sapwood.cli.files.paths import Reading
from sapwood.cli.output import Output
from sapwood.cli.roles import Roles
from sapwood.cli.text import count


def evaluate(
    model: str,
    data: list[str],
    /,
    *,
    metric: Annotated[list[str] | None, Parameter(negative="")] = None,
    level: float = 0.95,
    roles: Roles = Roles(),
    reading: Reading = Reading(),
    out: Output = Output(),
) -> None:
    """Compute metrics of a model on a table, with confidence intervals.

    Parameters
    ----------
    model
        Model file.
    data
        Files, patterns or folders; - is stdin.
    metric
        Metric to compute. May be repeated.
    level
        Confidence level of the intervals.
    """
    from sapwood.cli.files.reading import read_tables
    from sapwood.cli.models import feature_names, load_model, with_stored_roles
    from sapwood.cli.roles import divide
    from sapwood.cli.scores import HEADER, as_data, rows_of, scores

    if not 0 < level < 1:
        raise CommandError(f"--level must be between 0 and 1; got {level:g}")
    estimator = load_model(model)
    rows = divide(read_tables(data, reading, estimator.n_features_in_), with_stored_roles(estimator, roles), feature_names(estimator))
    if rows.y is None:
        raise CommandError("--target is missing: the model file does not name it")
    found = scores(estimator, rows, metric, level)
    out.say(f"{count(rows.n_rows, 'row')}{f', {rows.n_dropped:,} without target left out' if rows.n_dropped else ''}")
    header = (*HEADER[:2], f"{level:.0%} interval".replace("%", " %"))
    out.result({"n_rows": rows.n_rows, "level": level, "scores": as_data(found)}, header, rows_of(found))
