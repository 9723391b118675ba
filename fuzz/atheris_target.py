"""A target for atheris: `python -m fuzz.atheris_target CORPUS [libFuzzer's options]`, or `make fuzzer`.

atheris keeps the files that reach new lines and changes them further; what changes them is our own list of mutations, so that most have a
true checksum, or its own. What is found is written to the working folder, and can be tried again by giving the file as the only argument.
"""

from __future__ import annotations

import inspect
import sys
from types import ModuleType

import atheris
import numpy as np

from fuzz.judge import judge
from fuzz.mutations import ALL, pick
from sapwood.data import columns, container
from sapwood.encoding import encoding
from sapwood.estimators import classifier, regressor, saving, values
from sapwood.model import file, model

READERS = [container, file, model, saving, values, classifier, regressor, encoding, columns]


def instrument(module: ModuleType) -> None:
    """Let atheris see which lines of a module's functions are reached. (An editable install's modules pass its import hook by.)"""
    for own in vars(module).values():
        if getattr(own, "__module__", None) != module.__name__:
            continue
        for one in vars(own).values() if inspect.isclass(own) else [own]:
            function = getattr(one, "__func__", getattr(one, "fget", one))
            if inspect.isfunction(function):
                atheris.instrument_func(function)


def change(data: bytes, max_size: int, seed: int) -> bytes:
    """Another file from one that was kept."""
    rng = np.random.default_rng(seed)
    if rng.random() < 0.8:
        try:
            out = pick(rng, ALL)(data, rng)
        except Exception:  # it is no file of ours any more
            out = b""
        if 0 < len(out) <= max_size:
            return out
    return atheris.Mutate(data, max_size)


if __name__ == "__main__":
    for reader in READERS:
        instrument(reader)
    atheris.Setup(sys.argv, judge, custom_mutator=change)
    atheris.Fuzz()
