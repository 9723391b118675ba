"""Losses: gradients, hessians, base score and link of each. `LOSSES` is the table."""

from __future__ import annotations

from sapwood.losses.absolute import AbsoluteError
from sapwood.losses.aft import AcceleratedFailureTime
from sapwood.losses.base import CUSTOM, Loss
from sapwood.losses.cox import Cox
from sapwood.losses.expectile import Expectile
from sapwood.losses.focal import Focal
from sapwood.losses.function import FunctionLoss
from sapwood.losses.gamma import Gamma
from sapwood.losses.huber import Huber
from sapwood.losses.leaf_rows import LeafRows
from sapwood.losses.log_cosh import LogCosh
from sapwood.losses.logistic import LogLoss
from sapwood.losses.mape import AbsolutePercentageError
from sapwood.losses.multinomial import MultinomialLogLoss
from sapwood.losses.multinomial_focal import MultinomialFocal
from sapwood.losses.poisson import Poisson
from sapwood.losses.quantile import QuantileLoss
from sapwood.losses.ranking import LambdaMart, ListwiseNdcg, Pairwise, RankingLoss
from sapwood.losses.soft_labels import SoftLabelLogLoss
from sapwood.losses.squared import SquaredError
from sapwood.losses.tweedie import Tweedie

REGRESSION: dict[str, type[Loss]] = {
    "squared_error": SquaredError,
    "absolute_error": AbsoluteError,
    "huber": Huber,
    "quantile": QuantileLoss,
    "expectile": Expectile,
    "log_cosh": LogCosh,
    "mape": AbsolutePercentageError,
    "poisson": Poisson,
    "gamma": Gamma,
    "tweedie": Tweedie,
    "log_loss": LogLoss,
    "cox": Cox,
    "aft": AcceleratedFailureTime,
}
# Losses of a classifier with two classes, and with more than two.
BINARY: dict[str, type[Loss]] = {"log_loss": LogLoss, "focal": Focal}
MULTICLASS: dict[str, type[Loss]] = {"log_loss": MultinomialLogLoss, "focal": MultinomialFocal}
RANKING: dict[str, type[RankingLoss]] = {"lambdamart": LambdaMart, "pairwise": Pairwise, "xendcg": ListwiseNdcg}
SOFT_LABELS: dict[str, type[Loss]] = {"log_loss": SoftLabelLogLoss}  # more than two classes
LOSSES = REGRESSION | RANKING | {loss.name: loss for table in (BINARY, MULTICLASS, SOFT_LABELS) for loss in table.values()}

# Names in earlier versions of scikit-learn.
DEPRECATED_NAMES = {
    "least_squares": "squared_error",
    "least_absolute_deviation": "absolute_error",
    "auto": "log_loss",
    "binary_crossentropy": "log_loss",
    "categorical_crossentropy": "log_loss",
}

__all__ = [
    "BINARY",
    "CUSTOM",
    "DEPRECATED_NAMES",
    "LOSSES",
    "MULTICLASS",
    "RANKING",
    "REGRESSION",
    "SOFT_LABELS",
    "FunctionLoss",
    "LeafRows",
    "Loss",
]
