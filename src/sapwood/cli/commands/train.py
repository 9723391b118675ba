"""`sapwood train`."""

from __future__ import annotations

import glob
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from sapwood.cli.errors import CommandError
from sapwood.cli.files.paths import Reading, check_output
from sapwood.cli.output import Output
from sapwood.cli.parameter_flags import ParameterFlags
from sapwood.cli.roles import Roles
from sapwood.cli.task import Task
from sapwood.cli.text import count, one_line
from sapwood.cli.values import given_parameters

if TYPE_CHECKING:
    import numpy as np

    from sapwood.cli.interrupts import InterruptCheckpoint
    from sapwood.cli.roles import Data


SECONDS = 30.0  # between checkpoints


def train(
    data: list[str],
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("model.sapwood"),
    task: Task | None = None,
    metric: Annotated[list[str] | None, Parameter(negative="")] = None,
    holdout: float = 0.2,
    cv: int | None = None,
    test: Annotated[list[str] | None, Parameter(negative="")] = None,
    seed: int = 0,
    config: Path | None = None,
    checkpoint: Path | None = None,
    checkpoint_every: int | None = None,
    report: Path | None = None,
    watch: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    restart: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    roles: Roles = Roles(),
    reading: Reading = Reading(),
    out: Output = Output(),
    parameters: ParameterFlags = ParameterFlags(),
) -> None:
    """Train a model on a table and save it.

    The task, the columns and the metrics are inferred and shown. A fifth of the rows is held out and scored, unless --cv, --test or
    --holdout 0 is given. Ctrl-C writes a checkpoint; the same command resumes from it.

    Parameters
    ----------
    data
        Files, patterns such as 'part-*.csv', or folders; - is stdin.
    output
        Model file to write.
    task
        Task. Default: by the type and the values of the target.
    metric
        Metric to report. May be repeated.
    holdout
        Fraction of the rows to hold out and to score; 0 for none.
    cv
        Number of folds: score by cross-validation, then train on all rows.
    test
        Files of test rows to score.
    seed
        Seed of the division of the rows.
    config
        TOML file of parameters. Flags take precedence.
    checkpoint
        Checkpoint file. Default: the output with the suffix .checkpoint; it is removed at the end.
    checkpoint_every
        Number of rounds between checkpoints. Default: a checkpoint every 30 seconds.
    report
        HTML file to write: a report of the model and the test rows.
    watch
        Serve a page on this computer that shows the training. Training is then a single run, without averaged folds and second passes.
    restart
        Ignore an existing checkpoint.
    """
    from sapwood.cli.files.reading import open_tables, read_tables
    from sapwood.cli.interrupts import InterruptCheckpoint, Interrupts
    from sapwood.cli.roles import divide
    from sapwood.cli.task import infer, make_estimator

    check_output(output)
    if report is not None:
        check_output(report, "--report")
    values = {"preset": "auto"} | given_parameters(parameters, config)
    if not 0 <= holdout < 1:
        raise CommandError(f"--holdout must be from 0 to below 1; got {holdout:g}")
    if cv is not None and cv < 2:
        raise CommandError(f"--cv must be at least 2; got {cv}")
    began = time.perf_counter()
    read = read_tables if _needs_memory(values) else open_tables
    rows = divide(read(data, reading), roles)
    inferred = infer(rows, roles, task)
    estimator = make_estimator(inferred.task, values)
    _describe(out, rows, estimator, f"{inferred.task} ({inferred.reason})", time.perf_counter() - began)
    rows, test_rows = _test_rows(rows, holdout if cv is None and not test else 0.0, seed, inferred.task)
    if test:
        test_rows = divide(read(test, reading, rows.X.shape[1]), roles, rows.names)
    with Interrupts() as interrupts:
        found = _cross_validate(out, estimator, rows, metric, cv, seed) if cv is not None else None
        path = checkpoint or Path(f"{output}.checkpoint")
        if restart:
            _remove(path)
        seconds = SECONDS if checkpoint_every is None else None
        writes = InterruptCheckpoint(path, checkpoint_every, seconds, interrupts, out.say)
        began = time.perf_counter()
        fitted = _fit(out, estimator, rows, writes, watch)
        elapsed = time.perf_counter() - began
    for role in ("target", "event", "weight", "query", "offset"):
        if value := getattr(roles, role):
            fitted.provenance_[role] = value if isinstance(value, str) else "\n".join(value)
    fitted.save(output)
    if checkpoint is None:
        _remove(path)
    _show_scores(out, fitted, test_rows, metric, found, output, elapsed, inferred.task)
    if report is not None:
        _write_report(out, fitted, (test_rows or rows).in_memory(), report)


