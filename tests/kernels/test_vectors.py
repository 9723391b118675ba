import numpy as np
import pytest

from tests.reference import vectors as twin


def records(rng, n_outputs, n, single=False):
    """Planes of records, and their gradients and hessians; the largest there can be are among them."""
    gradients = rng.integers(-(2**30), 2**30, (n_outputs, n)).astype(np.int32)
    gradients.flat[:4] = [-(2**31), 2**31 - 1, 0, -1][: gradients.size]
    if single:
        return list(gradients.view(np.uint8)), gradients, np.ones((n_outputs, n), dtype=np.uint32)
    hessians = rng.integers(0, 2**31, (n_outputs, n)).astype(np.uint32)
    hessians.flat[:2] = [2**32 - 1, 0][: hessians.size]
    pairs = np.stack([gradients, hessians.view(np.int32)], axis=2)
    return [plane.reshape(-1) for plane in pairs.view(np.uint8).reshape(n_outputs, -1)], gradients, hessians


class TestProjectRecords:
    @pytest.mark.parametrize("single", [False, True])
    @pytest.mark.parametrize("n_outputs, n", [(1, 1), (2, 3), (3, 511), (5, 513), (7, 1026), (3, 20_003)])
    def test_equals_the_twin(self, kernels, single, n_outputs, n):
        rng = np.random.default_rng(n)
        planes, gradients, hessians = records(rng, n_outputs, n, single)
        mix = rng.normal(size=n_outputs), rng.random(n_outputs)
        expected = twin.project(gradients, hessians, *mix)
        for n_threads in (1, 2):
            gradient, hessian = np.empty((2, n))
            extent = kernels.project_gradients(planes, *mix, gradient, hessian, n_threads)
            np.testing.assert_array_equal(gradient, expected[0])
            np.testing.assert_array_equal(hessian, expected[1])
            assert extent == (np.abs(expected[0]).max(), expected[1].max())

    def test_without_hessians(self, kernels):
        rng = np.random.default_rng(0)
        planes, gradients, hessians = records(rng, 3, 100)
        gradient = np.empty(100)
        extent = kernels.project_gradients(planes, np.array([1.0, -2.0, 0.5]), np.zeros(3), gradient, None, 1)
        np.testing.assert_array_equal(gradient, twin.project(gradients, hessians, [1.0, -2.0, 0.5], [0] * 3)[0])
        assert extent == (np.abs(gradient).max(), 0)

    def test_bad_arguments(self, kernels):
        plane, mix, out = np.zeros(32, dtype=np.uint8), np.zeros(2), np.zeros(4)
        kernels.project_gradients([plane] * 2, mix, mix, out, out, 1)
        for planes, gradient, hessian in (
            ([plane], out, out),
            ([], out, out),
            ([plane, plane[:16]], out, out),
            ([plane] * 2, np.zeros(5), out),
            ([plane] * 2, out, np.zeros(3)),
        ):
            with pytest.raises(ValueError):
                kernels.project_gradients(planes, mix, mix, gradient, hessian, 1)


class TestLeafSums:
    @pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
    @pytest.mark.parametrize("single", [False, True])
    @pytest.mark.parametrize("n_outputs, n, n_leaves", [(1, 1, 1), (3, 10, 4), (2, 20_001, 31), (5, 17_000, 200)])
    def test_equals_the_twin(self, kernels, dtype, single, n_outputs, n, n_leaves):
        rng = np.random.default_rng(n)
        planes, gradients, hessians = records(rng, n_outputs, n, single)
        leaf = np.sort(rng.integers(0, n_leaves, n)).astype(dtype)  # neighbours share a leaf
        leaf[n // 2 :] = rng.permutation(leaf[n // 2 :])
        for n_threads in (1, 3):
            gradient, hessian = np.full((2, n_leaves, n_outputs), 7, dtype=np.int64)
            kernels.leaf_sums(planes, leaf.view(np.uint8), leaf.itemsize, gradient, hessian, n_threads)
            np.testing.assert_array_equal(gradient, twin.leaf_sums(gradients, leaf, n_leaves))
            np.testing.assert_array_equal(hessian, twin.leaf_sums(hessians, leaf, n_leaves))

    def test_bad_arguments(self, kernels):
        plane, leaf, sums = np.zeros(32, dtype=np.uint8), np.array([0, 1, 2, 0], dtype=np.uint8), np.zeros((3, 2), dtype=np.int64)
        kernels.leaf_sums([plane] * 2, leaf, 1, sums, sums.copy(), 1)
        for planes, of_rows, size, gradient, hessian in (
            ([plane] * 2, leaf, 3, sums, sums),
            ([plane] * 2, leaf[:3], 1, sums, sums),
            ([plane] * 2, leaf + 1, 1, sums, sums),  # a leaf too many
            ([plane] * 2, leaf, 2, sums, sums),
            ([plane], leaf, 1, sums, sums),
            ([], leaf, 1, np.zeros((3, 0), dtype=np.int64), np.zeros((3, 0), dtype=np.int64)),
            ([plane] * 2, leaf, 1, sums, sums[:2]),
            ([plane, plane[:16]], leaf, 1, sums, sums),
        ):
            with pytest.raises(ValueError):
                kernels.leaf_sums(planes, of_rows, size, gradient, hessian, 1)
