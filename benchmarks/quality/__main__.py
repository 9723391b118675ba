"""The command: choose, measure what is missing, print the standings, and on request write docs/quality.md."""

from __future__ import annotations

import argparse
import ast
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

from benchmarks.machine import describe_machine
from benchmarks.plan import say
from benchmarks.quality.cases import Case
from benchmarks.quality.libraries import BASELINE, LIBRARIES, OURS, find_library
from benchmarks.quality.picture import draw_picture
from benchmarks.quality.records import Records
from benchmarks.quality.report import INTRODUCTION, report, versions
from benchmarks.quality.runner import Runner, missing
from benchmarks.quality.splits import SIZES, sizes_of
from benchmarks.quality.standings import make_cells
from benchmarks.quality.tables import is_held_aside, load_table, table_tasks

ROOT = Path(__file__).parents[2]
PATHS = "--data", "--results"


def main() -> None:
    arguments = parse()
    records = Records(arguments.results)
    libraries = installed([*arguments.libraries, *([arguments.label] if arguments.set else []), BASELINE])
    if not arguments.report:
        cases = plan(arguments, libraries)
        again = {library: find_library(library).version() for library in libraries} if arguments.again else {}
        runner = Runner(records, arguments.data, arguments.jobs, arguments.threads, arguments.timeout, say)
        runner.run(missing(cases, records, again, arguments.retry))
    found = [record for record in records.all() if record["table"] in arguments.tables and record["size"] in arguments.sizes]
    cells = make_cells(found, libraries)
    lines = report(cells, libraries, arguments.held_aside)
    print("\n".join(lines))
    if arguments.write:
        draw_picture([cell for cell in cells if not is_held_aside(cell.table)], libraries, ROOT / "docs/quality.svg")
        (ROOT / "docs/quality.md").write_text("\n".join([*head(records, libraries), *lines]).rstrip() + "\n")
        say("the report is in docs/quality.md")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks.quality", description=__doc__)
    parser.add_argument("--libraries", type=_names, metavar="NAME[,NAME]", default=[name for name in LIBRARIES if name != BASELINE])
    parser.add_argument("--tables", type=_names, default=[], metavar="NAME[,NAME]", help="all, if none is named")
    parser.add_argument("--sizes", type=_names, default=list(SIZES), metavar="SIZE[,SIZE]", help="numbers of training rows, or 'full'")
    parser.add_argument("--splits", type=int, default=5, help="default %(default)s")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time; default %(default)s")
    parser.add_argument("--threads", type=int, default=1, help="of each library; default %(default)s")
    parser.add_argument("--timeout", type=float, default=3600, help="seconds for one fit; default %(default)s")
    parser.add_argument("--set", type=_parameter, action="append", default=[], metavar="NAME=VALUE", help="Sapwood with a parameter too")
    parser.add_argument("--label", help="of Sapwood with --set; default: the parameters")
    parser.add_argument("--held-aside", action="store_true", help="measure and show the tables held aside too")
    parser.add_argument("--again", action="store_true", help="records of other versions of the libraries do not count")
    parser.add_argument("--retry", action="store_true", help="recorded failures do not count")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    parser.add_argument("--write", action="store_true", help="docs/quality.md and its picture, with --held-aside")
    parser.add_argument("--data", type=Path, default=ROOT / "../shared/data", metavar="DIR", help="of real tables")
    parser.add_argument("--results", type=Path, default=ROOT / "build/quality.jsonl", metavar="FILE", help="default build/quality.jsonl")
    arguments = parser.parse_args()
    known = list(table_tasks(arguments.data))
    for given, names in ((arguments.libraries, [name for name in LIBRARIES if name != BASELINE]), (arguments.tables, known)):
        for name in given:
            if name not in names:
                parser.error(f"{name!r} is unknown; choose from {', '.join(names)}")
    arguments.held_aside |= arguments.write
    arguments.tables = [name for name in arguments.tables or known if arguments.held_aside or not is_held_aside(name)]
    arguments.label = f"{OURS}: {arguments.label or ', '.join(f'{name}={value}' for name, value in arguments.set)}"
    return arguments


def plan(arguments: argparse.Namespace, libraries: list[str]) -> list[Case]:
    """All cases, table by table."""
    tasks, cases = table_tasks(arguments.data), []
    for name in arguments.tables:
        able = [library for library in libraries if tasks[name] in find_library(library).tasks]
        for size in sizes_of(len(load_table(arguments.data, name).y), tuple(arguments.sizes)):
            for library in able:
                parameters = dict(arguments.set) if library == arguments.label else {}
                cases += [Case(name, tasks[name], size, split, library, parameters) for split in range(arguments.splits)]
    return cases


def installed(libraries: list[str]) -> list[str]:
    found = []
    for library in libraries:
        try:
            find_library(library).version()
        except PackageNotFoundError:
            say(library, "is not installed: left out")
        else:
            found.append(library)
    return found


def head(records: Records, libraries: list[str]) -> list[str]:
    return [
        "# Quality at defaults",
        "",
        f"Measured with `{command()}` on: {describe_machine()}.",
        "",
        f"Versions: {versions(records.all(), libraries)}.",
        "",
        INTRODUCTION,
        "",
        "![Mean ranks with confidence intervals](quality.svg)",
        "",
    ]


def command() -> str:
    """As it was given, but for paths, which are of one machine."""
    given, words = sys.argv[1:], ["python -m benchmarks.quality"]
    while given:
        word = given.pop(0)
        if word.split("=")[0] not in PATHS:
            words.append(word)
        elif "=" not in word:
            given.pop(0)
    return " ".join(words)


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def _parameter(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} must be NAME=VALUE")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value  # a string without quotes


if __name__ == "__main__":
    main()
