"""Mutation tests of guards: `python tools/mutants.py python` and `python tools/mutants.py kernels`, or `make mutants`.

A guard is a check that refuses input: `if ...: raise` or `_require(...)` in Python, `require(...)` in the bindings of kernels. Each is
removed in turn, and its tests must fail. Of all other mutations (cosmic-ray's operators: comparisons, numbers, `not`, exceptions) a sample
is tried.

Nothing is written to the source: a mutated module is imported by a child process from memory, and the bindings are compiled once, with
guards that an environment variable switches off (SAPWOOD_MUTANTS in CMakeLists.txt).
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.abc
import importlib.machinery
import os
import random
import re
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SECONDS = 300  # for the tests of a mutant: one that runs longer is noticed
# module: tests that must notice
PYTHON = {
    "sapwood.data.container": ["tests/data/test_container.py", "tests/model/test_file.py", "tests/estimators/test_saving.py"],
    "sapwood.data.sparse_formats": ["tests/data/test_sparse_formats.py"],
    "sapwood.model.file": ["tests/model/test_file.py", "tests/importing/test_damaged.py"],
    "sapwood.model.disk": ["tests/model/test_disk.py", "tests/model/test_costs.py", "tests/estimators/test_saving.py"],
    "sapwood.estimators.values": ["tests/estimators/test_values.py"],
    "sapwood.estimators.saving": ["tests/estimators/test_values.py", "tests/model/test_costs.py", "tests/estimators/test_saving.py"],
    "sapwood.uncertainty.saving": ["tests/uncertainty/test_saving.py"],
    "sapwood.importing.base": ["tests/importing/test_damaged.py"],
    "sapwood.importing.lightgbm": ["tests/importing/test_damaged.py", "tests/importing/test_importing.py"],
    "sapwood.importing.xgboost": ["tests/importing/test_damaged.py", "tests/importing/test_importing.py"],
    "sapwood.importing.builder": ["tests/importing/test_damaged.py", "tests/importing/test_builder.py"],
}
OPERATORS = re.compile(
    r"ReplaceComparison|NumberReplacer|AddNot|ReplaceAndWithOr|ReplaceOrWithAnd|ReplaceTrue|ReplaceFalse|ZeroIteration|Exception"
)
# Limits of 2^31 and more: a test would need arrays of 8 to 64 GB.
OUT_OF_REACH = re.compile(r"(?<!table\.)n_(rows\(\)|major|cells|list_bins) < int64_t\(1\) << 3|values\.size\(\) < size_t\(1\) << 32")
KERNEL_TESTS = [
    ["tests/kernels/test_guards.py", "tests/kernels/test_bad_arguments.py", "tests/model/test_file.py"],
    ["tests/kernels", "tests/trees", "tests/data", "tests/losses", "tests/sampling"],  # if the first say nothing
    ["tests/model/test_costs.py"],
]


@dataclass(frozen=True)
class Mutant:
    name: str
    module: str
    source: str | None  # of the module; None for a guard of the kernels


# Python


def guards(module: str, source: str) -> Iterator[Mutant]:
    """The module without one of its guards."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.If) and len(node.body) == 1 and isinstance(node.body[0], ast.Raise):
            test, new = node.test, "False"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "_require":
            test, new = node.args[0], "True"
        else:
            continue
        yield Mutant(f"{module}:{test.lineno} guard removed", module, _replace(source, test, new))


def _replace(source: str, node: ast.expr, new: str) -> str:
    lines = source.encode().split(b"\n")  # columns of nodes count bytes
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    head, tail = lines[first][: node.col_offset], lines[last][node.end_col_offset :]
    return b"\n".join([*lines[:first], head + new.encode() + tail, *lines[last + 1 :]]).decode()


def others(module: str, source: str) -> Iterator[Mutant]:
    """Mutations of cosmic-ray."""
    from cosmic_ray import plugins
    from cosmic_ray.mutating import mutate_code

    for name in plugins.operator_names():
        if not OPERATORS.search(name):
            continue
        operator, occurrence = plugins.get_operator(name)(), 0
        while (code := mutate_code(source.encode(), operator, occurrence)) is not None:
            text = code if isinstance(code, str) else code.decode()
            line = next((i for i, (a, b) in enumerate(zip(source.split("\n"), text.split("\n"), strict=False), 1) if a != b), 0)
            yield Mutant(f"{module}:{line} {name.partition('/')[2]} {occurrence}", module, text)
            occurrence += 1