def _needs_memory(parameters: dict[str, Any]) -> bool:
    """Whether parameters need all rows in memory: large files cannot be read in batches."""
    return parameters.get("tree_method") in ("exact", "approx") or (isinstance(n := parameters.get("max_bins"), int) and n > 255)


def _describe(out: Output, rows: Data, estimator: Any, task: str, seconds: float) -> None:
    """Print the table, the task and the columns."""
    dropped = f"; {count(rows.n_dropped, 'row')} without target left out" if rows.n_dropped else ""
    out.say(f"Table    {count(rows.n_rows, 'row')} x {count(rows.X.shape[1], 'feature')}, read in {seconds:.1f} s{dropped}")
    out.say(f"Task     {one_line(task)}")
    if rows.names is None:
        out.say("Columns  sparse numbers")
        return
    kinds: dict[str, int] = {}
    for column in estimator.describe_features(rows.head(10_000)).columns:
        kinds[column.kind] = kinds.get(column.kind, 0) + 1
    out.say(f"Columns  {', '.join(f'{n} {kind}' for kind, n in kinds.items())}")


def _test_rows(rows: Data, fraction: float, seed: int, task: Task) -> tuple[Data, Data | None]:
    """Divide rows into training and test rows: by group or query, by class, or at random."""
    import numpy as np
    from sklearn.model_selection import GroupShuffleSplit, train_test_split

    if not fraction:
        return rows, None
    groups = rows.groups if rows.groups is not None else rows.qid
    everything = np.arange(rows.n_rows)
    if groups is not None:
        chosen, held_out = next(GroupShuffleSplit(1, test_size=fraction, random_state=seed).split(everything, groups=groups))
    else:
        strata = _strata(rows.y) if task == "classification" else None
        chosen, held_out = train_test_split(everything, test_size=fraction, random_state=seed, stratify=strata)
    return rows.take(np.sort(chosen)), rows.take(np.sort(held_out))


def _strata(y: np.ndarray) -> np.ndarray | None:
    """Return the classes, if each has at least two rows."""
    import numpy as np

    if y.ndim == 2:
        return None
    if y.dtype.kind == "O":
        import pyarrow as pa

        encoded = pa.array(y).dictionary_encode()  # a sort of all labels would take minutes
        _, of_level = np.unique(np.array(encoded.dictionary.to_pylist()).astype(str), return_inverse=True)
        y = of_level[encoded.indices.to_numpy()]
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    return codes if counts.min() >= 2 else None


def _remove(checkpoint: Path) -> None:
    """Remove the files of a checkpoint: one, or one for each fold."""
    for file in [checkpoint, *checkpoint.parent.glob(f"{glob.escape(checkpoint.name)}.fold*")]:
        file.unlink(missing_ok=True)


