"""Parameters and methods of CatBoost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sapwood.params.foreign.counterpart import (
    AUTOMATIC,
    BOOSTING,
    BY_LEVEL,
    CALLBACKS,
    CATEGORIES,
    CLASS_COUNT,
    DEVICE,
    DEVICE_DETAIL,
    EVAL_METRIC,
    EVAL_SETS,
    EVERY_TREE,
    INIT_MODEL,
    L2,
    LEAF_ROWS,
    LEAVES,
    MONOTONIC,
    NO_FILES,
    OFFSET,
    POLICY,
    QID,
    RATE,
    ROUNDS,
    SAMPLING,
    SEED,
    STOPPING,
    SUBSAMPLE,
    THREADS,
    VERBOSE,
    WEIGHT,
    WEIGHT_OF_POSITIVES,
    Counterpart,
    Library,
    Method,
    fit_argument,
    losses,
    near,
    needless,
    none,
    same,
    with_synonyms,
)

LOSSES: dict[str, dict[str, Any]] = {
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
}

NAMES = with_synonyms(
    {
        ("iterations", "n_estimators", "num_boost_round", "num_trees"): ROUNDS,
        ("learning_rate", "eta"): RATE,
        ("thread_count",): THREADS,
        ("random_state", "random_seed", "random_state_seed"): SEED,
        ("depth", "max_depth"): Counterpart(
            "max_depth",
            "with the same value and grow_policy='symmetric', if trees are to be symmetric",
            lambda value: {"max_depth": value, "max_leaf_nodes": 2**value, "grow_policy": "symmetric"},
        ),
        ("max_leaves", "num_leaves"): LEAVES,
        ("l2_leaf_reg", "reg_lambda"): L2,
        ("min_data_in_leaf", "min_child_samples"): LEAF_ROWS,
        ("rsm", "colsample_bylevel"): BY_LEVEL,
        "bootstrap_type": SAMPLING,
        "subsample": SUBSAMPLE,
        "bagging_temperature": same("bagging_temperature"),
        ("sampling_frequency",): EVERY_TREE,
        "sampling_unit": Counterpart("sampling_unit", "'row' or 'query'", lambda v: {"sampling_unit": "query" if v == "Group" else "row"}),
        ("border_count", "max_bin"): Counterpart("max_bins", "one more than the number of borders", lambda v: {"max_bins": v + 1}),
        "per_float_feature_quantization": near("cut_points", "a dict of column to boundaries"),
        ("feature_border_type",): none("leave it out: borders are quantiles; cut_points sets them"),
        "boosting_type": BOOSTING,
        ("fold_permutation_block", "fold_len_multiplier", "permutation_count", "fold_size_loss_normalization"): near(
            "boosting_permutations", "the number of random row orders"
        ),
        "grow_policy": POLICY,
        ("loss_function", "objective"): losses(LOSSES),
        "leaf_estimation_method": near("step", "'newton' or 'line_search'"),
        ("leaf_estimation_iterations", "leaf_estimation_backtracking", "approx_on_full_history", "score_function"): AUTOMATIC,
        "classes_count": CLASS_COUNT,
        "scale_pos_weight": WEIGHT_OF_POSITIVES,
        "class_weights": Counterpart(
            "class_weight",
            "a dict of class to weight",
            lambda value: {"class_weight": dict(value) if isinstance(value, Mapping) else dict(enumerate(value))},
        ),
        "auto_class_weights": Counterpart("class_weight", "'balanced'", lambda value: {"class_weight": "balanced" if value else None}),
        "monotone_constraints": MONOTONIC,
        ("early_stopping_rounds", "od_wait"): STOPPING,
        "od_type": needless("leave it out: n_iter_no_change is the number of rounds without improvement"),
        "od_pval": near("tol", "the minimum improvement"),
        "cat_features": CATEGORIES,
        "one_hot_max_size": near("categorical_encoding", "'onehot' for the columns concerned; 'auto' chooses"),
        ("max_ctr_complexity",): same("max_combination"),
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
        ): near("categorical_encoding", "'target' or 'count', with target_prior, target_permutations and max_combination"),
        ("feature_weights", "penalties_coefficient"): same("feature_weights"),
        ("first_feature_use_penalties", "per_object_feature_penalties", "model_shrink_rate", "model_shrink_mode"): none(
            "there is no counterpart"
        ),
        "random_strength": Counterpart(
            "score_noise", "the standard deviation of a factor of gains", lambda value: {0: {"score_noise": 0.0}}[value]
        ),
        "langevin": none("there is no counterpart"),
        ("diffusion_temperature", "posterior_sampling", "random_score_type"): none("there is no counterpart"),
        "mvs_reg": needless("leave it out: sampling='mvs' estimates it"),
        ("nan_mode",): none("leave it out: every node learns where missing values go"),
        "input_borders": near("cut_points", "a dict of column to boundaries"),
        "output_borders": NO_FILES,
        ("verbose", "verbose_eval"): VERBOSE,
        ("logging_level", "silent", "metric_period"): needless("leave it out, and use verbose"),
        "task_type": DEVICE,
        (
            "devices",
            "device_config",
            "gpu_ram_part",
            "gpu_cat_features_storage",
            "pinned_memory_size",
            "data_partition",
        ): DEVICE_DETAIL,
        ("dev_score_calc_obj_block_size", "dev_efb_max_buckets", "sparse_features_conflict_fraction", "used_ram_limit"): AUTOMATIC,
        ("has_time", "graph", "model_size_reg", "allow_const_label", "metadata", "callback", "boost_from_average"): none("leave it out"),
        ("custom_metric", "custom_loss", "eval_metric"): EVAL_METRIC,
        ("use_best_model", "best_model_min_trees"): needless("leave it out: predictions use the best round of early stopping"),
        ("name", "train_dir", "allow_writing_files", "roc_file"): NO_FILES,
        ("save_snapshot", "snapshot_file", "snapshot_interval"): fit_argument(
            "checkpoint", "the path of a file from which an interrupted fit resumes"
        ),
        "ignored_features": none("drop these columns of X"),
        ("text_features", "tokenizers", "dictionaries", "feature_calcers", "text_processing"): none(
            "turn text into numbers first, for example with sklearn.feature_extraction.text"
        ),
        ("embedding_features", "fixed_binary_splits", "force_unit_auto_pair_weights", "pairs", "pairs_weight"): none(
            "there is no counterpart"
        ),
        ("target_border", "class_names"): needless("leave it out: y holds the classes"),
        "text_processing_options": none("turn text into numbers first, for example with sklearn.feature_extraction.text"),
        "eval_fraction": same("validation_fraction"),
        # fit
        "eval_set": EVAL_SETS,
        "baseline": OFFSET,
        "group_id": QID,
        ("subgroup_id", "group_weight"): none("use sample_weight: a query has the mean weight of its rows"),
        ("plot", "plot_file", "column_description", "log_cout", "log_cerr"): needless("leave it out; see sapwood.plots"),
        ("sample_weight", "sample_weights"): WEIGHT,
        "init_model": INIT_MODEL,
        "callbacks": CALLBACKS,
    }
)

METHODS = (
    Method("CatBoostClassifier", "BoostingClassifier"),
    Method("CatBoostRegressor", "BoostingRegressor"),
    Method("CatBoostRanker", "BoostingRanker"),
    Method("Pool", "", "not needed: fit and predict take tables"),
    Method("train(pool, params)", "fit"),
    Method("cv(pool, params)", "cv"),
    Method("sum_models", "merge"),
    Method("fit", "fit"),
    Method("predict", "predict"),
    Method("predict_proba", "predict_proba"),
    Method("predict(prediction_type='RawFormulaVal')", "decision_function", "of classifiers; model_.predict(X, raw=True) for all"),
    Method("predict(ntree_start=0, ntree_end=10)", "predict(rounds=(0, 10))"),
    Method("staged_predict", "staged_predict"),
    Method("staged_predict_proba", "staged_predict_proba"),
    Method("calc_leaf_indexes", "apply"),
    Method("score", "score"),
    Method("evals_result_", "evals_result_", "needs eval_metric in fit"),
    Method("best_iteration_", "best_iteration_", "a number of rounds: one more than CatBoost's index"),
    Method("tree_count_", "best_iteration_"),
    Method("feature_importances_", "feature_importances_", "normalized gain; CatBoost's is PredictionValuesChange in percent"),
    Method("get_feature_importance(type='ShapValues')", "explain", "explain(X).values, and .base_values apart"),
    Method("get_feature_importance(type='Interaction')", "explain(interactions=True)"),
    Method("save_model(path)", "save"),
    Method("save_model(path, format='cpp')", "export('c')", "format='onnx': export('onnx')"),
    Method("load_model(path)", "load", "sapwood.load(path)"),
    Method("shrink", "__getitem__", "model[:10]"),
    Method("plot_tree", "plots.plot_tree"),
    Method("plot_partial_dependence", "plots.plot_dependence"),
)
DEFAULTS = {
    "max_iter": 1000,
    "learning_rate": 0.03,
    "max_depth": 6,
    "max_leaf_nodes": None,
    "grow_policy": "symmetric",
    "min_samples_leaf": 1,
    "l2_regularization": 3.0,
    "max_bins": 255,
    "sampling": "mvs",
    "subsample": 0.8,
    "shared_trees": 1,
    "early_stopping": False,
}


def adjust(given: Mapping[str, Any], ours: dict[str, Any]) -> None:
    """`depth` does not make trees symmetric if another policy is given; Lossguide has 31 leaves unless they are given."""
    policy = given.get("grow_policy", "SymmetricTree")
    if policy != "SymmetricTree":
        ours.update(POLICY.translate(policy))
        leaves = next((given[name] for name in ("max_leaves", "num_leaves") if name in given), 31)
        ours["max_leaf_nodes"] = leaves if policy == "Lossguide" else None
    if ours.get("sampling") == "bayesian":
        ours.pop("subsample", None)


LIBRARY = Library("CatBoost", NAMES, LOSSES, METHODS, DEFAULTS, adjust)
