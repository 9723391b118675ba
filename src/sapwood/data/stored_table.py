"""Table of which only the bins are stored."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sapwood.data.columns import ColumnError, Schema
from sapwood.data.tables import Table
from sapwood.runtime.execution import Execution


class StoredTable(Table):
    """Table whose rows are in stored pages: its columns and hashes are known, its values are not.

    Attributes
    ----------
    sums : (n_features,) uint64: sums of hashes of the values of each feature
    implicit_missing : whether the table was sparse, with missing values where there is no entry
    """

    n_rows: int
    n_features: int
    sums: np.ndarray
    implicit_missing: bool
    is_stored = True
    random_access = False

    def __init__(self, n_rows: int, schema: Schema, sums: np.ndarray, implicit_missing: bool = False) -> None:
        self.n_rows, self.n_features = n_rows, schema.n_features
        self._schema, self.sums, self.implicit_missing = schema, sums, implicit_missing

    @property
    def schema(self) -> Schema:
        return self._schema

    def match(self, schema: Schema) -> StoredTable:
        if (schema.names, schema.kinds) != (self._schema.names, self._schema.kinds):
            raise ValueError("the stored pages have other columns or levels than the model")
        return self

    def with_categories(self, features: Sequence[int]) -> StoredTable:
        if sorted(features) != sorted(self._schema.categories):
            raise ColumnError("the pages were stored with other categorical_features: give the same ones, or the rows themselves")
        return self

    def hash_sums(self, first_row: int, execution: Execution) -> np.ndarray:
        return self.sums

    def read(self, rows: slice | np.ndarray, first: int, last: int) -> np.ndarray:
        raise ValueError("stored pages have bins, not the values of the columns: give the rows themselves as X")

    def feature_blocks(self, max_features: int) -> list[tuple[int, int]]:
        return [(0, self.n_features)]

    def row_blocks(self) -> list[slice]:
        return [slice(0, self.n_rows)]


class StoredFeatures(StoredTable):
    """Features that were computed from the columns of a stored table."""

    def __init__(self, table: StoredTable, n_features: int, digest: bytes) -> None:
        super().__init__(table.n_rows, table.schema, table.sums, table.implicit_missing)
        self.n_features, self._digest = n_features, digest

    def digest(self, first_row: int, execution: Execution) -> bytes:
        return self._digest
