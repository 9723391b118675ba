"""Performance targets, and the measured values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks import accuracy, busy, explaining, fitting, memory, prediction, scale
from benchmarks.libraries import LIBRARIES, LIGHTGBM, OURS, XGBOOST
from benchmarks.markdown import number, ratio, signed, table
from benchmarks.results import Results
from benchmarks.workloads import TITLES


@dataclass(frozen=True)
class Target:
    what: str
    measured: float | None
    asked: float
    goal: float | None = None
    at_least: bool = True

    def row(self) -> list[str]:
        sign = ">=" if self.at_least else "<="
        goal = "" if self.goal is None else ratio(self.goal)
        return [self.what, f"{sign} {ratio(self.asked)}", goal, ratio(self.measured), self._verdict()]

    def _verdict(self) -> str:
        if self.measured is None:
            return "not measured"
        if self.goal is not None and self._reaches(self.goal):
            return "goal"
        return "yes" if self._reaches(self.asked) else "no"

    def _reaches(self, bound: float) -> bool:
        return self.measured is not None and (self.measured >= bound if self.at_least else self.measured <= bound)


def _ratios(results: Results) -> Iterator[Target]:
    one_thread = fitting.lightgbm_ratio(results, "higgs-1m", "cpu")
    yield Target("fit 1M x 28, one thread, CPU: LightGBM / ours", one_thread, 2, 3)
    all_cores = fitting.fastest_ratio(results, "higgs-1m", "wall")
    yield Target("fit 1M x 28, all cores, wall: fastest peer / ours", all_cores, 2, 3)
    for name in ("higgs-10k", "small", "breast-cancer"):
        measured = fitting.fastest_ratio(results, name, "wall")
        yield Target(f"fit {TITLES[name]}, all cores, wall: fastest peer / ours", measured, 1.2, 3)
    for name in ("covtype-7", "wide", "flights"):
        measured = fitting.lightgbm_ratio(results, name, "wall")
        yield Target(f"fit {TITLES[name]}, all cores, wall: LightGBM / ours", measured, 1.5, 3)
    yield Target("predict_proba 200k x 28 x 100 trees: LightGBM / ours", prediction.peer_ratio(results, LIGHTGBM), 4, 15)
    for n_trees in prediction.TREES:
        for peer, asked, goal in ((XGBOOST, 3, 8), (prediction.SYMMETRIC, 0.6, 1.5)):
            what = f"predict_proba 200k x 28 x {n_trees:,} trees: {prediction.TITLES[peer]} / ours"
            yield Target(what, prediction.peer_ratio(results, peer, n_trees), asked, goal)
    yield Target("predict_proba of one row, microseconds", prediction.one_row(results), 60, 25, at_least=False)
    yield Target("model.predict of one row, microseconds", prediction.one_row(results, "model"), 15, 5, at_least=False)
    for peer in (XGBOOST, LIGHTGBM):
        what = f"Shapley values, 10k x 28 x 100 trees: {LIBRARIES[peer].title} / ours"
        yield Target(what, explaining.peer_ratio(results, peer), 1.5, 4)
    yield Target(
        "fit 2M x 28, pages in files that fit into memory, wall: ours / in memory", scale.pages_ratio(results), 1.3, at_least=False
    )
    yield Target("fit 2M x 28, larger than memory_limit, wall: XGBoost ExtMem / ours", scale.external_ratio(results), 1.5, 3)
    for peer in ("XGBoost, Dask", "LightGBM, Dask"):
        yield Target(f"fit 1M x 28, Dask, 2 workers: {peer} / ours", scale.cluster_ratio(results, peer), 1, 2)
    on_ray = scale.cluster_ratio(results, "Sapwood, Dask", "Sapwood, Ray")
    yield Target("fit 1M x 28, 2 workers: ours on Dask / ours on Ray", on_ray, 1)
    yield Target("fit 1M x 28, slow-down by a busy core", busy.slow_down(results, OURS), 2.2, at_least=False)
    share = memory.lightgbm_share(results, "higgs-1m")
    yield Target("fit 1M x 28, peak memory above the input: ours / LightGBM", share, 1.0, 0.6, at_least=False)


def _losses(results: Results) -> Iterator[list[str]]:
    """Compare the difference to the best other library with the deviation over seeds."""
    for name in results.get(accuracy.NAME) or {}:
        found = accuracy.gap(results, name)
        if found is not None:
            met = "yes" if found.mean <= found.spread else "no"
            what = f"test loss {accuracy.title(name)}: ours - best peer, within the seeds' spread"
            yield [what, f"<= {number(found.spread)}", "", signed(found.mean), met]


def report(results: Results) -> list[str]:
    rows = [*(target.row() for target in _ratios(results)), *_losses(results)]
    return ["## Targets", "", *table(["", "required", "goal", "measured", "met"], rows)]
