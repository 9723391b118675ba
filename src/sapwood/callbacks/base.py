"""What a callback is, and what it sees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sapwood.model import Model
    from sapwood.training.boosting import Rows
    from sapwood.trees.grower import TreeConfig

TRAIN, VALIDATION = "train", "validation"  # names of sets


@dataclass(frozen=True)
class Measure:
    """What is measured on a set of rows after each round."""

    name: str
    higher_is_better: bool
    of: Callable[[Round, Rows], float]


@dataclass
class Round:
    """The state of training after a number of rounds. Callbacks may replace `config` before a round."""

    n_rounds: int
    max_rounds: int
    model: Model
    rows: Rows
    watched: dict[str, Rows]  # other sets that predictions are kept for, by name
    config: TreeConfig
    measures: dict[str, list[Measure]] = field(default_factory=dict)  # of each set
    scores: dict[str, dict[str, list[float]]] = field(default_factory=dict)  # set -> measure -> before the first round, and after each
    stopped: bool = False  # whether a callback said so

    @property
    def over(self) -> bool:
        """Whether this was the last round."""
        return self.stopped or self.n_rounds >= self.max_rounds

    def rows_of(self, name: str) -> Rows:
        return self.rows if name == TRAIN else self.watched[name]

    def measure(self, on: str, name: str) -> Measure:
        return next(measure for measure in self.measures[on] if measure.name == name)


class Callback:
    """Hears of the start of training, of each round and of the end; a true answer to `after_round` ends training.

    All callbacks hear every round, in the order given; one that looks at scores finds those of this round in `state.scores`.
    """

    def before_training(self, state: Round) -> None: ...

    def before_round(self, state: Round) -> None: ...

    def after_round(self, state: Round) -> bool:
        return False

    def after_training(self, state: Round) -> None:
        """Also after an error or an interrupt."""

    # For checkpoints: see `sapwood.Checkpoint`

    def settings(self) -> dict[str, Any]:
        """What must be the same for training to go on from a checkpoint."""
        return {}

    def keep(self) -> Any:
        """What a checkpoint keeps of this callback, after a round: plain data, as JSON knows it; None for nothing."""

    def restore(self, kept: Any) -> None:
        """Take back what `keep` gave. `before_training` was called before."""
