"""The table of a fit, and what scikit-learn's attributes say of its columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.data.columns import Schema
from sapwood.data.reading import Source, read_any
from sapwood.data.tables import Table
from sapwood.params import resolve
from sapwood.params.columns import Features
from sapwood.params.signatures import CommonParameters
from sapwood.runtime.execution import Execution


def first_table(p: CommonParameters, source: Source, reader: str, execution: Execution) -> Table:
    """Table of a fit that does not continue another. `reader` is the name of the estimator."""
    table = _united(read_any(source, **missing_settings(p), reader=reader, allow_empty=not execution.is_local), execution)
    features = Features(table.n_features, table.schema.names, source, p.feature_spec)
    named = resolve.categories(p.categorical_features, features, table.schema.categories)
    if named is None:
        return table
    for f in table.schema.categories:
        if f not in named:
            raise ValueError(
                f"Column {table.schema.name(f)} holds {table.schema.kind(f).describe()}, which is not a number: "
                "name it in categorical_features too, or drop it"
            )
    return _united(table.with_categories(named), execution)


def _united(table: Table, execution: Execution) -> Table:
    """Table of a partition with the columns of all: categories have the levels of all."""
    if execution.is_local:
        return table
    parts = execution.collective.gather_objects((table.n_rows, table.schema))
    return table.match(Schema.union([schema for n_rows, schema in parts if n_rows] or [table.schema]))


def missing_settings(p: CommonParameters) -> dict[str, Any]:
    """Parameters of missing values, as a schema keeps them."""
    return {"missing_values": resolve.missing_values(p.missing), "sparse_missing": p.sparse_absent == "missing"}


def column_attributes(schema: Schema) -> dict[str, Any]:
    """`n_features_in_`, and `feature_names_in_` if all columns have a text as name."""
    names = schema.text_names
    attributes: dict[str, Any] = {"n_features_in_": schema.n_features}
    return attributes if names is None else {**attributes, "feature_names_in_": np.array(names, dtype=object)}
