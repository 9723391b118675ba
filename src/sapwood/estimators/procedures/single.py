from __future__ import annotations

from sapwood.estimators.procedures.base import Procedure, Trained, Trainer


class Single(Procedure):
    """One training run. Rows held out for early stopping are not used for anything else."""

    def run(self, trainer: Trainer) -> Trained:
        sets = trainer.sets
        rows = trainer.binned(sets.train)
        return trainer.train(rows, {name: trainer.binned(data) for name, data in sets.eval_sets.items()}, trainer.training(rows))
