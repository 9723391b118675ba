"""Callbacks: objects that the boosting loop calls before and after training and every round."""

from sapwood.callbacks.base import TRAIN, VALIDATION, Callback, Measure, Round
from sapwood.callbacks.log import Log
from sapwood.callbacks.progress import ProgressBar
from sapwood.callbacks.save_model import SaveModel
from sapwood.callbacks.schedule import LearningRate
from sapwood.callbacks.scores import Scores
from sapwood.callbacks.stopping import EarlyStopping
from sapwood.callbacks.time_limit import TimeLimit
from sapwood.callbacks.training_curve import TrainingCurve

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
    "TimeLimit",
    "TrainingCurve",
]
