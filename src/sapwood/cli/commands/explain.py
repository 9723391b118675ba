"""`sapwood explain`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from sapwood.cli.errors import CommandError
from sapwood.cli.files.paths import Reading, Results
from sapwood.cli.output import Output
from sapwood.cli.text import number

if TYPE_CHECKING:
    import numpy as np


def explain(
    model: str,
    data: list[str],
    /,
    *,
    summary: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    row: int | None = None,
    results: Results = Results(),
    reading: Reading = Reading(),
    out: Output = Output(),
) -> None:
    """Write SHAP values: the contribution of each column to each raw prediction; CSV on stdout.

    The values of a row and its base value add up to the raw prediction. Rows are read and written in batches.

    Parameters
    ----------
    model
        Model file.
    data
        Files, patterns or folders; - is stdin.
    summary
        Print the mean absolute SHAP value of each column instead.
    row
        Number of a row, from 0 on, to explain in a table instead.
    """
    from sapwood.cli.files.batches import batches
    from sapwood.cli.files.writing import open_writer
    from sapwood.cli.models import load_model

    if summary and row is not None:
        raise CommandError("--summary cannot be combined with --row")
    estimator = load_model(model)
    results.check()
    parts = ((X, others, estimator.explain(X)) for X, others in batches(data, reading, estimator, results.kept))
    if summary:
        _summarize(((_absolute_sums(found), found.values.shape[0]) for _, _, found in parts), _names(estimator), out)
        return
    if row is not None:
        _show_row(parts, row, estimator, out)
        return
    n_rows = 0
    with open_writer(results.output, json=out.json) as writer:
        for X, others, found in parts:
            kept = {} if others is None else {name: others[name] for name in results.kept}
            writer.write(kept | _columns(found, estimator))
            n_rows += X.shape[0]
    out.say(*results.announcement(n_rows))


def _absolute_sums(found: Any) -> np.ndarray:
    """Return the sums of absolute values over rows, (n_columns,); summed over outputs."""
    import numpy as np

    sums = np.abs(found.values).sum(axis=0)
    return sums if sums.ndim == 1 else sums.sum(axis=1)


def _names(estimator: Any) -> list[str]:
    names = getattr(estimator, "feature_names_in_", None)
    return [str(name) for name in (range(estimator.n_features_in_) if names is None else names)]


def _outputs(estimator: Any, n_outputs: int) -> list[str]:
    classes = getattr(estimator, "classes_", None)
    return [str(label) for label in (range(n_outputs) if classes is None or len(classes) != n_outputs else classes.tolist())]


def _columns(found: Any, estimator: Any) -> dict[str, Any]:
    """Return the columns of the output: base value, then a column for each column of the table (and output)."""
    names = _names(estimator)
    if found.values.ndim == 2:
        return {"base_value": found.base_values, **{f"shap_{name}": found.values[:, k] for k, name in enumerate(names)}}
    columns = {}
    for o, label in enumerate(_outputs(estimator, found.values.shape[2])):
        columns[f"base_value_{label}"] = found.base_values[:, o]
        columns |= {f"shap_{name}_{label}": found.values[:, k, o] for k, name in enumerate(names)}
    return columns


def _summarize(parts: Any, names: list[str], out: Output) -> None:
    import numpy as np

    total, n_rows = np.zeros(len(names)), 0
    for sums, n in parts:
        total, n_rows = total + sums, n_rows + n
    if not n_rows:
        raise CommandError("there are no rows to explain")
    mean = total / n_rows
    order = np.argsort(-mean, kind="stable").tolist()
    rows = [[names[k], number(float(mean[k]), 5), f"{mean[k] / (mean.sum() or 1):.1%}"] for k in order]
    out.result({names[k]: float(mean[k]) for k in order}, ("column", "mean |SHAP|", "fraction"), rows)


def _find_row(parts: Any, row: int) -> tuple[Any, Any, int]:
    """Return the batch of a row, its explanation, and the number of the row in the batch."""
    first = 0
    for X, _, found in parts:
        if 0 <= row - first < X.shape[0]:
            return X, found, row - first
        first += X.shape[0]
    raise CommandError(f"--row must be from 0 to {first - 1}; got {row}")


def _show_row(parts: Any, row: int, estimator: Any, out: Output) -> None:
    import numpy as np

    X, found, k = _find_row(parts, row)
    names, values = _names(estimator), np.atleast_3d(found.values[k : k + 1])[0]  # (n_columns, n_outputs)
    base, labels = np.atleast_1d(found.base_values[k]), _outputs(estimator, values.shape[1])
    data = X.slice(k, 1).to_pylist()[0] if hasattr(X, "slice") else {}
    result, tables = [], []
    for o, label in enumerate(labels):
        order = np.argsort(-np.abs(values[:, o]), kind="stable").tolist()
        cells = [["(base value)", "", number(float(base[o]), 5)]]
        cells += [[names[c], data.get(names[c], ""), number(float(values[c, o]), 5)] for c in order]
        cells.append(["(raw prediction)", "", number(float(base[o] + values[:, o].sum()), 5)])
        tables.append((f"Class {label}" if len(labels) > 1 else "", cells))
        result.append({"output": label, "base_value": base[o], "shap": {names[c]: float(values[c, o]) for c in order}})
    if out.json:
        out.result_json(result)
        return
    for title, cells in tables:
        out.result({}, ("column", "value", "contribution"), cells, title)
