"""Products with rows, plain and shared out among threads, against dense arithmetic."""

import numpy as np
import pytest
import scipy.sparse as sp

from lapwing.operators.rows import Rows, row_parts


def some_rows(kind, n=37, d=11):
    X = sp.random(n, d, density=0.3, random_state=0).toarray()
    X[5] = 0.0
    return sp.csr_matrix(X) if kind == "sparse" else X


@pytest.fixture(params=[0, 10**9], ids=["threads", "one thread"])
def _work(request, monkeypatch):
    monkeypatch.setattr("lapwing.operators.rows.THREAD_WORK", request.param)
    monkeypatch.setenv("LAPWING_NUM_THREADS", "3")


@pytest.mark.usefixtures("_work")
@pytest.mark.parametrize("columns", [1, 4])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_products_equal_dense_ones(kind, columns):
    X = some_rows(kind)
    dense = some_rows("dense")
    rng = np.random.default_rng(1)
    W, V = rng.normal(size=(11, columns)), rng.normal(size=(37, columns))
    np.testing.assert_allclose(Rows(X) @ W, dense @ W, atol=1e-13)
    np.testing.assert_allclose(Rows(X).transposed_times(V), dense.T @ V, atol=1e-13)


def test_parts_are_views_that_cover_all_rows(monkeypatch):
    monkeypatch.setenv("LAPWING_NUM_THREADS", "4")
    X = some_rows("sparse")
    parts = row_parts(X)
    assert [s.start for s, _ in parts[1:]] == [s.stop for s, _ in parts[:-1]]
    np.testing.assert_array_equal(sp.vstack([p for _, p in parts]).toarray(), X.toarray())
    assert all(np.shares_memory(part.data, X.data) for _, part in parts)


def test_parts_share_out_entries_not_rows(monkeypatch):
    monkeypatch.setenv("LAPWING_NUM_THREADS", "2")
    X = sp.csr_matrix(np.vstack([np.ones((5, 20)), np.eye(20)]))
    sizes = [part.nnz for _, part in row_parts(X)]
    assert max(sizes) <= 0.7 * X.nnz


def test_a_matrix_without_entries():
    empty = Rows(sp.csr_matrix((4, 3)))
    np.testing.assert_array_equal(empty @ np.ones((3, 2)), np.zeros((4, 2)))
    np.testing.assert_array_equal(empty.transposed_times(np.ones((4, 2))), np.zeros((3, 2)))
