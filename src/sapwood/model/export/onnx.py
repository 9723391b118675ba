"""Export to ONNX: operator TreeEnsemble of ai.onnx.ml 5, in double precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sapwood.data.binning import NUMBER
from sapwood.data.columns import Kind
from sapwood.encoding.cross import CENTERED, PRODUCT, Cross
from sapwood.encoding.lookup import Lookup
from sapwood.model.export.base import Exporter
from sapwood.model.export.forest import Forest
from sapwood.model.export.onnx_calendar import Clock
from sapwood.trees.tree import Tree

LESS_OR_EQUAL, MEMBER = 0, 6  # node modes
SUM, NO_TRANSFORM = 1, 0
OPSET, ML_OPSET, IR_VERSION = 21, 5, 10
FIRST_MEMBER = 1  # added to the bins in sets: some implementations read 0 as the end of a set


class Onnx(Exporter):
    """An `onnx.ModelProto`.

    The input is `X`, (n_rows, n_columns) doubles. If a column has string levels, there is one input per column with the name of the column,
    (n_rows, 1) doubles or strings. Categorical columns are passed as levels, not as codes; unseen levels are treated as missing. The output
    is `variable`, (n_rows, n_outputs); for a classifier `label`, (n_rows,), and `probabilities`, (n_rows, n_classes), as in skl2onnx.

    Parameters
    ----------
    raw : whether to export raw predictions, without the link, as `variable`
    """

    name = "onnx"
    supports_absent = supports_calendar = supports_crosses = True

    def __init__(self, forest: Forest, classes: Sequence[Any] | None = None, raw: bool = False) -> None:
        super().__init__(forest, classes)
        self.raw = raw
        self.onnx: Any = self.library("onnx")
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def make(self) -> Any:
        helper, kinds = self.onnx.helper, self.onnx.TensorProto
        inputs, columns = self._inputs()
        columns = self._mark_missing(columns) if isinstance(columns, str) else [self._mark_missing(column) for column in columns]
        raw = self.operate("Add", [self._trees(self._features(columns)), self.constant(self.forest.base_score)])
        outputs = []
        if self.classes is not None and not self.raw:
            label, type_ = self._label(raw)
            outputs.append(helper.make_tensor_value_info(label, type_, [None]))
            outputs.append(helper.make_tensor_value_info(self._probabilities(raw), kinds.DOUBLE, [None, len(self.classes)]))
        else:
            shape = [None, self.forest.n_outputs]
            predicted = self.operate("Identity", [raw if self.raw else self._linked(raw)], "variable")
            outputs.append(helper.make_tensor_value_info(predicted, kinds.DOUBLE, shape))
        graph = helper.make_graph(self.nodes, "sapwood", inputs, outputs, list(self.constants.values()))
        imports = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
        model = helper.make_model(graph, opset_imports=imports, producer_name="sapwood", ir_version=IR_VERSION)
        self.onnx.checker.check_model(model)
        return model

    def to_bytes(self, exported: Any) -> bytes:
        return bytes(exported.SerializeToString())

    # The graph

    def operate(self, operator: str, inputs: Sequence[str], output: str = "", domain: str = "", **attributes: Any) -> str:
        """Add an operator and return the name of its output."""
        output = output or f"_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, list(inputs), [output], domain=domain, **attributes))
        return output

    def constant(self, array: Any) -> str:
        name = f"_c{len(self.constants)}"
        self.constants[name] = self._tensor(np.asarray(array), name)
        return name

    def _tensor(self, array: np.ndarray, name: str) -> Any:
        if array.dtype.kind in "UO":
            texts = [str(text).encode() for text in array.ravel()]
            return self.onnx.helper.make_tensor(name, self.onnx.TensorProto.STRING, array.shape, texts)
        return self.onnx.numpy_helper.from_array(np.ascontiguousarray(array), name)

    # From columns to features

    def _inputs(self) -> tuple[list[Any], list[str] | str]:
        """Return the inputs of the graph, and the name of each column, or of the matrix of all columns."""
        make, kinds = self.onnx.helper.make_tensor_value_info, self.onnx.TensorProto
        columns = [self.forest.schema.kind(c) for c in range(self.forest.n_columns)]
        if not any(map(_is_text, columns)):
            return [make("X", kinds.DOUBLE, [None, len(columns)])], "X"
        names = self.forest.column_names
        return [
            make(name, kinds.STRING if _is_text(kind) else kinds.DOUBLE, [None, 1]) for name, kind in zip(names, columns, strict=True)
        ], names

    def _mark_missing(self, column: str) -> str:
        """Replace the values of the parameter `missing` by NaN."""
        texts = [] if column == "X" else [name for c, name in enumerate(self.forest.column_names) if _is_text(self.forest.schema.kind(c))]
        for value in self.forest.absent if column not in texts else []:
            found = self.operate("Equal", [column, self.constant(np.array([[value]]))])
            column = self.operate("Where", [found, self.constant(np.array([[np.nan]])), column])
        return column

    def _features(self, columns: list[str] | str) -> str:
        """Return the (n_rows, n_features) features as doubles."""
        encoding = self.forest.model.encoding
        if encoding.is_plain and isinstance(columns, str):
            return columns
        if isinstance(columns, str):
            columns = [self.operate("Gather", [columns, self.constant(np.array([c]))], axis=1) for c in range(self.forest.n_columns)]
        clocks: dict[int, Clock] = {}
        features = []
        for f in range(encoding.n_features):
            if f in encoding.lookups:
                features.append(self._look_up(encoding.lookups[f], columns))
            elif f in self.forest.calendar_parts:
                own = self.forest.calendar_parts[f]
                if own.column not in clocks:
                    clocks[own.column] = Clock(self, columns[own.column], self.utc_offset(own.column))
                features.append(clocks[own.column].part(own.part))
            elif f in self.forest.crosses:
                features.append(self._cross(self.forest.crosses[f], columns))
            else:  # a feature that no tree uses may have any value
                features.append(columns[encoding.columns_of(f)[0]])
        return self.operate("Concat", features, axis=1)

    def _look_up(self, lookup: Lookup, columns: list[str]) -> str:
        """Return the (n_rows, 1) value of a lookup for the levels of its columns."""
        if len(lookup.columns) == 1:
            column = lookup.columns[0]
            levels = self._levels(column)
            values = lookup.read([np.arange(-1, len(levels))]) + (0 if lookup.kind == NUMBER else FIRST_MEMBER)
            return self._encode(columns[column], levels, values[1:], values[0])
        key = ""
        for column, n_levels in zip(lookup.columns, lookup.n_levels, strict=True):
            code = self._encode(columns[column], self._levels(column), np.arange(1, n_levels + 1), 0)
            if key:
                code = self.operate("Add", [self.operate("Mul", [key, self.constant(np.array([n_levels + 1]))]), code])
            key = code
        return self._encode(key, lookup.keys, lookup.values, lookup.other)

    def _cross(self, cross: Cross, columns: list[str]) -> str:
        """Return the (n_rows, 1) value of a feature of two columns."""
        first, second = (columns[column] for column in cross.columns)
        if cross.operation == CENTERED:
            means = np.array(cross.means)
            second = self._encode(second, self._levels(cross.columns[1]), means[1:], means[0])
        return self.operate("Mul" if cross.operation == PRODUCT else "Sub", [first, second])

    def _levels(self, column: int) -> np.ndarray:
        """Return the levels of a categorical column as they appear in the input."""
        kind = self.forest.schema.kind(column)
        return np.array([str(level) if _is_text(kind) else float(level) for level in kind.levels], dtype=object if _is_text(kind) else None)

    def _encode(self, column: str, keys: np.ndarray, values: np.ndarray, other: float) -> str:
        if not len(keys):  # the operator needs at least one key
            keys, values = np.array([0.0] if keys.dtype == np.float64 else [""], dtype=keys.dtype), np.array([other])
        tensors = {"keys_tensor": keys, "values_tensor": values, "default_tensor": np.array([other], dtype=values.dtype)}
        return self.operate(
            "LabelEncoder", [column], domain="ai.onnx.ml", **{name: self._tensor(array, name) for name, array in tensors.items()}
        )

    # Trees

    def _trees(self, features: str) -> str:
        """Return the (n_rows, n_outputs) sums of the trees, without the base score."""
        flat = _Flat(self)
        tensors: dict[str, np.ndarray] = {
            "nodes_modes": np.array(flat.modes, dtype=np.uint8),
            "nodes_splits": np.array(flat.splits, dtype=np.float64),
            "leaf_weights": np.array(flat.weights, dtype=np.float64),
        }
        if flat.members:
            tensors["membership_values"] = np.array(flat.members, dtype=np.float64)
        return self.operate(
            "TreeEnsemble",
            [features],
            domain="ai.onnx.ml",
            n_targets=self.forest.n_outputs,
            aggregate_function=SUM,
            post_transform=NO_TRANSFORM,
            tree_roots=flat.roots,
            nodes_featureids=flat.features,
            nodes_missing_value_tracks_true=flat.missing_true,
            nodes_truenodeids=flat.true_ids,
            nodes_trueleafs=flat.true_leaves,
            nodes_falsenodeids=flat.false_ids,
            nodes_falseleafs=flat.false_leaves,
            leaf_targetids=flat.targets,
            **{name: self._tensor(array, name) for name, array in tensors.items()},
        )

    # Inverse link

    def _linked(self, raw: str, output: str = "") -> str:
        link = self.forest.link
        if link == "log":
            return self.operate("Exp", [self.operate("Clip", [raw, *map(self.constant, np.array([-708.0, 708.0]))])], output)
        if link == "logit":
            return self.operate("Sigmoid", [raw], output)
        if link == "softmax":
            return self.operate("Softmax", [raw], output, axis=1)
        if link == "sorted":
            self.nodes.append(
                self.onnx.helper.make_node(
                    "TopK", [raw, self.constant(np.array([self.forest.n_outputs]))], ["_sorted", "_places"], axis=1, largest=0
                )
            )
            return "_sorted"
        return raw

    def _probabilities(self, raw: str) -> str:
        if self.forest.n_outputs > 1:
            return self.operate("Identity", [self._linked(raw)], "probabilities")
        second = self._linked(raw)
        first = self.operate("Sub", [self.constant(np.array([[1.0]])), second])
        return self.operate("Concat", [first, second], "probabilities", axis=1)

    def _label(self, raw: str) -> tuple[str, int]:
        """Return the most probable class, and the type of the labels."""
        assert self.classes is not None
        kinds = self.onnx.TensorProto
        if self.forest.n_outputs == 1:
            positive = self.operate("Greater", [raw, self.constant(np.array([[0.0]]))])
            number = self.operate("Squeeze", [self.operate("Cast", [positive], to=kinds.INT64), self.constant(np.array([1]))])
        else:
            number = self.operate("ArgMax", [raw], axis=1, keepdims=0)
        labels = np.asarray(self.classes)
        if labels.dtype.kind in "iub":
            labels = labels.astype(np.int64)
        type_ = {"i": kinds.INT64, "f": kinds.DOUBLE}.get(labels.dtype.kind, kinds.STRING)
        return self.operate("Gather", [self.constant(labels), number], "label", axis=0), type_


def _is_text(kind: Kind) -> bool:
    return any(isinstance(level, str) for level in kind.levels)


def _depth_first(tree: Tree) -> np.ndarray:
    """Return the nodes in depth-first order, left children first."""
    order, stack = [], [0]
    while stack:
        node = stack.pop()
        order.append(node)
        if tree.feature[node] >= 0:
            stack += [int(tree.right[node]), int(tree.left[node])]
    return np.array(order)


class _Flat:
    """Attributes of the operator TreeEnsemble: one list of splits, and one list of leaves with one value for one output each.

    Nodes are in depth-first order, true branches first: some implementations read the members of sets in this order, contrary to the
    specification.
    """

    def __init__(self, exporter: Exporter) -> None:
        forest = exporter.forest
        self.roots: list[int] = []
        self.features: list[int] = []
        self.modes: list[int] = []
        self.splits: list[float] = []
        self.missing_true: list[int] = []
        self.true_ids: list[int] = []
        self.true_leaves: list[int] = []
        self.false_ids: list[int] = []
        self.false_leaves: list[int] = []
        self.members: list[float] = []  # sets, each ended by NaN
        self.targets: list[int] = []
        self.weights: list[float] = []
        for t, tree in enumerate(forest.trees):
            by_set = forest.model.binning.is_category(tree.feature)
            value = exporter.leaf_values(tree)
            for output in range(forest.n_outputs) if forest.shared else [t % forest.n_outputs]:
                self._add(tree, by_set, value[:, output if forest.shared else 0], output)
        if not forest.trees:
            self._add_leaf_tree(0.0, 0)

    def _add(self, tree: Tree, by_set: np.ndarray, value: np.ndarray, output: int) -> None:
        is_leaf = tree.feature < 0
        if is_leaf[0]:
            return self._add_leaf_tree(float(value[0]), output)
        order = _depth_first(tree)
        number = np.empty(len(order), dtype=np.int64)  # index among the splits or the leaves
        number[order] = np.where(
            is_leaf[order], len(self.weights) + np.cumsum(is_leaf[order]) - 1, len(self.features) + np.cumsum(~is_leaf[order]) - 1
        )
        self.roots.append(int(number[0]))
        for node in order[~is_leaf[order]]:
            self.features.append(int(tree.feature[node]))
            self.modes.append(MEMBER if by_set[node] else LESS_OR_EQUAL)
            self.splits.append(0.0 if by_set[node] else float(tree.threshold[node]))
            self.missing_true.append(int(tree.missing_left[node]))
            left, right = int(tree.left[node]), int(tree.right[node])
            self.true_ids.append(int(number[left]))
            self.true_leaves.append(int(is_leaf[left]))
            self.false_ids.append(int(number[right]))
            self.false_leaves.append(int(is_leaf[right]))
            if by_set[node]:
                bits = np.unpackbits(tree.sets[tree.bin[node]].view(np.uint8), bitorder="little")
                self.members += [*map(float, np.flatnonzero(bits) + FIRST_MEMBER), np.nan]
        self.targets += [output] * int(is_leaf.sum())
        self.weights += value[order[is_leaf[order]]].tolist()
        return None

    def _add_leaf_tree(self, value: float, output: int) -> None:
        """Add a tree with one leaf: a split with this leaf as both children, since a leaf cannot be the root."""
        self.roots.append(len(self.features))
        for values, one in ((self.features, 0), (self.modes, LESS_OR_EQUAL), (self.missing_true, 0)):
            values.append(one)
        self.splits.append(0.0)
        for ids, leaves in ((self.true_ids, self.true_leaves), (self.false_ids, self.false_leaves)):
            ids.append(len(self.weights))
            leaves.append(1)
        self.targets.append(output)
        self.weights.append(value)
