"""The cache of rows: any sequence of calls agrees with the matrix itself."""

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import lapwing.operators.row_cache as row_cache
from lapwing.operators.row_cache import RowCache


def symmetric(n, seed=0):
    A = np.random.default_rng(seed).normal(size=(n, n))
    return A + A.T


class Source:
    """A matrix that counts the entries read from it."""

    def __init__(self, matrix):
        self.matrix = matrix
        self.read = 0

    def __call__(self, rows, columns):
        block = self.matrix[rows][:, columns]
        self.read += block.size
        return block


def make(n=20, rows=6, dtype=np.float64, least_rows=2, seed=0):
    source = Source(symmetric(n, seed))
    size = np.dtype(dtype).itemsize
    return RowCache(source, n, rows * n * size, dtype, least_rows), source


def check(cache, matrix, index, tolerance=1e-13):
    """Fetched rows give the sums and squares of the matrix."""
    index = np.asarray(index)
    columns = cache.columns
    weights = np.random.default_rng(len(index)).normal(size=(len(index), 3))
    np.testing.assert_allclose(
        cache.combine(index, weights), matrix[index][:, columns].T @ weights,
        rtol=0, atol=tolerance * max(np.abs(matrix).max(), 1) * len(index),
    )  # fmt: skip
    if np.isin(index, columns).all():
        square = cache.square(index, np.searchsorted(columns, index))
        np.testing.assert_array_equal(square, square.T)
        np.testing.assert_allclose(
            square, matrix[np.ix_(index, index)], rtol=0, atol=tolerance * np.abs(matrix).max()
        )


class Life(RuleBasedStateMachine):
    """Any sequence of fetching, restricting and emptying."""

    @initialize(
        n=st.integers(1, 30),
        room=st.integers(0, 12),
        least=st.integers(1, 6),
        single=st.booleans(),
        block=st.sampled_from([1, 3, 7, 2048]),
    )
    def begin(self, n, room, least, single, block):
        self._whole_block, row_cache._COLUMN_BLOCK = row_cache._COLUMN_BLOCK, block
        self.n, self.least = n, min(least, n)
        self.tolerance = 1e-6 if single else 1e-13
        dtype = np.float32 if single else np.float64
        size = np.dtype(dtype).itemsize
        self.source = Source(symmetric(n, seed=n))
        self.cache = RowCache(self.source, n, room * n * size, dtype, self.least)
        self.entries = min(max(room, self.least), n) * n
        self.kept = set()  # rows that must be there: all that were ever fetched, until one went

    def teardown(self):
        row_cache._COLUMN_BLOCK = self._whole_block

    @rule(data=st.data())
    def fetch(self, data):
        index = np.array(
            data.draw(
                st.lists(st.integers(0, self.n - 1), unique=True, max_size=self.least), "rows"
            ),
            dtype=int,
        )
        before = self.cache.made
        missing = [i for i in index.tolist() if i not in self.kept]
        was_full = self.cache.full
        self.cache.fetch(index)
        check(self.cache, self.source.matrix, index, self.tolerance)
        if not was_full:  # then exactly the rows that had not been fetched are made
            assert self.cache.made - before == len(missing) * len(self.cache.columns)
        room = self.entries // len(self.cache.columns)
        self.kept.update(index.tolist())
        if not was_full:
            assert self.cache.full == (len(self.kept) > room)

    @precondition(lambda self: len(self.cache.columns) > 1)
    @rule(data=st.data())
    def restrict(self, data):
        columns = self.cache.columns
        keep = data.draw(st.sets(st.sampled_from(columns.tolist()), min_size=1), "columns")
        # Not after rows had to go: which ones are left is not known here.
        if self.cache.full:
            self.cache.reset()
            self.kept = set()
        made = self.cache.made
        self.cache.keep_columns(np.array(sorted(keep)))
        assert self.cache.made == made
        if self.kept:  # rows are still there, and need not be made again
            index = np.array(sorted(self.kept))
            self.cache.fetch(index)
            assert self.cache.made == made
            check(self.cache, self.source.matrix, index, self.tolerance)

    @rule()
    def reset(self):
        self.cache.reset()
        self.kept = set()
        np.testing.assert_array_equal(self.cache.columns, np.arange(self.n))
        assert not self.cache.full

    @invariant()
    def counts_what_it_asks_for(self):
        if hasattr(self, "cache"):
            assert self.cache.made == self.source.read


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=60, stateful_step_count=15, derandomize=True)


