"""Damaged models of LightGBM and XGBoost: an ImportedModelError, or a model that predicts and can be saved and loaded."""

from __future__ import annotations

import copy
import json
import re
import tracemalloc
import warnings
from typing import Any

import numpy as np

from fuzz.judge import Finding, load
from fuzz.mutations import VALUES, pick
from sapwood import BoostingClassifier, BoostingRegressor
from sapwood.importing.base import ImportedModelError, reading_model
from sapwood.importing.lightgbm import read_text
from sapwood.importing.xgboost import read_document

Rng = np.random.Generator
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]?\d+)?")
NUMBERS = ["-1", "0", "1", "-2", "7", "99999", "2147483647", "2147483648", "4294967297", "-4294967297", "9223372036854775808"]
NUMBERS += ["1e400", "nan", "inf", "-inf", "", "x", "0.5", "1e18", "10000000", "1 1", "-0"]
JSON_NUMBERS = [-1, 0, 1, 2, 7, 99999, 2**31 - 1, 2**31, 2**32 + 1, 2**63, 10**30, 0.5, 1e300, -1e300]
JSON_NUMBERS += [float("nan"), float("inf"), "1", "x", None, []]
TIMES, SPARE = 500, 300 << 20  # of the model's size, and this, may be allocated: a million unused columns are allowed


def prepare() -> tuple[list[Any], np.ndarray]:
    """Models in the forms of both libraries, written by our own exporters, and some rows."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(80, 2)), rng.integers(0, 4, 80)])
    numbers, classes = X[:, 0] * X[:, 1], np.digitize(X[:, 0], [-0.5, 0.5])
    made: list[Any] = [
        BoostingRegressor(max_iter=2, categorical_features=[2], n_jobs=1, min_samples_leaf=3).fit(X, numbers),
        BoostingClassifier(max_iter=2, multi_strategy="one_output_per_tree", n_jobs=1).fit(X, classes),
        BoostingClassifier(max_iter=2, n_jobs=1).fit(X, classes > 0),
    ]
    seeds = [model.export("lightgbm") for model in made] + [model.export("xgboost") for model in made]
    return seeds, X[:5]


def change_text(text: str, rng: Rng) -> str:
    """Some numbers of a text."""
    for _ in range(int(rng.integers(1, 4))):
        places = list(NUMBER.finditer(text))
        place = places[int(rng.integers(len(places)))]
        text = text[: place.start()] + pick(rng, NUMBERS) + text[place.end() :]
    return text


def change_lines(text: str, rng: Rng) -> str:
    lines = text.split("\n")
    at, other = rng.integers(0, len(lines), 2)
    what = rng.integers(4)
    if what == 0:
        del lines[at]
    elif what == 1:
        lines.insert(at, lines[other])
    elif what == 2:
        lines[at], lines[other] = lines[other], lines[at]
    else:
        lines = lines[:at]
    return "\n".join(lines)


def change_document(document: Any, rng: Rng) -> Any:
    document = copy.deepcopy(document)
    for _ in range(int(rng.integers(1, 4))):
        at = document
        while True:
            keys = list(at) if isinstance(at, dict) else list(range(len(at)))
            if not keys:
                break
            key = keys[int(rng.integers(len(keys)))]
            if not isinstance(at[key], dict | list) or not at[key]:
                at[key] = copy.deepcopy(pick(rng, JSON_NUMBERS) if rng.random() < 0.8 else pick(rng, VALUES))
                break
            if isinstance(at[key], list) and rng.random() < 0.1:
                at[key] = at[key][:-1] if rng.random() < 0.5 else at[key] + at[key][-1:]
                break
            at = at[key]
    return document


def mutate(prepared: tuple[list[Any], np.ndarray], number: int) -> tuple[str, int, Any]:
    rng = np.random.default_rng([number, 0x1BB])
    seed = int(rng.integers(len(prepared[0])))
    given = prepared[0][seed]
    way: Any = pick(rng, [change_text, change_text, change_lines]) if isinstance(given, str) else change_document
    return way.__name__, seed, way(given, rng)


def judge(prepared: tuple[list[Any], np.ndarray], seed: int, model: Any) -> str:
    """'refused', or 'another model'."""
    size = len(model) if isinstance(model, str) else len(json.dumps(model))
    tracemalloc.start()
    try:
        with warnings.catch_warnings(), reading_model("fuzz"):
            warnings.simplefilter("ignore")
            found = read_text(model) if isinstance(model, str) else read_document(model, size)
    except ImportedModelError:
        found = None
    except BaseException as error:
        raise Finding(f"{type(error).__name__} while importing: {error}") from error
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    if peak > TIMES * size + SPARE:
        raise Finding(f"{peak:,} bytes were allocated for a model of {size:,}")
    if found is None:
        return "refused"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            data = found.to_bytes()
            again = load(data)
            X = np.zeros((2, found.n_features_in_)) if found.n_features_in_ < 10_000 else None
            if X is not None and not np.array_equal(found.predict(X), again.predict(X), equal_nan=True):
                raise Finding("predictions changed by saving")
            found.explain(X) if X is not None else None
    except Finding:
        raise
    except BaseException as error:
        raise Finding(f"{type(error).__name__} after importing: {error}") from error
    return "another model"
