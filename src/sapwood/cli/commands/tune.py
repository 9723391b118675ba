"""`sapwood tune`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from sapwood.cli.errors import CommandError, needs
from sapwood.cli.files.paths import Reading, check_output
from sapwood.cli.output import Output
from sapwood.cli.parameter_flags import ParameterFlags
from sapwood.cli.roles import Roles
from sapwood.cli.task import Task
from sapwood.cli.text import count, number
from sapwood.cli.values import given_parameters, write_toml

if TYPE_CHECKING:
    from sapwood.cli.tuning import Tuning


def tune(
    data: list[str],
    /,
    *,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    trials: int = 50,
    timeout: float | None = None,
    study: Path = Path("tune.journal"),
    cv: int = 3,
    metric: str | None = None,
    space: Path | None = None,
    task: Task | None = None,
    seed: int = 0,
    config: Path | None = None,
    roles: Roles = Roles(),
    reading: Reading = Reading(),
    out: Output = Output(),
    parameters: ParameterFlags = ParameterFlags(),
) -> None:
    """Search good parameters by cross-validation with Optuna; TOML on stdout, for sapwood train --config.

    Rounds are chosen by early stopping. Trials whose first fold is worse than the median of earlier trials end early. The study is a file:
    the same command continues it, also after Ctrl-C. Parameters given as flags are not searched.

    Parameters
    ----------
    data
        Files, patterns such as 'part-*.csv', or folders; - is stdin.
    output
        TOML file to write instead of stdout.
    trials
        Number of trials of the study in total.
    timeout
        Seconds after which no further trial begins.
    study
        File of the study.
    cv
        Number of folds.
    metric
        Metric to optimize. Default: that of the task.
    space
        TOML file of the parameters to search: name = {low = 1, high = 9, log = true} or name = [choices].
    task
        Task. Default: by the type and the values of the target.
    seed
        Seed of the folds and of the search.
    config
        TOML file of parameters that are not searched. Flags take precedence.
    """
    needs("optuna", "tune", "sapwood tune")
    from sapwood.cli.files.reading import read_tables
    from sapwood.cli.roles import divide
    from sapwood.cli.task import infer, make_estimator
    from sapwood.cli.tuning import Tuning, read_space

    if output is not None:
        check_output(output)
    if trials < 1 or cv < 2 or (timeout is not None and timeout <= 0):
        raise CommandError("--trials must be at least 1, --cv at least 2, and --timeout above 0")
    fixed = given_parameters(parameters, config)
    rows = divide(read_tables(data, reading), roles)
    inferred = infer(rows, roles, task)
    estimator = make_estimator(inferred.task, fixed)
    tuning = Tuning(estimator, rows, metric, cv, seed, read_space(space, rows, fixed), study)
    out.say(f"Table    {count(rows.n_rows, 'row')} x {count(rows.X.shape[1], 'feature')}; {inferred.task} ({inferred.reason})")
    out.say(f"Study    {study}: {count(tuning.n_complete, 'trial')} so far; {tuning.metric.name} by {cv}-fold cross-validation")
    _run(tuning, trials, timeout, out)
    best = fixed | tuning.best_parameters()
    text = write_toml(best)
    out.say(f"Best     {tuning.metric.name} {number(tuning.best_score, 5)} (trial {tuning.best_number} of {tuning.n_complete})")
    if out.json:
        out.result_json({"metric": tuning.metric.name, "score": tuning.best_score, "trials": tuning.n_complete, "parameters": best})
    if output is not None:
        output.write_text(text, encoding="utf-8")
        out.say(f"Saved    {output}; train with --config {output}")
    elif not out.json:
        out.result_lines(text.rstrip("\n"))


def _run(tuning: Tuning, trials: int, timeout: float | None, out: Output) -> None:
    """Run trials with a line for each."""

    def show(trial: Any) -> None:
        state = f"{tuning.metric.name} {number(trial.value, 5)}" if trial.state.name == "COMPLETE" else trial.state.name.lower()
        values = ", ".join(f"{name} {number(value) if isinstance(value, float) else value}" for name, value in trial.params.items())
        out.say(f"Trial {trial.number:<3} {state}: {values}")

    try:
        tuning.run(trials, timeout, show)
    except KeyboardInterrupt as error:
        text = f"{count(tuning.n_complete, 'trial')} are saved in {tuning.path}; the same command continues the study"
        raise type(error)(text) from None