def test_rows_unused_for_longest_give_way():
    cache, source = make(rows=3)
    for row in (4, 7, 9):
        cache.fetch(np.array([row]))
    assert not cache.full
    cache.fetch(np.array([4]))  # used again: 7 is now the oldest
    cache.fetch(np.array([1]))
    assert cache.full
    made = cache.made
    cache.fetch(np.array([4, 9, 1]))
    assert cache.made == made
    cache.fetch(np.array([7]))
    assert cache.made == made + 20
    check(cache, source.matrix, [7])


def test_rows_of_one_call_never_push_each_other_out():
    cache, source = make(n=20, rows=1, least_rows=6)
    rng = np.random.default_rng(0)
    for _ in range(50):
        index = rng.permutation(20)[:6]
        cache.fetch(index)
        check(cache, source.matrix, index)


def test_room_is_never_less_than_the_least_and_never_more_than_the_matrix():
    cache, source = make(n=10, rows=0, least_rows=4)
    cache.fetch(np.arange(4))
    assert not cache.full
    check(cache, source.matrix, range(4))
    cache = RowCache(source, 10, 10**15, np.float64, 4)  # would not fit anywhere
    cache.fetch(np.arange(10))
    assert not cache.full
    check(cache, source.matrix, range(10))


def test_fewer_columns_make_room_for_more_rows():
    cache, source = make(n=20, rows=4, least_rows=4)
    cache.fetch(np.arange(4))
    cache.keep_columns(np.arange(0, 20, 2))
    for row in range(4, 8):
        cache.fetch(np.array([row]))
    assert not cache.full
    made = cache.made
    for row in range(8):
        cache.fetch(np.array([row]))
        check(cache, source.matrix, [row])
    assert cache.made == made == 4 * 20 + 4 * 10


def test_restricting_twice_and_emptying():
    cache, source = make(n=20, rows=20)
    cache.fetch(np.arange(0, 20, 3))
    cache.keep_columns(np.array([0, 2, 3, 5, 6, 9, 12, 19]))
    cache.keep_columns(np.array([3, 6, 9]))
    check(cache, source.matrix, np.arange(0, 20, 3))
    check(cache, source.matrix, [3, 6, 9])
    cache.reset()
    made = cache.made
    cache.fetch(np.array([3, 6]))
    assert cache.made == made + 40
    check(cache, source.matrix, [3, 6])


def test_sums_of_rows_in_single_precision_are_double():
    # Alternating weights: single precision sums would lose all digits.
    n = 60
    matrix = np.ones((n, n))
    cache = RowCache(Source(matrix), n, 10**6, np.float32, n)
    cache.fetch(np.arange(n))
    weights = np.where(np.arange(n) % 2, -1.0, 1.0)[:, None] * 1e8
    weights[0] += 1e-3
    combined = cache.combine(np.arange(n), weights)
    assert combined.dtype == np.float64
    np.testing.assert_allclose(combined, 1e-3, atol=1e-5)
    assert cache.square(np.arange(3), np.arange(3)).dtype == np.float64


def test_square_is_symmetric_to_the_bit_for_rows_made_apart():
    # Rows made in different blocks differ in the last digit; the square may not.
    rng = np.random.default_rng(0)
    A = symmetric(12)

    def submatrix(rows, columns):
        block = A[rows][:, columns]
        return block * (1 + 1e-15 * rng.normal(size=block.shape))

    cache = RowCache(submatrix, 12, 10**6, np.float64, 4)
    for row in range(12):
        cache.fetch(np.array([row]))
    square = cache.square(np.arange(12), np.arange(12))
    np.testing.assert_array_equal(square, square.T)


@pytest.mark.parametrize("weights", [np.zeros((0, 2)), np.zeros((3, 0))])
def test_nothing_to_combine(weights):
    cache, _ = make()
    index = np.arange(len(weights))
    cache.fetch(index)
    combined = cache.combine(index, weights)
    assert combined.shape == (20, weights.shape[1])
    assert not combined.any()
