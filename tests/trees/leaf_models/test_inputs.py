import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from sapwood.trees.leaf_models.inputs import LinearInput

numbers = st.floats(-1e6, 1e6)


def test_centers_of_bins():
    own = LinearInput.centers(3, np.array([0.0, 2.0, 6.0]))
    assert own.feature == 3
    assert_array_equal(own.values, [-1.0, 1.0, 4.0, 8.0])  # the outer bins are as wide as their neighbors


def test_the_only_cut_point_has_a_bin_on_either_side():
    assert_array_equal(LinearInput.centers(0, np.array([0.0])).values, [-0.5, 0.5])
    assert_array_equal(LinearInput.centers(0, np.array([-8.0])).values, [-12.0, -4.0])


@given(st.lists(numbers | st.sampled_from([-np.inf, np.inf]), min_size=1, max_size=12, unique=True))
def test_centers_are_finite_and_ascend(cuts):
    cuts = np.sort(np.array(cuts))
    values = LinearInput.centers(0, cuts).values
    assert len(values) == len(cuts) + 1
    assert np.isfinite(values).all()
    assert (np.diff(values) >= 0).all()


def test_values_at_cut_points_belong_to_the_bin_below():
    own = LinearInput(0, np.array([1.0, 2.0]), np.array([10.0, 20.0, 30.0]))
    assert_array_equal(own.at(np.array([0.5, 1.0, 1.5, 2.0, 2.5, np.nan, np.inf, -np.inf])), [10, 10, 20, 20, 30, np.nan, 30, 10])


@given(st.lists(numbers, min_size=1, max_size=8, unique=True), st.lists(numbers, max_size=8), st.lists(numbers, max_size=8))
def test_more_cut_points_do_not_change_the_function(cuts, more, x):
    cuts = np.sort(np.array(cuts))
    own = LinearInput.centers(0, cuts)
    other = own.on(np.unique(np.concatenate([cuts, more])))
    x = np.array([*x, *cuts, *more, np.nan])
    assert_array_equal(own.at(x), other.at(x))


def test_missing_cut_points_are_refused():
    with pytest.raises(ValueError, match="cut points of feature 4"):
        LinearInput.centers(4, np.array([1.0, 2.0])).on(np.array([1.0, 3.0]))


def test_equal_inputs_have_the_same_key():
    cuts = np.array([1.0, 2.0])
    assert LinearInput.centers(1, cuts).key == LinearInput.centers(1, cuts.copy()).key
    assert LinearInput.centers(1, cuts).key != LinearInput.centers(2, cuts).key
