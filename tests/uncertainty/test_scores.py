import math

import numpy as np
import pytest

from sapwood.uncertainty.scores import Scores, needed_weight, reach


@pytest.mark.parametrize("n", [9, 10, 19, 20, 100, 101])
@pytest.mark.parametrize("level", [0.5, 0.55, 0.7, 0.8, 0.9])
def test_the_quantile_counts_the_new_row_too(n, level):
    scores = Scores(np.random.default_rng(n).permutation(n).astype(float) + 1)  # 1 to n
    (reached,) = scores.reaching(needed_weight([scores], level, None))
    k = math.ceil(round(level * (n + 1), 9))
    assert reached == k


def test_the_quantile_of_few_rows_is_infinite_and_says_how_many_are_needed():
    few, enough = Scores(np.arange(8.0)), Scores(np.arange(9.0))
    with pytest.warns(UserWarning, match=r"confidence_level=0\.9 needs at least 9 held-out rows of equal weight; there are 8"):
        needed = needed_weight([few], 0.9, None)
    assert few.reaching(needed) == np.inf
    assert enough.reaching(needed_weight([enough], 0.9, None)) == 8


def test_whole_weights_are_repeated_rows():
    generator = np.random.default_rng(0)
    values, weight = generator.normal(size=50), generator.integers(1, 4, size=50)
    weighted, repeated = Scores(values, weight.astype(float)), Scores(np.repeat(values, weight))
    for level in (0.5, 0.9, 0.95):
        one = np.ones(1)  # the new row counts once in both
        assert weighted.reaching(needed_weight([weighted], level, one)) == repeated.reaching(needed_weight([repeated], level, one))
    assert (weighted.below(values) == repeated.below(values)).all()


def test_a_heavy_new_row_has_a_higher_bound():
    scores = Scores(np.arange(100.0))
    light, heavy = scores.reaching(needed_weight([scores], 0.8, np.array([1.0, 20.0])))
    assert (light, heavy) == (80, 95)


def test_cv_plus_is_the_order_statistic_of_shifted_scores():
    """As Barber, Candès, Ramdas and Tibshirani (2021) define it, row by row."""
    generator = np.random.default_rng(1)
    folds = [Scores(abs(generator.normal(size=n))) for n in (20, 21, 30)]
    centres = generator.normal(size=(3, 7))
    needed = needed_weight(folds, 0.85, None)
    for row, got in enumerate(reach(folds, centres, needed)):
        ends = np.sort(np.concatenate([centres[k, row] + fold.values for k, fold in enumerate(folds)]))
        assert got == ends[math.ceil(0.85 * 72) - 1]


def test_one_fold_is_the_merge_of_one_fold(monkeypatch):
    generator = np.random.default_rng(2)
    scores, centres = Scores(generator.normal(size=40), generator.random(40)), generator.normal(size=(1, 9))
    needed = needed_weight([scores], 0.9, generator.random(9))
    nothing = Scores(np.empty(0))
    merged = reach([scores, nothing], np.vstack([centres, centres]), needed)
    assert (reach([scores], centres, needed) == merged).all()
    monkeypatch.setattr("sapwood.uncertainty.scores.CELLS", 1)  # a row at a time
    assert (reach([scores, nothing], np.vstack([centres, centres]), needed) == merged).all()