class FromMemory(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from a text."""

    def __init__(self, mutant: Mutant, path: Path) -> None:
        self.mutant, self.path = mutant, path

    def find_spec(self, fullname, path=None, target=None):
        if fullname != self.mutant.module:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, origin=str(self.path))

    def create_module(self, spec):
        return None

    def exec_module(self, module) -> None:
        exec(compile(self.mutant.source or "", str(self.path), "exec"), module.__dict__)


def path_of(module: str) -> Path:
    return ROOT / "src" / Path(*module.split(".")).with_suffix(".py")


# Kernels


def kernel_guards() -> Iterator[Mutant]:
    """The guards of the bindings and of the file reader, by file and line."""
    files = [*sorted((ROOT / "src/kernels/bindings").glob("*.?pp")), ROOT / "src/kernels/core/file.hpp"]
    for path in files:
        for number, line in enumerate(path.read_text().split("\n"), 1):
            if re.search(r"\b(require|fault)\(", line) and "inline" not in line and not OUT_OF_REACH.search(line):
                yield Mutant(f"{path.name}:{number}", "kernels", None)


# Both


def survives(mutant: Mutant | None, tests: list[str]) -> bool:
    """Whether the tests pass, in a child process that may crash or hang."""
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        with open(os.devnull, "w") as nothing:
            os.dup2(nothing.fileno(), 1)
            os.dup2(nothing.fileno(), 2)
        code = 1
        try:
            if mutant is not None and mutant.source is not None:
                sys.meta_path.insert(0, FromMemory(mutant, path_of(mutant.module)))
            elif mutant is not None:
                os.environ["SAPWOOD_MUTANT"] = mutant.name
            import pytest

            code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *tests]))
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def run(mutants: list[Mutant], tests_of: dict[str, list[list[str]]]) -> list[str]:
    """Try mutants; print and return those that survive."""
    left = []
    for i, mutant in enumerate(mutants):
        alive = all(survives(mutant, tests) for tests in tests_of[mutant.module])
        if alive:
            left.append(mutant.name)
        print(f"[{i + 1}/{len(mutants)}] {'SURVIVED' if alive else 'killed'} {mutant.name}", flush=True)
    return left


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["python", "kernels"])
    parser.add_argument("--guards", type=int, default=10_000, help="how many guards, at most")
    parser.add_argument("--sample", type=int, default=100, help="how many other mutations")
    parser.add_argument("--only", default="", help="modules or files whose name has this")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fast", action="store_true", help="of the kernels: only the tests of guards, not all tests of kernels")
    given = parser.parse_args()
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    rng = random.Random(given.seed)
    for name in ("lightgbm", "pandas", "polars", "scipy.sparse", "sklearn.ensemble", "xgboost"):
        importlib.import_module(name)  # once, before the children
    if given.what == "kernels":
        found, tests_of = [mutant for mutant in kernel_guards() if given.only in mutant.name], {"kernels": KERNEL_TESTS}
        chosen = rng.sample(found, min(given.guards, len(found)))
    else:
        modules = {module: [tests] for module, tests in PYTHON.items() if given.only in module}
        tests_of = {module: [[test for test in group if (ROOT / test).exists()] for group in groups] for module, groups in modules.items()}
        sources = {module: path_of(module).read_text() for module in modules}
        removed = [mutant for module, source in sources.items() for mutant in guards(module, source)]
        rest = [mutant for module, source in sources.items() for mutant in others(module, source)] if given.sample else []
        chosen = rng.sample(removed, min(given.guards, len(removed))) + rng.sample(rest, min(given.sample, len(rest)))
        print(f"{len(removed)} guards, {len(rest)} other mutations")
    for module in {mutant.module for mutant in chosen}:
        tests_of[module] = tests_of[module][: 1 if given.fast else None]
        if not all(survives(None, tests) for tests in tests_of[module]):
            raise SystemExit(f"the tests of {module} fail without a mutation")
    left = run(chosen, tests_of)
    print(f"{len(chosen)} mutants, {len(left)} survived")
    if left:
        raise SystemExit("\n".join(left))


if __name__ == "__main__":
    main()
