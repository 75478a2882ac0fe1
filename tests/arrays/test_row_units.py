"""Units of rows: exact, chosen once, and only where they are needed."""

import numpy as np
import pytest
import scipy.sparse as sp

from lapwing.arrays import row_units
from lapwing.arrays.row_units import (
    SAME_UNITS,
    Extent,
    RowUnits,
    check_inner_products,
    choose_units,
    column_variances,
    largest_value,
    safe_precision,
    spread_and_level,
)


def rows(n=40, d=3):
    return np.random.default_rng(0).normal(size=(n, d))


def units(X, **options):
    return choose_units(Extent.of(X), **({"any_scale": True, "any_origin": True} | options))


@pytest.mark.parametrize("factor", [1e-49, 1e-3, 1.0, 1e3, 1e49])
def test_ordinary_rows_are_left_as_they_are(factor):
    X = factor * rows()
    found = units(X)
    assert found == SAME_UNITS
    assert found.apply(X) is X
    assert units(0.0 * X) == SAME_UNITS


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("power", [-1040, -900, -200, 200, 1000])
def test_extreme_rows_are_scaled_by_an_even_power_of_two(form, power):
    X = np.round(1024 * rows())
    scaled = form(np.ldexp(X, power))
    found = units(scaled)
    assert found.exponent % 2 == 0
    inside = found.apply(scaled)
    largest = np.abs(inside).max()
    assert 0.25 <= largest < 1.0
    inside = inside.toarray() if sp.issparse(inside) else inside
    np.testing.assert_array_equal(inside, np.ldexp(X, power + found.exponent))
    assert units(form(inside)) == SAME_UNITS
    restored = found.restore(found.apply(scaled))
    assert abs(restored - scaled).max() == 0


def test_only_columns_far_from_zero_get_an_origin():
    X = rows() + np.array([0.0, 100.0, 1e6])
    found = units(X)
    assert found.exponent == 0
    np.testing.assert_array_equal(found.origin[:2], 0.0)
    inside = found.apply(X)
    np.testing.assert_array_equal(inside[:, :2], X[:, :2])
    np.testing.assert_array_equal(np.diff(inside[:, 2]), np.diff(X[:, 2]))  # exact
    assert np.abs(inside[:, 2]).max() <= np.ptp(X[:, 2])
    assert units(inside) == SAME_UNITS
    assert units(X, any_origin=False) == SAME_UNITS
    np.testing.assert_allclose(found.restore(inside), X, rtol=1e-15)


def test_a_constant_of_any_size_does_not_hide_the_other_columns():
    X = np.column_stack([rows(), np.full(40, 1e200)])
    np.testing.assert_array_equal(units(X).apply(X), np.column_stack([rows(), np.zeros(40)]))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_a_column_of_rounding_errors_is_refused(dtype):
    digits = 24 if dtype == np.float32 else 53
    steps = np.arange(40)[:, None]
    with pytest.raises(ValueError, match="cannot resolve"):
        units((2**digits + 2 * (steps % 3)).astype(dtype))
    units((2**digits + 2 * (steps % 30)).astype(dtype))
    units(np.full((40, 1), 2**digits, dtype=dtype))  # a constant is exact


@pytest.mark.parametrize(("factor", "size"), [(1e-60, "small"), (1e60, "large")])
def test_a_fixed_scale_refuses_extreme_rows(factor, size):
    with pytest.raises(ValueError, match=f"too {size} for this kernel .*StandardScaler"):
        units(factor * rows(), any_scale=False)


def test_new_rows_that_overflow_are_refused():
    small = RowUnits(900)

    def apply_new(units, X):
        return units.apply_new(X, np.abs(X).max())

    assert np.isfinite(apply_new(small, 1e-200 * rows())).all()
    for factor in (1.0, 1e300):
        with pytest.raises(ValueError, match="squares overflow"):
            apply_new(small, factor * rows())
    assert apply_new(SAME_UNITS, 1e140 * rows()).max() > 1e139
    with pytest.raises(ValueError, match="squares overflow"):
        apply_new(SAME_UNITS, 1e200 * rows())


