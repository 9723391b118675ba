"""Table of the arguments of `fit`, `partial_fit` and `refit`: type, default and documentation of each.

The methods in `sapwood.params.signatures` are generated from it; the constructors are generated from `sapwood.params.table`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

REQUIRED = object()
REGRESSOR, CLASSIFIER, RANKER = "Regressor", "Classifier", "Ranker"
ALL = (REGRESSOR, CLASSIFIER, RANKER)


@dataclass(frozen=True)
class Argument:
    """Argument of a method.

    Attributes
    ----------
    name, type : name and annotation, as source text
    doc : documentation
    default : default value
    methods : methods with this argument
    estimators : estimators with this argument
    by_position : whether it is positional
    shape : description of the type for the docstring; the annotation if empty
    own_docs : documentation by estimator, if it differs
    """

    name: str
    type: str
    doc: str
    default: Any = None
    methods: tuple[str, ...] = ("fit", "partial_fit")
    estimators: tuple[str, ...] = ALL
    by_position: bool = False
    shape: str = ""
    own_docs: dict[str, tuple[str, str]] = field(default_factory=dict)  # shape and doc

    def documented(self, estimator: str) -> tuple[str, str]:
        """Return the description of the type and the text for the docstring."""
        return self.own_docs.get(estimator, (self.shape or self.type, self.doc))


EVERY = ("fit", "partial_fit", "refit")
ROW_VALUE = "array-like of shape (n_rows,), or name of a column of X"
ROW_VALUES = "array-like of shape (n_rows,) or (n_rows, n_outputs), or name of a column of X"
Y = {
    CLASSIFIER: (
        "array-like of shape (n_rows,) or (n_rows, n_classes), or name of a column of X",
        "Class labels; for multilabel classification a matrix of 0 and 1; for soft labels the probabilities of the classes.",
    ),
    RANKER: (ROW_VALUE, "Relevances: non-negative integers."),
    REGRESSOR: (
        ROW_VALUES,
        "Targets. With several columns NaN is a missing target, which is ignored. Survival times: for loss='cox' two columns (time, event) "
        "with event 1, or 0 for a row that is censored at that time; for loss='aft' two columns (lower, upper) that bound the time, equal "
        "if it is known, and upper infinity if it is censored. Both also take a structured array of a bool (event) and a time, as in "
        "scikit-survival, and one column of times that are negative for censored rows.",
    ),
}
WEIGHT = {
    RANKER: (
        ROW_VALUE,
        "Weights of the rows: factors of their gradients. In metrics, a query has the mean weight of its rows.",
    )
}
SETS = {
    RANKER: (
        "dict or list of dict",
        "Evaluation sets: for each, a dict with X, y, qid or group, and optionally sample_weight and offset. `eval_metric` is computed on "
        "them after every round. With early stopping, a single evaluation set decides when to stop, unless `X_val` or `validation_split` "
        "is given; otherwise evaluation sets do not influence training.",
    )
}
OFFSET = (
    "Initial raw predictions, added to the base score of the model, for instance the logarithm of the exposure for a loss with a log link. "
    "Pass the offset of new rows to `predict`."
)

ARGUMENTS: Sequence[Argument] = (
    Argument(
        "X",
        "TableLike",
        "Training table. Columns may be numbers, booleans, datetimes, durations and categories; NaN, None and masked entries are missing. "
        "`y` and other arguments with a value per row may be the name of a column, or a list of names; these columns are not features.",
        REQUIRED,
        EVERY,
        by_position=True,
        shape="array, data frame, sparse matrix or list of dicts of shape (n_rows, n_features)",
    ),
    Argument(
        "y",
        "ArrayLike",
        "Targets. With several columns, NaN is a missing target, which is ignored.",
        REQUIRED,
        EVERY,
        by_position=True,
        shape=ROW_VALUES,
        own_docs=Y,
    ),
    Argument(
        "classes",
        "ArrayLike | None",
        "All classes, for the first call. None: those of y. A class without rows gets a pseudo-count of 0.5 in the initial prediction.",
        methods=("partial_fit",),
        estimators=(CLASSIFIER,),
        by_position=True,
        shape="array-like of shape (n_classes,)",
    ),
    Argument(
        "sample_weight",
        "ArrayLike | None",
        "Non-negative weights. A row with weight 0 is ignored.",
        methods=EVERY,
        by_position=True,
        shape=ROW_VALUE,
        own_docs=WEIGHT,
    ),
    Argument(
        "decay",
        "float",
        "Weight of the old leaf values: new value = decay * old + (1 - decay) * value fitted to these rows.",
        0.9,
        ("refit",),
    ),
    Argument(
        "group",
        "ArrayLike | None",
        "Number of rows of each query, in the order of the rows. Either `group` or `qid` is required.",
        methods=EVERY,
        estimators=(RANKER,),
        shape="array-like of shape (n_queries,)",
    ),
    Argument(
        "qid",
        "ArrayLike | None",
        "Query of each row. The rows of a query must be contiguous.",
        methods=EVERY,
        estimators=(RANKER,),
        shape=ROW_VALUE,
    ),
    Argument("X_val", "TableLike | None", "Evaluation set for early stopping, instead of some of the training rows."),
    Argument("y_val", "ArrayLike | None", "Targets of `X_val`."),
    Argument("sample_weight_val", "ArrayLike | None", "Weights of `X_val`."),
    Argument("group_val", "ArrayLike | None", "Number of rows of each query of `X_val`.", estimators=(RANKER,)),
    Argument("qid_val", "ArrayLike | None", "Query of each row of `X_val`.", estimators=(RANKER,)),
    Argument("offset", "ArrayLike | None", OFFSET, methods=EVERY, shape=ROW_VALUES),
    Argument("offset_val", "ArrayLike | None", "Initial raw predictions of `X_val`.", shape=ROW_VALUES),
    Argument(
        "groups",
        "ArrayLike | None",
        "Groups of the rows, for the splitter `validation_split`.",
        shape=ROW_VALUE,
        own_docs={RANKER: (ROW_VALUE, "Groups of the rows, for the splitter `validation_split`. None: the queries.")},
    ),
    Argument(
        "eval_sets",
        "EvalSets",
        "Evaluation sets, by name or as a list: tuples (X, y), (X, y, sample_weight) or (X, y, sample_weight, offset), or dicts "
        '{"X": X, "y": y, ...}. `eval_metric` is computed on them after every round. With early stopping, a single evaluation set decides '
        "when to stop, unless `X_val` or `validation_split` is given; otherwise evaluation sets do not influence training.",
        shape="dict or list of tuples or dicts",
        own_docs=SETS,
    ),
    Argument(
        "eval_metric",
        "EvalMetric",
        "Metrics computed on the evaluation sets after every round, in `evals_result_`: the name of a metric of `sapwood.metrics.METRICS` "
        "or of a scikit-learn scorer, a `Metric`, a function (y, predicted) -> float, a scorer, or a list of these.",
        shape="str, Metric, callable or list",
    ),
    Argument(
        "callbacks",
        "Sequence[Callback] | None",
        "Callbacks of this fit: see `sapwood.callbacks`.",
        shape="list of Callback",
    ),
    Argument(
        "checkpoint",
        "Checkpoint | Path | None",
        "File in which the state of training is saved. The same call resumes from it after an interruption, with the same result: see "
        "`sapwood.Checkpoint`.",
        shape="path or Checkpoint",
    ),
    Argument(
        "init_model",
        "Predictor | Model | Path | None",
        "Model to continue training from; it is not changed. `max_iter` rounds are added, with its bins and encodings. Unseen levels are "
        "treated as missing. A `Model` does not contain classes: they are those of y.",
        methods=("fit",),
        shape="fitted estimator of the same class, Model, or path of a file of either",
    ),
)

INTRODUCTIONS = {
    "fit": "Fit the model.",
    "partial_fit": (
        "Continue training on new rows.\n\n"
        "The first call is the same as `fit`. Each further call adds `max_iter` rounds, trained on the new rows only, with the bins and "
        "encodings of the first call. The rows must be new: they are encoded as in `predict`, with the target statistics of the first "
        "rows. Unseen levels are treated as missing. Rounds after the best one of early stopping are discarded."
    ),
    "refit": (
        "Refit the leaf values to other rows; the splits are not changed.\n\n"
        "The base score and the leaf values of one tree after the other are fitted, with the parameters of this estimator. Rounds after "
        "the best one of early stopping are discarded. Leaves without rows keep their values; gains and row counts of nodes are not "
        "updated."
    ),
}


def arguments(method: str, estimator: str) -> list[Argument]:
    """Return the arguments of a method of an estimator, in order."""
    return [one for one in ARGUMENTS if method in one.methods and estimator in one.estimators]
