from __future__ import annotations

from dataclasses import replace

from sapwood.callbacks import VALIDATION
from sapwood.estimators.procedures.base import Procedure, Trained, Trainer
from sapwood.training.boosting import train
from sapwood.training.refit import Replay


class Replayed(Procedure):
    """Early stopping on held-out rows, then a replay on all rows.

    The replay keeps the splits of the rounds up to the best one and computes their leaf values again from all rows. It grows further rounds
    on all rows, so that the number of rounds increases in proportion to the number of rows.
    """

    def run(self, trainer: Trainer) -> Trained:
        sets, execution = trainer.sets, trainer.execution
        whole = trainer.binned(sets.train)
        (some, held_out) = sets.splits[0]
        rows = trainer.select(whole, some)
        eval_sets = {VALIDATION: trainer.select(whole, held_out)} | {name: trainer.binned(data) for name, data in sets.eval_sets.items()}
        first = trainer.train(rows, eval_sets, trainer.training(rows))
        del rows, eval_sets
        best = first.model[: first.model.n_rounds_used]
        n_rounds = round(best.n_rounds * execution.total(sets.train.n_rows) / execution.total(some.n_rows))
        training = trainer.training(whole)
        training = replace(training, n_rounds=n_rounds, strategy=Replay(training.strategy, best))
        return replace(first, model=train(whole, {}, trainer.first_model(whole, training), training, execution))
