"""How the default scales rows: units of columns, outliers, sparse rows."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from lapwing import SemiSupervisedClassifier
from lapwing.auto.scaling import learn_scaling


def blobs():
    rng = np.random.default_rng(0)
    truth = np.arange(120) % 2
    X = np.array([[2.0, 2, 0, 0], [-2, -2, 0, 0]])[truth] + 0.6 * rng.normal(size=(120, 4))
    return X, truth, np.where(np.arange(120) < 12, truth, -1)


@pytest.mark.parametrize(
    ("n_columns", "power"),
    [(2, -300), (2, -100), (2, 6), (2, 170), (2, 300), (50, 6), (50, 20), (50, 170), (50, 300)],
)
def test_the_unit_of_one_column_does_not_matter(n_columns, power):
    rng = np.random.default_rng(0)
    truth = np.arange(100) % 2
    X = rng.normal(size=(100, n_columns))
    X[:, : n_columns // 2] += 8.0 * truth[:, None]
    y = np.where(np.arange(100) < 12, truth, -1)
    X[:, -1] *= 1000.0  # beside columns with another unit, all are scaled to unit variance
    other = X.copy()
    other[:, -1] *= 10.0**power
    model = SemiSupervisedClassifier().fit(other, y)
    assert model.scaling_.kind == "columns"
    expected = learn_scaling(X).apply(X)
    np.testing.assert_allclose(model.scaling_.apply(other), expected, rtol=1e-9, atol=1e-12)
    assert np.mean(model.predict(other) == truth) > 0.95


@pytest.mark.parametrize(
    ("scale", "dtype", "atol"),
    [
        (1e-313, np.float64, 1e-7),  # few digits are left
        (1e-300, np.float64, 1e-12),
        (1e-30, np.float64, 1e-12),
        (1e300, np.float64, 1e-12),
        (1e-37, np.float32, 1e-5),
        (1e-15, np.float32, 1e-5),
        (1e30, np.float32, 1e-5),
    ],
)
def test_one_unit_of_all_columns_may_be_extreme(scale, dtype, atol):
    X = np.random.default_rng(0).normal(size=(50, 3)) + 5.0
    extreme = (X * scale).astype(dtype)
    scaling = learn_scaling(extreme)
    assert scaling.kind == "common"
    expected = learn_scaling(X).apply(X)
    np.testing.assert_allclose(scaling.apply(extreme), expected, rtol=0, atol=atol)


@pytest.mark.parametrize("unit", [1e-300, 1e300])
def test_a_constant_column_beside_extreme_ones(unit):
    """It is no reason to overflow, and a row that has another value there is far away."""
    X = unit * np.random.default_rng(0).normal(size=(50, 3))
    with_constant = np.column_stack([X, np.full(50, 1e15)])
    scaling = learn_scaling(with_constant)
    expected = np.column_stack([learn_scaling(X).apply(X), np.zeros(50)])
    np.testing.assert_array_equal(scaling.apply(with_constant), expected)
    other = scaling.apply(np.append(X[0], 1e15 + 1.0)[None])
    assert other[0, 3] == 1e50 if unit < 1 else 0 < other[0, 3] < 1e-290


def test_a_column_of_rounding_is_left_out():
    rng = np.random.default_rng(0)
    X = 0.01 * rng.normal(size=(50, 3))
    X[:, 1] = 0.1 + np.spacing(0.1) * rng.integers(0, 3, size=50)
    X[:, 2] = 1e15 + 8.0 * rng.integers(0, 9, size=50)  # 64 in 1e15 is more than rounding
    factor = learn_scaling(X).factor
    assert factor[1] == 0.0
    assert np.ptp(X[:, 2] * factor[2]) > 0.1


@pytest.mark.parametrize("value", [1e60, 1e200, 1e308, -1.797e308])
@pytest.mark.parametrize("kind", ["common", "columns"])
def test_an_outlier_is_far_and_not_infinite(value, kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) * ([1.0, 1.0, 1.0] if kind == "common" else [1e-3, 1.0, 1e3])
    scaling = learn_scaling(X)
    assert scaling.kind == kind
    scaled = scaling.apply(np.array([[0.0, value, 0.0]]))
    assert np.isfinite(scaled).all()
    assert abs(scaled[0, 1]) >= 1e50
    assert np.abs(scaled[0, [0, 2]]).max() < 10.0


def test_values_whose_differences_overflow_are_refused():
    X = (np.arange(20.0) - 9.5)[:, None] / 9.5 * 1.5e308
    with pytest.raises(ValueError, match=r"holds values up to 1.5e[+]308.*Rescale X"):
        SemiSupervisedClassifier().fit(X, np.where(np.arange(20) < 4, np.arange(20) % 2, -1))


@pytest.mark.parametrize("factor", [1e3, 1e9, 1e50, 1e160, 1e300])
def test_a_row_of_extreme_values_does_not_hide_the_others(factor):
    rng = np.random.default_rng(0)
    truth = np.arange(100) % 2
    X = rng.normal(size=(100, 20))
    X[:, 0] += 10.0 * truth
    y = np.where(np.arange(100) < 12, truth, -1)
    wrong = X.copy()
    wrong[-1] *= factor
    expected = learn_scaling(X[:-1])
    found = learn_scaling(wrong)
    assert found.kind == expected.kind
    np.testing.assert_allclose(found.factor, expected.factor)
    np.testing.assert_allclose(found.center, expected.center)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # edges among other rows do not depend on this one
        model = SemiSupervisedClassifier().fit(wrong, y)
    assert np.mean(model.transduction_[:-1] == truth[:-1]) > 0.95
    assert np.mean(model.predict(X) == truth) > 0.95
    assert np.isfinite(model.predict_proba(wrong)).all()


def test_values_that_are_far_apart_by_nature_all_count():
    X = np.exp(6.0 * np.random.default_rng(0).normal(size=(200, 30)))
    np.testing.assert_allclose(learn_scaling(X).center, X.mean(axis=0))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1.0, 2.0, 3.0], "counts"),
        ([1.0, 2.0, 0.5], "text"),  # some are whole numbers
        ([1.0, 1.0, 1.0], "text"),  # which words occur
        ([0.2, 0.3, 0.5], "text"),
        ([1.0, 2.0, -3.0], "common"),
    ],
)
def test_scaling_of_sparse_rows(values, kind):
    assert learn_scaling(sp.csr_matrix(np.diag(values))).kind == kind


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("power", [-300, -10, 6, 100, 300])
def test_the_unit_of_a_column_of_sparse_rows_does_not_matter(power, signed):
    X, truth, y = blobs()
    X[:, 3] *= 10.0**power
    rows = sp.csr_matrix(X if signed else np.hstack([np.maximum(X, 0), np.maximum(-X, 0)]))
    model = SemiSupervisedClassifier().fit(rows, y)
    assert model.scaling_.kind == "columns"
    assert np.mean(model.predict(rows) == truth) > 0.95


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("power", [3, 10, 100, 300])
def test_a_sparse_row_of_extreme_values_does_not_hide_the_others(power, signed):
    X, truth, y = blobs()
    X[50] *= 10.0**power
    rows = sp.csr_matrix(X if signed else np.hstack([np.maximum(X, 0), np.maximum(-X, 0)]))
    if power == 300:
        with pytest.raises(ValueError, match=r"in a few rows.*Correct or remove the rows"):
            SemiSupervisedClassifier().fit(rows, y)
        return
    others = np.arange(120) != 50
    model = SemiSupervisedClassifier().fit(rows, y)
    assert np.mean(model.predict(rows[others]) == truth[others]) > 0.95


@pytest.mark.parametrize(("power", "refused"), [(3, False), (10, False), (13, True), (300, True)])
def test_many_rows_of_extreme_values(power, refused):
    X, truth, y = blobs()
    X[60:72] *= 10.0**power
    if refused:
        with pytest.raises(ValueError, match=r"beside others, half of the rows.*logarithm"):
            SemiSupervisedClassifier().fit(X, y)
        return
    others = np.r_[0:60, 72:120]
    model = SemiSupervisedClassifier().fit(X, y)
    assert np.mean(model.predict(X[others]) == truth[others]) > 0.95


@pytest.mark.parametrize("signed", [True, False])
def test_outliers_do_not_decide_the_units_of_sparse_columns(signed):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 50)) if signed else rng.random((60, 50))
    expected = learn_scaling(sp.csr_matrix(X[:-1]))
    X[-1] *= 1e6
    found = learn_scaling(sp.csr_matrix(X))
    assert found.kind == expected.kind == ("common" if signed else "text")
    np.testing.assert_allclose(found.factor, expected.factor, rtol=1e-12)


def test_sparse_columns_that_are_new_have_the_unit_of_others():
    X = np.random.default_rng(0).normal(size=(60, 4)) * [1.0, 1.0, 1e6, 0.0]
    factor = learn_scaling(sp.csr_matrix(X)).factor
    largest = np.abs(X).max(axis=0)
    np.testing.assert_allclose(factor[:3], 1.0 / largest[:3], rtol=1e-12)
    np.testing.assert_allclose(factor[3], 1.0 / np.median(largest[:3]), rtol=1e-12)
