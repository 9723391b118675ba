"""Table of the parameters of XGBoost, LightGBM, CatBoost and scikit-learn, with their counterparts in Sapwood.

The error for an unknown parameter uses it to name the counterpart and to translate the value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

XGBOOST, LIGHTGBM, CATBOOST, SKLEARN = "XGBoost", "LightGBM", "CatBoost", "scikit-learn"


@dataclass(frozen=True)
class Counterpart:
    """Counterpart of a parameter of another library.

    Attributes
    ----------
    ours : name of the parameter of Sapwood, or of the argument of `fit`; empty if there is none
    note : how the value translates, or why there is no counterpart
    convert : function of the value that returns parameters of Sapwood with their values; None if there is no rule
    in_fit : whether `ours` is an argument of `fit`
    """

    ours: str
    note: str = "with the same value"
    convert: Callable[[Any], Mapping[str, Any]] | None = None
    in_fit: bool = False

    def translate(self, value: Any) -> Mapping[str, Any]:
        """Return the parameters of Sapwood for a value; empty if there is no rule for it."""
        if self.convert is None:
            return {}
        try:
            return self.convert(value)
        except (TypeError, ValueError, KeyError, AttributeError):
            return {}

    def describe(self, of_fit: bool = False) -> str:
        """Return advice that does not depend on the value. `of_fit`: whether the parameter was passed to `fit`."""
        where = f"fit({self.ours}=...)" if self.in_fit else f"{self.ours} of the constructor" if of_fit else self.ours
        return f"use {where}, {self.note}" if self.ours else self.note


def _same(ours: str, note: str = "with the same value") -> Counterpart:
    return Counterpart(ours, note, lambda value: {ours: value})


def _fit(ours: str, note: str = "with the same value") -> Counterpart:
    return Counterpart(ours, note, lambda value: {ours: value}, in_fit=True)


def _none(why: str) -> Counterpart:
    return Counterpart("", why)


def _limit(ours: str) -> Counterpart:
    """Return the counterpart of a limit for which 0 and negative values mean no limit in the other library."""
    note = "with the same value; None where the other library has 0 or -1"
    return Counterpart(ours, note, lambda value: {ours: value if value is not None and value > 0 else None})


def _rounds(value: Any) -> dict[str, Any]:
    return {"early_stopping": True, "n_iter_no_change": value} if value else {"early_stopping": False}


def _mapped(ours: str, table: Mapping[str, Mapping[str, Any]], note: str) -> Counterpart:
    return Counterpart(ours, note, lambda value: table[str(value).partition(":alpha=")[0]])


ROUNDS = _same("max_iter")
RATE = _same("learning_rate")
SEED = _same("random_state")
THREADS = _same("n_jobs")
LEAVES = _limit("max_leaf_nodes")
DEPTH = _limit("max_depth")
L1, L2 = _same("l1_regularization"), _same("l2_regularization")
GAIN = _same("min_gain", "with the same value: both are G^2 / (H + l2) of the children minus that of the parent")
HESSIAN = _same("min_hessian")
LEAF_ROWS = _same("min_samples_leaf")
SUBSAMPLE = _same("subsample", "with the same value; a new sample is drawn for every tree")
EVERY_TREE = _none("leave it out: a new sample is drawn for every tree")
BY_TREE, BY_LEVEL, BY_NODE = _same("max_features_tree"), _same("max_features_level"), _same("max_features")
BINS = Counterpart("max_bins", "without the bin for missing values: one less", lambda value: {"max_bins": min(value - 1, 65_535)})
STOPPING = Counterpart("n_iter_no_change", "with the same value, and early_stopping=True", _rounds)
MIN_DELTA = _same("tol")
CATEGORIES = _same("categorical_features", "which takes names, positions, dtypes or a mask; categorical columns of data frames are found")
MONOTONIC = _same("monotonic_cst")
INTERACTION = _same("interaction_cst")
VERBOSE = Counterpart("verbose", "0 for none, 1 for a progress bar, 2 for a line per round", lambda value: {"verbose": max(0, int(value))})
CPU_ONLY = _none("leave it out: Sapwood trains on CPUs")
AUTOMATIC = _none("leave it out: it is chosen automatically, and does not change the model")
REPRODUCIBLE = _none("leave it out: fits are always reproducible")
NO_FILES = _none("leave it out: fit takes tables, and no files are written unless asked for")
CLASS_COUNT = _none("leave it out: the number of classes is that of y")
NO_LINEAR = _none("leave it out: leaves hold constants, and the model is always made of trees")
MISSING_IS_SEEN = _same("missing", "which lists further values that are missing; NaN always is")
EVAL_METRIC = _fit("eval_metric")
CALLBACKS = _fit("callbacks", "with callbacks of sapwood.callbacks")
OFFSET = _fit("offset", "with the initial raw predictions")
EVAL_SETS = _fit("eval_sets", "with the same (X, y) pairs; a single set decides on early stopping. Or fit(X_val=..., y_val=...)")
IN_EVAL_SETS = _fit("eval_sets", "whose sets are (X, y, sample_weight, offset), or dicts of the arguments of fit")
GROUP, QID = _fit("group"), _fit("qid")
INIT_MODEL = _fit("init_model", "with a fitted estimator, a Model or a path")
NO_NAMES = _none("leave it out: names are those of the columns of a data frame")
WEIGHT_OF_POSITIVES = Counterpart(
    "class_weight", "a dict of class to weight", lambda value: {"class_weight": {0: 1.0, 1: float(value)}} if value != 1 else {}
)

LOSSES: dict[str, dict[str, dict[str, Any]]] = {
    XGBOOST: {
        "reg:squarederror": {"loss": "squared_error"},
        "reg:absoluteerror": {"loss": "absolute_error"},
        "reg:pseudohubererror": {"loss": "huber"},
        "reg:quantileerror": {"loss": "quantile"},
        "reg:gamma": {"loss": "gamma"},
        "reg:tweedie": {"loss": "tweedie"},
        "reg:logistic": {"loss": "log_loss"},
        "count:poisson": {"loss": "poisson"},
        "survival:cox": {"loss": "cox"},
        "survival:aft": {"loss": "aft"},
        "binary:logistic": {"loss": "log_loss"},
        "binary:logitraw": {"loss": "log_loss"},
        "multi:softprob": {"loss": "log_loss"},
        "multi:softmax": {"loss": "log_loss"},
        "rank:ndcg": {"loss": "lambdamart"},
        "rank:map": {"loss": "lambdamart", "rank_metric": "map"},
        "rank:pairwise": {"loss": "pairwise"},
    },
    LIGHTGBM: {
        **{key: {"loss": "squared_error"} for key in ("regression", "regression_l2", "l2", "mean_squared_error", "mse", "rmse")},
        **{key: {"loss": "absolute_error"} for key in ("regression_l1", "l1", "mean_absolute_error", "mae")},
        "huber": {"loss": "huber"},
        "poisson": {"loss": "poisson"},
        "quantile": {"loss": "quantile"},
        "mape": {"loss": "mape"},
        "gamma": {"loss": "gamma"},
        "tweedie": {"loss": "tweedie"},
        **{key: {"loss": "log_loss"} for key in ("binary", "multiclass", "softmax", "cross_entropy", "xentropy")},
        "lambdarank": {"loss": "lambdamart"},
        "rank_xendcg": {"loss": "xendcg"},
    },
    CATBOOST: {
        "RMSE": {"loss": "squared_error"},
        "MAE": {"loss": "absolute_error"},
        "MAPE": {"loss": "mape"},
        "Poisson": {"loss": "poisson"},
        "Quantile": {"loss": "quantile"},
        "Expectile": {"loss": "expectile"},
        "LogCosh": {"loss": "log_cosh"},
        "Huber": {"loss": "huber"},
        "Tweedie": {"loss": "tweedie"},
        "Focal": {"loss": "focal"},
        "Cox": {"loss": "cox"},
        "SurvivalAft": {"loss": "aft"},
        **{key: {"loss": "log_loss"} for key in ("Logloss", "CrossEntropy", "MultiClass", "MultiLogloss")},
        "LambdaMart": {"loss": "lambdamart"},
        "PairLogit": {"loss": "pairwise"},
        "YetiRank": {"loss": "lambdamart"},
    },
    SKLEARN: {
        "ls": {"loss": "squared_error"},
        "lad": {"loss": "absolute_error"},
        "deviance": {"loss": "log_loss"},
    },
}


def _losses(library: str) -> Counterpart:
    return _mapped("loss", LOSSES[library], "for example 'squared_error', 'log_loss' or 'lambdamart'")


def _with_synonyms(entries: Mapping[str | tuple[str, ...], Counterpart]) -> dict[str, Counterpart]:
    return {name: entry for names, entry in entries.items() for name in ((names,) if isinstance(names, str) else names)}


BOOSTERS = {
    **{key: {"boosting": "plain"} for key in ("gbtree", "gbdt", "traditional", "Plain")},
    "dart": {"boosting": "dart"},
    "Ordered": {"boosting": "ordered"},
    **{key: {"boosting": "forest"} for key in ("rf", "random_forest")},
    "goss": {"sampling": "goss"},
}
BOOSTING = _mapped("boosting", BOOSTERS, "'plain', 'ordered', 'dart' or 'forest'")
POLICIES = {
    **{key: {"grow_policy": "depthwise"} for key in ("depthwise", "Depthwise")},
    **{key: {"grow_policy": "leafwise"} for key in ("lossguide", "Lossguide")},
    "SymmetricTree": {"grow_policy": "symmetric"},
}
SAMPLINGS: dict[str, dict[str, Any]] = {
    "uniform": {"sampling": "uniform"},
    "gradient_based": {"sampling": "mvs"},
    "goss": {"sampling": "goss"},
    "bagging": {"sampling": "uniform"},
    "Bayesian": {"sampling": "bayesian"},
    "Bernoulli": {"sampling": "uniform"},
    "MVS": {"sampling": "mvs"},
    "No": {"sampling": "uniform", "subsample": 1.0},
}
SAMPLING = _mapped("sampling", SAMPLINGS, "'uniform', 'goss', 'mvs' or 'bayesian'")

NAMES: dict[str, dict[str, Counterpart]] = {
    XGBOOST: _with_synonyms(
        {
            ("n_estimators", "num_boost_round", "num_round", "num_parallel_tree"): ROUNDS,
            "eta": RATE,
            ("nthread",): THREADS,
            ("seed",): SEED,
            "max_leaves": LEAVES,
            ("reg_lambda", "lambda"): L2,
            ("reg_alpha", "alpha"): L1,
            ("gamma", "min_split_loss"): GAIN,
            "min_child_weight": HESSIAN,
            "max_delta_step": Counterpart("max_step", "with the same value; None instead of 0", lambda v: {"max_step": v or None}),
            "colsample_bytree": BY_TREE,
            "colsample_bylevel": BY_LEVEL,
            "colsample_bynode": BY_NODE,
            "sampling_method": SAMPLING,
            "max_bin": Counterpart("max_bins", "with the same value, at most 65,535", lambda value: {"max_bins": min(value, 65_535)}),
            "booster": BOOSTING,
            "rate_drop": _same("drop_rate"),
            "one_drop": _none("leave it out: use skip_drop and drop_rate"),
            ("sample_type", "normalize_type"): _none("leave it out: dropped trees are drawn uniformly, and scaled as in the DART paper"),
            ("objective",): _losses(XGBOOST),
            "quantile_alpha": _same("quantile"),
            "huber_slope": _same("huber_delta"),
            "expectile_alpha": _same("expectile"),
            "tweedie_variance_power": _same("tweedie_power"),
            "aft_loss_distribution": _same("aft_distribution"),
            "aft_loss_distribution_scale": _same("aft_sigma"),
            "num_class": CLASS_COUNT,
            "scale_pos_weight": WEIGHT_OF_POSITIVES,
            "monotone_constraints": MONOTONIC,
            "interaction_constraints": INTERACTION,
            "early_stopping_rounds": STOPPING,
            ("enable_categorical", "feature_types"): CATEGORIES,
            ("max_cat_to_onehot", "max_cat_threshold"): _same("categorical_encoding", "'onehot' or 'partition'; 'auto' chooses"),
            ("verbosity", "verbose_eval"): VERBOSE,
            ("device", "gpu_id", "predictor"): CPU_ONLY,
            "base_score": OFFSET,
            "importance_type": _none("leave it out, and call importances('gain'), importances('split') or importances('cover')"),
            "validate_parameters": _none("leave it out: parameters are always checked"),
            ("lambdarank_num_pair_per_sample", "lambdarank_pair_method"): _same("lambdarank_truncation", "a number of rows"),
            "lambdarank_normalization": _same("lambdarank_norm"),
            ("lambdarank_score_normalization", "lambdarank_unbiased", "lambdarank_bias_norm", "ndcg_exp_gain"): _none(
                "there is no counterpart; lambdarank_norm and label_gain are close"
            ),
            ("updater", "refresh_leaf", "process_type", "max_cached_hist_node", "extmem_single_page", "cache_host_ratio"): AUTOMATIC,
            ("feature_selector", "top_k"): NO_LINEAR,
            # fit
            "eval_set": EVAL_SETS,
            "evals": EVAL_SETS,
            ("sample_weight_eval_set", "base_margin_eval_set", "eval_group", "eval_qid"): IN_EVAL_SETS,
            "base_margin": OFFSET,
            "xgb_model": INIT_MODEL,
            ("eval_metric", "feval", "custom_metric"): EVAL_METRIC,
            "callbacks": CALLBACKS,
            "iteration_range": _none("use predict(rounds=(first, last))"),
            "output_margin": _none("use decision_function, or model_.predict(X, raw=True)"),
            "pred_contribs": _none("use explain(X)"),
        }
    ),
    LIGHTGBM: _with_synonyms(
        {
            (
                "n_estimators",
                "num_iterations",
                "num_iteration",
                "n_iter",
                "num_tree",
                "num_trees",
                "num_round",
                "num_rounds",
                "nrounds",
                "num_boost_round",
            ): ROUNDS,
            ("shrinkage_rate", "eta"): RATE,
            ("num_threads", "num_thread", "nthread", "nthreads"): THREADS,
            ("seed", "random_seed"): SEED,
            ("num_leaves", "num_leaf", "max_leaves", "max_leaf"): LEAVES,
            ("reg_lambda", "lambda_l2", "lambda"): L2,
            ("reg_alpha", "lambda_l1", "l1_regularization"): L1,
            ("min_split_gain", "min_gain_to_split"): GAIN,
            (
                "min_child_weight",
                "min_sum_hessian_in_leaf",
                "min_sum_hessian_per_leaf",
                "min_sum_hessian",
                "min_hessian",
            ): HESSIAN,
            ("min_child_samples", "min_data_in_leaf", "min_data_per_leaf", "min_data"): LEAF_ROWS,
            ("max_delta_step", "max_tree_output", "max_leaf_output"): Counterpart(
                "max_step", "with the same value; None instead of 0", lambda v: {"max_step": v or None}
            ),
            ("colsample_bytree", "feature_fraction", "sub_feature"): BY_TREE,
            ("feature_fraction_bynode", "sub_feature_bynode", "colsample_bynode"): BY_NODE,
            ("bagging_fraction", "sub_row", "bagging"): SUBSAMPLE,
            ("subsample_freq", "bagging_freq"): EVERY_TREE,
            "bagging_by_query": _same("sampling_unit", "'query'"),
            ("pos_bagging_fraction", "pos_sub_row", "pos_subsample", "pos_bagging"): _same("stratified", "with subsample"),
            ("neg_bagging_fraction", "neg_sub_row", "neg_subsample", "neg_bagging"): _same("stratified", "with subsample"),
            "data_sample_strategy": SAMPLING,
            "top_rate": _same("goss_top"),
            "other_rate": _same("goss_other"),
            ("max_bin",): Counterpart("max_bins", "with the same value, at most 65,535", lambda value: {"max_bins": min(value, 65_535)}),
            "max_bin_by_feature": _same("max_bins", "one number for each feature"),
            ("min_data_in_bin",): _same("min_rows_in_bin"),
            ("bin_construct_sample_cnt", "subsample_for_bin"): _same("bin_sample_rows"),
            ("forcedbins_filename",): _same("cut_points", "a dict of column to boundaries"),
            ("forcedsplits_filename", "forced_splits_filename", "forced_splits_file", "fs"): _same("forced_splits"),
            ("boosting_type", "boosting", "boost"): BOOSTING,
            ("drop_rate", "rate_drop"): _same("drop_rate"),
            ("uniform_drop", "xgboost_dart_mode"): _none(
                "leave it out: dropped trees are drawn uniformly, and scaled as in the DART paper"
            ),
            ("objective", "objective_type", "app", "application"): _losses(LIGHTGBM),
            "alpha": _same("quantile", "with the same value for loss='quantile'; huber_delta for loss='huber'"),
            "tweedie_variance_power": _same("tweedie_power"),
            ("num_class", "num_classes"): CLASS_COUNT,
            "scale_pos_weight": WEIGHT_OF_POSITIVES,
            ("is_unbalance", "unbalance", "unbalanced_sets"): Counterpart(
                "class_weight", "'balanced'", lambda value: {"class_weight": "balanced" if value else None}
            ),
            ("monotone_constraints", "mc", "monotone_constraint", "monotonic_cst"): MONOTONIC,
            ("monotone_constraints_method", "monotone_constraining_method", "mc_method"): _same(
                "monotonic_method", "'basic' or 'neighbours' (LightGBM: 'intermediate' or 'advanced')"
            ),
            ("monotone_penalty", "monotone_splits_penalty", "ms_penalty", "mc_penalty"): _none("there is no counterpart"),
            "interaction_constraints": INTERACTION,
            ("early_stopping_round", "early_stopping_rounds", "early_stopping", "n_iter_no_change"): STOPPING,
            "early_stopping_min_delta": MIN_DELTA,
            "first_metric_only": _none("leave it out: early stopping uses scoring, or the first metric of the set"),
            ("categorical_feature", "cat_feature", "categorical_column", "cat_column", "categorical_features"): CATEGORIES,
            "max_cat_to_onehot": _same("categorical_encoding", "'onehot'; 'auto' chooses"),
            ("max_cat_threshold",): _none("there is no counterpart; see cat_smooth, cat_l2 and min_samples_level"),
            ("min_data_per_group",): _same("min_samples_level"),
            ("feature_contri", "feature_contrib", "fc", "fp", "feature_penalty"): _same("feature_weights"),
            ("verbosity", "verbose"): VERBOSE,
            ("device_type", "device", "gpu_platform_id", "gpu_device_id", "gpu_device_id_list", "gpu_use_dp", "num_gpu"): CPU_ONLY,
            ("extra_tree",): _same("extra_trees"),
            "extra_seed": SEED,
            (
                "bagging_seed",
                "bagging_fraction_seed",
                "feature_fraction_seed",
                "drop_seed",
                "data_seed",
                "data_random_seed",
                "objective_seed",
            ): SEED,
            ("deterministic", "force_col_wise", "force_row_wise"): REPRODUCIBLE,
            ("label_gain",): _same("label_gain"),
            ("lambdarank_truncation_level",): _same("lambdarank_truncation"),
            "lambdarank_position_bias_regularization": _none("there is no counterpart"),
            ("linear_tree", "linear_trees", "linear_lambda"): NO_LINEAR,
            ("refit_decay_rate",): _none("use refit(X, y, decay=...)"),
            ("tree_learner", "tree", "tree_type", "tree_learner_type", "histogram_pool_size", "hist_pool_size"): AUTOMATIC,
            ("boost_from_average", "reg_sqrt", "sigmoid"): _none("leave it out: training starts from the best constant"),
            ("enable_bundle", "is_enable_bundle", "bundle", "is_sparse", "is_enable_sparse", "enable_sparse", "sparse"): AUTOMATIC,
            ("use_missing", "zero_as_missing"): MISSING_IS_SEEN,
            ("feature_pre_filter", "precise_float_parser", "two_round", "two_round_loading", "use_two_round_loading"): AUTOMATIC,
            ("use_quantized_grad", "num_grad_quant_bins", "quant_train_renew_leaf", "stochastic_rounding"): AUTOMATIC,
            (
                "cegb_tradeoff",
                "cegb_penalty_split",
                "cegb_penalty_feature_lazy",
                "cegb_penalty_feature_coupled",
                "auc_mu_weights",
                "multi_error_top_k",
                "fair_c",
                "poisson_max_delta_step",
                "top_k",
                "topk",
            ): _none("there is no counterpart"),
            (
                "config",
                "config_file",
                "data",
                "train",
                "train_data",
                "train_data_file",
                "data_filename",
                "valid",
                "test",
                "valid_data",
                "valid_data_file",
                "test_data",
                "test_data_file",
                "valid_filenames",
                "task",
                "task_type",
                "snapshot_freq",
                "save_period",
                "input_model",
                "model_input",
                "model_in",
                "output_model",
                "model_output",
                "model_out",
                "saved_feature_importance_type",
                "header",
                "has_header",
                "label_column",
                "label",
                "weight_column",
                "weight",
                "group_column",
                "query_column",
                "query_id_column",
                "ignore_column",
                "ignore_feature",
                "blacklist",
                "parser_config_file",
                "save_binary",
                "is_save_binary",
                "is_save_binary_file",
                "pre_partition",
                "is_pre_partition",
                "output_result",
                "predict_result",
                "prediction_result",
                "predict_name",
                "prediction_name",
                "pred_name",
                "name_pred",
                "convert_model",
                "convert_model_file",
                "convert_model_language",
                "metric_freq",
                "output_freq",
                "is_provide_training_metric",
                "training_metric",
                "is_training_metric",
                "train_metric",
                "eval_at",
                "ndcg_eval_at",
                "ndcg_at",
                "map_eval_at",
                "map_at",
                "machines",
                "workers",
                "nodes",
                "num_machines",
                "num_machine",
                "local_listen_port",
                "local_port",
                "port",
                "time_out",
                "machine_list_filename",
                "machine_list_file",
                "machine_list",
                "mlist",
            ): NO_FILES,
            (
                "start_iteration_predict",
                "num_iteration_predict",
                "predict_raw_score",
                "is_predict_raw_score",
                "predict_rawscore",
                "raw_score",
                "predict_leaf_index",
                "is_predict_leaf_index",
                "leaf_index",
                "predict_contrib",
                "is_predict_contrib",
                "contrib",
                "predict_disable_shape_check",
                "pred_early_stop",
                "pred_early_stop_freq",
                "pred_early_stop_margin",
            ): _none("use the arguments of predict (rounds, early_exit), apply(X) for leaves, or explain(X)"),
            ("metric", "metrics", "metric_types"): EVAL_METRIC,
            "importance_type": _none("leave it out, and call importances('gain'), importances('split') or importances('cover')"),
            # fit
            ("eval_set", "valid_sets"): EVAL_SETS,
            ("eval_names", "eval_sample_weight", "eval_class_weight", "eval_init_score", "eval_group", "eval_X", "eval_y"): IN_EVAL_SETS,
            "eval_metric": EVAL_METRIC,
            "init_score": OFFSET,
            "feature_name": NO_NAMES,
            "callbacks": CALLBACKS,
            ("query", "group_id", "query_id"): GROUP,
        }
    ),
    CATBOOST: _with_synonyms(
        {
            ("iterations", "n_estimators", "num_boost_round", "num_trees"): ROUNDS,
            "eta": RATE,
            ("thread_count",): THREADS,
            ("random_seed",): SEED,
            "depth": Counterpart(
                "max_depth",
                "with the same value and grow_policy='symmetric', if trees are to be symmetric",
                lambda value: {"max_depth": value, "max_leaf_nodes": 2**value, "grow_policy": "symmetric"},
            ),
            ("max_leaves", "num_leaves"): LEAVES,
            ("l2_leaf_reg", "reg_lambda"): L2,
            ("min_data_in_leaf", "min_child_samples"): LEAF_ROWS,
            ("rsm", "colsample_bylevel"): BY_LEVEL,
            "bootstrap_type": SAMPLING,
            ("sampling_frequency",): EVERY_TREE,
            "sampling_unit": Counterpart(
                "sampling_unit", "'row' or 'query'", lambda v: {"sampling_unit": "query" if v == "Group" else "row"}
            ),
            ("border_count", "max_bin"): Counterpart("max_bins", "one more than the number of borders", lambda v: {"max_bins": v + 1}),
            "per_float_feature_quantization": _same("cut_points", "a dict of column to boundaries"),
            ("feature_border_type",): _none("leave it out: borders are quantiles; cut_points sets them"),
            "boosting_type": BOOSTING,
            ("fold_permutation_block", "fold_len_multiplier", "permutation_count", "fold_size_loss_normalization"): _same(
                "boosting_permutations", "the number of random row orders"
            ),
            "grow_policy": _mapped("grow_policy", POLICIES, "'symmetric', 'depthwise' or 'leafwise'"),
            ("loss_function", "objective"): _losses(CATBOOST),
            "leaf_estimation_method": _same("step", "'newton' or 'line_search'"),
            ("leaf_estimation_iterations", "leaf_estimation_backtracking", "approx_on_full_history", "score_function"): AUTOMATIC,
            "classes_count": CLASS_COUNT,
            "scale_pos_weight": WEIGHT_OF_POSITIVES,
            "class_weights": _same("class_weight", "a dict of class to weight"),
            "auto_class_weights": Counterpart("class_weight", "'balanced'", lambda value: {"class_weight": "balanced" if value else None}),
            "monotone_constraints": MONOTONIC,
            ("early_stopping_rounds", "od_wait"): STOPPING,
            "od_type": STOPPING,
            "od_pval": MIN_DELTA,
            "cat_features": CATEGORIES,
            "one_hot_max_size": _same("categorical_encoding", "'onehot' for the columns concerned; 'auto' chooses"),
            ("max_ctr_complexity",): _same("max_combination"),
            (
                "simple_ctr",
                "combinations_ctr",
                "per_feature_ctr",
                "ctr_target_border_count",
                "counter_calc_method",
                "ctr_leaf_count_limit",
                "ctr_history_unit",
                "store_all_simple_ctr",
                "final_ctr_computation_mode",
                "ctr_description",
            ): _same("categorical_encoding", "'target' or 'count', with target_prior, target_permutations and max_combination"),
            ("feature_weights", "penalties_coefficient"): _same("feature_weights"),
            ("first_feature_use_penalties", "per_object_feature_penalties", "model_shrink_rate", "model_shrink_mode"): _none(
                "there is no counterpart"
            ),
            "random_strength": _same("score_noise", "the standard deviation of a factor of gains"),
            "langevin": _none("there is no counterpart"),
            ("diffusion_temperature", "posterior_sampling", "random_score_type"): _none("there is no counterpart"),
            "mvs_reg": _none("leave it out: sampling='mvs' estimates it"),
            ("nan_mode",): _none("leave it out: every node learns where missing values go"),
            "input_borders": _same("cut_points", "a dict of column to boundaries"),
            "output_borders": NO_FILES,
            ("logging_level", "verbose", "verbose_eval", "silent", "metric_period"): Counterpart(
                "verbose", "0 for none, 1 for a progress bar, 2 for a line per round"
            ),
            (
                "task_type",
                "devices",
                "device_config",
                "gpu_ram_part",
                "gpu_cat_features_storage",
                "pinned_memory_size",
                "data_partition",
            ): CPU_ONLY,
            ("dev_score_calc_obj_block_size", "dev_efb_max_buckets", "sparse_features_conflict_fraction", "used_ram_limit"): AUTOMATIC,
            ("has_time", "graph", "model_size_reg", "allow_const_label", "metadata", "callback", "boost_from_average"): _none(
                "leave it out"
            ),
            ("custom_metric", "custom_loss", "eval_metric"): EVAL_METRIC,
            ("use_best_model", "best_model_min_trees"): _none("leave it out: predictions use the best round of early stopping"),
            ("name", "train_dir", "save_snapshot", "snapshot_file", "snapshot_interval", "allow_writing_files", "roc_file"): _fit(
                "checkpoint", "the path of a file from which an interrupted fit resumes"
            ),
            ("ignored_features",): _none("drop these columns of X"),
            ("text_features", "tokenizers", "dictionaries", "feature_calcers", "text_processing"): _none(
                "turn text into numbers first, for example with sklearn.feature_extraction.text"
            ),
            ("embedding_features", "fixed_binary_splits", "force_unit_auto_pair_weights", "pairs", "pairs_weight"): _none(
                "there is no counterpart"
            ),
            ("target_border", "class_names"): _none("leave it out: y holds the classes"),
            ("text_processing_options", "eval_fraction"): _same("validation_fraction"),
            ("random_state_seed",): SEED,
            # fit
            "eval_set": EVAL_SETS,
            "baseline": OFFSET,
            "group_id": QID,
            ("subgroup_id", "group_weight"): _none("use sample_weight: a query has the mean weight of its rows"),
            ("plot", "plot_file", "column_description", "log_cout", "log_cerr"): _none("leave it out; see sapwood.plots"),
            "sample_weights": _fit("sample_weight"),
            "callbacks": CALLBACKS,
        }
    ),
    SKLEARN: _with_synonyms(
        {
            "n_estimators": ROUNDS,
            "alpha": _same("quantile", "with the same value for loss='quantile'; huber_delta for loss='huber'"),
            "criterion": _none("leave it out: splits are chosen by the gradients of the loss"),
            "min_samples_split": _none("leave it out: use min_samples_leaf"),
            "min_weight_fraction_leaf": HESSIAN,
            "min_impurity_decrease": _same("min_gain", "which is not divided by the number of rows"),
            "ccp_alpha": _same("min_gain", "or boosting='ordered', which prunes"),
            "bootstrap": _same("subsample", "with boosting='forest'"),
            "oob_score": _none("there is no counterpart; early stopping and sapwood.cv use rows that were not trained on"),
            "max_samples": SUBSAMPLE,
            "scorer": _same("scoring"),
            "monitor": CALLBACKS,
        }
    ),
}


def find(name: str) -> dict[str, Counterpart]:
    """Return the counterparts of a parameter by library; empty if no library has it."""
    return {library: names[name] for library, names in NAMES.items() if name in names}


def advice(name: str, value: Any, known: Iterable[str], of_fit: bool = False) -> str | None:
    """Return what to use instead of a parameter of another library; None if the name is not known.

    `known` are the parameters of the estimator and the arguments of `fit`: others are not advised. `of_fit`: it was given to `fit`.
    """
    known = set(known)
    usable = {library: one for library, one in find(name).items() if not one.ours or one.ours in known}
    translated: dict[str, list[str]] = {}
    described: dict[str, list[str]] = {}
    for library, one in usable.items():
        values = {} if one.in_fit else one.translate(value)
        if values:
            text = f"use {', '.join(f'{key}={own!r}' for key, own in values.items())}{' in the constructor' if of_fit else ''}"
            translated.setdefault(text, []).append(library)
        else:
            described.setdefault(one.describe(of_fit), []).append(library)
    found = translated or described
    return f"it is a parameter of {'; of '.join(f'{_listed(of)}: {text}' for text, of in found.items())}" if found else None


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
