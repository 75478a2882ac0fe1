"""Affine functions as vectors: the inner product, the representer and the fixed mean agree."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

from helpers import data
from lapwing.operators.dense import DenseOperator
from lapwing.spaces.affine import AffineSpace
from lapwing.spaces.kernel_space import KernelSpace, LinearSpace

N, D = 25, 4


def rows(seed=0):
    X = np.random.default_rng(seed).normal(size=(N, D)) + 3.0
    X[np.random.default_rng(seed + 1).random((N, D)) < 0.4] = 0.0
    return X


gaussian = partial(data.gaussian, gamma=0.2)


def make(kind):
    """Return a space, and B and G with f = B·coef and ‖f‖² = coefᵀG·coef."""
    X = rows()
    if kind == "kernel":
        K = gaussian(X, X)
        return KernelSpace(DenseOperator(K)), K, K
    return LinearSpace(sp.csr_matrix(X) if kind == "sparse" else X), X, np.eye(D)


def balance_weights():
    weights = np.zeros(N)
    weights[10:] = np.random.default_rng(2).random(N - 10)
    return weights / weights.sum()


LEVEL = np.array([0.4, -0.7, 0.0])


def affine(space, constant):
    if constant == "fixed":
        return AffineSpace(space, balance_weights(), LEVEL)
    return AffineSpace(space, fit_intercept=constant == "free")


def functions(kind, constant, seed=3):
    """Return an affine space and three functions with their coefficients and constants."""
    rng = np.random.default_rng(seed)
    space, B, G = make(kind)
    full = affine(space, constant)
    coef, b = rng.normal(size=(space.n_coef, 3)), rng.normal(size=3)
    return full, full.vectors(coef, b), coef, b, B, G


every_kind = pytest.mark.parametrize("kind", ["dense", "sparse", "kernel"])
every_constant = pytest.mark.parametrize("constant", ["fixed", "free", "none"])


@every_kind
@every_constant
def test_values_are_those_of_the_formula(kind, constant):
    full, vectors, coef, b, B, _ = functions(kind, constant)
    values = B @ coef
    if constant == "fixed":
        values = values - balance_weights() @ values
    elif constant == "free":
        values = values + b
    assert vectors.shape == (full.n_coordinates, 3)
    np.testing.assert_allclose(full.values(vectors), values, atol=1e-12)


@every_kind
@every_constant
def test_inner_products_are_those_of_the_formula(kind, constant):
    full, f, coef, b, _, G = functions(kind, constant)
    _, g, other, c, _, _ = functions(kind, constant, seed=4)
    norm = np.einsum("ij,ik,kj->j", coef, G, other)
    np.testing.assert_allclose(full.norm_dot(f, g), norm, rtol=1e-10)
    expected = norm + b * c if constant == "free" else norm
    np.testing.assert_allclose(full.dot(f, g), expected, rtol=1e-10)
    np.testing.assert_allclose(full.dot(g, f), expected, rtol=1e-10)


@every_kind
@every_constant
def test_gradient_is_the_representer_of_the_row_gradient(kind, constant):
    full, vectors, *_ = functions(kind, constant)
    row_gradient = np.random.default_rng(5).normal(size=(N, 3))
    expected = (row_gradient * full.values(vectors)).sum(axis=0)
    np.testing.assert_allclose(full.dot(full.gradient(row_gradient), vectors), expected, rtol=1e-9)


@every_kind
@every_constant
def test_norm_without_constant_is_half_its_gradient(kind, constant):
    full, f, *_ = functions(kind, constant)
    _, g, *_ = functions(kind, constant, seed=6)
    step = 1e-4
    rise = full.norm_dot(f + step * g, f + step * g) - full.norm_dot(f - step * g, f - step * g)
    np.testing.assert_allclose(
        2.0 * full.dot(full.without_constant(f), g), rise / (2 * step), rtol=1e-7
    )


@every_kind
@every_constant
def test_coefficients_and_intercept_give_the_values_back(kind, constant):
    full, vectors, _, _, B, _ = functions(kind, constant)
    coef, intercept = full.coef_and_intercept(vectors, np.arange(3))
    level = LEVEL if constant == "fixed" else 0.0
    np.testing.assert_allclose(B @ coef + intercept, full.values(vectors) + level, atol=1e-12)
    if constant == "none":
        np.testing.assert_array_equal(intercept, 0.0)
    np.testing.assert_allclose(full.vectors(coef, intercept), vectors, atol=1e-12)


@every_kind
def test_fixed_mean_is_the_level_of_the_column(kind):
    full, vectors, _, _, B, _ = functions(kind, "fixed")
    np.testing.assert_allclose(balance_weights() @ full.values(vectors), 0.0, atol=1e-13)
    coef, intercept = full.coef_and_intercept(vectors[:, [2, 0]], np.array([2, 0]))
    np.testing.assert_allclose(
        balance_weights() @ (B @ coef + intercept), LEVEL[[2, 0]], atol=1e-12
    )


@every_kind
@pytest.mark.parametrize("level", [LEVEL, None])
def test_columns_with_weights_of_their_own_are_those_of_separate_spaces(kind, level):
    rng = np.random.default_rng(9)
    space, *_ = make(kind)
    balance = rng.random((N, 3)) / 10
    balance[:8, 1] = 0.0
    balance /= balance.sum(axis=0)
    full = AffineSpace(space, balance, level)
    vectors = full.vectors(rng.normal(size=(space.n_coef, 3)), rng.normal(size=3))
    row_gradient = rng.normal(size=(N, 3))
    values, gradient = full.values(vectors), full.gradient(row_gradient)
    coef, intercept = full.coef_and_intercept(vectors, np.arange(3))
    some = full.of_columns(np.array([2, 0]))
    np.testing.assert_allclose(some.values(vectors[:, [2, 0]]), values[:, [2, 0]], atol=1e-12)
    for j in range(3):
        one = AffineSpace(space, balance[:, j], None if level is None else level[[j]])
        own = vectors[:, [j]]
        np.testing.assert_allclose(one.values(own)[:, 0], values[:, j], atol=1e-12)
        one_gradient = one.gradient(row_gradient[:, [j]])
        np.testing.assert_allclose(one_gradient[:, 0], gradient[:, j], atol=1e-12)
        one_coef, one_intercept = one.coef_and_intercept(own, np.array([0]))
        np.testing.assert_array_equal(one_coef[:, 0], coef[:, j])
        np.testing.assert_allclose(one_intercept[0], intercept[j], atol=1e-12)
        np.testing.assert_allclose(one.vectors(one_coef, one_intercept), own, atol=1e-12)


@every_constant
def test_sparse_rows_give_the_same_vectors_and_stay_sparse(constant, monkeypatch):
    def refuse(*_args, **_kwargs):
        raise AssertionError("sparse rows became dense")

    dense, vectors, *_ = functions("dense", constant)
    row_gradient = np.random.default_rng(7).normal(size=(N, 3))
    for name in ("toarray", "todense"):
        monkeypatch.setattr(sp.csr_matrix, name, refuse)
    sparse = affine(make("sparse")[0], constant)
    expected = dense.gradient(row_gradient)
    np.testing.assert_allclose(sparse.gradient(row_gradient), expected, atol=1e-12)
    np.testing.assert_allclose(sparse.values(vectors), dense.values(vectors), atol=1e-12)


@every_kind
@every_constant
def test_zeros_are_zero_and_sums_are_sums_of_vectors(kind, constant):
    full, f, *_ = functions(kind, constant)
    _, g, *_ = functions(kind, constant, seed=8)
    assert not full.values(full.zeros(3)).any()
    np.testing.assert_allclose(
        full.values(f - 2.0 * g), full.values(f) - 2.0 * full.values(g), atol=1e-10
    )


def test_the_free_constant_is_the_last_coordinate_and_not_regularised():
    full, vectors, _, b, _, _ = functions("kernel", "free")
    assert full.n_coordinates == 2 * N + 1
    np.testing.assert_array_equal(vectors[-1], b)
    copy = vectors.copy()
    assert not full.without_constant(vectors)[-1].any()
    np.testing.assert_array_equal(vectors, copy)
    assert functions("kernel", "fixed")[0].n_coordinates == 2 * N
    assert functions("dense", "none")[0].n_coordinates == D
