from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sapwood.callbacks import VALIDATION, Callback
from sapwood.callbacks.comparison import exceeds
from sapwood.data.dataset import Dataset
from sapwood.estimators.fit_data import run_seed
from sapwood.estimators.procedures.base import Procedure, Trained, Trainer
from sapwood.model import Model
from sapwood.model.merging import average_models
from sapwood.model.trimming import rounds_by_output, trim_outputs
from sapwood.params.presets import PER_OUTPUT
from sapwood.training.boosting import BoostingDataset, train
from sapwood.training.refit import Replay

UNTIL = 0.65  # fraction of the time of a run before its replay: the replay takes about half as long
REPEATED = 1.5  # time of a model that is trained on all rows, in training runs: the run that chose its number of rounds may be the longest
Scores = Mapping[str, Mapping[str, list[float]]]


@dataclass(frozen=True)
class Folds(Procedure):
    """Early stopping on held-out rows: one model for each pair of training and held-out rows, with its rounds up to the best one.

    With `refit`, each model is then replayed on all rows. `n_repeats` further models are trained on all rows, with the number of rounds of
    the first one and other random numbers. The result is the average of the models.
    """

    refit: bool
    n_repeats: int = 0

    def run(self, trainer: Trainer) -> Trained:
        data, n_folds = trainer.data, len(trainer.data.splits)
        n_runs, n_done = n_folds + len(trainer.alternatives) + REPEATED * self.n_repeats, UNTIL if self.refit else 1.0
        rows = FoldRows(trainer)
        runs: list[Trained] = []
        models: list[Model] = []
        for fold, split in enumerate(data.splits):
            seed, name = run_seed(data.seed, fold), f"fold{fold + 1}" if n_folds > 1 else ""
            run = rows.train(split, seed, n_done / n_runs, name)
            for alternative in trainer.alternatives if fold == 0 else ():
                n_done += 1
                if (proposed := alternative.propose(rows.trainer, run.model)) is not None:
                    others, own_name = FoldRows(proposed), "-".join(filter(None, (name, alternative.name)))
                    other = others.train(split, seed, n_done / n_runs, own_name, alternative.callbacks(run))
                    rows, run = (others, other) if is_better(other, run, alternative.margin) else (rows, run)
            n_done += 1
            runs.append(run)
            best = run.model[: run.model.n_rounds_used]
            models.append(replay(rows.trainer, best, split[0], rows.select(data.train), seed) if self.refit else best)
        for number in range(n_folds, n_folds + self.n_repeats):
            models.append(repeat(rows.trainer, models[0], rows.select(data.train), run_seed(data.seed, number)))
        model = average_models(models) if len(models) > 1 else models[0]
        return replace(runs[0], model=model, scores=mean_scores([run.scores for run in runs]))


class FoldRows:
    """Binned rows of a trainer: selections of the training set, and the evaluation sets that the user gave."""

    def __init__(self, trainer: Trainer) -> None:
        self.trainer, self.select = trainer, trainer.selector()
        self.given: dict[str, BoostingDataset] = {name: trainer.binned(eval_set) for name, eval_set in trainer.data.eval_sets.items()}

    def train(self, split: tuple[Dataset, Dataset], seed: int, until: float, name: str, more: Sequence[Callback] = ()) -> Trained:
        """Train a model on the first rows of a split, with early stopping on the second ones."""
        train_set, held_out = map(self.select, split)
        training = self.trainer.training(train_set, seed)
        return self.trainer.train(train_set, {VALIDATION: held_out} | self.given, training, until, name, more)


def is_better(run: Trained, other: Trained, margin: float) -> bool:
    """Return whether the best validation score of a run is better than that of another, by more than a fraction of it."""
    measure = run.measures[VALIDATION][0]
    best = max if measure.higher_is_better else min
    scores = [best(trained.scores[VALIDATION][measure.name]) for trained in (run, other)]
    return exceeds(scores[0], scores[1], measure.higher_is_better, margin)


def replay(trainer: Trainer, model: Model, kept: Dataset, all_rows: BoostingDataset, seed: int) -> Model:
    """Refit the leaf values of a model that was trained on the rows `kept` to all rows, with the same splits.

    Then grow further rounds on all rows: the number of rounds increases in proportion to the number of rows.
    """
    execution = trainer.execution
    ratio = execution.total(trainer.data.train.n_rows) / execution.total(kept.n_rows)
    training = trainer.training(all_rows, seed)
    training = replace(training, n_rounds=round(model.n_rounds * ratio), strategy=Replay(training.strategy, model))
    replayed = train(all_rows, {}, trainer.first_model(all_rows, training), training, execution)
    if trainer.data.parameters.early_stopping == PER_OUTPUT:
        trim_outputs(replayed, [model.n_rounds + round(own * (ratio - 1)) for own in rounds_by_output(model)])
    return replayed


def repeat(trainer: Trainer, model: Model, all_rows: BoostingDataset, seed: int) -> Model:
    """Train a model on all rows with the number of rounds of another, and other random numbers."""
    training = replace(trainer.training(all_rows, seed), n_rounds=model.n_rounds)
    repeated = train(all_rows, {}, trainer.first_model(all_rows, training), training, trainer.execution)
    if trainer.data.parameters.early_stopping == PER_OUTPUT:
        trim_outputs(repeated, rounds_by_output(model))
    return repeated


def mean_scores(runs: list[Scores]) -> Scores:
    """Return the mean scores of several runs, for the rounds that all of them have."""
    return {
        on: {name: [sum(values) / len(runs) for values in zip(*(run[on][name] for run in runs), strict=False)] for name in of}
        for on, of in runs[0].items()
    }
