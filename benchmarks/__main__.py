"""The command `python -m benchmarks`: measures the chosen sections and writes the report."""

from __future__ import annotations

import argparse
import sys
from datetime import date
from pathlib import Path

from benchmarks import accuracy, busy, explaining, fitting, growing, losses, memory, prediction, ranking, scale
from benchmarks.libraries import LIBRARIES
from benchmarks.machine import available_cores, describe_machine, versions
from benchmarks.plan import Plan, say
from benchmarks.report import report
from benchmarks.results import Results
from benchmarks.tables import has_tables
from benchmarks.workloads import NAMED, TITLES, find_workloads

ROOT = Path(__file__).parents[1]
SECTIONS = {section.NAME: section for section in (fitting, prediction, explaining, busy, memory, accuracy, growing, losses, ranking, scale)}
WITHOUT_WORKLOADS = {
    prediction.NAME,
    explaining.NAME,
    busy.NAME,
    growing.NAME,
    losses.NAME,
    ranking.NAME,
    scale.NAME,
}  # they have their own
PATHS = "data", "out", "json"


def main() -> None:
    arguments = parse()
    results = Results(arguments.json, arguments.resume)
    note_run(results, arguments)
    if not has_tables(arguments.data):
        say("no folder of real tables (--data): covtype and flights are left out")
    workloads = find_workloads(arguments.data)
    plan = Plan(
        workloads=[workload for workload in workloads if workload.name in arguments.workloads],
        libraries=[LIBRARIES[name] for name in arguments.libraries],
        repeats=arguments.repeats,
        seeds=arguments.seeds,
        scale=arguments.rows_scale,
        n_jobs=arguments.cores,
        results=results,
        folder=arguments.data,
    )
    for name in arguments.sections:
        SECTIONS[name].measure(plan)
        write(results, arguments.out)
    say("the report is in", arguments.out)
    if arguments.only:
        print(report(results))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__)
    names = f"sections ({', '.join(SECTIONS)}) and workloads ({', '.join(TITLES)})"
    parser.add_argument("--only", type=_names, default=[], metavar="NAME[,NAME]", help=f"of {names}")
    parser.add_argument("--libraries", type=_names, default=list(LIBRARIES), metavar="NAME[,NAME]")
    parser.add_argument("--full", action="store_true", help="8.8M rows too")
    parser.add_argument("--repeats", type=int, default=3, help="of each timing, 10 times as many for tiny workloads")
    parser.add_argument("--seeds", type=int, default=5, help="of the accuracy section")
    parser.add_argument("--rows-scale", type=float, default=1.0, help="below 1 for a trial")
    parser.add_argument("--cores", type=int, default=available_cores(), help="what 'all cores' means; default %(default)s")
    parser.add_argument("--data", type=Path, default=ROOT / "../shared/data", metavar="DIR", help="of real tables")
    parser.add_argument("--out", type=Path, default=ROOT / "docs/benchmarks.md", help="the report")
    parser.add_argument("--json", type=Path, default=ROOT / "build/benchmarks.json", help="the numbers")
    parser.add_argument("--resume", action="store_true", help="keep what --json has, and measure what it lacks")
    arguments = parser.parse_args()
    for given, known in ((arguments.only, [*SECTIONS, *TITLES]), (arguments.libraries, list(LIBRARIES))):
        for name in given:
            if name not in known:
                parser.error(f"{name!r} is unknown; choose from {', '.join(known)}")
    arguments.sections, arguments.workloads = choose(arguments.only, arguments.full)
    return arguments


def choose(only: list[str], full: bool) -> tuple[list[str], list[str]]:
    """Sections and workloads. Naming some of a kind leaves out the rest of that kind.

    Naming workloads alone leaves out the sections that have their own.
    """
    workloads = [name for name in TITLES if name in only]
    sections = [name for name in SECTIONS if name in only]
    if not sections:
        sections = [name for name in SECTIONS if not workloads or name not in WITHOUT_WORKLOADS]
    return sections, workloads or [name for name, workload in NAMED.items() if full or not workload.huge]


def note_run(results: Results, arguments: argparse.Namespace) -> None:
    """Store date, machine and command with the results. A resumed run must have the same settings."""
    settings = {"repeats": arguments.repeats, "seeds": arguments.seeds, "scale": arguments.rows_scale, "cores": arguments.cores}
    before = results.get("about") or {}
    if before and before["settings"] != settings:
        sys.exit(f"cannot resume: {arguments.json} was measured with {before['settings']}, not {settings}")
    about = {
        "date": date.today().isoformat(),
        "commands": [*before.get("commands", []), command()],
        "machine": describe_machine(),
        "versions": versions(),
        "settings": settings,
    }
    results.put(about, "about")


def command() -> str:
    """Return the command line without paths."""
    given, words = sys.argv[1:], ["python -m benchmarks"]
    while given:
        word = given.pop(0)
        if word.split("=")[0].lstrip("-") not in PATHS:
            words.append(word)
        elif "=" not in word:
            given.pop(0)
    return " ".join(words)


def write(results: Results, out: Path) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(report(results))


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


if __name__ == "__main__":
    main()
