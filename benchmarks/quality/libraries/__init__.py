"""The libraries that are compared: one file each."""

from __future__ import annotations

from benchmarks.quality.libraries.base import Library
from benchmarks.quality.libraries.catboost import CatBoost
from benchmarks.quality.libraries.chimeraboost import ChimeraBoost
from benchmarks.quality.libraries.constant import Constant
from benchmarks.quality.libraries.lightgbm import LightGBM
from benchmarks.quality.libraries.perpetual import Perpetual
from benchmarks.quality.libraries.sapwood import Sapwood
from benchmarks.quality.libraries.sklearn import ScikitLearn
from benchmarks.quality.libraries.xgboost import XGBoost

OURS = Sapwood.name
BASELINE = Constant.name
LIBRARIES: dict[str, type[Library]] = {
    library.name: library for library in (Sapwood, ChimeraBoost, CatBoost, LightGBM, XGBoost, ScikitLearn, Perpetual, Constant)
}


def find_library(label: str) -> type[Library]:
    """By its name, or by a label 'sapwood: ...' of Sapwood with parameters of its own."""
    return LIBRARIES[label.split(":")[0]]


def find_title(label: str) -> str:
    name, _, rest = label.partition(":")
    return LIBRARIES[name].title + (f":{rest}" if rest else "")
