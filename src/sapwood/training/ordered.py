"""Ordered boosting (Prokhorenkova et al., CatBoost, 2018): splits are sought, and kept, by rows that the predictions have not seen."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping

import numpy as np

from sapwood.data.row_range import RowRange
from sapwood.losses import LeafRows
from sapwood.runtime import kernels
from sapwood.training.modes import MASK, Mode, Training
from sapwood.trees.gradients import FixedGradients
from sapwood.trees.grower import TreeConfig
from sapwood.trees.leaf_assignment import LeafAssignment
from sapwood.trees.pruning import prune, sums_of_nodes, worth_keeping
from sapwood.trees.tree import Tree

FIRST_ROWS = 20  # the shortest prefix has at most so many rows


class Prefix:
    """A model that is fitted to the first rows of a permutation alone: its predictions for them, and for some rows that come next.

    It has the trees of the model that is made, with leaf values of its own.

    Parameters
    ----------
    start : (n_outputs, n_rows) float64: raw predictions before the first tree of this fit
    rows : of this partition, in the order of the permutation
    n_seen : how many of them, the first ones, the model is fitted to
    size : how many rows of all partitions it is fitted to
    """

    size: int
    rows: np.ndarray
    n_seen: int

    def __init__(self, training: Training, start: np.ndarray, rows: np.ndarray, n_seen: int, size: int) -> None:
        given = training.rows[0]
        self.rows, self.n_seen, self.size, self.execution = rows, n_seen, size, training.execution
        self.raw: np.ndarray = np.ascontiguousarray(start[:, rows])  # (n_outputs, n) float64
        self.y: np.ndarray = np.ascontiguousarray(given.y[rows])
        self.weight: np.ndarray | None = None if given.weight is None else given.weight[rows]
        self.loss = copy.deepcopy(given.loss)  # with memory of its own
        self.gradients: list[FixedGradients] = []

    def take_gradients(self) -> None:
        """At what is predicted now."""
        self.gradients = list(self.loss.fixed_gradients(self.y, self.raw, self.weight, self.execution))

    def leaf_sums(self, leaves: LeafAssignment, outputs: range) -> np.ndarray:
        """(n_leaves, 2, 2, n_outputs) float64: of rows fitted to and of those that come next, their gradients and hessians by leaf."""
        of_row = np.ascontiguousarray(leaves.of_row[self.rows])
        sums = np.empty((2, 2, len(leaves.nodes), len(outputs)), dtype=np.int64)
        for to, part in zip(sums, (slice(0, self.n_seen), slice(self.n_seen, None)), strict=True):
            planes = [self.gradients[k].data.reshape(-1, self.gradients[k].scale.bytes_per_row)[part].reshape(-1) for k in outputs]
            own, n_threads = of_row[part].view(np.uint8), self.execution.n_threads
            kernels.leaf_sums(planes, own, leaves.size, gradient=to[0], hessian=to[1], n_threads=n_threads)
        sums, scales = self.execution.sum(sums), [self.gradients[k].scale for k in outputs]
        units = np.array([[1 / scale.gradient for scale in scales], [1 / (scale.hessian or 1.0) for scale in scales]])
        return sums.transpose(2, 0, 1, 3) * units

    def add(self, leaves: LeafAssignment, outputs: range, sums: np.ndarray, config: TreeConfig) -> None:
        """Add a tree; `sums`, (n_leaves, 2, n_outputs), are those of the rows fitted to."""
        of_row, seen = np.ascontiguousarray(leaves.of_row[self.rows]), slice(0, self.n_seen)
        count = self.execution.sum(np.bincount(of_row[seen], minlength=len(leaves.nodes)))
        if self.loss.renews_leaves:
            weight = None if self.weight is None else self.weight[seen]
            given = self.y[seen], np.ascontiguousarray(self.raw[:, seen]), weight, of_row[seen].astype(np.uint32), len(leaves.nodes)
            steps = [self.loss.best_leaf_values(LeafRows(*given, k, self.execution)) for k in outputs]
        else:
            steps = [config.rules.newton_steps(*sums[:, :, k].T) for k in range(len(outputs))]
        values = np.column_stack([config.rules.shape_steps(step, count, leaves.limits) for step in steps])
        values[count == 0] = 0.0
        planes = self.raw[outputs.start : outputs.stop]
        kernels.add_leaf_values(of_row.view(np.uint8), leaves.size, values * config.learning_rate, planes, self.execution.n_threads)


class Ordered(Mode):
    """Gradients of each row at predictions that it had no part in; leaves get their values from all rows, at the model's own.

    Permutations of the rows are hashes of their ids. For each there are models that are fitted to its first rows: some, twice as many, and
    so on, up to two thirds. A row's prediction is that of the longest prefix without it, or the mean of several as long. All of these
    models have the same trees. A split stays only if it does good to rows that it was not fitted to: leaf values of two thirds of the rows
    are tried on the others, in each permutation.

    Parameters
    ----------
    n_permutations : number of random row orders
    n_rounds_before : rounds of the model that `partial_fit` continues; they were fitted to other rows, so every prefix starts from them
    """

    unseen: np.ndarray

    def __init__(self, n_permutations: int, n_rounds_before: int = 0) -> None:
        self.n_permutations, self.n_rounds_before = n_permutations, n_rounds_before

    def begin(self, training: Training) -> None:
        super().begin(training)
        learned = training.rows[0]
        self.range: RowRange = RowRange.of(learned.pages.n_rows, training.execution)
        before = training.model[: self.n_rounds_before]
        self.start: np.ndarray = before.start_raw(learned.pages, training.execution, learned.offset)
        self.permutations: list[list[Prefix]] = [list(self._prefixes(number)) for number in range(self.n_permutations)]
        longest = np.zeros((self.n_permutations, learned.pages.n_rows))
        for of_permutation, prefixes in zip(longest, self.permutations, strict=True):
            for prefix in prefixes:
                of_permutation[prefix.rows[prefix.n_seen :]] = prefix.size
        shares = (longest == longest.max(axis=0)).astype(np.float64)
        self.shares: np.ndarray = shares / shares.sum(axis=0)  # (n_permutations, n_rows) float64: what each counts in a row's prediction
        self.unseen = np.empty_like(learned.raw)  # (n_outputs, n_rows) float64: predictions by what has not seen the row

    def _prefixes(self, permutation: int) -> Iterator[Prefix]:
        training = self.training
        n = self.range.total
        order = np.argsort(kernels.hash_rows(n, (training.seed + 0xA0761D6478BD642F * (permutation + 1)) & MASK), kind="stable")
        places = np.flatnonzero(self.range.holds(order))  # of this partition's rows in the order
        rows = order[places] - self.range.first
        sizes = [max(1, 2 * n // 3)]
        while sizes[0] > FIRST_ROWS:
            sizes.insert(0, sizes[0] // 2)
        for size, until in zip(sizes, [*sizes[1:], n], strict=True):
            n_seen, n_own = np.searchsorted(places, [size, until])
            yield Prefix(training, self.start, rows[:n_own], int(n_seen), size)

    def before_round(self, round_: int) -> tuple[np.ndarray, np.ndarray]:
        self._predict_unseen()
        return self.unseen, self.training.rows[0].raw

    def _predict_unseen(self) -> None:
        self.unseen[:] = 0.0
        for share, prefixes in zip(self.shares, self.permutations, strict=True):
            predicted = self.start.copy()
            for prefix in prefixes:
                predicted[:, prefix.rows[prefix.n_seen :]] = prefix.raw[:, prefix.n_seen :]
            self.unseen += share * predicted

    def after_growth(self, tree: Tree, leaves: LeafAssignment, outputs: slice, config: TreeConfig) -> Tree:
        shared, numbers = outputs.start is None, range(len(self.unseen))[outputs]
        every = self._every()
        if numbers.start == 0:  # the trees of a round have gradients of its start, unless outputs share them
            for prefix in every:
                prefix.take_gradients()
        of_leaves = np.stack([prefix.leaf_sums(leaves, numbers) for prefix in every], axis=1)
        at = leaves.nodes
        sums = sums_of_nodes(tree, leaves, of_leaves)  # (n_nodes, n_prefixes, 2, 2, n_outputs)
        if not config.frontier.splits_levels_jointly:
            longest = np.cumsum([len(prefixes) for prefixes in self.permutations]) - 1
            score = self._score(sums[:, longest], config)
            by_levels = self.training.rows[0].pages.binning.is_category(tree.feature)
            tree, at = prune(tree, leaves, worth_keeping(tree, score), by_levels)
        for i, prefix in enumerate(every):
            prefix.add(leaves, numbers, sums[at, i, 0], config)
        if shared:
            self._predict_unseen()
        return tree

    def keep(self) -> dict[str, np.ndarray]:
        return {f"prefix_{i}": prefix.raw for i, prefix in enumerate(self._every())}

    def restore(self, kept: Mapping[str, np.ndarray]) -> None:
        for i, prefix in enumerate(self._every()):
            prefix.raw[:] = kept[f"prefix_{i}"]

    def _every(self) -> list[Prefix]:
        return [prefix for prefixes in self.permutations for prefix in prefixes]

    def _score(self, sums: np.ndarray, config: TreeConfig) -> np.ndarray:
        """(n_nodes,) float64: what each node would take off the loss of rows it was not fitted to, as a leaf."""
        (seen_gradient, seen_hessian), (gradient, hessian) = np.moveaxis(sums, (2, 3), (0, 1))
        steps = config.rules.newton_steps(seen_gradient, seen_hessian)
        return -(gradient * steps + hessian * steps**2 / 2).sum(axis=(1, 2))
