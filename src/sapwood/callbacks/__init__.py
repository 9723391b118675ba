"""What listens to training: the loop tells every callback of every round, and never asks which it is."""

from sapwood.callbacks.base import TRAIN, VALIDATION, Callback, Measure, Round
from sapwood.callbacks.log import Log
from sapwood.callbacks.progress import ProgressBar
from sapwood.callbacks.save_model import SaveModel
from sapwood.callbacks.schedule import LearningRate
from sapwood.callbacks.scores import Scores
from sapwood.callbacks.stopping import EarlyStopping

__all__ = [
    "TRAIN",
    "VALIDATION",
    "Callback",
    "EarlyStopping",
    "LearningRate",
    "Log",
    "Measure",
    "ProgressBar",
    "Round",
    "SaveModel",
    "Scores",
]