def test_single_precision_is_kept_where_it_suffices():
    X = rows().astype(np.float32)
    assert safe_precision(X) is X
    for factor in (1e-20, 1e20):
        assert safe_precision(X * np.float32(factor)).dtype == np.float64


@pytest.mark.parametrize("form", [np.asarray, np.float32, np.asfortranarray, sp.csr_matrix])
@pytest.mark.parametrize("low", [-9.0, -2.0, 1.0])
def test_the_largest_value_has_either_sign(form, low):
    X = np.linspace(low, 5.0, 12).reshape(6, 2)
    assert Extent.of(form(X)).largest == np.abs(form(X)).max() == max(-low, 5.0)


def test_extent_of_blocks_is_that_of_all_rows():
    X = rows()
    both, whole = Extent.of(X[:10]) | Extent.of(X[10:]), Extent.of(X)
    assert both.largest == whole.largest == np.abs(X).max()
    np.testing.assert_array_equal(both.low, X.min(axis=0))
    np.testing.assert_array_equal(both.high, X.max(axis=0))
    assert (Extent.of(X) | Extent.of(sp.csr_matrix(9 * X))).largest == 9 * np.abs(X).max()


@pytest.mark.parametrize("offset", [0.0, 1e7])
def test_column_variances(offset):
    X = np.round(rows(50, 4), 1) * (np.arange(50) % 3 > 0)[:, None] + [0.0, 0.0, offset, 0.0]
    expected = [float(np.var(column - column[0])) for column in X.T]
    for form in (np.asarray, sp.csr_matrix):
        np.testing.assert_allclose(column_variances(form(X)), expected, rtol=1e-8)
    np.testing.assert_allclose(column_variances(X.astype(np.float32)[:, :2]), expected[:2], 1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_constant_column_has_no_variance(dtype):
    X = np.tile(np.array([0.1, 1e9 / 3, 0.0, -1e-20 / 7], dtype=dtype), (41, 1))
    for form in (np.asarray, sp.csr_matrix):
        np.testing.assert_array_equal(column_variances(form(X)), 0.0)


@pytest.mark.parametrize("factor", [1e-200, 1.0, 1e200])
def test_spread_and_level_of_sparse_rows(factor):
    X = rows() + np.array([0.0, 0.0, 1e3])
    spread, level = spread_and_level(sp.csr_matrix(factor * X))
    assert spread == pytest.approx(factor * np.sqrt(X.var(axis=0).sum()), rel=1e-9)
    assert level == pytest.approx(factor * np.linalg.norm(X, axis=1).max(), rel=1e-12)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_inner_products_that_hide_the_spread_are_refused(form):
    for level, refused in ((1e5, False), (1e8, True)):
        X = form(rows() + np.array([0.0, 0.0, level]))
        if refused:
            with pytest.raises(ValueError, match="inner products do not show"):
                check_inner_products(X, Extent.of(X))
        else:
            check_inner_products(X, Extent.of(X))


@pytest.mark.parametrize("form", [np.asarray, np.float32, np.asfortranarray, sp.csr_matrix])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("row", [0, 57, 99])
def test_the_extent_shows_a_value_that_is_not_finite(form, bad, row, monkeypatch):
    monkeypatch.setattr(row_units, "_BLOCK", 30)
    X = np.random.default_rng(0).normal(size=(100, 3))
    X[row, 1] = bad
    for largest in (Extent.of(form(X)).largest, largest_value(form(X))):
        np.testing.assert_equal(largest, np.abs(bad))


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float16])
def test_the_largest_value_of_any_type_of_number(dtype, monkeypatch):
    monkeypatch.setattr(row_units, "_BLOCK", 30)
    X = (np.arange(100.0).reshape(50, 2) % 7).astype(dtype)
    assert largest_value(X) == Extent.of(X).largest == float(X.max())
    assert largest_value(X[:0]) == largest_value(X[:, :0]) == 0.0


def test_the_precision_of_a_part_is_that_of_all_rows():
    X = (rows() * 1e-20).astype(np.float32)
    assert SAME_UNITS.apply(X).dtype == np.float64
    assert SAME_UNITS.apply(X, largest=1.0) is X
