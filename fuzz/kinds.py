"""Kinds of input that are mutated: files of models and wrappers, models of other libraries, sparse matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fuzz import containers, imports, wrappers
from fuzz.judge import judge, load
from fuzz.mutations import mutate
from fuzz.seeds import load_seeds


@dataclass(frozen=True)
class Kind:
    """How inputs of a kind are made and judged.

    `prepare()` is called once in a process. `mutate(prepared, number)` gives what was done, to which seed, and the input: the same for the
    same number. `judge(prepared, seed, input)` says in a word what came of it, or raises Finding.
    """

    prepare: Callable[[], Any]
    mutate: Callable[[Any, int], tuple[str, int, Any]]
    judge: Callable[[Any, int, Any], str]
    fraction: float  # of all mutations


def _prepare_files() -> tuple[list[bytes], list[Any]]:
    seeds = load_seeds()
    return seeds, [load(seed) for seed in seeds]


KINDS = {
    "files": Kind(_prepare_files, lambda made, number: mutate(made[0], number), lambda made, seed, data: judge(data, made[1][seed]), 0.6),
    "wrappers": Kind(wrappers.prepare, wrappers.mutate, wrappers.judge, 0.1),
    "imports": Kind(imports.prepare, imports.mutate, imports.judge, 0.15),
    "containers": Kind(containers.prepare, containers.mutate, containers.judge, 0.15),
}
