"""Training procedures: one training run, or several whose results are combined."""

from sapwood.estimators.procedures.base import Alternative, Procedure, Trained, Trainer
from sapwood.estimators.procedures.folds import Folds
from sapwood.estimators.procedures.single import Single

__all__ = ["Alternative", "Folds", "Procedure", "Single", "Trained", "Trainer"]
