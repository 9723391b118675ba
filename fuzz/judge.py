"""What may come of a file: a ModelFormatError, or a model that answers as docs/format.md says. Anything else is a finding."""

from __future__ import annotations

import math
import tracemalloc
import warnings
from typing import Any

import numpy as np
from tests.model.plain_reader import BinaryModel

from sapwood import Model, ModelFormatError
from sapwood.data.columns import Column, ColumnError, Schema
from sapwood.data.tables import FrameTable
from sapwood.loading import read_file
from sapwood.model.explain import TreeExplainer
from sapwood.runtime.execution import SERIAL

TIMES = 10  # of the file's size may be allocated,
SPARE = 2 << 20  # and this
N_ROWS = 3


class Finding(Exception):
    """A file that did what none should."""


def load(data: bytes) -> Any:
    return read_file(data, None)


def judge(data: bytes, good: Any = None) -> str:
    """'refused', 'same' (as the good one), or 'another model'. Raises Finding for anything else."""
    tracemalloc.start()
    try:
        found = load(data)
    except ModelFormatError:
        found = None
    except BaseException as error:
        raise Finding(f"{type(error).__name__} while loading: {error}") from error
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    if peak > TIMES * len(data) + SPARE:
        raise Finding(f"{peak:,} bytes were allocated for a file of {len(data):,}")
    if found is None:
        return "refused"
    try:
        return _use(found, data, good)
    except Finding:
        raise
    except ColumnError as error:
        if "time zone" in str(error):  # a name that this system does not know
            return "another model"
        raise Finding(f"ColumnError after loading: {error}") from error
    except BaseException as error:
        raise Finding(f"{type(error).__name__} after loading: {error}") from error


def _use(found: Any, data: bytes, good: Any) -> str:
    model = found if isinstance(found, Model) else found.model_
    table = some_rows(model.schema)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of numbers too large
        raw = model.predict_raw(table, SERIAL)
        wanted = [BinaryModel(data).raw_of_codes(codes) for codes in codes_of(table)]
        if not np.array_equal(raw, np.reshape(wanted, raw.shape), equal_nan=True):
            raise Finding(f"raw predictions are {raw.tolist()}, by the specification {wanted}")
        TreeExplainer(model).values(table, SERIAL)
        model.leaves(table, SERIAL)
        model.importances("split")
        model.to_json()
        if Model.from_bytes(model.to_bytes()).to_bytes() != model.to_bytes():
            raise Finding("it does not survive being saved")
        if found is not model:
            use_estimator(found, raw)
    if good is None or found is model:
        return "another model"
    known = good if isinstance(good, Model) else good.model_
    return "same" if known.schema == model.schema and np.array_equal(known.predict_raw(table, SERIAL), raw) else "another model"


def use_estimator(estimator: Any, raw: np.ndarray) -> None:
    """What the class makes of raw predictions."""
    for name in ("_most_probable", "_probabilities", "_means"):
        if hasattr(estimator, name):
            getattr(estimator, name)(raw.copy())
    repr(estimator), estimator.get_params(), estimator.n_iter_, estimator.evals_result_, estimator.feature_importances_
    str(estimator.describe_features())
    estimator.to_bytes()


def some_rows(schema: Schema) -> FrameTable:
    """A few rows of a schema: numbers of any size, missing ones, and codes of levels."""
    columns = []
    for f in range(schema.n_features):
        kind = schema.kind(f)
        if kind.is_category:
            values = np.array([-1, 0, len(kind.levels) - 1], dtype=np.int32)
        else:
            values = np.array([np.nan, 0.25 * f - 1, 1e3])[np.arange(f, f + N_ROWS) % N_ROWS]
        columns.append(Column(kind, values))
    return FrameTable(columns, schema.names)


def codes_of(table: FrameTable) -> list[list[float]]:
    rows = np.column_stack([array.astype(np.float64) for array in table.arrays]).tolist()
    is_category = [column.kind.is_category for column in table.columns]
    return [
        [math.nan if value != value else int(value) if own else value for value, own in zip(row, is_category, strict=True)] for row in rows
    ]