def _fit(out: Output, estimator: Any, rows: Data, checkpoint: InterruptCheckpoint, watch: bool) -> Any:
    """Fit with a progress bar and a checkpoint."""
    estimator.set_params(verbose=int(out.shows_progress))
    arguments = rows.fit_arguments()
    if rows.groups is not None:
        arguments["groups"] = rows.groups
    if watch:
        from sapwood.report import LiveReport

        arguments["callbacks"] = [LiveReport(announce=lambda url: out.say(f"Watch    {url}"))]
    try:
        return estimator.fit(**arguments, checkpoint=checkpoint)
    except ValueError as error:
        if "belongs to another fit" in str(error):
            raise CommandError(f"{error}; or pass --restart") from None
        raise
    finally:
        estimator.set_params(verbose=0)


def _cross_validate(out: Output, estimator: Any, rows: Data, names: list[str] | None, n_folds: int, seed: int) -> dict[str, Any]:
    """Return the scores of folds: mean, and the interval of Student's t over the folds."""
    import numpy as np
    from scipy.special import stdtrit
    from sklearn.base import clone, is_classifier
    from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

    from sapwood.cli.scores import scores
    from sapwood.metrics.intervals import Score

    groups = rows.groups if rows.groups is not None else rows.qid
    strata = _strata(rows.y) if is_classifier(estimator) else None
    cls: Any = GroupKFold if groups is not None else KFold if strata is None else StratifiedKFold
    splitter = cls(n_folds, shuffle=True, random_state=seed)
    by_metric: dict[str, list[float]] = {}
    for fold, (chosen, held_out) in enumerate(splitter.split(np.arange(rows.n_rows), strata, groups), 1):
        part = rows.take(np.sort(chosen))
        fitted = clone(estimator).fit(**part.fit_arguments(), **({} if part.groups is None else {"groups": part.groups}))
        found = scores(fitted, rows.take(np.sort(held_out)), names)
        out.say(f"Fold {fold}   {', '.join(f'{name} {score.value:.5f}' for name, score in found.items())}")
        for name, score in found.items():
            by_metric.setdefault(name, []).append(score.value)
    width = float(stdtrit(n_folds - 1, 0.975)) / n_folds**0.5
    out_scores = {}
    for name, values in by_metric.items():
        mean, std = float(np.mean(values)), float(np.std(values, ddof=1))
        out_scores[name] = Score(mean, mean - width * std, mean + width * std, std / n_folds**0.5)
    return out_scores


def _show_scores(
    out: Output,
    fitted: Any,
    test: Data | None,
    names: list[str] | None,
    folds: dict[str, Any] | None,
    output: Path,
    seconds: float,
    task: str,
) -> None:
    """Print the scores and where the model is."""
    from sapwood.cli.scores import HEADER, as_data, rows_of, scores

    used = "" if fitted.best_iteration_ == fitted.n_iter_ else f", the best {fitted.best_iteration_} are used"
    out.say(
        f"Model    {count(fitted.n_iter_, 'round')}{used}; trained in {seconds:.1f} s on {count(int(fitted.provenance_['n_rows']), 'row')}"
    )
    found = folds if folds is not None else scores(fitted, test, names) if test is not None else {}
    if found:
        on = "cross-validation" if folds is not None else f"{count(test.n_rows, 'test row')}" if test is not None else ""
        out.say_table(HEADER, rows_of(found), f"Scores   {on}")
    out.say(f"Saved    {output}")
    if out.json:
        result = {"model": str(output), "task": task, "estimator": type(fitted).__name__, "n_rounds": fitted.n_iter_}
        result |= {"best_round": fitted.best_iteration_, "seconds": round(seconds, 3), "n_rows": fitted.provenance_["n_rows"]}
        result |= {"n_test_rows": None if test is None else test.n_rows, "scores": as_data(found)}
        out.result_json(result | {"parameters": dict(fitted.resolved_params_)})


def _write_report(out: Output, fitted: Any, rows: Data, path: Path) -> None:
    from sapwood.report import write_report

    write_report(fitted, rows.X, rows.y, path, sample_weight=rows.weight, qid=rows.qid, offset=rows.offset)
    out.say(f"Report   {path}")
