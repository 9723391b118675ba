"""(y, raw) -> gradients. A loss is a page of mathematics; `LOSSES` is the table of them."""

from __future__ import annotations

from sapwood.losses.absolute import AbsoluteError
from sapwood.losses.base import Loss
from sapwood.losses.gamma import Gamma
from sapwood.losses.logistic import LogLoss
from sapwood.losses.multinomial import MultinomialLogLoss
from sapwood.losses.poisson import Poisson
from sapwood.losses.ranking import LambdaMart, ListwiseNdcg, Pairwise, RankingLoss
from sapwood.losses.squared import SquaredError

REGRESSION: dict[str, type[Loss]] = {
    "squared_error": SquaredError,
    "absolute_error": AbsoluteError,
    "poisson": Poisson,
    "gamma": Gamma,
}
CLASSIFICATION: dict[str, type[Loss]] = {"log_loss": LogLoss, "multinomial_log_loss": MultinomialLogLoss}
RANKING: dict[str, type[RankingLoss]] = {"lambdamart": LambdaMart, "pairwise": Pairwise, "xendcg": ListwiseNdcg}
LOSSES = REGRESSION | CLASSIFICATION | RANKING

# Names that earlier versions of scikit-learn used.
OLDER_NAMES = {
    "least_squares": "squared_error",
    "least_absolute_deviation": "absolute_error",
    "auto": "log_loss",
    "binary_crossentropy": "log_loss",
    "categorical_crossentropy": "log_loss",
}

__all__ = ["CLASSIFICATION", "LOSSES", "OLDER_NAMES", "RANKING", "REGRESSION", "Loss"]
