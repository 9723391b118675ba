from __future__ import annotations

from collections.abc import Mapping

from sapwood.callbacks import VALIDATION
from sapwood.estimators.procedures.base import Procedure, Trained, Trainer
from sapwood.model.merging import average_models

FOLD_KEY = 0xD1342543DE82EF95
MASK = (1 << 64) - 1
Scores = Mapping[str, Mapping[str, list[float]]]


class AveragedFolds(Procedure):
    """Cross-validated early stopping: one model per fold, trained on the other folds and stopped early on the fold.

    The result is the average of the models, each with its rounds up to the best one.
    """

    def run(self, trainer: Trainer) -> Trained:
        data = trainer.data
        select = trainer.selector()
        runs = []
        for fold, (others, held_out) in enumerate(data.splits):
            train_set = select(others)
            training = trainer.training(train_set, (data.seed + fold * FOLD_KEY) & MASK)
            eval_sets = {VALIDATION: select(held_out)}
            runs.append(trainer.train(train_set, eval_sets, training, (fold + 1) / len(data.splits), f"fold{fold + 1}"))
        model = average_models([run.model[: run.model.n_rounds_used] for run in runs])
        return Trained(model, runs[0].measures, mean_scores([run.scores for run in runs]))


def mean_scores(runs: list[Scores]) -> Scores:
    """Return the mean scores of several runs, for the rounds that all of them have."""
    return {
        on: {name: [sum(values) / len(runs) for values in zip(*(run[on][name] for run in runs), strict=False)] for name in of}
        for on, of in runs[0].items()
    }
