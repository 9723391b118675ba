"""Ordered boosting (Prokhorenkova et al., CatBoost, 2018): the gradient of a row comes from models that were not fitted to the row."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from sapwood.data.row_range import RowRange
from sapwood.losses import LeafRows, Loss
from sapwood.runtime import kernels
from sapwood.runtime.execution import Execution
from sapwood.training.modes import MASK, Mode, TrainingState
from sapwood.trees.gradients import FixedGradients
from sapwood.trees.grower import TreeConfig
from sapwood.trees.leaf_assignment import LeafAssignment
from sapwood.trees.pruning import prune, sums_of_nodes, worth_keeping
from sapwood.trees.tree import Tree

FIRST_ROWS = 20  # maximum size of the shortest prefix


class Prefix:
    """Predictions of an auxiliary model that is fitted only to the first rows (a prefix) of a permutation.

    The auxiliary model has the trees of the model being trained, with leaf values from the rows of the prefix. Predictions are kept for
    the rows of the prefix and for the rows between this prefix and the next longer one.

    Parameters
    ----------
    base : (n_outputs, n_rows) float64 raw predictions before the first tree of this fit
    rows : rows of this partition, in the order of the permutation
    n_seen : number of `rows` in the prefix; these come first
    size : number of rows of all partitions in the prefix
    """

    execution: Execution
    loss: Loss
    size: int
    rows: np.ndarray
    n_seen: int

    def __init__(self, state: TrainingState, base: np.ndarray, rows: np.ndarray, n_seen: int, size: int) -> None:
        train_set = state.train_set
        self.rows, self.n_seen, self.size, self.execution = rows, n_seen, size, state.execution
        self.raw: np.ndarray = np.ascontiguousarray(base[:, rows])  # (n_outputs, n) float64
        self.y: np.ndarray = np.ascontiguousarray(train_set.y[rows])
        self.weight: np.ndarray | None = None if train_set.weight is None else train_set.weight[rows]
        self.loss = copy.deepcopy(train_set.loss)  # has its own buffers
        self.gradients: list[FixedGradients] = []

    def compute_gradients(self) -> None:
        """Compute the gradients at the current predictions."""
        self.gradients = list(self.loss.fixed_gradients(self.y, self.raw, self.weight, self.execution))

    def leaf_sums(self, leaves: LeafAssignment, outputs: range) -> np.ndarray:
        """Return (n_leaves, 2, 2, n_outputs) float64 sums by leaf: [seen rows, unseen rows] x [gradient, hessian]."""
        of_row = np.ascontiguousarray(leaves.of_row[self.rows])
        sums = np.empty((2, 2, len(leaves.nodes), len(outputs)), dtype=np.int64)
        for out, selected in zip(sums, (slice(0, self.n_seen), slice(self.n_seen, None)), strict=True):
            planes = [self.gradients[k].data.reshape(-1, self.gradients[k].scale.bytes_per_row)[selected].reshape(-1) for k in outputs]
            leaf, n_threads = of_row[selected].view(np.uint8), self.execution.n_threads
            kernels.leaf_sums(planes, leaf, leaves.size, gradient=out[0], hessian=out[1], n_threads=n_threads)
        sums, scales = self.execution.sum(sums), [self.gradients[k].scale for k in outputs]
        units = np.array([[1 / scale.gradient for scale in scales], [1 / (scale.hessian or 1.0) for scale in scales]])
        return sums.transpose(2, 0, 1, 3) * units

    def add(self, leaves: LeafAssignment, outputs: range, sums: np.ndarray, config: TreeConfig) -> None:
        """Add a tree to the predictions; `sums`, (n_leaves, 2, n_outputs), are the gradient and hessian sums of the seen rows."""
        of_row, seen = np.ascontiguousarray(leaves.of_row[self.rows]), slice(0, self.n_seen)
        count = leaves.group_sums(self.execution.sum(np.bincount(of_row[seen], minlength=len(leaves.nodes))))
        if self.loss.renews_leaves:
            seen_rows = self.y[seen], np.ascontiguousarray(self.raw[:, seen]), None if self.weight is None else self.weight[seen]

            def best_steps(output: int, leaf: np.ndarray, n_leaves: int) -> np.ndarray:
                return self.loss.best_leaf_values(LeafRows(*seen_rows, leaf.astype(np.uint32), n_leaves, output, self.execution))

            steps = [leaves.by_group(partial(best_steps, k), of_row[seen]) for k in outputs]
        else:
            steps = [config.rules.newton_steps(*sums[:, :, k].T) for k in range(len(outputs))]
        values = np.column_stack([config.rules.shape_steps(step, count, leaves.limits) for step in steps])
        values[count == 0] = 0.0
        planes = self.raw[outputs.start : outputs.stop]
        kernels.add_leaf_values(of_row.view(np.uint8), leaves.size, values * config.learning_rate, planes, self.execution.n_threads)


class Ordered(Mode):
    """Ordered boosting. Gradients for splits are computed at predictions of models that were not fitted to the row; leaf values use all
    rows and the predictions of the model itself.

    Rows are permuted by a hash of their ids. Each permutation has auxiliary models that are fitted to prefixes of it, which double in
    size up to two thirds of the rows. The prediction for a row is that of the longest prefix without the row, or the mean over
    permutations with prefixes of equal length. All auxiliary models have the trees of the model, with their own leaf values.

    A split is kept only if it reduces the loss of unseen rows: in each permutation, leaf values fitted to two thirds of the rows are
    evaluated on the remaining rows.

    Parameters
    ----------
    n_permutations : number of random row orders
    n_rounds_before : rounds of the model that `partial_fit` continues. They were fitted to other rows; every prefix starts from them
    """

    keeps_rows = True

    n_permutations: int
    n_rounds_before: int
    unseen: np.ndarray

    def __init__(self, n_permutations: int, n_rounds_before: int = 0) -> None:
        self.n_permutations, self.n_rounds_before = n_permutations, n_rounds_before

    def begin(self, state: TrainingState) -> None:
        super().begin(state)
        train_set = state.train_set
        self.range: RowRange = RowRange.of(train_set.n_rows, state.execution)
        before = state.model[: self.n_rounds_before]
        self.base: np.ndarray = before.predict_binned(train_set.pages, state.execution, train_set.offset)
        self.permutations: list[list[Prefix]] = [list(self._prefixes(number)) for number in range(self.n_permutations)]
        longest = np.zeros((self.n_permutations, train_set.n_rows))
        for of_permutation, prefixes in zip(longest, self.permutations, strict=True):
            for prefix in prefixes:
                of_permutation[prefix.rows[prefix.n_seen :]] = prefix.size
        weights = (longest == longest.max(axis=0)).astype(np.float64)
        self.weights: np.ndarray = weights / weights.sum(axis=0)  # (n_permutations, n_rows) float64: weights of the permutations
        self.unseen = np.empty_like(train_set.raw)  # (n_outputs, n_rows) float64: predictions of models that have not seen the row

    def _prefixes(self, permutation: int) -> Iterator[Prefix]:
        """Yield the prefixes of a permutation, the shortest first."""
        n = self.range.total
        order = np.argsort(kernels.hash_rows(n, (self.state.seed + 0xA0761D6478BD642F * (permutation + 1)) & MASK), kind="stable")
        positions = np.flatnonzero(self.range.holds(order))  # of this partition's rows in the permutation
        rows = order[positions] - self.range.first
        sizes = [max(1, 2 * n // 3)]
        while sizes[0] > FIRST_ROWS:
            sizes.insert(0, sizes[0] // 2)
        for size, next_size in zip(sizes, [*sizes[1:], n], strict=True):
            n_seen, n_predicted = np.searchsorted(positions, [size, next_size])
            yield Prefix(self.state, self.base, rows[:n_predicted], int(n_seen), size)

    def before_round(self, round_: int) -> tuple[np.ndarray, np.ndarray]:
        self._predict_unseen()
        return self.unseen, self.state.train_set.raw

    def _predict_unseen(self) -> None:
        """Fill `unseen` from the current predictions of all prefixes."""
        self.unseen[:] = 0.0
        for weight, prefixes in zip(self.weights, self.permutations, strict=True):
            predicted = self.base.copy()
            for prefix in prefixes:
                predicted[:, prefix.rows[prefix.n_seen :]] = prefix.raw[:, prefix.n_seen :]
            self.unseen += weight * predicted

    def after_growth(self, tree: Tree, leaves: LeafAssignment, outputs: slice, config: TreeConfig) -> Tree:
        shared, numbers = outputs.start is None, range(len(self.unseen))[outputs]
        prefixes = self._all_prefixes()
        if numbers.start == 0:  # with one tree per output, all trees of a round use the gradients at its start
            for prefix in prefixes:
                prefix.compute_gradients()
        of_leaves = leaves.group_sums(np.stack([prefix.leaf_sums(leaves, numbers) for prefix in prefixes], axis=1))
        leaf_nodes = leaves.nodes
        sums = sums_of_nodes(tree, leaves, of_leaves)  # (n_nodes, n_prefixes, 2, 2, n_outputs)
        if not config.frontier.splits_levels_jointly:
            longest = np.cumsum([len(of_permutation) for of_permutation in self.permutations]) - 1
            score = self._score(sums[:, longest], config)
            by_levels = self.state.train_set.pages.binning.is_category(tree.feature)
            tree, leaf_nodes = prune(tree, leaves, worth_keeping(tree, score), by_levels)
        for i, prefix in enumerate(prefixes):
            prefix.add(leaves, numbers, sums[leaf_nodes, i, 0], config)
        if shared:
            self._predict_unseen()
        return tree

    def keep(self) -> dict[str, np.ndarray]:
        return {f"prefix_{i}": prefix.raw for i, prefix in enumerate(self._all_prefixes())}

    def restore(self, kept: Mapping[str, np.ndarray]) -> None:
        for i, prefix in enumerate(self._all_prefixes()):
            prefix.raw[:] = kept[f"prefix_{i}"]

    def _all_prefixes(self) -> list[Prefix]:
        return [prefix for prefixes in self.permutations for prefix in prefixes]

    def _score(self, sums: np.ndarray, config: TreeConfig) -> np.ndarray:
        """Return, for each node, how much it would reduce the loss of unseen rows as a leaf: (n_nodes,) float64."""
        (seen_gradient, seen_hessian), (gradient, hessian) = np.moveaxis(sums, (2, 3), (0, 1))
        steps = config.rules.newton_steps(seen_gradient, seen_hessian)
        return -(gradient * steps + hessian * steps**2 / 2).sum(axis=(1, 2))
