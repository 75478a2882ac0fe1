"""Bases of the rows: their products are the kernel, and coordinates lead to a model's values."""

import numpy as np
import pytest
import scipy.sparse as sp

from lapwing.kernels.expansion import evaluate
from lapwing.kernels.functions import CosineKernel, GaussianKernel, LinearKernel
from lapwing.kernels.gram import gram_matrix
from lapwing.spaces.basis import column_basis, gram_basis, kernel_basis, landmark_basis
from lapwing.spaces.features import Landmarks, landmark_features, submatrix_features

ROWS = np.random.default_rng(0).normal(size=(20, 3))
WIDE = np.random.default_rng(1).normal(size=(10, 30))
GAUSSIAN = GaussianKernel(0.5, None)


def gram(kernel, X):
    return gram_matrix(kernel, kernel.prepare(X))


def theta_of(basis):
    return np.random.default_rng(2).normal(size=(basis.H.shape[1], 2))


@pytest.mark.parametrize(("kernel", "X"), [(GAUSSIAN, ROWS), (CosineKernel(), WIDE)], ids=str)
def test_factor_of_the_gram_matrix_spans_all_functions(kernel, X):
    basis = kernel_basis(kernel, X)
    np.testing.assert_allclose(basis.H @ basis.H.T, gram(kernel, X), atol=1e-10)
    assert basis.centres is None
    theta = theta_of(basis)
    coef = basis.coef_of(theta)
    if kernel.is_linear:
        assert coef.shape == (30, 2)
        values = kernel.prepare(X).data @ coef
    else:
        values = evaluate(kernel, X, X, coef)
    np.testing.assert_allclose(values, basis.H @ theta, atol=1e-7)


def test_given_gram_matrix_is_kept_unless_it_may_be_overwritten():
    K = gram(GAUSSIAN, ROWS)
    kept = K.copy()
    of_matrix = kernel_basis(None, K)
    np.testing.assert_array_equal(K, kept)
    np.testing.assert_array_equal(gram_basis(K).H, of_matrix.H)
    theta = theta_of(of_matrix)
    np.testing.assert_allclose(kept @ of_matrix.coef_of(theta), of_matrix.H @ theta, atol=1e-7)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_columns_are_a_basis_of_linear_kernels(make):
    basis = column_basis(LinearKernel(), make(ROWS))
    theta = theta_of(basis)
    assert basis.H.shape == (20, 3)
    assert basis.coef_of(theta) is theta


@pytest.mark.parametrize("given", [False, True], ids=["centres", "rows of a Gram matrix"])
def test_landmarks_span_fewer_functions(given):
    K, chosen = gram(GAUSSIAN, ROWS), np.array([1, 4, 7, 12])
    if given:
        landmarks = Landmarks(submatrix_features(K, chosen), chosen)
        basis = landmark_basis(landmarks, None, K)
    else:
        centres = ROWS[chosen]
        landmarks = Landmarks(landmark_features(GAUSSIAN, ROWS, centres), centres=centres)
        basis = landmark_basis(landmarks, GAUSSIAN, ROWS)
        assert basis.centres is centres
    theta = theta_of(basis)
    coef = basis.coef_of(theta)
    values = K @ coef if given else evaluate(GAUSSIAN, ROWS, ROWS[chosen], coef)
    np.testing.assert_allclose(values, basis.H @ theta, atol=1e-9)
    nystrom = K[:, chosen] @ np.linalg.solve(K[np.ix_(chosen, chosen)], K[chosen])
    np.testing.assert_allclose(basis.H @ basis.H.T, nystrom, atol=1e-9)
