"""The standings as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.markdown import number, table
from benchmarks.quality.libraries import BASELINE, OURS, find_title
from benchmarks.quality.records import Record
from benchmarks.quality.splits import FULL, MOST_TRAIN
from benchmarks.quality.standings import Cell, Interval, Standing, make_standing, standard_error, win_rate
from benchmarks.quality.tables import is_held_aside
from benchmarks.quality.tasks import COMMON, LOSSES, RANKING, SURVIVAL

INTRODUCTION = f"""\
Each library is at its own defaults, with the input that its documentation asks for (categories natively where it can).
Tables have at most {MOST_TRAIN:,} training rows ("full"), and are also cut to fewer; splits are seeded, stratified for
classes, of whole queries for ranking. Losses are means over splits; ranks, wins and gaps compare those means. A gap is
the loss above the best library's, relative to it (or to a hundredth of the constant model's loss, where that is more).
Brackets are 95 % bootstrap intervals over tables. "Beyond error" is the worst gap less its standard error over splits;
"worse than constant" counts tables on which the loss is above the constant model's by more than two standard errors.
Seconds are CPU seconds, summed over tables. A library that fails is last on that table."""

FACTS = ["", "mean rank", "wins", "mean gap, %", "worst gap, %", "beyond error, %", "worse than constant", "failures", "fit s", "predict s"]


def report(cells: Sequence[Cell], libraries: Sequence[str], held_aside: bool) -> list[str]:
    """All sections; those of the tables held aside only if asked for."""
    lines = _section([cell for cell in cells if not is_held_aside(cell.table)], libraries, "")
    if held_aside:
        lines += _section([cell for cell in cells if is_held_aside(cell.table)], libraries, "Held aside: ")
    return lines


def _section(cells: Sequence[Cell], libraries: Sequence[str], prefix: str) -> list[str]:
    lines = []
    for size in sizes(cells):
        chosen = [cell for cell in cells if cell.size == size]
        common = [cell for cell in chosen if cell.task in COMMON]
        if common:
            lines += [f"## {prefix}{size_title(size)}", "", *_standings(common, libraries), *_win_rates(common, libraries)]
            lines += _losses(common, libraries)
        for task, title in ((RANKING, "ranking"), (SURVIVAL, "survival")):
            if found := [cell for cell in chosen if cell.task == task]:
                lines += [f"### {prefix}{size_title(size)}, {title}", "", *_losses(found, libraries), *_differences(found, libraries)]
    return lines


def sizes(cells: Sequence[Cell]) -> list[str]:
    return sorted({cell.size for cell in cells}, key=lambda size: float("inf") if size == FULL else int(size))


def size_title(size: str) -> str:
    return "Full size" if size == FULL else f"{int(size):,} training rows"


def competitors(cells: Sequence[Cell], libraries: Sequence[str]) -> list[str]:
    """Libraries that take part in all of the cells."""
    return [library for library in libraries if library != BASELINE and all(library in (*cell.losses, *cell.failed) for cell in cells)]


def standings(cells: Sequence[Cell], libraries: Sequence[str]) -> list[Standing]:
    """Best mean rank first."""
    return sorted((make_standing(cells, library) for library in competitors(cells, libraries)), key=lambda standing: standing.rank.value)


def _standings(cells: Sequence[Cell], libraries: Sequence[str]) -> list[str]:
    n_splits = sorted({len(cell.splits) for cell in cells})
    rows = [_row(standing) for standing in standings(cells, libraries)]
    return [f"{len(cells)} tables, {' to '.join(map(str, {n_splits[0], n_splits[-1]}))} splits.", "", *table(FACTS, rows)]


def _row(standing: Standing) -> list[str]:
    return [
        find_title(standing.library),
        interval(standing.rank),
        str(standing.wins),
        interval(standing.gap, 100, 1),
        _named(standing.worst),
        _named(standing.worst_beyond_error),
        f"{len(standing.worse_than_constant)}{_list(standing.worse_than_constant)}",
        f"{len(standing.failures)}{_list(standing.failures)}",
        number(standing.fit_seconds),
        number(standing.predict_seconds),
    ]


def _win_rates(cells: Sequence[Cell], libraries: Sequence[str]) -> list[str]:
    """Of Sapwood, and of Sapwood with other parameters, against each."""
    names = competitors(cells, libraries)
    ours = [name for name in names if name.split(":")[0] == OURS]
    if not ours or len(names) < 2:
        return []
    rows = []
    for library in ours:
        cells_of = ["-" if other == library else interval(win_rate(cells, library, other), 100, 0) for other in names]
        rows.append([f"{find_title(library)}, % of tables with a lower loss", *cells_of])
    return table(["against", *map(find_title, names)], rows)


def _losses(cells: Sequence[Cell], libraries: Sequence[str]) -> list[str]:
    shown = [library for library in libraries if any(library in cell.losses or library in cell.failed for cell in cells)]
    rows = [[cell.table, LOSSES[cell.task], *(_loss(cell, library) for library in shown)] for cell in cells]
    return table(["table", "loss", *map(find_title, shown)], rows)


def _loss(cell: Cell, library: str) -> str:
    if library not in cell.losses:
        return "failed" if library in cell.failed else "-"
    text = number(cell.mean(library), 4)
    return f"**{text}**" if library == cell.best else text


def _differences(cells: Sequence[Cell], libraries: Sequence[str]) -> list[str]:
    """Ours less each other's on the same splits, with standard errors: there are too few such tables for ranks."""
    others = [name for name in libraries if name not in (OURS, BASELINE) and any(name in cell.losses for cell in cells)]
    rows = []
    for cell in cells:
        if OURS in cell.losses:
            differences = {name: cell.losses[OURS] - cell.losses[name] for name in others if name in cell.losses}
            texts = {name: f"{values.mean():+.4f} +- {standard_error(values):.4f}" for name, values in differences.items()}
            rows.append([f"{cell.table}, {len(cell.splits)} splits", *(texts.get(name, "-") for name in others)])
    return table(["Sapwood's loss less that of", *map(find_title, others)], rows) if others and rows else []


def interval(found: Interval, scale: float = 1, digits: int = 2) -> str:
    value, low, high = (f"{scale * part:.{digits}f}" for part in (found.value, found.low, found.high))
    return f"{value} ({low} to {high})"


def versions(records: Sequence[Record], libraries: Sequence[str]) -> str:
    """Of the libraries, as recorded; more than one where the file is of several runs."""
    found = {library: sorted({record["version"] for record in records if record["library"] == library}) for library in libraries}
    return ", ".join(f"{find_title(library)} {' and '.join(values)}" for library, values in found.items() if values and library != BASELINE)


def _named(worst: tuple[float, str]) -> str:
    return f"{100 * worst[0]:.1f} ({worst[1]})" if worst[1] else "-"


def _list(names: Sequence[str]) -> str:
    return f" ({', '.join(names)})" if names else ""
