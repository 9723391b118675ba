"""The trained model: cut points, trees and a base score."""

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
from sapwood.model.early_exit import add_until_sure
from sapwood.model.rounds import Rounds, first_and_last
from sapwood.runtime import kernels
from sapwood.runtime.execution import Execution, local_execution, prediction_execution
from sapwood.trees.binned_prediction import add_tree
from sapwood.trees.leaf_models import ConstantLeaves, LeafModel
from sapwood.trees.tree import Tree, native_trees

IMPORTANCES = ("gain", "split", "cover")


class Model:
    """Trained model: all that prediction needs.

    A round is one tree for each output in turn; or, where `shared` is not 0, so many trees whose leaves hold a value for each output.
    `best_round` is how many rounds prediction uses; `schema` is what the features were: a table is matched against it before it comes here.
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
        self.leaf_model = leaf_model  # of all trees
        self._trees: list[Tree] = trees or []
        self._nodes: dict[str, np.ndarray] | None = None  # of all trees, while these are not cut out of it
        self.best_round: int | None = None
        self._scorer: tuple[int, kernels.Scorer] | None = None

    @property
    def trees(self) -> list[Tree]:
        """Those of a model from bytes are made when first asked for: prediction needs them end to end."""
        nodes = self._nodes
        if nodes is not None:
            self._trees, self._nodes = _cut(nodes, self.binning, self.leaf_model), None
        return self._trees

    @trees.setter
    def trees(self, trees: list[Tree]) -> None:
        self._trees, self._nodes = trees, None

    @property
    def n_trees(self) -> int:
        nodes = self._nodes  # another thread may take them
        return len(self._trees) if nodes is None else len(nodes["begin"]) - 1

    @property
    def n_features(self) -> int:
        return self.binning.n_features

    @property
    def n_outputs(self) -> int:
        return len(self.base_score)

    @property
    def n_rounds(self) -> int:
        """Rounds of training."""
        return self.n_trees // self.trees_per_round

    @property
    def trees_per_round(self) -> int:
        return self.shared or self.n_outputs

    def outputs_of(self, tree: int) -> slice:
        """The outputs that a tree of the list counts for."""
        return slice(None) if self.shared else slice(tree % self.n_outputs, tree % self.n_outputs + 1)

    @property
    def n_rounds_used(self) -> int:
        """Rounds that prediction uses unless told otherwise: up to the best one."""
        return self.n_rounds if self.best_round is None else self.best_round

    def append(self, tree: Tree) -> None:
        self.trees.append(tree)

    def changed(self) -> None:
        """To be called when trees have other values than before."""
        self._scorer = None

    def copy(self) -> Model:
        """The same model, whose trees may be given other values, or more of them."""
        twin = self._shallow()
        twin.trees = [copy.copy(tree) for tree in self.trees]
        twin.changed()
        return twin

    def _shallow(self) -> Model:
        """Not by way of bytes, as `copy.copy` would: while training, bins need not be those of the file."""
        twin = Model.__new__(Model)
        twin.__dict__.update(self.__dict__)
        return twin

    def __getitem__(self, rounds: slice) -> Model:
        """Some of the rounds, side by side, as a model of their own: `model[:50]`, `model[50:]`.

        The constant belongs to the first round: it is 0 in a slice that begins later. So the raw predictions of pieces add up to those of
        the whole.
        """
        if not isinstance(rounds, slice) or rounds.step not in (None, 1):
            raise TypeError(f"a model is sliced by rounds that lie side by side, model[first:last]; got model[{rounds!r}]")
        first, last, _ = rounds.indices(self.n_rounds)
        last = max(first, last)
        k, part = self.trees_per_round, self._shallow()
        part.trees = [copy.copy(tree) for tree in self.trees[first * k : last * k]]
        part.base_score = self.base_score if first == 0 else np.zeros(self.n_outputs)
        part.best_round = None if self.best_round is None or self.best_round >= last else max(0, self.best_round - first)
        part.changed()
        return part

    def arrays(self) -> dict[str, np.ndarray]:
        """The nodes of all trees, end to end, and where each tree begins."""
        if (stored := self._nodes) is not None:
            return stored
        begin = np.cumsum([0] + [len(tree.feature) for tree in self.trees], dtype=np.int64)
        nodes = {name: np.concatenate([getattr(tree, name) for tree in self.trees]) for name in Tree.names()} if self.trees else {}
        leaves = self.leaf_model.join([tree.leaves for tree in self.trees]) if self.trees else {}
        sets = np.concatenate([np.empty((0, 8), dtype=np.uint32), *(tree.sets for tree in self.trees)])
        if len(sets):  # counted through all trees
            nodes["bin"][self.binning.is_category(nodes["feature"])] = np.arange(len(sets))
        return {"begin": begin, **nodes, **leaves, "sets": sets}

    def scorer(self) -> kernels.Scorer:
        """The trees laid out for prediction: made when first needed."""
        cached = self._scorer
        if cached is None or cached[0] != self.n_trees:
            arrays = self.arrays()
            n_levels = None if self.binning.kinds is None else self.binning.n_levels
            trees, leaves = native_trees(arrays), self.leaf_model.native(arrays)
            cached = self.n_trees, kernels.Scorer(trees, leaves, self.n_features, self.n_outputs, n_levels)
            self._scorer = cached
        return cached[1]

    def predict(self, X: Any, *, raw: bool = False, rounds: Rounds = None, n_jobs: int | None = None) -> np.ndarray:
        """Predictions for a table.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, n_features)
        raw : bool
            Whether to leave out the link: log-odds rather than probabilities, say.
        rounds : int or (first, last), optional
            So many rounds, or those from a first up to a last, which is not among them; if not given, those up to the best one. The
            constant that training starts from is always counted.
        n_jobs : int, optional
            As in scikit-learn.

        Returns
        -------
        (n_rows,) float64, or (n_rows, n_outputs) where there are several
            Of two classes, the probability of the second.
        """
        table = read_table(X, self.schema)
        execution = prediction_execution(table.n_rows, n_jobs)
        out = self.predict_raw(table, execution, rounds)
        if not raw:
            out = self.apply_link(out, execution)
        return out[:, 0] if out.shape[1] == 1 else out

    def apply(self, X: Any, *, rounds: Rounds = None, n_jobs: int | None = None) -> np.ndarray:
        """(n_rows, n_rounds) int32: the leaf that each row reaches, as the number of its node in the tree; (n_rows, n_rounds,
        trees_per_round) where a round has several trees."""
        return self.leaves(read_table(X, self.schema), local_execution(n_jobs), rounds)

    def predict_raw(self, table: Table, execution: Execution, rounds: Rounds = None, early_exit: float | None = None) -> np.ndarray:
        """(n_rows, n_outputs) float64. With `early_exit` a row takes no more rounds once its class leads by that much."""
        raw, (first, last) = self._start(table.n_rows), self._range(rounds)
        if early_exit is None:
            return self._add_rounds(table, raw, first, last, execution)
        if self.n_trees:
            k = self.trees_per_round
            trees = range(first * k, last * k, k)
            add_until_sure(self.encoding.apply(table), self.scorer(), raw, trees, self.link, early_exit, execution)
        return raw

    def leaves(self, table: Table, execution: Execution, rounds: Rounds = None) -> np.ndarray:
        """Leaves that rows of a table reach: see `apply`."""
        (first, last), k = self._range(rounds), self.trees_per_round
        out = np.empty((table.n_rows, (last - first) * k), dtype=np.int32)
        features = self.encoding.apply(table)
        for rows in features.row_blocks() if out.size else ():
            self.scorer().leaves(features.dense(rows), first * k, last * k, out[rows], execution.n_threads)
        return out if k == 1 else out.reshape(-1, last - first, k)

    def staged_raw(self, table: Table, execution: Execution) -> Iterator[np.ndarray]:
        """The raw predictions after each round; each is an array of its own."""
        raw = self._start(table.n_rows)
        for round_ in range(self.n_rounds_used):
            yield self._add_rounds(table, raw, round_, round_ + 1, execution).copy()

    def _range(self, rounds: Rounds) -> tuple[int, int]:
        return (0, self.n_rounds_used) if rounds is None else first_and_last(rounds, self.n_rounds)

    def _start(self, n_rows: int) -> np.ndarray:
        raw = np.empty((n_rows, self.n_outputs))
        raw[:] = self.base_score
        return raw

    def _add_rounds(self, table: Table, raw: np.ndarray, first: int, last: int, execution: Execution) -> np.ndarray:
        if not self.n_trees:
            return raw
        k = self.trees_per_round
        self.encoding.apply(table).score(self.scorer(), first * k, last * k, raw, execution)
        return raw

    def apply_link(self, raw: np.ndarray, execution: Execution) -> np.ndarray:
        """Raw predictions, (n_rows, n_outputs), to what they stand for; in place."""
        if self.link == "sorted":
            raw.sort(axis=1)
        else:
            kernels.apply_link(self.link, raw, execution.n_threads)
        return raw

    def start_raw(self, rows: Pages | SortedRows, execution: Execution, offset: np.ndarray | None = None) -> np.ndarray:
        """(n_outputs, n_rows) float64: the raw predictions for rows with all trees so far, added up as training adds them."""
        raw = np.repeat(self.base_score[:, None], rows.n_rows, axis=1)
        if offset is not None:
            raw += offset
        for t, tree in enumerate(self.trees):
            add_tree(rows, tree, raw[self.outputs_of(t)], execution)
        return raw

    def finish(self, rows: Pages | SortedRows) -> None:
        """Drop the cut points that no tree uses, if those of the training rows were candidates only. For the end of training."""
        if not rows.cuts_are_candidates:
            return
        used: list[set[float]] = [set() for _ in range(self.n_features)]
        for tree in self.trees:
            for feature, threshold in zip(tree.feature, tree.threshold, strict=True):
                if feature >= 0 and np.isfinite(threshold):
                    used[feature].add(float(threshold))
        self.binning = Binning([np.array(sorted(cuts)) for cuts in used])
        for tree in self.trees:
            tree.bin = tree.bin.copy()  # another model may have it too
            for node in np.flatnonzero(tree.feature >= 0):
                tree.bin[node] = np.searchsorted(self.binning.cuts_of(tree.feature[node]), tree.threshold[node], side="left")

    def importances(self, kind: str = "gain") -> np.ndarray:
        """(n_columns,) float64: the total gain of splits on each column's features, their number, or the training rows they sent on
        ("cover"). What is made of several columns counts for each in equal parts."""
        if kind not in IMPORTANCES:
            raise ValueError(f"kind={kind!r} is unknown; choose from {', '.join(IMPORTANCES)}")
        totals = np.zeros(self.n_features)
        for tree in self.trees[: self.n_rounds_used * self.trees_per_round]:
            inner = tree.feature >= 0
            amounts = {"gain": tree.gain, "split": np.ones(len(inner)), "cover": tree.count.astype(np.float64)}[kind]
            np.add.at(totals, tree.feature[inner], amounts[inner])
        return self.encoding.sum_by_column(totals)

    def export(self, format: str, path: str | os.PathLike[str] | None = None, **options: Any) -> Any:
        """The model in another form, for prediction without this library.

        What it predicts are the outputs after the link; a classifier's `export` knows its labels, too.

        Parameters
        ----------
        format : one of `sapwood.model.export.EXPORTERS`
        path : where to write it, optional
        options : of the format: see the class in `sapwood.model.export.EXPORTERS`

        Returns
        -------
        str, dict or an object of the library whose format it is
        """
        from sapwood.model.export import export  # it knows models, which must not need it

        return export(self, format, path, None, options)

    def to_bytes(self) -> bytes:
        """The model as data: the same model gives the same bytes."""
        return file.pack(*self.to_parts())

    @classmethod
    def from_bytes(cls, data: bytes) -> Model:
        """The model that `to_bytes` wrote, or that of an estimator's file. Raises ModelFormatError for anything else."""
        return cls.from_parts(*file.unpack(data))

    def to_json(self, indent: int | None = None) -> str:
        """The model as a JSON document for people and other programs: trees with names, thresholds, levels by value. docs/format.md
        describes it. To be read again by Sapwood, use `to_bytes`."""
        return readable.to_json(self, indent)

    def to_parts(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Parts of a file: arrays, and plain data for a JSON document."""
        arrays = {
            "base_score": self.base_score,
            "cuts": self.binning.cuts,
            "cuts_begin": self.binning.begin,
            "kinds": np.zeros(self.n_features) if self.binning.kinds is None else self.binning.kinds,
            **self.leaf_model.empty(self.n_outputs if self.shared else None).arrays(),  # of no trees
            **self.encoding.arrays(),
            **self.arrays(),
        }
        about = {"loss": self.loss, "link": self.link, "shared": self.shared, "best_round": self.best_round}
        about |= file.describe_leaves(self.leaf_model)
        return arrays, {**about, "features": self.schema.to_json(), "encoding": self.encoding.to_json()}

    @classmethod
    def from_parts(cls, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> Model:
        """From parts that were checked."""
        kinds = arrays["kinds"] if arrays["kinds"].any() else None
        binning = Binning.from_arrays(arrays["cuts"], arrays["cuts_begin"], kinds)
        leaf_model, encoding = file.leaf_model_of(about), Encoding.from_data(about["encoding"], arrays, binning.n_features)
        schema = Schema.from_json(about["features"], encoding.n_columns)
        made = {"shared": about["shared"], "leaf_model": leaf_model, "schema": schema, "encoding": encoding.with_zones(schema)}
        model = cls(binning, arrays["base_score"], about["loss"], about["link"], **made)
        model._nodes = {name: arrays[name] for name in ("begin", *Tree.names(), *leaf_model.dtypes, "sets")}
        model.best_round = about["best_round"]
        return model

    def __getstate__(self) -> dict[str, Any]:
        return {"bytes": self.to_bytes()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(Model.from_bytes(state["bytes"]).__dict__)


def _cut(nodes: dict[str, np.ndarray], binning: Binning, leaf_model: type[LeafModel]) -> list[Tree]:
    """Trees from the nodes of all, each with its own sets of levels, counted from 0."""
    begin = nodes["begin"].tolist()
    parts = zip(itertools.pairwise(begin), leaf_model.split(nodes, begin), strict=True)
    trees = [Tree(**{name: nodes[name][first:last] for name in Tree.names()}, leaves=leaves) for (first, last), leaves in parts]
    first = 0
    for tree in trees if len(nodes["sets"]) else ():
        own = binning.is_category(tree.feature)
        last = first + int(np.count_nonzero(own))
        tree.sets, tree.bin = nodes["sets"][first:last], np.where(own, tree.bin - first, tree.bin).astype(np.int32)
        first = last
    return trees
