"""`sapwood bench`."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from sapwood.cli.errors import CommandError
from sapwood.cli.files.paths import Reading
from sapwood.cli.output import Output
from sapwood.cli.roles import Roles
from sapwood.cli.task import Task
from sapwood.cli.text import count, number


def bench(
    data: list[str],
    /,
    *,
    library: Annotated[list[str] | None, Parameter(negative="")] = None,
    rounds: int = 100,
    leaves: int = 31,
    threads: int | None = None,
    repeat: int = 3,
    task: Task | None = None,
    seed: int = 0,
    roles: Roles = Roles(),
    reading: Reading = Reading(),
    out: Output = Output(),
) -> None:
    """Compare the speed and the scores of Sapwood with installed libraries on a table.

    All libraries train the same number of rounds and leaves with a learning rate of 0.1 and 255 bins on four fifths of the rows, and
    predict the rest. Times are the shortest of several runs, in which the libraries take turns. CatBoost grows its own kind of trees.

    Parameters
    ----------
    data
        Files, patterns or folders; - is stdin.
    library
        Library to compare: sapwood, lightgbm, xgboost, sklearn or catboost. May be repeated. Default: those that are installed.
    rounds
        Number of rounds.
    leaves
        Maximum number of leaves of a tree.
    threads
        Number of threads. Default: all available CPUs.
    repeat
        Number of runs.
    task
        Classification or regression. Default: by the type and the values of the target.
    seed
        Seed of the division of the rows.
    """
    from sapwood.cli.benchmark import LIBRARIES, Comparison, installed
    from sapwood.cli.files.reading import read_tables
    from sapwood.cli.roles import divide
    from sapwood.cli.task import infer

    if unknown := [name for name in library or [] if name not in LIBRARIES]:
        raise CommandError(f"--library {unknown[0]} is unknown; choose from {', '.join(LIBRARIES)}")
    if missing := [name for name in library or [] if name not in installed()]:
        raise CommandError(f"--library {missing[0]} is not installed")
    if min(rounds, repeat, leaves - 1) < 1 or (threads is not None and threads < 1):
        raise CommandError("--rounds, --repeat and --threads must be at least 1, and --leaves at least 2")
    rows = divide(read_tables(data, reading), roles)
    inferred = infer(rows, roles, task)
    if inferred.task not in ("classification", "regression"):
        raise CommandError(f"bench compares classification and regression; the task is {inferred.task}")
    comparison = Comparison(rows, inferred.task == "classification", rounds, leaves, threads, seed)
    out.say(
        f"{count(rows.n_rows, 'row')} x {count(rows.X.shape[1], 'feature')}, {inferred.task}, {count(rounds, 'round')}, {leaves} leaves"
    )
    found: dict[str, Any] = comparison.run(library or installed(), repeat, lambda name: out.say(f"{name} ..."))
    own = found.get("sapwood")
    table = []
    for name, one in found.items():
        ratio = "" if own is None else f"{one['fit_seconds'] / own['fit_seconds']:.2f}"
        times = [f"{one[key]:.3f}" for key in ("fit_seconds", "fit_cpu_seconds", "predict_seconds")]
        table.append([f"{name} {one['version']}", *times, ratio, number(one["score"], 5)])
    header = ("library", "fit s", "fit CPU s", "predict s", "fit / sapwood", comparison.metric)
    out.result({"metric": comparison.metric, "libraries": found}, header, table)
