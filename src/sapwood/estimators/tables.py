"""The training table, and scikit-learn's attributes of its columns."""

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
    """Read the training table of a new model. `reader` is the name of the estimator, for error messages."""
    table = _with_all_levels(read_any(source, **missing_settings(p), reader=reader, allow_empty=not execution.is_local), execution)
    features = Features(table.n_features, table.schema.names, source, p.feature_spec)
    categories = resolve.categories(p.categorical_features, features, table.schema.categories)
    if categories is None:
        return table
    for f in table.schema.categories:
        if f not in categories:
            raise ValueError(
                f"Column {table.schema.name(f)} has {table.schema.kind(f).describe()}, which is not a number: "
                "add it to categorical_features, or drop it"
            )
    return _with_all_levels(table.with_categories(categories), execution)


def _with_all_levels(table: Table, execution: Execution) -> Table:
    """Return the table of a partition, with the levels of all partitions in its categorical columns."""
    if execution.is_local:
        return table
    partitions = execution.collective.gather_objects((table.n_rows, table.schema))
    return table.match(Schema.union([schema for n_rows, schema in partitions if n_rows] or [table.schema]))


def missing_settings(p: CommonParameters) -> dict[str, Any]:
    """Return the settings of missing values of a Schema."""
    return {"missing_values": resolve.missing_values(p.missing), "sparse_missing": p.sparse_absent == "missing"}


def column_attributes(schema: Schema) -> dict[str, Any]:
    """Return `n_features_in_`, and `feature_names_in_` if all column names are strings."""
    names = schema.text_names
    attributes: dict[str, Any] = {"n_features_in_": schema.n_features}
    return attributes if names is None else {**attributes, "feature_names_in_": np.array(names, dtype=object)}
