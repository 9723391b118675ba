"""Export to Treelite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sapwood.losses import RANKING
from sapwood.model.export.base import Exporter
from sapwood.model.export.forest import Forest
from sapwood.trees.column_tree import ColumnTree

POST_PROCESSORS = {"identity": "identity", "log": "exponential", "logit": "sigmoid", "softmax": "softmax"}


class Treelite(Exporter):
    """A `treelite.Model` in double precision.

    Categorical columns must be passed as codes: positions in the levels of the model (`model_.schema`), NaN for unseen levels.

    Parameters
    ----------
    raw : whether to export raw predictions, without the link
    """

    name = "treelite"

    def __init__(self, forest: Forest, classes: Sequence[Any] | None = None, raw: bool = False) -> None:
        super().__init__(forest, classes)
        self.raw = raw

    def make(self) -> Any:
        self.check_no_combinations()
        builders = self.library("treelite.model_builder")
        forest, n = self.forest, self.forest.n_outputs
        if forest.link == "sorted" and not self.raw:
            raise self.error("the link 'sorted' of several quantiles", "use raw=True to export raw predictions")
        # With softmax, outputs are the classes of one target; otherwise each output is a target.
        compete = forest.link == "softmax"
        trees = [*enumerate(forest.column_trees)] if forest.trees else [*forest.single_output(base_score=False)]
        vector = bool(forest.shared and forest.trees)
        own = [-1 if vector else t % n for t, _ in trees]
        metadata = builders.Metadata(
            num_feature=forest.n_columns,
            task_type=self._task(),
            average_tree_output=False,
            num_target=1 if compete else n,
            num_class=[n] if compete else [1] * n,
            leaf_vector_shape=((1, n) if compete else (n, 1)) if vector else (1, 1),
        )
        builder = builders.ModelBuilder(
            threshold_type="float64",
            leaf_output_type="float64",
            metadata=metadata,
            tree_annotation=builders.TreeAnnotation(len(trees), [0] * len(trees) if compete else own, own if compete else [0] * len(trees)),
            postprocessor=builders.PostProcessorFunc("identity" if self.raw else POST_PROCESSORS[forest.link]),
            base_scores=forest.base_score.tolist(),
        )
        for _, tree in trees:
            self._add(builder, tree)
        return builder.commit()

    def to_bytes(self, exported: Any) -> bytes:
        return bytes(exported.serialize_bytes())

    def _task(self) -> str:
        if self.forest.link == "softmax":
            return "kMultiClf"
        if self.classes is not None:
            return "kBinaryClf"
        return "kLearningToRank" if self.forest.model.loss in RANKING else "kRegressor"

    def _add(self, builder: Any, tree: ColumnTree) -> None:
        values = self.leaf_values(tree)
        builder.start_tree()
        for node, column in enumerate(tree.column.tolist()):
            builder.start_node(node)
            builder.data_count(int(tree.count[node]))
            if column < 0:
                value = values[node].tolist()
                builder.leaf(value if len(value) > 1 else value[0])
                builder.end_node()
                continue
            builder.gain(float(tree.gain[node]))
            missing_left = bool(tree.missing_left[node])
            children = {"left_child_key": int(tree.left[node]), "right_child_key": int(tree.right[node])}
            if node in tree.levels:
                # Unseen levels follow the child of levels that are not listed. They must go where missing values go: list the other side.
                listed = np.flatnonzero(~tree.levels[node] if missing_left else tree.levels[node]).tolist()
                builder.categorical_test(
                    column, default_left=missing_left, category_list=listed, category_list_right_child=missing_left, **children
                )
            else:
                builder.numerical_test(column, float(tree.threshold[node]), default_left=missing_left, opname="<=", **children)
            builder.end_node()
        builder.end_tree()
