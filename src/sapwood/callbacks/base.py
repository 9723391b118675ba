"""The callback interface, and the training state that callbacks read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from sapwood.model import Model
    from sapwood.training.boosting import BoostingDataset
    from sapwood.trees.grower import TreeConfig

TRAIN, VALIDATION = "train", "validation"  # names of the training and validation sets


@dataclass(frozen=True)
class Measure:
    """A metric that is computed on a data set after each round."""

    name: str
    higher_is_better: bool
    of: Callable[[Round, BoostingDataset], float]


@dataclass
class Round:
    """The state of training after a number of rounds. Callbacks may replace `config` before a round."""

    n_rounds: int
    max_rounds: int
    model: Model
    train_set: BoostingDataset
    eval_sets: dict[str, BoostingDataset]  # by name
    config: TreeConfig
    measures: dict[str, list[Measure]] = field(default_factory=dict)  # data set -> metrics
    # data set -> metric -> score before the first round and after each round
    scores: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    stopped: bool = False  # whether a callback requested a stop

    @property
    def over(self) -> bool:
        """Whether training ends here: a callback requested a stop, or all rounds are done."""
        return self.stopped or self.n_rounds >= self.max_rounds

    def dataset(self, name: str) -> BoostingDataset:
        """Return the training set or an evaluation set by its name."""
        return self.train_set if name == TRAIN else self.eval_sets[name]

    def measure(self, on: str, name: str) -> Measure:
        return next(measure for measure in self.measures[on] if measure.name == name)


class Callback:
    """Base class of callbacks. Training stops when any `after_round` returns True.

    All callbacks are called in every round, in the order given. Scores of the current round are in `state.scores` when they are called.

    On a cluster, every worker calls its own copy of a callback, with the model and the scores of all rows, and with the data of its own
    rows. Training stops when a callback of any worker requests it. A callback with `first_partition_only = True`, such as one that prints
    or writes, is called by the first worker only.
    """

    first_partition_only: ClassVar[bool] = False

    def before_training(self, state: Round) -> None:
        """Called once before the first round."""

    def before_round(self, state: Round) -> None:
        """Called before each round; may replace `state.config`."""

    def after_round(self, state: Round) -> bool:
        """Called after each round. Return True to stop training."""
        return False

    def after_training(self, state: Round) -> None:
        """Called once at the end, also after an exception or an interrupt."""

    # The methods below are for checkpoints: see `sapwood.Checkpoint`.

    def settings(self) -> dict[str, Any]:
        """Return the settings that must be equal for training to resume from a checkpoint."""
        return {}

    def keep(self) -> Any:
        """Return the state to store in a checkpoint after a round, as JSON data; None for no state."""

    def restore(self, kept: Any) -> None:
        """Restore the state that `keep` returned. Called after `before_training`."""
