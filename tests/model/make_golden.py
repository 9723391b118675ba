"""Writes golden files: `python -m tests.model.make_golden`. For a new schema, or a kind that has no file yet: none is ever replaced.

`schema-N-kind.sapwood` is an estimator as that schema had it, `schema-N-kind.json` rows and what it predicts for them, to the last bit.
"""

import json
from pathlib import Path

import numpy as np

from sapwood.model.file import SCHEMA
from tests.model.kinds import KINDS, as_rows, make

FOLDER = Path(__file__).parent / "golden"
N_ROWS = 30


def predictions(estimator, x):
    """What is stored of an estimator's answers."""
    found = {"raw": estimator.model_.predict(x, raw=True), "predict": estimator.predict(x)}
    if hasattr(estimator, "predict_proba"):
        found["predict_proba"] = estimator.predict_proba(x)
    return {name: np.asarray(values).tolist() for name, values in found.items()}


def main():
    FOLDER.mkdir(exist_ok=True)
    for kind in KINDS:
        path = FOLDER / f"schema-{SCHEMA}-{kind.replace(' ', '-')}.sapwood"
        if path.exists():
            continue
        estimator, x = make(kind)
        estimator.save(path)
        some = x[:N_ROWS]
        stored = {"kind": kind, "rows": as_rows(some), "predictions": predictions(estimator, some)}
        path.with_suffix(".json").write_text(json.dumps(stored) + "\n")


if __name__ == "__main__":
    main()
