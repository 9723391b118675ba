"""benchmarks/quality: the rows of a split, the records, the standings, and what a crash of a library leaves."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from benchmarks.quality.cases import Case
from benchmarks.quality.libraries import BASELINE, LIBRARIES
from benchmarks.quality.losses import loss
from benchmarks.quality.records import Records
from benchmarks.quality.runner import missing
from benchmarks.quality.splits import draw, full_size, sizes_of
from benchmarks.quality.standings import bootstrap, make_cells, make_standing, win_rate
from benchmarks.quality.tables import Table, is_held_aside, load_table, make_table, signed_times, table_tasks
from benchmarks.quality.tasks import BINARY, COUNTS, MULTICLASS, OUTPUTS, RANKING, REGRESSION, SURVIVAL, parse_task
from benchmarks.quality.worker import Worker


def make(task: str, y: Any, **others: Any) -> Table:
    return Table("made", task, pd.DataFrame({"row": np.arange(len(y))}), np.asarray(y), **others)


@pytest.mark.parametrize(
    "text, task",
    [
        ("binary, imbalanced", BINARY),
        ("multiclass (7) / binary", MULTICLASS),
        ("regression / count", COUNTS),
        ("count, exposure (Poisson) / Tweedie / Gamma", COUNTS),
        ("regression / ordinal", REGRESSION),
        ("multi-output regression (8)", OUTPUTS),
        ("ranking (0-4)", RANKING),
        ("survival", SURVIVAL),
    ],
)
def test_task_of_a_description(text, task):
    assert parse_task(text) == task


def test_unknown_task_is_named():
    with pytest.raises(ValueError, match="'clustering'"):
        parse_task("clustering")


def test_held_aside_tables_never_change():
    assert all(map(is_held_aside, ("bank_additional", "be_mtpl97", "bike_hour", "census_kdd", "covtype", "fremtpl2", "nycflights13")))
    assert not any(map(is_held_aside, ("adult", "ames", "california_housing", "diamonds", "gbsg", "higgs_lgb", "letter", "rotterdam")))


def test_smaller_sizes_are_the_first_rows_of_larger_ones():
    table = make(REGRESSION, np.arange(4000.0))
    small, large = draw(table, "500", 0), draw(table, "full", 0)
    np.testing.assert_array_equal(small.train.y, large.train.y[:500])
    np.testing.assert_array_equal(small.test.y, large.test.y)
    assert len(large.train.y) == full_size(4000) == 3000
    assert not set(large.train.y) & set(large.test.y)
    assert not np.array_equal(draw(table, "500", 1).train.y, small.train.y)


def test_classes_are_stratified():
    y = np.repeat([0, 1, 2], [9000, 900, 100])
    split = draw(make(MULTICLASS, y), "500", 3)
    np.testing.assert_allclose(np.bincount(split.train.y), [450, 45, 5], atol=1)
    np.testing.assert_allclose(np.bincount(split.test.y), [2250, 225, 25], atol=1)


def test_classes_without_training_rows_are_not_tested():
    y = np.r_[np.zeros(5000, np.int64), np.ones(5000, np.int64), np.full(3, 2)]
    for seed in range(10):
        split = draw(make(MULTICLASS, y), "500", seed)
        assert set(split.test.y) <= set(split.train.y) == set(range(len(set(split.train.y))))


def test_queries_stay_whole():
    query = np.random.default_rng(0).integers(300, size=4000)
    split = draw(make(RANKING, query, query=query), "500", 0)
    train, test = set(split.train.y), set(split.test.y)
    assert not train & test
    assert all(np.sum(query == q) == np.sum(split.train.y == q) for q in train)
    assert split.train.query_sizes.sum() == len(split.train.y) <= 500
    assert len(split.train.query_sizes) == len(train)


def test_sizes_next_to_the_full_one_are_left_out():
    assert sizes_of(100_000) == ["500", "2000", "full"]
    assert sizes_of(3_000) == ["500", "full"]
    assert sizes_of(500) == ["full"]


def test_targets_take_the_form_of_the_task():
    X = pd.DataFrame({"a [b]": [1.0, 2.0, 3.0]})
    counts = make_table("t", COUNTS, X, np.array([1.0, 0.0, 3.0]), {"weight": np.array([0.5, 1.0, 1.0])})
    np.testing.assert_array_equal(counts.y, [2.0, 0.0, 3.0])
    assert list(counts.X) == ["a__b_"]
    known = make_table("t", REGRESSION, X, pd.Series([1.0, np.nan, 2.0]), {})
    np.testing.assert_array_equal(known.X["a__b_"], [1.0, 3.0])
    np.testing.assert_array_equal(make_table("t", BINARY, X, pd.Series(["no", "yes", "no"]), {}).y, [0, 1, 0])
    np.testing.assert_array_equal(signed_times(np.array([0.0, 2.0, 4.0]), np.array([0, 1, 0])), [-1.0, 2.0, -4.0])


@pytest.mark.parametrize("name", ["sapwood", "constant"])
@pytest.mark.parametrize("task", [BINARY, MULTICLASS, REGRESSION, COUNTS, OUTPUTS, RANKING, SURVIVAL])
def test_fit_and_predict_of_every_task(name, task):
    assert task in LIBRARIES[name].tasks
    LIBRARIES[name].warm_up(task, n_threads=1)


def test_loss_of_the_constant():
    assert loss(make(REGRESSION, [1.0, 3.0]), np.array([2.0, 2.0])) == pytest.approx(1.0)
    assert loss(make(BINARY, [0, 1]), np.full((2, 2), 0.5)) == pytest.approx(np.log(2))
    assert loss(make(COUNTS, [2.0, 2.0], weight=np.array([1.0, 3.0])), np.array([2.0, 2.0])) == pytest.approx(0.0)
    assert loss(make(SURVIVAL, [1.0, 2.0, -3.0]), np.zeros(3)) == pytest.approx(0.5)
    assert loss(make(RANKING, [1, 0], query=np.zeros(2, np.int64)), np.array([2.0, 1.0])) == pytest.approx(0.0)


def test_predictions_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="finite"):
        loss(make(REGRESSION, [1.0, 3.0]), np.array([2.0, np.nan]))


def record(library: str, loss: float | None, table: str = "t", split: int = 0, version: str = "1") -> dict[str, Any]:
    base = {"table": table, "size": "500", "split": split, "library": library, "task": REGRESSION, "version": version}
    return {**base, "error": "no"} if loss is None else {**base, "loss": loss, "fit_cpu": 1.0, "predict_cpu": 0.5}


def test_half_a_line_is_forgotten_and_the_later_record_counts(tmp_path):
    path = tmp_path / "records.jsonl"
    records = Records(path)
    records.add(record("sapwood", 0.5))
    with path.open("a") as file:
        file.write(json.dumps(record("catboost", 0.4))[:-10])
    records = Records(path)
    assert len(records.all()) == 1
    records.add(record("sapwood", 0.3))
    assert [found["loss"] for found in Records(path).all()] == [0.3]


def test_what_is_missing(tmp_path):
    records = Records(tmp_path / "records.jsonl")
    records.add(record("sapwood", 0.5))
    records.add(record("catboost", None))
    cases = [Case("t", REGRESSION, "500", 0, library) for library in ("sapwood", "catboost", "lightgbm")]
    names = lambda found: [case.library for case in found]  # noqa: E731
    assert names(missing(cases, records, {}, retry=False)) == ["lightgbm"]
    assert names(missing(cases, records, {}, retry=True)) == ["catboost", "lightgbm"]
    assert names(missing(cases, records, {"sapwood": "2", "catboost": "1"}, retry=False)) == ["sapwood", "lightgbm"]


def test_standings():
    libraries = ["sapwood", "catboost", "lightgbm", BASELINE]
    records = []
    for table, values in {"a": (0.5, 0.4, 0.8), "b": (0.2, 0.3, None)}.items():
        for split in range(2):
            for library, value in zip(libraries, (*values, 0.6), strict=True):
                records.append(record(library, None if value is None else value + 0.001 * split, table, split))
    cells = make_cells(records, libraries)
    assert [cell.table for cell in cells] == ["a", "b"]
    ours, last = make_standing(cells, "sapwood"), make_standing(cells, "lightgbm")
    assert (ours.rank.value, ours.wins, ours.worst[1]) == (1.5, 1, "a")
    assert ours.gap.value == pytest.approx(0.1 / 0.4005 / 2)
    assert ours.worse_than_constant == [] and last.worse_than_constant == ["a"]
    assert (last.rank.value, last.failures) == (3.0, ["b"])
    assert win_rate(cells, "sapwood", "catboost").value == 0.5
    assert win_rate(cells, "sapwood", "lightgbm").value == 1.0


def test_tables_wait_until_every_library_has_them():
    assert make_cells([record("sapwood", 0.5)], ["sapwood", "catboost"]) == []


def test_interval_holds_the_mean():
    found = bootstrap([1.0, 2.0, 3.0, 6.0])
    assert found.low < found.value == 3.0 < found.high


FOLDER = """
import os, threading
import pandas as pd
TABLES = {"crash": ("regression",), "hang": ("regression",), "fail": ("regression",), "good": ("regression",)}
def load(name):
    if name == "crash":
        os._exit(3)
    if name == "hang":
        threading.Event().wait()
    if name == "fail":
        raise RuntimeError("no such file")
    return pd.DataFrame({"a": range(100)}), pd.Series(range(100), dtype=float), {"task": "regression"}
"""


@pytest.mark.parametrize(
    "name, timeout, error",
    [
        ("crash", 600, "the process ended with exit code 3"),
        ("hang", 0.1, "no answer in 0.1 s"),
        ("fail", 600, "RuntimeError: no such file"),
    ],
)
def test_crashes_hangs_and_errors_are_recorded(name, timeout, error, tmp_path):
    (tmp_path / "tables.py").write_text(FOLDER)
    worker = Worker(tmp_path, 1, timeout, tmp_path / "log")
    try:
        assert worker.measure(Case(name, REGRESSION, "full", 0, BASELINE))["error"] == error
        worker.timeout = 600
        assert worker.measure(Case("good", REGRESSION, "full", 0, BASELINE))["loss"] >= 1.0
    finally:
        worker.stop()


def test_bundled_tables_where_there_is_no_folder(tmp_path):
    assert set(table_tasks(tmp_path)) == {"breast_cancer", "diabetes", "digits", "iris", "wine"}
    table = load_table(tmp_path, "breast_cancer")
    assert table.X.shape == (569, 30) and set(table.y) == {0, 1}
