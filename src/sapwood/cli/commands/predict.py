"""`sapwood predict`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from sapwood.cli.files.paths import Reading, Results
from sapwood.cli.output import Output

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


def predict(
    model: str,
    data: list[str],
    /,
    *,
    raw: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    offset: str | None = None,
    proba: bool = True,
    results: Results = Results(),
    reading: Reading = Reading(),
    out: Output = Output(),
) -> None:
    """Predict the rows of a table; CSV on stdout.

    Columns are matched by name; others are ignored. Rows are read, predicted and written in batches, so that files may be larger than
    memory.

    Parameters
    ----------
    model
        Model file.
    data
        Files, patterns or folders; - is stdin.
    raw
        Write raw predictions, such as log-odds.
    offset
        Column of initial raw predictions.
    proba
        Write the probability of each class.
    """
    from sapwood.cli.files.batches import batches
    from sapwood.cli.files.writing import open_writer
    from sapwood.cli.models import load_model

    estimator = load_model(model)
    results.check()
    offset = offset or getattr(estimator, "provenance_", {}).get("offset")
    extra = [*results.kept, *([str(offset)] if offset else [])]
    n_rows = 0
    with open_writer(results.output, json=out.json) as writer:
        for X, others in batches(data, reading, estimator, extra):
            writer.write(_predictions(estimator, X, others, results.kept, raw, None if offset is None else str(offset), proba))
            n_rows += X.shape[0]
    out.say(*results.announcement(n_rows))


def _predictions(
    estimator: Any, X: Any, others: pa.Table | None, keep: list[str], raw: bool, offset: str | None, proba: bool
) -> dict[str, Any]:
    """Return the columns of the output."""
    import pyarrow as pa

    arguments: dict[str, Any] = {}
    if offset is not None and others is not None:
        arguments["offset"] = others[offset].cast(pa.float64()).to_numpy()
    columns: dict[str, Any] = {} if others is None else {name: others[name] for name in keep}
    if raw:
        values = estimator._raw_predict(X, arguments.get("offset"))
        return columns | _named(values, "raw", estimator)
    probabilities = estimator.predict_proba(X, **arguments) if proba and hasattr(estimator, "predict_proba") else None
    columns |= _named(estimator.predict(X, **arguments), "prediction", estimator)
    if probabilities is not None:
        names = [f"probability_{label}" for label in estimator.classes_.tolist()]
        columns |= {name: probabilities[:, k] for k, name in enumerate(names)}
    return columns


def _named(values: np.ndarray, name: str, estimator: Any) -> dict[str, Any]:
    """Return the columns of predictions with their names."""
    if values.ndim == 1:
        return {name: values}
    if values.shape[1] == 1:
        return {name: values[:, 0]}
    targets = str(getattr(estimator, "provenance_", {}).get("target", "")).split("\n")
    labels = targets if len(targets) == values.shape[1] else [str(k) for k in range(values.shape[1])]
    return {f"{name}_{label}": values[:, k] for k, label in enumerate(labels)}
