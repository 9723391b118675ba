import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sapwood.runtime import kernels
from sapwood.trees.gradients import EXACT_BITS, HEAVY_TAIL, NARROW, NARROW_ROWS, SINGLE, WIDE, FixedGradients, GradientScale, power_of_two

POSITIVE = st.floats(min_value=5e-324, allow_infinity=False)


class TestPowerOfTwo:
    @given(most=st.integers(2**24, 2**40), value=POSITIVE)
    def test_is_the_largest(self, most, value):
        power = power_of_two(most, value)
        assert math.frexp(power)[0] == 0.5
        assert power * value <= most
        assert 2 * power * value > most or power == 2.0**1000  # larger ones would leave the range of floats

    @given(exponent=st.integers(-900, 900))
    def test_exact_at_powers_of_two(self, exponent):
        value = math.ldexp(1.0, exponent)
        assert power_of_two(1024, value) == math.ldexp(1024.0, -exponent)
        assert power_of_two(1024, math.nextafter(value, math.inf)) == math.ldexp(512.0, -exponent)

    def test_nothing_to_scale(self):
        assert power_of_two(100, 0.0) == 1.0


class TestScale:
    @given(gradient=POSITIVE, hessian=POSITIVE)
    def test_covers_both(self, gradient, hessian):
        scale = GradientScale.covering(gradient, hessian)
        assert gradient * scale.gradient <= kernels.MAX_GRADIENT
        assert hessian * scale.hessian <= kernels.MAX_HESSIAN
        assert not scale.constant_hessian
        assert scale.bytes_per_row == 8

    def test_constant_hessian(self):
        scale = GradientScale.covering(3.0, 1.0, constant_hessian=True)
        assert scale.constant_hessian
        assert scale.bytes_per_row == 4
        assert scale.gradient == power_of_two(kernels.MAX_GRADIENT, 3.0)


@st.composite
def fixed_gradients(draw, constant_hessian):
    """Fixed gradients of up to 2^32 rows, with sums but without data."""
    n_rows = draw(st.integers(1, 40)) if draw(st.booleans()) else draw(st.integers(1, 2**32 - 1))
    gradient = draw(st.integers(0, n_rows * kernels.MAX_GRADIENT))
    hessian = 0 if constant_hessian else draw(st.integers(0, n_rows * kernels.MAX_HESSIAN))
    scale = GradientScale.covering(draw(st.floats(1e-9, 1e9)), draw(st.floats(1e-9, 1e9)), constant_hessian)
    return FixedGradients(np.empty(0, dtype=np.uint8), n_rows, scale, (gradient, draw(st.integers(-gradient, gradient)), hessian))


def most_after(total, shift):
    """Maximum sum of rows with this total after each is rounded to 2^shift: a half is rounded up."""
    return total if shift == 0 else total >> (shift - 1)


class TestFormat:
    @pytest.mark.parametrize("constant_hessian", [False, True])
    @given(data=st.data())
    def test_sums_fit_their_words(self, constant_hessian, data):
        gradients = data.draw(fixed_gradients(constant_hessian))
        form = gradients.histogram_format()
        n = gradients.n_total
        assert n < 1 << form.count_bits
        gradient, _, hessian = gradients.sums
        if form.mode == NARROW:
            gradient, hessian = n * 16383, n * 8191
        else:
            gradient, hessian = most_after(gradient, form.gradient_shift), most_after(hessian, form.hessian_shift)
        assert gradient < 1 << 51  # exact as doubles, which the split search requires
        assert hessian < 1 << 51
        beside_the_count = gradient if form.mode == SINGLE else hessian
        assert (beside_the_count << form.count_bits) + n < 1 << 63

    @pytest.mark.parametrize("constant_hessian", [False, True])
    @given(data=st.data())
    def test_units_are_the_value_of_one_step(self, constant_hessian, data):
        gradients = data.draw(fixed_gradients(constant_hessian))
        form, scale = gradients.histogram_format(), gradients.scale
        if form.mode == NARROW:
            assert form.gradient_unit * scale.gradient == 2.0**16
            assert form.hessian_unit * scale.hessian == 2.0**18
            assert form.noise > 0
        else:
            assert form.gradient_unit * scale.gradient == 2.0**form.gradient_shift
            assert form.hessian_unit * (scale.hessian or 1.0) == 2.0**form.hessian_shift
            assert form.noise == 0

    @pytest.mark.parametrize("constant_hessian", [False, True])
    @given(data=st.data())
    def test_sums_are_exact_if_they_fit(self, constant_hessian, data):
        gradients = data.draw(fixed_gradients(constant_hessian))
        form = gradients.histogram_format()
        assume(form.mode != NARROW)
        gradient, _, hessian = gradients.sums
        beside_the_count = min(EXACT_BITS, 62 - form.count_bits)
        room = {"gradient": beside_the_count if form.mode == SINGLE else EXACT_BITS, "hessian": beside_the_count}
        if form.gradient_shift:
            assert gradient >> (form.gradient_shift - 1) >= 1 << room["gradient"]
        if form.hessian_shift:
            assert hessian >> (form.hessian_shift - 1) >= 1 << room["hessian"]

    def format(self, n_rows, gradient_share, hessian_share):
        sums = int(n_rows * kernels.MAX_GRADIENT * gradient_share), 0, int(n_rows * kernels.MAX_HESSIAN * hessian_share)
        return FixedGradients(np.empty(0, dtype=np.uint8), n_rows, GradientScale(1.0, 1.0), sums).histogram_format()

    def test_many_light_tailed_rows_are_narrow(self):
        assert self.format(NARROW_ROWS, 0.1, 0.1).mode == NARROW
        assert self.format(NARROW_ROWS - 1, 0.1, 0.1).mode == WIDE

    def test_heavy_tails_are_wide(self):
        light = 0.25 / HEAVY_TAIL
        assert self.format(NARROW_ROWS, light, 0.1).mode == WIDE
        assert self.format(NARROW_ROWS, 0.1, light).mode == WIDE

    def test_a_constant_hessian_is_single(self):
        assert FixedGradients(np.empty(0, dtype=np.uint8), 5, GradientScale(1.0, 0.0), (7, 7, 0)).histogram_format().mode == SINGLE
