"""The trained model: bins, encoding, trees and base score."""

from __future__ import annotations

import copy
import itertools
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from sapwood.data.binning import Binning
from sapwood.data.columns import Schema
from sapwood.data.pages import Pages
from sapwood.data.reading import read_table
from sapwood.data.sorted import SortedRows
from sapwood.data.tables import Table
from sapwood.encoding.encoding import Encoding
from sapwood.model import file, readable
from sapwood.model.early_exit import add_with_early_exit
from sapwood.model.rounds import Rounds, first_and_last
from sapwood.model.small_tree import small_tree
from sapwood.runtime import html, kernels
from sapwood.runtime.execution import Execution, local_execution, prediction_execution
from sapwood.trees.binned_prediction import add_tree
from sapwood.trees.leaf_models import ConstantLeaves, LeafModel
from sapwood.trees.tree import Tree, native_trees

IMPORTANCES = ("gain", "split", "cover")


class Model:
    """Trained model: trees, bins, encoding and schema.

    A round has one tree per output, or `shared` trees with one value per output in each leaf, if `shared` is not 0. `best_round` is the
    number of rounds that prediction uses. `schema` describes the columns; tables are matched against it.
    """

    binning: Binning

    def __init__(
        self,
        binning: Binning,
        base_score: np.ndarray,
        loss: str,
        link: str,
        trees: list[Tree] | None = None,
        shared: int = 0,
        *,
        leaf_model: type[LeafModel] = ConstantLeaves,
        schema: Schema | None = None,
        encoding: Encoding | None = None,
    ) -> None:
        self.binning = binning
        self.schema: Schema = schema or Schema(binning.n_features)
        self.encoding: Encoding = encoding or Encoding(binning.n_features)
        self.base_score = base_score  # (n_outputs,) float64
        self.loss = loss
        self.link = link
        self.shared = shared
        self.leaf_model = leaf_model  # class of the leaves of all trees
        self._trees: list[Tree] = trees or []
        self._nodes: dict[str, np.ndarray] | None = None  # nodes of all trees of a loaded model, until `trees` is used
        self.best_round: int | None = None
        self._scorer: tuple[int, kernels.Scorer] | None = None

    @property
    def trees(self) -> list[Tree]:
        """Trees in training order. A loaded model creates them on first use: prediction does not need them."""
        nodes = self._nodes
        if nodes is not None:
            self._trees, self._nodes = _split_trees(nodes, self.binning, self.leaf_model), None
        return self._trees

    @trees.setter
    def trees(self, trees: list[Tree]) -> None:
        self._trees, self._nodes = trees, None

    @property
    def n_trees(self) -> int:
        nodes = self._nodes  # another thread may set it to None
        return len(self._trees) if nodes is None else len(nodes["begin"]) - 1

    @property
    def n_features(self) -> int:
        return self.binning.n_features

    @property
    def n_outputs(self) -> int:
        return len(self.base_score)

    @property
    def n_rounds(self) -> int:
        """Number of training rounds."""
        return self.n_trees // self.trees_per_round

    @property
    def trees_per_round(self) -> int:
        return self.shared or len(self.base_score)

    def outputs_of(self, tree: int) -> slice:
        """Return the outputs that a tree adds to."""
        return slice(None) if self.shared else slice(tree % self.n_outputs, tree % self.n_outputs + 1)

    @property
    def n_rounds_used(self) -> int:
        """Number of rounds that prediction uses by default: up to the best one."""
        return self.n_rounds if self.best_round is None else self.best_round

    def __repr__(self) -> str:
        used = "" if self.n_rounds_used == self.n_rounds else f", best {self.n_rounds_used}"
        return (
            f"Model(loss={self.loss!r}, {self.n_rounds} rounds{used}, {self.n_trees} trees, {self.encoding.n_columns} columns, "
            f"{self.n_outputs} output{'s' if self.n_outputs > 1 else ''})"
        )

    def _repr_html_(self) -> str:
        gains = self.importances("gain")
        names = self.schema.names or range(self.encoding.n_columns)
        order = np.argsort(-gains, kind="stable")[:10]
        splits = self.importances("split")
        rows = [
            [str(names[c]), self.schema.kind(c).name, f"{gains[c] / (gains.sum() or 1):.1%}", f"{splits[c]:.0f}"] for c in order.tolist()
        ]
        tree = f"<details><summary>First tree</summary>{small_tree(self)}</details>" if self.n_trees else ""
        return html.table(["column", "kind", "fraction of gain", "splits"], rows, repr(self)) + tree

    def append(self, tree: Tree) -> None:
        self.trees.append(tree)

    def changed(self) -> None:
        """Drop the cached scorer. Call this after leaf values have changed."""
        self._scorer = None

    def copy(self) -> Model:
        """Return a copy whose trees can be changed or extended."""
        copied = self._shallow_copy()
        copied.trees = [copy.copy(tree) for tree in self.trees]
        copied.changed()
        return copied

    def snapshot(self) -> Model:
        """Return a copy that keeps its trees when trees are added to this model."""
        copied = self._shallow_copy()
        copied.trees = list(self.trees)
        copied.changed()
        return copied

    def _shallow_copy(self) -> Model:
        """Return a shallow copy. `copy.copy` would convert to bytes and back, which is not possible during training with sorted columns."""
        copied = Model.__new__(Model)
        copied.__dict__.update(self.__dict__)
        return copied

    def __getitem__(self, rounds: slice) -> Model:
        """Return a model with a contiguous range of rounds: `model[:50]`, `model[50:]`.

        The base score is 0 unless the range begins at round 0, so that the raw predictions of consecutive slices add up to those of the
        model.
        """
        if not isinstance(rounds, slice) or rounds.step not in (None, 1):
            raise TypeError(f"a model must be sliced by a contiguous range of rounds, model[first:last]; got model[{rounds!r}]")
        first, last, _ = rounds.indices(self.n_rounds)
        last = max(first, last)
        k, sliced = self.trees_per_round, self._shallow_copy()
        sliced.trees = [copy.copy(tree) for tree in self.trees[first * k : last * k]]
        sliced.base_score = self.base_score if first == 0 else np.zeros(self.n_outputs)
        sliced.best_round = None if self.best_round is None or self.best_round >= last else max(0, self.best_round - first)
        sliced.changed()
        return sliced

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the concatenated nodes of all trees, and the index of the first node of each tree ("begin")."""
        if (stored := self._nodes) is not None:
            return stored
        begin = np.cumsum([0] + [len(tree.feature) for tree in self.trees], dtype=np.int64)
        nodes = {name: np.concatenate([getattr(tree, name) for tree in self.trees]) for name in Tree.names()} if self.trees else {}
        leaves = self.leaf_model.join([tree.leaves for tree in self.trees]) if self.trees else {}
        sets = np.concatenate([np.empty((0, 8), dtype=np.uint32), *(tree.sets for tree in self.trees)])
        if len(sets):  # in a file, sets are numbered through all trees
            nodes["bin"][self.binning.is_category(nodes["feature"])] = np.arange(len(sets))
        if any(tree.cover is not None for tree in self.trees):
            nodes["cover"] = np.concatenate([tree.weights for tree in self.trees])
        return {"begin": begin, **nodes, **leaves, "sets": sets}

    def scorer(self) -> kernels.Scorer:
        """Return the compiled scorer of all trees, which is created on first use."""
        cached = self._scorer
        if cached is None or cached[0] != self.n_trees:
            arrays = self.arrays()
            n_levels = None if self.binning.kinds is None else self.binning.n_levels
            trees, leaves = native_trees(arrays), self.leaf_model.native(arrays)
            cached = self.n_trees, kernels.Scorer(trees, leaves, self.n_features, self.n_outputs, n_levels)
            self._scorer = cached
        return cached[1]

    def predict(self, X: Any, *, raw: bool = False, rounds: Rounds = None, n_jobs: int | None = None) -> np.ndarray:
        """Predict a table.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, n_features)
        raw : bool, default=False
            Whether to return raw predictions, such as log-odds instead of probabilities.
        rounds : int or (first, last), optional
            Number of rounds to use, or a range of rounds with `last` excluded. None: all rounds up to the best one. The base score is
            always included.
        n_jobs : int, optional
            Number of threads, as in scikit-learn.

        Returns
        -------
        array of shape (n_rows,), or (n_rows, n_outputs) for several outputs
            For two classes, the probability of the second.
        """
        table = read_table(X, self.schema)
        execution = prediction_execution(table.n_rows, n_jobs)
        out = self.predict_raw(table, execution, rounds)
        if not raw:
            out = self.apply_link(out, execution)
        return out[:, 0] if out.shape[1] == 1 else out

    def apply(self, X: Any, *, rounds: Rounds = None, n_jobs: int | None = None) -> np.ndarray:
        """Return the node index of the leaf of each row in each tree: (n_rows, n_rounds) int32, or (n_rows, n_rounds, trees_per_round) if a
        round has several trees."""
        return self.leaves(read_table(X, self.schema), local_execution(n_jobs), rounds)

    def predict_raw(self, table: Table, execution: Execution, rounds: Rounds = None, early_exit: float | None = None) -> np.ndarray:
        """Return the (n_rows, n_outputs) float64 raw predictions. With `early_exit`, rounds are added to a row until its class leads by
        this margin."""
        raw, (first, last) = self._base_raw(table.n_rows), self._range(rounds)
        if early_exit is None:
            return self._add_rounds(table, raw, first, last, execution)
        if self.n_trees:
            k = self.trees_per_round
            trees = range(first * k, last * k, k)
            add_with_early_exit(self.encoding.apply(table), self.scorer(), raw, trees, self.link, early_exit, execution)
        return raw

    def leaves(self, table: Table, execution: Execution, rounds: Rounds = None) -> np.ndarray:
        """Return the leaves of the rows of a table: see `apply`."""
        (first, last), k = self._range(rounds), self.trees_per_round
        out = np.empty((table.n_rows, (last - first) * k), dtype=np.int32)
        features = self.encoding.apply(table)
        for rows in features.row_blocks() if out.size else ():
            self.scorer().leaves(features.dense(rows), first * k, last * k, out[rows], execution.n_threads)
        return out if k == 1 else out.reshape(-1, last - first, k)

    def staged_raw(self, table: Table, execution: Execution) -> Iterator[np.ndarray]:
        """Yield the raw predictions after each round, each as a new array."""
        raw = self._base_raw(table.n_rows)
        for round_ in range(self.n_rounds_used):
            yield self._add_rounds(table, raw, round_, round_ + 1, execution).copy()

    def _range(self, rounds: Rounds) -> tuple[int, int]:
        return (0, self.n_rounds_used) if rounds is None else first_and_last(rounds, self.n_rounds)

    def _base_raw(self, n_rows: int) -> np.ndarray:
        raw = np.empty((n_rows, len(self.base_score)))
        raw[:] = self.base_score
        return raw

    def _add_rounds(self, table: Table, raw: np.ndarray, first: int, last: int, execution: Execution) -> np.ndarray:
        if first == last:
            return raw
        k = self.trees_per_round
        self.encoding.apply(table).score(self.scorer(), first * k, last * k, raw, execution)
        return raw

    def apply_link(self, raw: np.ndarray, execution: Execution) -> np.ndarray:
        """Apply the inverse link to raw predictions, (n_rows, n_outputs), in place."""
        if self.link == "sorted":
            raw.sort(axis=1)
        else:
            kernels.apply_link(self.link, raw, execution.n_threads)
        return raw

    def predict_binned(self, rows: Pages | SortedRows, execution: Execution, offset: np.ndarray | None = None) -> np.ndarray:
        """Return the (n_outputs, n_rows) float64 raw predictions of all trees for binned rows, added up in the order of training."""
        raw = np.repeat(self.base_score[:, None], rows.n_rows, axis=1)
        if offset is not None:
            raw += offset
        for t, tree in enumerate(self.trees):
            add_tree(rows, tree, raw[self.outputs_of(t)], execution)
        return raw

    def finish(self, rows: Pages | SortedRows) -> None:
        """Replace the bins of sorted rows by the thresholds that trees use. Called at the end of training."""
        if not rows.cuts_are_candidates:
            return
        used: list[set[float]] = [set() for _ in range(self.n_features)]
        for tree in self.trees:
            for feature, threshold in zip(tree.feature, tree.threshold, strict=True):
                if feature >= 0 and np.isfinite(threshold):
                    used[feature].add(float(threshold))
        self.binning = Binning([np.array(sorted(cuts)) for cuts in used])
        for tree in self.trees:
            tree.bin = tree.bin.copy()  # a copy of the model may share the array
            for node in np.flatnonzero(tree.feature >= 0):
                tree.bin[node] = np.searchsorted(self.binning.cuts_of(tree.feature[node]), tree.threshold[node], side="left")

    def importances(self, kind: str = "gain") -> np.ndarray:
        """Return the (n_columns,) float64 importances of columns: total gain of splits ("gain"), number of splits ("split") or of training
        rows that reach them ("cover"). A feature that combines several columns counts for each of them in equal parts."""
        if kind not in IMPORTANCES:
            raise ValueError(f"kind={kind!r} is unknown; choose from {', '.join(IMPORTANCES)}")
        totals = np.zeros(self.n_features)
        for tree in self.trees[: self.n_rounds_used * self.trees_per_round]:
            inner = tree.feature >= 0
            amounts = {"gain": tree.gain, "split": np.ones(len(inner)), "cover": tree.weights}[kind]
            np.add.at(totals, tree.feature[inner], amounts[inner])
        return self.encoding.sum_by_column(totals)

    def export(self, format: str, path: str | os.PathLike[str] | None = None, **options: Any) -> Any:
        """Export the model for prediction with other software.

        The exported model applies the inverse link. It does not know class labels; use `export` of a classifier for these.

        Parameters
        ----------
        format : name in `sapwood.model.export.EXPORTERS`
        path : file to write, optional
        options : options of the format: see docs/export.md

        Returns
        -------
        str, dict or an object of the other library
        """
        from sapwood.model.export import export  # avoids a circular import

        return export(self, format, path, None, options)

    def to_bytes(self) -> bytes:
        """Return the content of a model file. Equal models give equal bytes."""
        return file.pack(*self.to_parts())

    @classmethod
    def from_bytes(cls, data: bytes) -> Model:
        """Load a model from the output of `to_bytes` or from the file of an estimator. Raises ModelFormatError for anything else."""
        return cls.from_parts(*file.unpack(data))

    def to_json(self, indent: int | None = None) -> str:
        """Return the model as readable JSON: trees with column names, thresholds and levels. See docs/format.md. Sapwood does not read this
        format; use `to_bytes` to save a model."""
        return readable.to_json(self, indent)

    def to_parts(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the arrays and the JSON header of a model file."""
        arrays = {
            "base_score": self.base_score,
            "cuts": self.binning.cuts,
            "cuts_begin": self.binning.begin,
            "kinds": np.zeros(self.n_features) if self.binning.kinds is None else self.binning.kinds,
            **self.leaf_model.empty(self.n_outputs if self.shared else None).arrays(),  # for a model without trees
            **self.encoding.arrays(),
            **self.arrays(),
        }
        header = {"loss": self.loss, "link": self.link, "shared": self.shared, "best_round": self.best_round}
        header |= file.describe_leaves(self.leaf_model)
        return arrays, {**header, "features": self.schema.to_json(), "encoding": self.encoding.to_json()}

    @classmethod
    def from_parts(cls, arrays: dict[str, np.ndarray], header: dict[str, Any]) -> Model:
        """Return a model from the checked arrays and header of a file."""
        kinds = arrays["kinds"] if arrays["kinds"].any() else None
        binning = Binning.from_arrays(arrays["cuts"], arrays["cuts_begin"], kinds)
        leaf_model, encoding = file.leaf_model_of(header), Encoding.from_data(header["encoding"], arrays, binning.n_features)
        schema = Schema.from_json(header["features"], encoding.n_columns)
        options = {"shared": header["shared"], "leaf_model": leaf_model, "schema": schema, "encoding": encoding.with_zones(schema)}
        model = cls(binning, arrays["base_score"], header["loss"], header["link"], **options)
        names = "begin", *Tree.names(), *leaf_model.dtypes, "sets", "cover"
        model._nodes = {name: arrays[name] for name in names if name in arrays}
        model.best_round = header["best_round"]
        return model

    def __getstate__(self) -> dict[str, Any]:
        return {"bytes": self.to_bytes()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(Model.from_bytes(state["bytes"]).__dict__)


def _split_trees(nodes: dict[str, np.ndarray], binning: Binning, leaf_model: type[LeafModel]) -> list[Tree]:
    """Return single trees from the concatenated nodes of all trees. The sets of levels of each tree are numbered from 0."""
    begin = nodes["begin"].tolist()
    ranges = zip(itertools.pairwise(begin), leaf_model.split(nodes, begin), strict=True)
    trees = [Tree(**{name: nodes[name][first:last] for name in Tree.names()}, leaves=leaves) for (first, last), leaves in ranges]
    if "cover" in nodes:
        for tree, (first, last) in zip(trees, itertools.pairwise(begin), strict=True):
            tree.cover = nodes["cover"][first:last]
    first = 0
    for tree in trees if len(nodes["sets"]) else ():
        own = binning.is_category(tree.feature)
        last = first + int(np.count_nonzero(own))
        tree.sets, tree.bin = nodes["sets"][first:last], np.where(own, tree.bin - first, tree.bin).astype(np.int32)
        first = last
    return trees
