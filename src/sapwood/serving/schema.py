"""JSON schema of the rows that a model predicts."""

from __future__ import annotations

from typing import Any

from sapwood.data.columns import Kind, as_plain

EXAMPLES = 5  # levels of a category that the schema names


def row_schema(estimator: Any) -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of one row: an object with a property for each column, which may be null if it is missing."""
    names, schema = column_names(estimator), estimator.model_.schema
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "row",
        "type": "object",
        "properties": {name: _property(schema.kind(k)) for k, name in enumerate(names)},
        "required": names,
        "additionalProperties": True,
    }


def column_names(estimator: Any) -> list[str]:
    """Return the names of the columns; positions as text if the model knows no names."""
    names = getattr(estimator, "feature_names_in_", None)
    return [str(name) for name in (range(estimator.n_features_in_) if names is None else names)]


def _property(kind: Kind) -> dict[str, Any]:
    if kind.is_category:
        types = {"string" if isinstance(level, str) else "boolean" if isinstance(level, bool) else "number" for level in kind.levels}
        examples = [as_plain(level) for level in kind.levels[:EXAMPLES]]
        return {
            "type": [*sorted(types or {"string"}), "null"],
            "examples": examples,
            "description": f"category of {len(kind.levels)} levels",
        }
    if kind.name == "datetime":
        return {"type": ["string", "null"], "format": "date-time"}
    if kind.name == "duration":
        return {"type": ["number", "null"], "description": "seconds"}
    return {"type": ["boolean" if kind.name == "bool" else "number", "null"]}
