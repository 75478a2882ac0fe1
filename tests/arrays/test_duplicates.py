"""Duplicate rows, against comparisons of all pairs."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lapwing.arrays.duplicates import (
    RowIndex,
    distinct_rows,
    duplicate_groups,
    hash_rows,
    representative_rows,
)

COLUMNS = 3
FORMATS = {
    "dense": np.asarray,
    "float32": lambda X: X.astype(np.float32),
    "fortran": np.asfortranarray,
    "csr_matrix": sp.csr_matrix,
    "csr_array": sp.csr_array,
}
# All of them float32 numbers, so that the format does not change which rows are equal.
numbers = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, 2.0**-40, 3.0])
formats = st.sampled_from(sorted(FORMATS))


def tables(least, most):
    return arrays(float, st.tuples(st.integers(least, most), st.just(COLUMNS)), elements=numbers)


def first_equal(X, queries):
    """The first row of X that equals each of the queries, or -1."""
    return [next((i for i, row in enumerate(X) if (row == q).all()), -1) for q in queries]


def with_collisions(X):
    """X, and below each row another one with the same hash: a number and zeros."""
    # The hash is a sum of mixed bits times odd factors. The mix leaves 1 as it is, which are the
    # bits of the smallest number above 0, and is undone by itself.
    factors = [int(h) for h in hash_rows(np.diag(np.full(COLUMNS, 5e-324)))]
    mixed = np.array([int(h) * pow(factors[0], -1, 2**64) % 2**64 for h in hash_rows(X)], "u8")
    others = np.zeros_like(X)
    others[:, 0] = (mixed ^ (mixed >> np.uint64(32))).view(float)
    both = np.vstack([X, others])
    return both[np.isfinite(both).all(axis=1)]


def test_collisions_collide():
    X = np.array([[1.0, 2.0, 3.0], [0.5, 0.0, -1.0]])
    both = with_collisions(X)
    assert len(np.unique(both, axis=0)) == 4
    np.testing.assert_array_equal(hash_rows(both[:2]), hash_rows(both[2:]))


# ---------------------------------------------------------------- properties


@given(X=tables(1, 12), queries=tables(0, 12), forms=st.tuples(formats, formats))
def test_the_index_finds_the_first_occurrence(X, queries, forms):
    index_rows, query_rows = FORMATS[forms[0]](X), FORMATS[forms[1]](queries)
    found = RowIndex(index_rows).find(query_rows, index_rows)
    np.testing.assert_array_equal(found, first_equal(X, queries))


@given(X=tables(0, 12), form=formats)
def test_representatives_are_first_occurrences(X, form):
    representative = representative_rows(FORMATS[form](X))
    np.testing.assert_array_equal(representative, first_equal(X, X))


@given(X=tables(1, 12), form=formats, data=st.data())
def test_preferred_rows_represent_themselves_and_their_duplicates(X, form, data):
    rows = st.lists(st.integers(0, len(X) - 1), unique=True)
    preferred = np.array(data.draw(rows), dtype=int)
    representative = representative_rows(FORMATS[form](X), preferred)
    among = np.array(first_equal(X[preferred], X), dtype=int)
    expected = np.array(first_equal(X, X))
    expected[among >= 0] = preferred[among[among >= 0]]
    expected[preferred] = preferred
    np.testing.assert_array_equal(representative, expected)


@given(X=tables(0, 12), form=formats, most=st.integers(0, 12))
def test_distinct_rows_are_first_occurrences_or_too_many(X, form, most):
    expected = np.flatnonzero(np.array(first_equal(X, X), dtype=int) == np.arange(len(X)))
    found = distinct_rows(FORMATS[form](X), most)
    if len(expected) > most:
        assert found is None
    else:
        np.testing.assert_array_equal(found, expected)


@given(X=tables(0, 12), form=formats, least=st.integers(1, 4), data=st.data())
def test_groups_hold_all_equal_rows(X, form, least, data):
    chosen = np.array(data.draw(st.lists(st.booleans(), min_size=len(X), max_size=len(X))), bool)
    rows = np.flatnonzero(chosen)
    first = np.array(first_equal(X[rows], X[rows]), dtype=int)
    expected = [rows[first == head].tolist() for head in np.unique(first)]
    found = [group.tolist() for group in duplicate_groups(FORMATS[form](X), rows, least)]
    assert found == [group for group in expected if len(group) >= least]


@given(X=tables(1, 6), form=st.sampled_from(["dense", "csr_array"]))
def test_collisions_of_hashes_change_nothing(X, form):
    X = with_collisions(X)
    rows, expected = FORMATS[form](X), first_equal(X, X)
    np.testing.assert_array_equal(RowIndex(rows).find(rows, rows), expected)
    np.testing.assert_array_equal(representative_rows(rows), expected)
    np.testing.assert_array_equal(distinct_rows(rows, len(X)), np.unique(expected))


# ---------------------------------------------------------------- examples


def test_stored_zeros_and_parts_of_entries_do_not_matter():
    X = sp.csr_array(([1.0, 0.0, 2.0, 3.0], ([0, 0, 1, 1], [0, 2, 1, 1])), shape=(2, 3))
    parts = sp.csr_matrix(([2.0, 3.0], [1, 1], [0, 2]), shape=(1, 3))
    assert RowIndex(X).find(np.array([[1.0, 0.0, -0.0], [0.0, 5.0, 0.0]]), X).tolist() == [0, 1]
    assert RowIndex(X).find(parts, X).tolist() == [1]
    # Twice (1, 2, 0): in order; the other way round, one entry in two parts and a zero stored.
    data, columns = [1.0, 2.0, 1.5, 1.0, 0.5, 0.0, 3.0], [0, 1, 1, 0, 1, 2, 0]
    rows = sp.csr_matrix((data, columns, [0, 2, 6, 7]), shape=(3, 3))
    assert distinct_rows(rows, 2).tolist() == [0, 2]
    assert representative_rows(rows).tolist() == [0, 0, 2]
    assert rows.data.tolist() == data  # as they were
    assert rows.indices.tolist() == columns


def test_float32_and_float64_are_compared_by_value():
    X = np.array([[0.1], [0.5]])
    narrow = X.astype(np.float32)
    assert RowIndex(X).find(narrow, X).tolist() == [-1, 1]  # 0.1 is rounded
    assert RowIndex(narrow).find(narrow.astype(float), narrow).tolist() == [0, 1]


@pytest.mark.parametrize("form", ["dense", "csr_array"])
def test_many_blocks(form):
    distinct = np.random.default_rng(0).integers(1, 3, size=(1000, 40)).astype(float)
    X = FORMATS[form](np.tile(distinct, (20, 1)))
    expected = np.tile(np.arange(1000), 20)
    np.testing.assert_array_equal(representative_rows(X), expected)
    np.testing.assert_array_equal(distinct_rows(X, 1000), np.arange(1000))
    assert distinct_rows(X, 999) is None
    np.testing.assert_array_equal(RowIndex(X).find(X[::-1], X), expected[::-1])
    groups = list(duplicate_groups(X, np.arange(len(expected)), least=20))
    np.testing.assert_array_equal(groups, np.arange(20_000).reshape(20, 1000).T)


def test_no_columns():
    X = np.empty((3, 0))
    assert representative_rows(X).tolist() == [0, 0, 0]
    assert distinct_rows(X, 1).tolist() == [0]


def test_rows_are_read_no_further_than_needed():
    class Rows:
        shape = (10**12, 2)

        def __getitem__(self, rows):
            return np.column_stack([rows, rows]).astype(float)

    assert distinct_rows(Rows(), 100) is None


def test_hashes_of_many_plain_rows_differ():
    rows = np.array(np.meshgrid(*[np.arange(32.0)] * 3)).reshape(3, -1).T
    assert len(np.unique(hash_rows(rows))) == 32**3
    assert hash_rows(rows).itemsize == 8
