"""Training procedures: one training run, or several whose results are combined."""

from sapwood.estimators.procedures.base import Procedure, Trained, Trainer
from sapwood.estimators.procedures.folds import AveragedFolds
from sapwood.estimators.procedures.replay import Replayed
from sapwood.estimators.procedures.single import Single

__all__ = ["AveragedFolds", "Procedure", "Replayed", "Single", "Trained", "Trainer"]
