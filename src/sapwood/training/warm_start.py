"""Warm start: the model that a fit continues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from sapwood.losses import Loss
from sapwood.model import Model
from sapwood.runtime.execution import Execution

if TYPE_CHECKING:
    from sapwood.training.boosting import BoostingDataset
    from sapwood.training.multi_output import TreePerOutput


@dataclass(frozen=True)
class WarmStart:
    """Model and state from which training starts.

    Attributes
    ----------
    how : name of the parameter or method that continues training: "warm_start", "init_model", "partial_fit" or "refit"; "" for a new model
    model : trained model to continue; None for a new model
    more_rounds : whether max_iter counts only the additional rounds
    new_rows : whether the encoding was fitted to other rows; the rows of this fit are then encoded as in `predict`
    targets : target information of the estimator (a classifier's classes); None if unknown
    init : estimator or model of the initial raw predictions: see `estimators.init_score`
    data : digest of the data that the model was trained on; None if unknown
    scores : scores of the earlier rounds
    """

    how: str = ""
    model: Model | None = None
    more_rounds: bool = False
    new_rows: bool = False
    targets: Any = None
    init: Any = None
    data: str | None = None
    scores: Any = None
    grows: ClassVar[bool] = True  # whether training adds trees

    def rounds(self, max_iter: int) -> int:
        """Return the number of rounds of the model when training ends."""
        n_rounds = 0 if self.model is None else self.model.n_rounds
        if self.more_rounds:
            return n_rounds + max_iter
        if max_iter < n_rounds:
            raise ValueError(f"max_iter={max_iter} must be larger than or equal to n_iter_={n_rounds} when warm_start==True")
        return max_iter

    def check_loss(self, loss: Loss) -> None:
        """Raise a ValueError if trees for this loss cannot be added to the model."""
        if self.model is None:
            return
        if self.model.n_outputs != loss.n_outputs:
            raise ValueError(
                f"{self.how} continues a model with {self.model.n_outputs} output(s), but y (or quantile) has {loss.n_outputs}"
            )
        for what, of_model, of_fit in (("loss", self.model.loss, loss.name), ("link", self.model.link, loss.link)):
            if of_model != of_fit:
                raise ValueError(f"{self.how} continues a model with {what} {of_model!r}, but this fit has {what} {of_fit!r}")

    def strategy(self, strategy: TreePerOutput) -> TreePerOutput:
        """Return the strategy that yields the trees of a round."""
        return strategy

    def own_model(self, train_set: BoostingDataset, loss: Loss, execution: Execution) -> Model | None:
        """Return a copy of the model that training may change; None for a new model."""
        if self.model is None:
            return None
        model = self.model.copy()
        model.best_round = None
        return model
