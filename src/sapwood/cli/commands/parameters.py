"""`sapwood parameters`."""

from __future__ import annotations

from sapwood.cli.errors import CommandError
from sapwood.cli.output import Output
from sapwood.cli.task import Task


def parameters(name: str | None = None, /, *, task: Task = "regression", out: Output = Output()) -> None:
    """List the parameters of the model that train and tune accept.

    Parameters
    ----------
    name
        Parameter whose whole documentation is shown.
    task
        Task of the model.
    """
    from dataclasses import fields

    from sapwood.cli.parameter_flags import ParameterFlags
    from sapwood.params.table import TABLES

    table = TABLES[{"classification": "Classifier", "ranking": "Ranker"}.get(task, "Regressor")]
    flags = {field.name for field in fields(ParameterFlags)}
    known = {key: parameter for key, parameter in table.items() if key in flags}
    if name is not None:
        key = name.lstrip("-").replace("-", "_")
        if key not in known:
            raise CommandError(f"{name} is no parameter of {task}; sapwood parameters --task {task} lists them")
        known = {key: known[key]}
    data = {key: {"default": one.default, "type": one.type, "doc": one.doc} for key, one in known.items()}
    if name is not None and not out.json:
        one = known[key]
        out.result_lines(f"--{key.replace('_', '-')}  (default {one.default!r})", one.type, one.doc)
        return
    rows = [[f"--{key.replace('_', '-')}", repr(one.default), one.doc.split("\n")[0]] for key, one in known.items()]
    out.result(data, ("parameter", "default", "meaning"), rows)
