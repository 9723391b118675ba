"""Model that a fit continues: none, the estimator's own, or one that it is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from sapwood.losses import Loss
from sapwood.model import Model
from sapwood.runtime.execution import Execution

if TYPE_CHECKING:
    from sapwood.training.boosting import Rows
    from sapwood.training.multi_output import TreePerOutput


@dataclass(frozen=True)
class WarmStart:
    """Where training starts.

    Attributes
    ----------
    how : name of the parameter or method that continues training: "warm_start", "init_model", "partial_fit" or "refit"; "" for none
    model : trained before; None for none
    more_rounds : whether max_iter counts only the rounds to come
    new_rows : whether the encoding was learned from other rows, so that these are looked up in it as in `predict`
    targets : what an estimator knows of its targets (a classifier's classes); None if that is not known
    init : estimator or model of the initial raw predictions: see `estimators.init_score`
    data : digest of the data that the model was trained on; None if that is not known
    scores : of the rounds before, to be continued
    """

    how: str = ""
    model: Model | None = None
    more_rounds: bool = False
    new_rows: bool = False
    targets: Any = None
    init: Any = None
    data: str | None = None
    scores: Any = None
    grows: ClassVar[bool] = True  # whether there will be more trees than before

    def rounds(self, max_iter: int) -> int:
        """Rounds of the model when training ends."""
        n_rounds = 0 if self.model is None else self.model.n_rounds
        if self.more_rounds:
            return n_rounds + max_iter
        if max_iter < n_rounds:
            raise ValueError(f"max_iter={max_iter} must be larger than or equal to n_iter_={n_rounds} when warm_start==True")
        return max_iter

    def check_loss(self, loss: Loss) -> None:
        """Raise unless trees for this loss can be added to the model."""
        if self.model is None:
            return
        if self.model.n_outputs != loss.n_outputs:
            raise ValueError(f"{self.how} continues a model of {self.model.n_outputs} output(s), but y (or quantile) has {loss.n_outputs}")
        for what, then, now in (("loss", self.model.loss, loss.name), ("link", self.model.link, loss.link)):
            if then != now:
                raise ValueError(f"{self.how} continues a model with the {what} {then!r}, but now it would be {now!r}")

    def strategy(self, strategy: TreePerOutput) -> TreePerOutput:
        """Where trees come from."""
        return strategy

    def own_model(self, rows: Rows, loss: Loss, execution: Execution) -> Model | None:
        """A copy that training may change."""
        if self.model is None:
            return None
        model = self.model.copy()
        model.best_round = None
        return model
