"""Weights of rows: weight 0 is the same as absence, byte for byte."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from sapwood import BoostingClassifier, BoostingRanker, BoostingRegressor

RNG = np.random.default_rng(0)
N = 1_500
WEIGHT = RNG.integers(0, 3, N) / 2
KEPT = WEIGHT > 0
NUMBERS = RNG.normal(size=(N, 4)).round(2)
NUMBERS[RNG.random(NUMBERS.shape) < 0.05] = np.nan
CODES = RNG.integers(0, 300, N)
FRAME = pd.DataFrame(NUMBERS, columns=list("abcd")).assign(
    few=RNG.choice(list("uvwxyz"), N), many=np.array([f"level {i}" for i in range(300)])[CODES]
)
Y = np.nan_to_num(NUMBERS[:, 0]) + RNG.normal(size=300)[CODES] + 0.5 * RNG.normal(size=N)
CLASSES = np.digitize(Y, [-1, 1])
SPARSE = sp.csr_array(np.where(np.abs(np.nan_to_num(NUMBERS)) < 1, 0, NUMBERS))
CATEGORICAL = FRAME.assign(many=FRAME["many"].astype("category"))


def regressor(**parameters):
    return BoostingRegressor(max_iter=8, **parameters)


def classifier(**parameters):
    return BoostingClassifier(max_iter=8, **parameters)


FITS = {
    "numbers": (regressor(), NUMBERS, Y),
    "sparse": (regressor(), SPARSE, Y),
    "categories": (regressor(), FRAME, Y),
    "categories, pandas": (classifier(), CATEGORICAL, CLASSES),
    "categories, early stopping": (classifier(early_stopping=True), FRAME, CLASSES),
    "target means": (regressor(categorical_encoding="target", target_permutations=2), FRAME, Y),
    "combinations": (regressor(categorical_encoding="target", max_combination=2), FRAME, Y),
    "counts": (regressor(categorical_encoding="count"), FRAME, Y),
    "folds": (regressor(early_stopping=True, validation_folds=3), FRAME, Y),
    "balanced classes": (classifier(class_weight="balanced"), NUMBERS, CLASSES),
    "weighted classes": (classifier(class_weight={0: 1, 1: 2.5, 2: 1}), NUMBERS, CLASSES),
    "sampling": (classifier(subsample=0.5), NUMBERS, CLASSES),
    "goss": (regressor(sampling="goss"), NUMBERS, Y),
    "ordered": (regressor(boosting="ordered"), FRAME, Y),
    "sample of rows for bins": (regressor(bin_sample_rows=300), NUMBERS, Y),
    "sketch of rows for bins": (regressor(bin_sample_rows=None, min_rows_in_bin=20), NUMBERS, Y),
    "exact": (regressor(tree_method="exact"), NUMBERS, Y),
    "symmetric": (regressor(grow_policy="symmetric"), FRAME, Y),
}


@pytest.mark.parametrize("case", FITS.values(), ids=FITS)
@pytest.mark.parametrize("weight", [WEIGHT, KEPT.astype(float)], ids=["weights", "zeros and ones"])
def test_rows_of_weight_zero_have_no_influence(case, weight):
    estimator, X, y = case
    given = clone(estimator).fit(X, y, sample_weight=weight)
    without = clone(estimator).fit(X[KEPT], y[KEPT], sample_weight=weight[KEPT])
    assert given.model_.to_bytes() == without.model_.to_bytes()


def test_rows_without_a_target_have_no_influence():
    y = np.column_stack([Y, np.abs(Y)])
    y[~KEPT] = np.nan
    given, without = regressor().fit(FRAME, y), regressor().fit(FRAME[KEPT], y[KEPT])
    assert given.model_.to_bytes() == without.model_.to_bytes()


def test_queries_with_rows_of_weight_zero():
    qid = np.sort(RNG.integers(0, 80, N))
    model = BoostingRanker(max_iter=5)
    given = clone(model).fit(FRAME, CLASSES, qid=qid, sample_weight=WEIGHT)
    without = clone(model).fit(FRAME[KEPT], CLASSES[KEPT], qid=qid[KEPT], sample_weight=WEIGHT[KEPT])
    assert given.model_.to_bytes() == without.model_.to_bytes()
