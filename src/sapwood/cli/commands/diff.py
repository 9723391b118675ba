"""`sapwood diff`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from sapwood.cli.errors import CommandError
from sapwood.cli.files.paths import Reading
from sapwood.cli.output import Output
from sapwood.cli.roles import Roles
from sapwood.cli.text import number, short

if TYPE_CHECKING:
    import pyarrow as pa

DIFFERENT = 1  # exit code with --exit-code


def diff(
    first: str,
    second: str,
    /,
    *,
    data: Annotated[list[str] | None, Parameter(negative="")] = None,
    exit_code: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    roles: Roles = Roles(),
    reading: Reading = Reading(),
    out: Output = Output(),
) -> int:
    """Compare two models, or two tables (drift).

    Models: parameters, columns, trees and importances; with --data also predictions and scores. Tables: columns, types, missing values and
    the distribution of each column. The population stability index (PSI) is small below 0.1 and large from 0.25 on.

    Parameters
    ----------
    first, second
        Model files, or tables; the first is the reference.
    data
        Table on which the predictions of two models are compared.
    exit_code
        Exit with 1 if there are differences.
    """
    from sapwood.cli.models import is_model

    kinds = is_model(first), is_model(second)
    if kinds[0] != kinds[1]:
        raise CommandError(f"{first} and {second}: one is a model file and the other is not")
    different = _diff_models(first, second, data, roles, reading, out) if kinds[0] else _diff_tables(first, second, reading, out)
    return DIFFERENT if different and exit_code else 0


def _diff_models(first: str, second: str, data: list[str] | None, roles: Roles, reading: Reading, out: Output) -> bool:
    from sapwood.cli.models import load_model

    models = load_model(first), load_model(second)
    same = models[0].to_bytes() == models[1].to_bytes()
    facts = [_facts(model) for model in models]
    names = list(dict.fromkeys([*facts[0], *facts[1]]))
    changed = {name: [one.get(name) for one in facts] for name in names if facts[0].get(name) != facts[1].get(name)}
    result: dict[str, Any] = {"identical": same, "changed": changed, "equal_trees": _equal_trees(*models)}
    if data is not None:
        result |= _compare_predictions(models, data, roles, reading)
    if out.json:
        out.result_json(result)
        return not same
    if same:
        out.result_lines("the files have the same content")
    else:
        out.result({}, ("", short(first, 40), short(second, 40)), [[name, *map(_cell, pair)] for name, pair in changed.items()])
        out.result_lines(f"the first {result['equal_trees']:,} trees are equal")
    if data is not None:
        out.result_lines("")
        out.result({}, ("predictions", ""), [[name, _cell(value)] for name, value in result["predictions"].items()])
        rows = [[name, *(f"{number(one['score'], 5)} ({number(one['low'], 5)} to {number(one['high'], 5)})" for one in pair)]
                for name, pair in result["scores"].items()]  # fmt: skip
        out.result({}, ("metric", short(first, 40), short(second, 40)), rows)
    return not same


def _cell(value: Any) -> str:
    return "" if value is None else number(value, 5) if isinstance(value, float) else str(value)


def _facts(estimator: Any) -> dict[str, Any]:
    """Return what is compared, by name."""
    from sapwood.cli.output import plain

    model = estimator.model_
    facts: dict[str, Any] = {
        "estimator": type(estimator).__name__,
        "loss": model.loss,
        "rounds": estimator.n_iter_,
        "rounds used": estimator.best_iteration_,
        "leaves": int(sum(tree.n_leaves for tree in model.trees)),
        "base score": plain(model.base_score),
        **({"classes": plain(estimator.classes_)} if hasattr(estimator, "classes_") else {}),
        **{f"trained on: {name}": value for name, value in estimator.provenance_.items()},
        **{name: plain(value) for name, value in (estimator.get_params(deep=False) | dict(estimator.resolved_params_)).items()},
    }
    gains = estimator.feature_importances_
    for column, gain in zip(estimator.describe_features().columns, gains, strict=True):
        facts[f"column {column.name}"] = f"{column.kind}{f' ({column.values})' if column.values else ''}, {gain:.1%} of the gain"
    return facts


def _equal_trees(one: Any, other: Any) -> int:
    """Return the number of trees at the beginning that are equal."""
    import json

    trees = [[tree for of_round in json.loads(model.model_.to_json())["rounds"] for tree in of_round] for model in (one, other)]
    n_equal = 0
    for a, b in zip(*trees, strict=False):
        if a != b:
            break
        n_equal += 1
    return n_equal


def _compare_predictions(models: tuple[Any, Any], data: list[str], roles: Roles, reading: Reading) -> dict[str, Any]:
    import numpy as np
    from sklearn.base import is_classifier

    from sapwood.cli.files.reading import read_tables
    from sapwood.cli.models import feature_names, with_stored_roles
    from sapwood.cli.roles import divide
    from sapwood.cli.scores import as_data, scores

    table = read_tables(data, reading, models[0].n_features_in_)
    rows = [divide(table, with_stored_roles(model, roles), feature_names(model)) for model in models]
    predicted = [model.predict(own.X) for model, own in zip(models, rows, strict=True)]
    if is_classifier(models[0]) and is_classifier(models[1]):
        found: dict[str, Any] = {"rows": rows[0].n_rows, "other class": float((predicted[0] != predicted[1]).mean())}
        raw = [model.predict_proba(own.X) for model, own in zip(models, rows, strict=True)]
    else:
        found, raw = {"rows": rows[0].n_rows}, predicted
    if raw[0].shape == raw[1].shape:
        distance = np.abs(raw[0] - raw[1])
        found |= {"mean absolute difference": float(distance.mean()), "largest difference": float(distance.max())}
    both = [as_data(scores(model, own, None)) if own.y is not None else {} for model, own in zip(models, rows, strict=True)]
    return {"predictions": found, "scores": {name: [both[0][name], both[1][name]] for name in both[0] if name in both[1]}}


def _diff_tables(first: str, second: str, reading: Reading, out: Output) -> bool:
    from sapwood.cli.files.reading import read_tables
    from sapwood.cli.files.sparse import SparseTable

    tables: list[Any] = [read_tables([path], reading) for path in (first, second)]
    if any(isinstance(table, SparseTable) for table in tables):
        raise CommandError("svmlight files cannot be compared: their columns have no names")
    names = list(dict.fromkeys([*tables[0].column_names, *tables[1].column_names]))
    columns = [_diff_column(tables[0], tables[1], name) for name in names]
    columns.sort(key=lambda one: -(one["psi"] if one["psi"] is not None else float("inf")))
    same = tables[0].num_rows == tables[1].num_rows and tables[0].equals(tables[1])
    result = {"rows": [table.num_rows for table in tables], "identical": same, "columns": columns}
    header = ("column", "change", "PSI", "distance", "missing before", "missing after")
    rows = [
        [one["name"], one["change"], _cell(one["psi"]), _cell(one["distance"]), *(_percent(value) for value in one["missing"])]
        for one in columns
    ]
    out.say(f"{tables[0].num_rows:,} and {tables[1].num_rows:,} rows")
    out.result(result, header, rows)
    return not same


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"


def _diff_column(first: pa.Table, second: pa.Table, name: str) -> dict[str, Any]:
    """Return how the values of a column differ between two tables."""
    missing = [None if name not in table.column_names else table[name].null_count / max(1, table.num_rows) for table in (first, second)]
    about: dict[str, Any] = {"name": name, "psi": None, "distance": None, "missing": missing}
    for table, change in ((first, "new"), (second, "gone")):
        if name not in table.column_names:
            return about | {"change": change}
    from sapwood.data.columns import ColumnError, Schema
    from sapwood.data.reading import Source, read_any
    from sapwood.report.drift import compare
    from sapwood.report.subject import ReportColumn

    try:
        own = [
            read_any(Source(table.select([name])), missing_values=frozenset(), sparse_missing=False, reader="diff")
            for table in (first, second)
        ]
        if own[0].schema.kind(0).name != own[1].schema.kind(0).name:
            return about | {"change": f"{own[0].schema.kind(0).name}, now {own[1].schema.kind(0).name}"}
        schema = Schema.union([table.schema for table in own])
        pair = [
            ReportColumn(name, schema.kind(0), table.match(schema).read(slice(0, table.n_rows), 0, 1)[:, 0].astype(float)) for table in own
        ]
    except ColumnError as error:
        return about | {"change": f"not compared: {error}"}
    drift = compare(*pair)
    levels = _new_levels(own[0].schema.kind(0).levels, own[1].schema.kind(0).levels)
    return about | {
        "change": f"{drift.verdict} drift{levels}",
        "psi": drift.psi,
        "distance": drift.distance,
        "missing": list(drift.missing),
    }


def _new_levels(before: tuple[Any, ...], after: tuple[Any, ...]) -> str:
    new = [level for level in after if level not in set(before)]
    return f"; new: {', '.join(short(level, 20) for level in new[:3])}{', ...' if len(new) > 3 else ''}" if new else ""
