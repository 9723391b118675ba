from __future__ import annotations

from sapwood.callbacks.base import Callback, Measure, Round


class Scores(Callback):
    """Compute metrics on data sets before the first round and after each round.

    Parameters
    ----------
    measures : data set -> metrics
    history : data set -> metric -> scores of the earlier fit that this one continues
    """

    def __init__(self, measures: dict[str, list[Measure]], history: dict[str, dict[str, list[float]]] | None = None) -> None:
        self.measures = measures
        self.values: dict[str, dict[str, list[float]]] = {
            on: {measure.name: list((history or {}).get(on, {}).get(measure.name, [])) for measure in of} for on, of in measures.items()
        }

    def before_training(self, state: Round) -> None:
        state.measures, state.scores = self.measures, self.values
        if any(len(scores) != state.n_rounds + 1 for of in self.values.values() for scores in of.values()):
            for of in self.values.values():
                for scores in of.values():
                    scores.clear()
            self._measure(state)

    def after_round(self, state: Round) -> bool:
        self._measure(state)
        return False

    def keep(self) -> dict[str, dict[str, list[float]]]:
        return {on: {name: list(scores) for name, scores in of.items()} for on, of in self.values.items()}

    def restore(self, kept: dict[str, dict[str, list[float]]]) -> None:
        for on, of in self.values.items():
            for name, scores in of.items():
                scores[:] = kept[on][name]  # in place: other callbacks hold references to the list

    def _measure(self, state: Round) -> None:
        for on, measures in self.measures.items():
            for measure in measures:
                self.values[on][measure.name].append(measure.of(state, state.dataset(on)))
