"""Files of every schema are read for ever: golden files give the answers that are stored with them."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sapwood
from sapwood import ModelFormatError
from sapwood.data import container
from sapwood.model.file import SCHEMA, checksum
from tests.model.kinds import KINDS, make
from tests.model.make_golden import FOLDER, N_ROWS, predictions

FILES = sorted(FOLDER.glob("*.sapwood"))


def rows_of(stored):
    """The table that the rows were written from."""
    names = {"categories": ["size", "town", "zone", "late", "when"]}
    names |= {
        "encoded": names["categories"],
        "linear classes": names["categories"],
        "crosses": names["categories"],
        "calendar": ["when", "size"],
    }
    if stored["kind"] not in names:
        return np.array(stored["rows"], dtype=np.float64)
    table = pd.DataFrame(stored["rows"], columns=names[stored["kind"]])
    when = pd.to_datetime(table["when"], unit="us", utc=True).dt.tz_convert("Europe/Berlin")
    table = table.assign(when=when)
    return table.assign(zone=table["zone"].astype("category")) if "zone" in table else table


def test_every_kind_of_this_schema_has_a_file():
    assert {f"schema-{SCHEMA}-{kind.replace(' ', '-')}" for kind in KINDS} <= {path.stem for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_stored_answers(path):
    stored = json.loads(path.with_suffix(".json").read_text())
    estimator = sapwood.load(path)
    assert predictions(estimator, rows_of(stored)) == stored["predictions"]


@pytest.mark.parametrize("path", [path for path in FILES if path.stem.startswith(f"schema-{SCHEMA}-")], ids=lambda path: path.stem)
def test_the_same_parts_again(path):
    (arrays, text), (again, new) = (opened(data) for data in (path.read_bytes(), sapwood.load(path).to_bytes()))
    assert list(again) == list(arrays)
    assert all(again[name].tobytes() == arrays[name].tobytes() for name in arrays if name != "init")  # a file, whose parameters may be more
    document, new = json.loads(text["sapwood"]), json.loads(new["sapwood"])
    known = document["estimator"]["parameters"]
    now = new["estimator"]["parameters"]
    new["estimator"]["parameters"] = {name: now[name] for name in known}  # later versions may have more
    assert new == document


def test_rows_are_those_that_were_written():
    stored = json.loads((FOLDER / f"schema-{SCHEMA}-categories.json").read_text())
    there, here = (table.drop(columns=["zone", "when"]) for table in (rows_of(stored), make("categories")[1][:N_ROWS]))
    pd.testing.assert_frame_equal(there, here)


def opened(data):
    return container.unpack(np.frombuffer(bytearray(data), dtype=np.uint8))


def written(document, arrays):
    text = json.dumps(document)
    return bytes(container.pack(arrays, {"sapwood": text, "sha256": checksum(arrays, text)}))


def test_a_newer_schema_asks_for_an_upgrade(tmp_path):
    arrays, text = opened(FILES[0].read_bytes())
    newer = json.loads(text["sapwood"]) | {"schema": SCHEMA + 1}
    arrays |= {"new_kind_of_array": np.zeros(3)}
    (tmp_path / "newer").write_bytes(written(newer, arrays))
    with pytest.raises(ModelFormatError, match=rf"newer: the schema {SCHEMA + 1} is unknown.*reads {SCHEMA}: upgrade Sapwood"):
        sapwood.load(tmp_path / "newer")


def test_what_a_later_version_adds_to_this_schema_is_ignored():
    arrays, text = opened(FILES[0].read_bytes())
    more = json.loads(text["sapwood"]) | {"remark": "new"}
    assert sapwood.Model.from_bytes(written(more, arrays)).n_rounds == 3
    more["estimator"]["parameters"]["of_tomorrow"] = 1
    with pytest.raises(ModelFormatError, match=r"of_tomorrow.*upgrade"):
        sapwood.BoostingClassifier.from_bytes(written(more, arrays))


def test_files_are_small():
    assert sum(Path(path).stat().st_size for path in FOLDER.iterdir()) < 400_000
