"""`sapwood inspect`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sapwood.cli.errors import CommandError
from sapwood.cli.files.paths import Reading
from sapwood.cli.output import Output
from sapwood.cli.text import number

if TYPE_CHECKING:
    import pyarrow as pa


def inspect(path: str, /, *, tree: int | None = None, reading: Reading = Reading(), out: Output = Output()) -> None:
    """Show what a model file or a table contains.

    Parameters
    ----------
    path
        Model file or table.
    tree
        Number of a tree to print, from 0 on.
    """
    from sapwood.cli.models import is_model

    if reading.format is None and is_model(path):
        _inspect_model(path, tree, out)
    elif tree is not None:
        raise CommandError(f"--tree: {path} is not a model file")
    else:
        _inspect_table(path, reading, out)


def _inspect_model(path: str, tree: int | None, out: Output) -> None:
    from sapwood.cli.models import load_model

    estimator = load_model(path)
    estimator = getattr(estimator, "estimator_", estimator)
    if tree is not None:
        _inspect_tree(estimator, tree, out)
        return
    model, provenance = estimator.model_, estimator.provenance_
    gains = estimator.feature_importances_
    described = estimator.describe_features().columns
    order = sorted(range(len(described)), key=lambda k: -gains[k])
    given = {name: value for name, value in estimator.get_params(deep=False).items() if value != estimator._parameters[name].default}
    facts: dict[str, Any] = {
        "estimator": type(estimator).__name__,
        "loss": model.loss,
        "link": model.link,
        "rounds": estimator.n_iter_,
        "rounds used": estimator.best_iteration_,
        "trees": model.n_trees,
        "leaves": int(sum(one.n_leaves for one in model.trees)),
        "outputs": model.n_outputs,
    }
    if hasattr(estimator, "classes_"):
        facts["classes"] = estimator.classes_.tolist()
    facts |= {
        f"trained on {name}" if name in ("target", "weight", "query", "event", "offset") else name: v for name, v in provenance.items()
    }
    columns = [
        {"name": described[k].name, "kind": described[k].kind, "importance": float(gains[k]), "values": described[k].values} for k in order
    ]
    if out.json:
        out.result_json({**facts, "parameters": given, "resolved": dict(estimator.resolved_params_), "columns": columns})
        return
    out.result(
        {}, ("", ""), [[name, ", ".join(map(str, value)) if isinstance(value, list) else value] for name, value in facts.items()], path
    )
    rows = [[name, repr(value), "given"] for name, value in given.items()]
    rows += [[name, repr(value), estimator.resolved_params_.reasons[name]] for name, value in estimator.resolved_params_.items()]
    out.result({}, ("parameter", "value", "why"), rows, "\nParameters")
    cells = [[one["name"], one["kind"], f"{one['importance']:.1%}", one["values"]] for one in columns[:50]]
    out.result({}, ("column", "kind", "gain", "levels"), cells, "\nColumns, by the gain of their splits")
    if len(columns) > 50:
        out.result_lines(f"... and {len(columns) - 50} more (--json shows all)")


def _inspect_tree(estimator: Any, tree: int, out: Output) -> None:
    """Print one tree as indented text, or as JSON."""
    import json

    model = estimator.model_
    if not 0 <= tree < model.n_trees:
        raise CommandError(f"--tree must be from 0 to {model.n_trees - 1}; got {tree}")
    k = model.trees_per_round
    document = json.loads(model[tree // k : tree // k + 1].to_json())
    nodes = document["rounds"][0][tree % k]["nodes"]
    if out.json:
        out.result_json(nodes)
        return
    out.result_lines(*_lines(nodes, 0, 0, ""))


def _lines(nodes: list[dict[str, Any]], index: int, depth: int, how: str) -> list[str]:
    node, indent = nodes[index], "  " * depth
    if "left" not in node:
        return [f"{indent}{how}value {node.get('value')}, {node['count']:,} rows"]
    condition = f"<= {number(node['threshold'], 6)}" if "threshold" in node else f"in {node['levels']}"
    first = f"{indent}{how}{node['name']} {condition} (missing: {node['missing']}), {node['count']:,} rows, gain {number(node['gain'])}"
    return [first, *_lines(nodes, node["left"], depth + 1, "yes: "), *_lines(nodes, node["right"], depth + 1, "no: ")]


def _inspect_table(path: str, reading: Reading, out: Output) -> None:
    from sapwood.cli.files.reading import read_tables
    from sapwood.cli.files.sparse import SparseTable

    table = read_tables([path], reading)
    if isinstance(table, SparseTable):
        facts = {"rows": table.X.shape[0], "columns": table.X.shape[1], "stored values": table.X.nnz}
        facts |= {"targets": len(set(table.y.tolist())), "queries": None if table.qid is None else len(set(table.qid.tolist()))}
        out.result(facts, ("", ""), list(facts.items()), path)
        return
    columns = [_column(table, name) for name in table.column_names]
    header = ("column", "type", "missing", "distinct", "smallest", "largest")
    rows = [[one["name"], one["type"], f"{one['missing']:.1%}", f"{one['distinct']:,}", one["smallest"], one["largest"]] for one in columns]
    out.result(
        {"rows": table.num_rows, "columns": columns}, header, rows, f"{path}: {table.num_rows:,} rows x {table.num_columns:,} columns"
    )


def _column(table: pa.Table, name: str) -> dict[str, Any]:
    import pyarrow as pa
    import pyarrow.compute as pc

    column = table[name]
    ends = {"min": None, "max": None}
    if not (pa.types.is_nested(column.type) or pa.types.is_null(column.type) or pa.types.is_dictionary(column.type)):
        ends = pc.min_max(column).as_py()
    missing = column.null_count / max(1, table.num_rows)
    distinct = 0 if pa.types.is_nested(column.type) else pc.count_distinct(column).as_py()
    ends_text = {key: number(end) if isinstance(end, float) else end if end is None else str(end) for key, end in ends.items()}
    return {
        "name": name, "type": str(column.type), "missing": missing, "distinct": distinct,
        "smallest": ends_text["min"], "largest": ends_text["max"],
    }  # fmt: skip
