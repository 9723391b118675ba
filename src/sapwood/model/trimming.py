"""Trimming: outputs of a model without their last trees."""

from __future__ import annotations

from collections.abc import Sequence

from sapwood.model.model import Model


def trim_outputs(model: Model, n_rounds: Sequence[int]) -> None:
    """Replace the trees of each output after so many rounds by trees that add nothing. The model has one tree per output and round."""
    n_outputs = model.n_outputs
    for output, last in enumerate(n_rounds):
        for number in range(last * n_outputs + output, len(model.trees), n_outputs):
            model.trees[number] = model.trees[number].without_splits()
    model.changed()


def rounds_by_output(model: Model) -> list[int]:
    """Return the number of rounds of each output, up to its last tree with a split."""
    n_outputs = model.n_outputs
    splits = [[len(tree.feature) > 1 for tree in model.trees[output::n_outputs]] for output in range(n_outputs)]
    return [max((round_ + 1 for round_, has_split in enumerate(of_output) if has_split), default=0) for of_output in splits]
