"""Damaged files of wrappers: a ModelFormatError, or a wrapper that predicts and can be saved. Anything else is a finding."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from fuzz.judge import Finding, load
from fuzz.mutations import ALL, change_document, change_lengths, change_numbers, change_text, pick
from fuzz.seeds import put_together, take_apart
from sapwood import BoostingClassifier, BoostingRegressor, ModelFormatError
from sapwood.uncertainty import CalibratedClassifier, ConformalClassifier, ConformalRegressor

Rng = np.random.Generator


def prepare() -> tuple[list[bytes], np.ndarray]:
    """Files of wrappers, and rows that all of them predict."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    regressor, classifier = BoostingRegressor(max_iter=2, n_jobs=1), BoostingClassifier(max_iter=2, n_jobs=1)
    made: list[Any] = [ConformalRegressor(regressor, method=method, cv=2).fit(X, X[:, 0]) for method in ("split", "cv+")]
    made += [ConformalClassifier(classifier).fit(X, X[:, 0] > 0)]
    made += [CalibratedClassifier(classifier, method=method).fit(X, X[:, 0] > 0) for method in ("temperature", "isotonic")]
    return [wrapper.to_bytes() for wrapper in made], X[:5]


def change_estimator(data: bytes, rng: Rng) -> bytes:
    """One of the files within the file."""
    arrays, document = take_apart(data)
    name = str(rng.choice([name for name in arrays if name.startswith("estimator_")]))
    arrays[name] = np.frombuffer(pick(rng, ALL)(arrays[name].tobytes(), rng), dtype=np.uint8)
    return put_together(arrays, document)


def nest(data: bytes, rng: Rng) -> bytes:
    """A file within itself."""
    for _ in range(int(rng.integers(1, 7))):
        arrays, document = take_apart(data)
        arrays["estimator_0"] = np.frombuffer(data, dtype=np.uint8)
        data = put_together(arrays, document)
    return data


def rename_arrays(data: bytes, rng: Rng) -> bytes:
    arrays, document = take_apart(data)
    a, b = rng.choice(list(arrays), 2)
    arrays[a], arrays[b] = arrays[b], arrays[a]
    if rng.random() < 0.5:
        del arrays[b]
    return put_together(arrays, document)


WAYS = [change_document, change_document, change_numbers, change_lengths, change_text, change_estimator, nest, rename_arrays]


def mutate(prepared: tuple[list[bytes], np.ndarray], number: int) -> tuple[str, int, bytes]:
    rng = np.random.default_rng([number, 0x3AB])
    way, seed = pick(rng, WAYS), int(rng.integers(len(prepared[0])))
    return way.__name__, seed, way(prepared[0][seed], rng)


def judge(prepared: tuple[list[bytes], np.ndarray], seed: int, data: bytes) -> str:
    """'refused', or 'another wrapper'."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = load(data)
        except ModelFormatError:
            return "refused"
        except BaseException as error:
            raise Finding(f"{type(error).__name__} while loading: {error}") from error
        try:
            found.predict(prepared[1])
            for name in ("predict_proba", "predict_interval", "predict_set"):
                if hasattr(found, name):
                    getattr(found, name)(prepared[1])
            found.to_bytes()
        except BaseException as error:
            if "features" in str(error) and isinstance(error, ValueError):  # of another table
                return "another wrapper"
            raise Finding(f"{type(error).__name__} after loading: {error}") from error
    return "another wrapper"
