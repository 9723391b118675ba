"""Table of the estimators' parameters: default, type, allowed values and documentation of each.

The constructors and docstrings in `sapwood.params.signatures` are generated from it by `tools/generate_signatures.py` (run by
`make format`). `fit` validates values against `constraints`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from os import PathLike
from typing import Any

import numpy as np

from sapwood.device.devices import is_device
from sapwood.encoding import ENCODERS
from sapwood.encoding.calendar import PARTS
from sapwood.encoding.cross import OPERATIONS
from sapwood.losses import BINARY, DEPRECATED_NAMES, RANKING, REGRESSION, Loss
from sapwood.losses.aft import DISTRIBUTIONS
from sapwood.losses.ranking import RANK_METRICS
from sapwood.losses.registry import REGISTERED
from sapwood.model import Model
from sapwood.params.columns import FeatureSpec
from sapwood.params.constraints import HasMethods, Interval, RealNotInt, StrOptions
from sapwood.sampling.rows import SAMPLINGS
from sapwood.training.line_search import STEPS
from sapwood.training.modes import BOOSTING
from sapwood.training.multi_output import STRATEGIES
from sapwood.trees.frontier import FRONTIERS


@dataclass(frozen=True)
class Values:
    """One kind of values that a parameter accepts.

    Attributes
    ----------
    type : annotation, as source text
    allowed : constraint, in the form of scikit-learn's `validate_parameter_constraints`
    """

    type: str
    allowed: Any


class Parameter:
    """Parameter of a constructor.

    Attributes
    ----------
    default : default value
    type : annotation, as source text
    resolved_type : the same without "auto", for parameters whose default a preset chooses
    allowed : constraints; a value must satisfy one of them
    doc : documentation; lines that begin with "- " are items of a list
    since : version that introduced it. A file has it only if its value is not the default, so that older versions read the file
    """

    default: Any
    doc: str
    since: str

    def __init__(self, default: Any, doc: str, *values: Values, since: str = "0.1") -> None:
        self.default, self.since = default, since
        self.doc = f"{doc} 'auto': chosen by `preset`." if BY_PRESET in values else doc
        self.type: str = " | ".join(dict.fromkeys(one.type for one in sorted(values, key=lambda one: one is NONE)))
        self.allowed: list[Any] = [one.allowed for one in values]
        self.resolved_type: str = self.type.replace(f" | {BY_PRESET.type}", "") if BY_PRESET in values else self.type


class Number(Interval):
    """Interval of numbers that excludes True and False, and integers too large for a float."""

    def is_satisfied_by(self, value: Any) -> bool:
        return not isinstance(value, bool) and super().is_satisfied_by(value) and abs(value) <= sys.float_info.max


class LossNames(StrOptions):
    """Names of built-in losses and of losses that users registered."""

    def is_satisfied_by(self, value: Any) -> bool:
        return super().is_satisfied_by(value) or (isinstance(value, str) and value in REGISTERED)

    def __str__(self) -> str:
        return str(StrOptions(self.options | set(REGISTERED)))


class DeviceNames(StrOptions):
    """Values of the parameter `device`."""

    def is_satisfied_by(self, value: Any) -> bool:
        return is_device(value)

    def __str__(self) -> str:
        return "'cpu', 'gpu' or 'opencl:PLATFORM.DEVICE', such as 'opencl:0.0'"


MOST = 2**31 - 1  # of whole numbers: kernels count in 32 bits


def _float(low: float, high: float | None = None, closed: str = "left") -> Values:
    return Values("float", Number(Real, low, high, closed=closed))


def _int(low: int, high: int = MOST) -> Values:
    return Values("int", Number(Integral, low, high, closed="both"))


def _literal(names: Iterable[str]) -> str:
    return f"Literal[{', '.join(map(repr, names))}]"


def _choice(*names: str) -> Values:
    return Values(_literal(names), StrOptions(set(names)))


def _loss(names: Iterable[str], accepted: set[str]) -> Values:
    return Values(f"{_literal(names)} | str", LossNames(accepted))


NONE = Values("None", None)
BY_PRESET = _choice("auto")  # the value is chosen by `preset`
BOOL = Values("bool", "boolean")
ARRAY = Values("ArrayLike", "array-like")
SPEC = Values("FeatureSpec", FeatureSpec)
POSITIVE, NOT_NEGATIVE, FRACTION = _float(0, closed="neither"), _float(0), _float(0, 1, "right")
PROBABILITY, BETWEEN_0_AND_1 = _float(0, 1, "both"), _float(0, 1, "neither")
COUNT = _int(1)
OWN_LOSS = Values("Loss | type[Loss]", Loss), Values("GradientFunction", callable)


def _by_column(value: str) -> Values:
    return Values(f"Mapping[Any, {value}]", dict)


REGRESSION_LOSSES = {*REGRESSION, "least_squares", "least_absolute_deviation"}
CLASSIFICATION_LOSSES = {*BINARY, *(old for old, new in DEPRECATED_NAMES.items() if new == "log_loss")}

# fmt: off
COMMON = {
    "preset": Parameter("auto", "Rule that chooses parameters that are 'auto' by the shape of the data; `resolved_params_` has the chosen values.\n- 'auto': early stopping on rows of the training set. With few rows, models of folds are averaged; with more, the held-out rows are used again to compute leaf values, and up to 50,000 rows two models are averaged;\n- 'fast': one training run of 100 rounds;\n- 'best': as 'auto', with smaller steps and averaged folds for any number of rows;\n- 'classic': the defaults of scikit-learn's HistGradientBoosting.\nAll presets choose the values of 'classic' if `max_iter` is given, with `early_stopping=False`, and if training continues another fit.", _choice("auto", "fast", "best", "classic"), since="0.2"),
    "time_limit": Parameter(None, "Maximum time of `fit` in seconds. Training stops before a round that would exceed it, with a warning; the model has the rounds so far. None: no limit.", POSITIVE, NONE, since="0.2"),
    "learning_rate": Parameter("auto", "Factor applied to the leaf values of every tree (shrinkage).", POSITIVE, BY_PRESET),
    "max_iter": Parameter("auto", "Maximum number of boosting rounds. A round grows one tree, or several for multi-output regression and multiclass classification: see `multi_strategy` and `shared_trees`.", COUNT, BY_PRESET),
    "max_leaf_nodes": Parameter("auto", "Maximum number of leaves of a tree. None: no limit; so is 'auto' if `max_depth` is given with `grow_policy='symmetric'`, whose trees have 2^depth leaves, at most 2^16.", _int(2), NONE, BY_PRESET),
    "max_depth": Parameter("auto", "Maximum number of splits between the root and a leaf. None: no limit.", COUNT, NONE, BY_PRESET),
    "min_samples_leaf": Parameter("auto", "Minimum number of training rows in a leaf.", COUNT, BY_PRESET),
    "l2_regularization": Parameter("auto", "L2 penalty of leaf values: added to the sum of hessians of a leaf.", NOT_NEGATIVE, BY_PRESET),
    "max_features": Parameter(1.0, "Fraction of the features, drawn at random for each node, among which its split is searched.", FRACTION),
    "max_bins": Parameter(255, "Maximum number of bins of a feature, from 2 to 65,535, not counting the bin of missing values. An array gives one number for each feature, a dict one for some of them. Above 255, or with `tree_method='exact'` or `'approx'`, features are sorted instead of counted in histograms.", Values("int", Number(Integral, 2, 65_535, closed="both")), _by_column("int"), ARRAY, SPEC),
    "categorical_features": Parameter("from_dtype", "Columns that are categorical:\n- 'from_dtype': columns of strings, categories or enums;\n- array-like: column names, positions or dtypes, or a boolean mask;\n- callable: a function of X that returns one of these, such as `make_column_selector`;\n- None: no column.", ARRAY, _choice("from_dtype"), Values("Callable[[Any], Any]", callable), SPEC, NONE),
    "categorical_encoding": Parameter("auto", "Encoding of categorical columns. A list makes one feature per encoding; a dict maps columns to encodings.\n- 'onehot': splits separate one level from the others;\n- 'partition': splits separate sets of levels, found by sorting levels by gradient / hessian;\n- 'target': ordered target statistics;\n- 'target_cv': cross-fitted target means (5 folds) with empirical-Bayes smoothing;\n- 'count': frequency of the level;\n- 'auto': 'partition' up to 255 levels, 'target' above.", _choice("auto", *ENCODERS), Values("Sequence[str]", list), Values("Sequence[str]", tuple), _by_column("str | Sequence[str]"), SPEC),
    "datetime_features": Parameter(None, f"Calendar parts of datetime columns that become features, next to the datetime itself as a number: {', '.join(PARTS)}. Weeks are ISO weeks, weekday 0 is Monday, and parts are read in the column's time zone. 'auto': year, month, day, weekday, hour and minute, as far as they vary. A dict maps columns to any of these.", Values("Sequence[str]", list), Values("Sequence[str]", tuple), _by_column("str | Sequence[str]"), _choice("auto"), NONE),
    "cat_smooth": Parameter("auto", "`categorical_encoding='partition'`: added to the hessian of each level when levels are sorted by gradient / hessian.", NOT_NEGATIVE, BY_PRESET),
    "cat_l2": Parameter("auto", "`categorical_encoding='partition'`: L2 penalty added to `l2_regularization` for splits on sorted levels.", NOT_NEGATIVE, BY_PRESET),
    "min_samples_level": Parameter("auto", "`categorical_encoding='partition'`: levels with fewer rows in a node are sorted as one level.", COUNT, BY_PRESET),
    "target_prior": Parameter(1.0, "`categorical_encoding='target'`: weight, in rows, of the overall mean in the mean of a level.", POSITIVE),
    "target_permutations": Parameter(1, "`categorical_encoding='target'`: number of random row orders in which the mean of a level is computed from the preceding rows. The means are averaged.", _int(1, 1000)),
    "max_combination": Parameter(1, "`categorical_encoding='target'`: maximum number of categorical columns, up to 3, that are combined into one feature.", _int(1, 3)),
    "monotonic_cst": Parameter(None, "Monotonic constraints: 1 for increasing, -1 for decreasing, 0 for none. An array gives one for each feature; a dict maps columns, by name, position, dtype or callable, to constraints.", ARRAY, _by_column("int | str"), SPEC, NONE),
    "cross_features": Parameter("auto", f"Additional features that are computed from two columns: a list of (operation, column, column). Operations are {', '.join(map(repr, OPERATIONS))}; 'centered' is a number minus its mean over the training rows of the same category.", Values("Sequence[tuple[str, str | int, str | int]]", list), BY_PRESET, NONE, since="0.2"),
    "interaction_cst": Parameter(None, "Interaction constraints: groups of features that may be used together on a path of a tree. 'pairwise' allows any two features, 'no_interactions' only one.", Values("Sequence[Columns]", list), Values("Sequence[Columns]", tuple), Values("AbstractSet[Any]", set), _choice("pairwise", "no_interactions"), SPEC, NONE),
    "feature_spec": Parameter(None, "Settings by column in one object, instead of `categorical_features`, `categorical_encoding`, `monotonic_cst`, `interaction_cst`, `feature_weights`, `max_bins` and `cut_points`.", SPEC, NONE),
    "missing": Parameter(None, "Value, or list of values, that counts as missing. NaN, None, NA and masked entries always do.", Values("float", Real), Values("str", str), Values("Sequence[float | str]", list), Values("Sequence[float | str]", tuple), NONE),
    "sparse_absent": Parameter("zero", "Meaning of the entries that a sparse table does not store.", _choice("zero", "missing")),
    "init": Parameter(None, "Estimator or model whose raw predictions are the initial raw predictions, in `fit` and in `predict`. An estimator that is not fitted is fitted to the training rows.", NONE, Values("Model", Model), Values("Predictor", HasMethods(["fit", "predict"]))),
    "warm_start": Parameter(False, "Whether `fit` continues training from the previous fit, up to `max_iter` rounds in total.", BOOL),
    "early_stopping": Parameter("auto", "Whether to stop when the validation score no longer improves. 'auto': if `X_val` or `validation_split` is given, or with more than 10,000 rows if the score can be computed. The score is that of `X_val` if given, else of a single set in `eval_sets`, else of held-out training rows. 'per_output': each output of a multi-output regression has trees up to its own best round; `scoring` must be 'loss', and outputs must not share trees.", _choice("auto", "per_output"), BOOL),
    "scoring": Parameter("loss", "Score used for early stopping: 'loss', the name of a metric of `sapwood.metrics`, a scikit-learn scorer, by name or as a callable (estimator, X, y) -> float, or a function (y, predicted) -> float, for which lower is better unless its name ends with `_score`. None: the `score` method of the estimator.", Values("str", str), Values("Scorer", callable), NONE),
    "validation_fraction": Parameter(0.1, "Fraction (float) or number (int) of the rows held out for early stopping. None: use the training score.", Values("float", Number(RealNotInt, 0, 1, closed="neither")), COUNT, NONE),
    "validation_split": Parameter(None, "Cross-validation splitter, or iterable of (train, test) pairs, whose last split gives the rows held out for early stopping, instead of `validation_fraction`. `fit` takes `groups` for it.", Values("int | Splitter | Iterable[Any] | None", "cv_object")),
    "validation_folds": Parameter("auto", "Number of folds of cross-validated early stopping, instead of one set of held-out rows. A model is trained for each fold, its rounds are chosen by the rows of the fold, and the result is the average of the models. For small data. None: no folds.", _int(2, 100), NONE, BY_PRESET, since="0.2"),
    "refit_all": Parameter("auto", "Whether to use the held-out rows after early stopping: all leaf values are computed again from all rows, and rounds are added in proportion to the number of rows.", BOOL, BY_PRESET, since="0.2"),
    "n_models": Parameter("auto", "Number of models whose average is the result. Each holds out other rows for early stopping, and draws other samples of rows and features. With `refit_all`, the first one chooses the number of rounds, and the others are trained on all rows. With `validation_folds` there is a model for each fold instead.", _int(1, 100), BY_PRESET, since="0.2"),
    "n_iter_no_change": Parameter("auto", "Number of rounds without improvement after which early stopping ends training.", COUNT, BY_PRESET),
    "tol": Parameter(1e-7, "Minimum improvement of the score that counts for early stopping.", NOT_NEGATIVE),
    "verbose": Parameter(0, "Verbosity. 1: progress bar in a terminal or notebook, elsewhere a line for every tenth of the rounds; 2 or more: a line per round.", Values("int | bool", "verbose")),
    "random_state": Parameter(None, "Seed of the random number generators. None: a fixed seed, so that fits are reproducible.", Values("RandomState", "random_state")),
    "leaf_batch": Parameter("auto", "Number of leaves that leaf-wise growth splits at once, those with the highest gains. Rows in files are read once for each batch of leaves. 'auto': 1 up to 4,194,304 training rows, otherwise 8. The model depends on it.", COUNT, _choice("auto"), since="0.2"),
    "memory_limit": Parameter(None, "Maximum memory that `fit` takes in addition to that of the process when it starts: bytes, text such as '2GB' or '500MiB', or a fraction of the memory of the machine. Binned rows that do not fit are stored in files. A limit that is too small is an error, with an estimate, before the rows are read. None: no limit. The model does not depend on it.", Values("float", Number(RealNotInt, 0, 1, closed="neither")), _int(1, 2**62), Values("str", str), NONE, since="0.2"),
    "pages_dir": Parameter(None, "Folder, or list of folders on different disks, for binned rows. Later fits of the same rows with the same bins use them again; `sapwood.Pages.open` opens them as X. None: memory, or a temporary folder if `memory_limit` requires it. The model does not depend on it.", Values("str", str), Values("PathLike[str]", PathLike), Values("Sequence[str]", list), NONE, since="0.2"),
    "pages_compression": Parameter(None, "Compression of binned rows in files: slower, for disks that are slow or small. Needs pyarrow.", _choice("zstd"), NONE, since="0.2"),
    "n_jobs": Parameter(None, "Number of threads. None or -1: all available CPUs. The model does not depend on it.", _int(-MOST), NONE),
    "device": Parameter("cpu", "Where trees are grown. The model does not depend on it.\n- 'cpu': on the threads of this process;\n- 'gpu': on the first GPU that OpenCL finds;\n- 'opencl:PLATFORM.DEVICE': on this OpenCL device, such as 'opencl:0.0'; `sapwood.devices()` lists them.\nNeeds pyopencl: `pip install 'sapwood[gpu]'`. Cannot be combined with `tree_method='exact'` or `'approx'`, or with more than 255 bins.", Values("Literal['cpu', 'gpu'] | str", DeviceNames({"cpu", "gpu"})), since="0.2"),
    "grow_policy": Parameter("auto", "Order in which nodes are split.\n- 'leafwise': the leaf with the largest gain first;\n- 'depthwise': level by level;\n- 'symmetric': level by level, with the same split for all nodes of a level.", _choice(*FRONTIERS), BY_PRESET),
    "l1_regularization": Parameter(0.0, "L1 penalty of leaf values: the absolute gradient sum of a leaf is reduced by it, down to 0.", NOT_NEGATIVE),
    "min_gain": Parameter(0.0, "Minimum gain of a split: G^2 / (H + l2) of the children minus that of the parent.", NOT_NEGATIVE),
    "min_hessian": Parameter(None, "Minimum sum of hessians in a leaf. None: chosen by `preset` for classification with early stopping, otherwise a default of the loss.", NOT_NEGATIVE, NONE),
    "max_step": Parameter(None, "Maximum absolute leaf value before the learning rate is applied. None: a default of the loss.", POSITIVE, NONE),
    "step": Parameter("newton", "Step size of a tree.\n- 'newton': the Newton step of each leaf;\n- 'line_search': in addition, the tree is multiplied by the factor that minimizes the training loss, before the learning rate.", _choice(*STEPS)),
    "leaf_model": Parameter("constant", "Function that a leaf adds to the raw predictions of its rows.\n- 'constant': one value;\n- 'linear': a value and slopes of up to 5 features, fitted by ridge regression to the rows of the leaf. Features are clipped to the range of the leaf's training rows; missing values add nothing;\n- 'auto': 'linear' for regression and two classes with at least 1,000 rows and a column of numbers, if the other parameters allow it.", _choice("constant", "linear", "auto"), since="0.2"),
    "linear_l2": Parameter(50.0, "`leaf_model='linear'`: L2 penalty of slopes, in rows: as if so many rows more in each leaf, whose features vary as in the whole table, had slope 0.", NOT_NEGATIVE, since="0.2"),
    "path_smooth": Parameter(0.0, "Weight, in rows, of a node's value in the values of its children.", NOT_NEGATIVE),
    "extra_trees": Parameter("auto", "Fraction of trees whose nodes try one random threshold per feature instead of all (extremely randomized trees). True: all trees; False: none.", BOOL, PROBABILITY, BY_PRESET),
    "score_noise": Parameter(0.0, "Standard deviation of the log-normal noise that gains are multiplied by when features are compared.", NOT_NEGATIVE),
    "feature_weights": Parameter(None, "Factors applied to the gains of features when features are compared. An array gives one for each feature, a dict one for some of them.", ARRAY, _by_column("float"), SPEC, NONE),
    "max_features_level": Parameter(1.0, "Fraction of the features drawn at random for each level of a tree.", FRACTION),
    "max_features_tree": Parameter("auto", "Fraction of the features drawn at random for each tree.", FRACTION, BY_PRESET),
    "subsample": Parameter("auto", "Fraction of the rows drawn at random for each tree, with `sampling='uniform'` or `'mvs'`.", FRACTION, BY_PRESET),
    "sampling": Parameter("uniform", "Row sampling.\n- 'uniform': all rows are equally probable;\n- 'goss': the rows with the largest gradients and a sample of the others, after the first 1 / learning_rate rounds;\n- 'mvs': minimal variance sampling;\n- 'bayesian': all rows, with random weights (Bayesian bootstrap).\n'mvs' and 'bayesian' affect only the search for splits: leaf values use all rows.", _choice(*SAMPLINGS)),
    "goss_top": Parameter(0.2, "`sampling='goss'`: fraction of the rows, those with the largest gradients, that is kept.", BETWEEN_0_AND_1),
    "goss_other": Parameter(0.1, "`sampling='goss'`: fraction of the rows that is drawn from the others.", BETWEEN_0_AND_1),
    "bagging_temperature": Parameter(1.0, "`sampling='bayesian'`: spread of the weights. 0: equal weights; 1: exponentially distributed weights.", NOT_NEGATIVE),
    "boosting": Parameter("plain", "Boosting mode.\n- 'plain': gradient boosting;\n- 'ordered': gradients come from models that have not seen the row, which reduces overfitting on small data;\n- 'dart': dropout of trees;\n- 'forest': random forest, all trees are fitted to the initial predictions.", _choice(*BOOSTING)),
    "boosting_permutations": Parameter(4, "`boosting='ordered'`: number of random row orders.", _int(1, 1000)),
    "drop_rate": Parameter(0.1, "`boosting='dart'`: fraction of the previous rounds that is dropped.", PROBABILITY),
    "skip_drop": Parameter(0.5, "`boosting='dart'`: probability that a round drops nothing.", PROBABILITY),
    "max_drop": Parameter(50, "`boosting='dart'`: maximum number of rounds dropped at once. None: no limit.", COUNT, NONE),
    "forced_splits": Parameter(None, "Splits at the top of every tree: a dict {'feature': ..., 'threshold': ..., 'left': {...}, 'right': {...}}, the same as JSON, or the path of a JSON file.", Values("Mapping[str, Any]", dict), Values("str", str), Values("PathLike[str]", PathLike), NONE),
    "cut_points": Parameter(None, "Bin boundaries by column, instead of those found in the data.", _by_column("ArrayLike"), SPEC, NONE),
    "min_rows_in_bin": Parameter(1, "Minimum number of rows in a bin.", COUNT),
    "bin_sample_rows": Parameter(200_000, "Maximum number of rows that are sampled to find bin boundaries. None: all rows, by a quantile sketch.", COUNT, NONE),
    "monotonic_method": Parameter("basic", "Method that enforces `monotonic_cst`.\n- 'basic': the children of a split are bounded by the mean of their values;\n- 'neighbours': leaves are bounded by adjacent leaves, which is less restrictive and slower.", _choice("basic", "neighbours")),
    "tree_method": Parameter("hist", "Candidate thresholds.\n- 'hist': bin boundaries;\n- 'exact': all values;\n- 'approx': quantiles weighted by hessians, computed for each tree;\n- 'auto': the same as 'hist'.", _choice("hist", "exact", "approx", "auto")),
    "multi_strategy": Parameter("auto", "Trees of multi-output and multiclass models.\n- 'one_output_per_tree': a tree for each output;\n- 'multi_output_tree': trees with a value for each output in every leaf;\n- 'auto': 'multi_output_tree' for classes and quantiles, otherwise 'one_output_per_tree'.", _choice(*STRATEGIES)),
    "shared_trees": Parameter("auto", "Number of trees per round with `multi_strategy='multi_output_tree'`, at most 1000. 'auto': 1 below 10,000 rows, otherwise n_outputs - 1 but at most 3.", _int(1, 1000), _choice("auto")),
    "approx_proposal": Parameter("global", "`tree_method='approx'`: whether quantiles are computed once for each tree ('global') or for each node ('local').", _choice("global", "local")),
}

REGRESSOR = {
    "loss": Parameter("squared_error", f"Loss function: {', '.join(map(repr, REGRESSION))}; the name of a registered loss; a `Loss`; or a function (y, raw) -> (gradient, hessian).", _loss(REGRESSION, REGRESSION_LOSSES), *OWN_LOSS),
    "quantile": Parameter(None, "`loss='quantile'`: quantile to predict, from 0 to 1; None is the median. An ascending list predicts several quantiles, which do not cross.", NONE, PROBABILITY, Values("Sequence[float]", list), Values("Sequence[float]", tuple), Values("np.ndarray", np.ndarray)),
    "expectile": Parameter(0.5, "`loss='expectile'`: expectile to predict, between 0 and 1.", BETWEEN_0_AND_1),
    "huber_delta": Parameter(1.0, "`loss='huber'`: absolute residual at which the loss changes from squared to linear.", POSITIVE),
    "tweedie_power": Parameter(1.5, "`loss='tweedie'`: exponent p of the variance function mean^p, between 1 (Poisson) and 2 (gamma).", Values("float", Number(Real, 1, 2, closed="neither"))),
    "aft_distribution": Parameter("normal", "`loss='aft'`: distribution of the error of the logarithmic time.", _choice(*DISTRIBUTIONS)),
    "aft_sigma": Parameter(1.0, "`loss='aft'`: scale of the error distribution.", POSITIVE),
    **COMMON,
}
CLASSIFIER = {
    "loss": Parameter("log_loss", "Loss function: 'log_loss' or 'focal', for two or more classes; the name of a registered loss; a `Loss`; or a function (y, raw) -> (gradient, hessian).", _loss(BINARY, CLASSIFICATION_LOSSES), *OWN_LOSS),
    "focal_gamma": Parameter(2.0, "`loss='focal'`: focusing parameter. 0 is log loss; larger values reduce the weight of well-classified rows.", NOT_NEGATIVE),
    **COMMON,
    "stratified": Parameter(False, "`sampling='uniform'`: whether `subsample` is applied to the rows of each class separately.", BOOL),
    "class_weight": Parameter(None, "Weights of the classes. 'balanced': inversely proportional to class frequencies.", Values("Mapping[Any, float]", dict), _choice("balanced"), NONE),
}
RANKER = {
    "loss": Parameter("lambdamart", "Loss function.\n- 'lambdamart': pairs of rows, weighted by the change of `rank_metric` if they were swapped;\n- 'pairwise': pairs of rows with equal weights;\n- 'xendcg': listwise cross-entropy, a bound of NDCG.", _choice(*RANKING)),
    "rank_metric": Parameter("ndcg", "`loss='lambdamart'`: metric to optimize: NDCG, mean average precision ('map') or mean reciprocal rank ('mrr'). For 'map' and 'mrr' rows with y > 0 are relevant.", _choice(*RANK_METRICS)),
    "lambdarank_truncation": Parameter(30, "`loss='lambdamart'`: only pairs with a row among this many at the top of the query are used.", COUNT),
    "lambdarank_norm": Parameter(True, "`loss='lambdamart'`: whether to normalize the lambdas by score differences within a pair and by the number of pairs of a query.", BOOL),
    "label_gain": Parameter(None, "Gain of the relevances 0, 1, 2, ... in NDCG. None: 2^y - 1.", ARRAY, NONE),
    **COMMON,
    "sampling_unit": Parameter("row", "`sampling='uniform'`: whether `subsample` draws rows or whole queries.", _choice("row", "query")),
}
# fmt: on

TABLES: dict[str, dict[str, Parameter]] = {"Regressor": REGRESSOR, "Classifier": CLASSIFIER, "Ranker": RANKER}


def changed(parameters: Mapping[str, Parameter], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that differ from the defaults. Only these need validation."""

    def same(name: str, value: Any) -> bool:
        default = parameters[name].default
        return type(value) is type(default) and bool(value == default)

    return {name: value for name, value in values.items() if name not in parameters or not same(name, value)}


def is_stored(parameter: Parameter, value: Any) -> bool:
    """Whether the file of an estimator has the value of a parameter."""
    return parameter.since == "0.1" or type(value) is not type(parameter.default) or bool(value != parameter.default)


def constraints(parameters: Mapping[str, Parameter]) -> dict[str, list[Any]]:
    """Return the constraints in the form of scikit-learn's `validate_parameter_constraints`."""
    return {name: parameter.allowed for name, parameter in parameters.items()}
