from __future__ import annotations

from collections.abc import Mapping

from sapwood.callbacks import VALIDATION
from sapwood.estimators.procedures.base import Procedure, Trained, Trainer
from sapwood.model.merging import average_models

FOLD_KEY = 0xD1342543DE82EF95
MASK = (1 << 64) - 1
Scores = Mapping[str, Mapping[str, list[float]]]


class AveragedFolds(Procedure):
    """Cross-validated early stopping: a model for each fold, trained on the other folds and stopped by the rows of the fold.

    The result is the average of the models: each predicts with its best round.
    """

    def run(self, trainer: Trainer) -> Trained:
        sets = trainer.sets
        whole = trainer.binned(sets.train)
        runs = []
        for fold, (some, held_out) in enumerate(sets.splits):
            rows = trainer.select(whole, some)
            training = trainer.training(rows, (sets.seed + fold * FOLD_KEY) & MASK)
            runs.append(trainer.train(rows, {VALIDATION: trainer.select(whole, held_out)}, training))
        model = average_models([run.model[: run.model.n_rounds_used] for run in runs])
        return Trained(model, runs[0].measures, mean_scores([run.scores for run in runs]))


def mean_scores(runs: list[Scores]) -> Scores:
    """Mean of the scores of several runs, for the rounds that all of them have."""
    return {
        on: {name: [sum(values) / len(runs) for values in zip(*(run[on][name] for run in runs), strict=False)] for name in of}
        for on, of in runs[0].items()
    }
