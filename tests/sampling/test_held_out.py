"""Held-out rows are those of scikit-learn's `train_test_split`."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.model_selection import train_test_split

from sapwood.sampling.held_out import hold_out

sizes = st.one_of(st.floats(0.01, 0.99), st.integers(1, 200))


def compare(units, held, strata, seed):
    try:
        expected = train_test_split(units, test_size=held, stratify=strata, random_state=seed)
    except ValueError:
        with pytest.raises(ValueError, match=r"both parts must have"):
            hold_out(units, held, strata, seed)
        return
    for found, part in zip(hold_out(units, held, strata, seed), expected, strict=True):
        assert_array_equal(found, np.sort(part))


@settings(deadline=None, max_examples=100)
@given(n=st.integers(2, 300), held=sizes, seed=st.integers(0, 2**31), step=st.integers(1, 5))
def test_without_classes(n, held, seed, step):
    compare(np.arange(0, n * step, step), held, None, seed)


@settings(deadline=None, max_examples=150)
@given(counts=st.lists(st.integers(0, 60), min_size=1, max_size=7), held=sizes, seed=st.integers(0, 2**31))
def test_with_classes(counts, held, seed):
    strata = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts)).astype(float)
    if len(strata) > 1:
        compare(np.arange(len(strata)), held, strata, seed)
