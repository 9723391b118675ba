from __future__ import annotations

from sapwood.estimators.procedures.base import Procedure, Trained, Trainer


class Single(Procedure):
    """One training run. Rows held out for early stopping are not trained on."""

    def run(self, trainer: Trainer) -> Trained:
        train_set = trainer.binned(trainer.data.train)
        eval_sets = {name: trainer.binned(eval_set) for name, eval_set in trainer.data.eval_sets.items()}
        return trainer.train(train_set, eval_sets, trainer.training(train_set))
