from __future__ import annotations

from dataclasses import replace

from sapwood.callbacks import VALIDATION
from sapwood.estimators.procedures.base import Procedure, Trained, Trainer
from sapwood.training.boosting import train
from sapwood.training.refit import Replay

UNTIL = 0.65  # fraction of the time limit for the first run: the replay takes about half as long


class Replayed(Procedure):
    """Early stopping on held-out rows, then a replay on all rows.

    The replay keeps the splits of the rounds up to the best one and refits their leaf values to all rows. Then it grows further rounds on
    all rows: the number of rounds increases in proportion to the number of rows.
    """

    def run(self, trainer: Trainer) -> Trained:
        data, execution = trainer.data, trainer.execution
        select = trainer.selector()
        ((kept, held_out),) = data.splits
        train_set = select(kept)
        eval_sets = {VALIDATION: select(held_out)}
        eval_sets |= {name: trainer.binned(eval_set) for name, eval_set in data.eval_sets.items()}
        first = trainer.train(train_set, eval_sets, trainer.training(train_set), UNTIL)
        del train_set, eval_sets
        best = first.model[: first.model.n_rounds_used]
        n_rounds = round(best.n_rounds * execution.total(data.train.n_rows) / execution.total(kept.n_rows))
        all_rows = select(data.train)
        training = trainer.training(all_rows)
        training = replace(training, n_rounds=n_rounds, strategy=Replay(training.strategy, best))
        return replace(first, model=train(all_rows, {}, trainer.first_model(all_rows, training), training, execution))
