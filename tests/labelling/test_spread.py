"""The first rows represent all rows: each as many as it can of those that are left."""

from unittest.mock import Mock

import numpy as np
import pytest
import scipy.sparse as sp

from helpers.labelling import blobs
from lapwing import KNNGraph
from lapwing.auto.scaling import learn_scaling
from lapwing.labelling.spread import spread_rows


def clusters(sizes, d=2, seed=0, noise=0.05):
    """Rows of far clusters, and the cluster of each."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(0, 10, (len(sizes), d))
    of = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    return centres[of] + rng.normal(0, noise, (len(of), d)), of


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("d", [2, 40])
def test_every_cluster_is_represented_the_largest_first(seed, form, d):
    sizes = [40, 30, 20, 10, 5]
    X, of = clusters(sizes, d, seed)
    rows = spread_rows(form(X), 8, seed)
    assert of[rows[:3]].tolist() == [0, 1, 2]
    # A second row of a large cluster may come before the only one of a small cluster.
    assert set(of[rows].tolist()) == {0, 1, 2, 3, 4}
    assert all(isinstance(row, int) for row in rows)


def test_the_row_is_not_at_the_border_of_its_cluster():
    X, of = clusters([50, 50, 50], noise=1.0)
    for row in spread_rows(X, 3, 0):
        own = X[of == of[row]]
        distances = np.linalg.norm(own - own.mean(axis=0), axis=1)
        assert np.linalg.norm(X[row] - own.mean(axis=0)) <= np.quantile(distances, 0.6)


def test_each_row_is_the_best_after_those_before():
    """Against walks by dense powers, and sums row by row."""
    X = np.random.default_rng(0).normal(size=(60, 3))
    W = KNNGraph(bandwidth="local").fit(learn_scaling(X).apply(X)).affinity_.toarray()
    ends = np.linalg.matrix_power((W / W.sum(axis=1)[:, None] + np.eye(60)) / 2, 10)
    cover, found = ends / np.diag(ends), spread_rows(X, 7, 0)
    for i in range(7):
        sums = [
            sum(max(cover[j, [*found[:i], other]]) for j in range(60))
            for other in range(60)
            if other not in found[:i]
        ]
        assert sum(max(cover[j, found[: i + 1]]) for j in range(60)) == pytest.approx(max(sums))
    assert len(set(found)) == 7


def test_duplicates_count_as_rows():
    X, of = clusters([20, 20, 20], d=40)
    X = np.concatenate([X, np.repeat(X[of == 2], 5, axis=0)])
    assert of[spread_rows(X, 1, 0)].tolist() == [2]


def test_duplicate_rows_are_represented_once():
    X = np.repeat([[0.0, 0.0], [5.0, 5.0], [9.0, 0.0]], [30, 20, 10], axis=0)
    X = X[np.random.default_rng(0).permutation(60)]
    assert X[spread_rows(X, 10, 0), 0].tolist() == [0.0, 5.0, 9.0]  # the most frequent first


@pytest.mark.parametrize("n", [1, 2, 3])
def test_fewer_rows_than_clusters(n):
    X = np.arange(2.0 * n).reshape(n, 2)
    assert sorted(spread_rows(X, 10, 0)) == list(range(n))


def test_rows_that_are_all_the_same():
    assert len(spread_rows(np.ones((20, 3)), 5, 0)) == 1
    assert len(spread_rows(np.zeros((20, 1)), 5, 0)) == 1


def test_a_constant_column_changes_nothing():
    X, _ = clusters([20, 20, 20])
    constant = np.column_stack([X, np.full(len(X), 7.0)])
    assert spread_rows(constant, 3, 0) == spread_rows(X, 3, 0)


def test_units_of_columns_do_not_matter():
    X, of = clusters([30, 20, 10])
    X = X * [1e6, 1e-6]
    assert of[spread_rows(X, 3, 0)].tolist() == [0, 1, 2]


def test_of_many_rows_a_sample_is_represented(monkeypatch):
    monkeypatch.setattr("lapwing.labelling.spread._ROWS", 300)
    fit = Mock(side_effect=KNNGraph.fit, autospec=True)
    monkeypatch.setattr(KNNGraph, "fit", lambda graph, rows: fit(graph, rows))
    X, of = clusters([1500, 900, 600])
    found = spread_rows(X, 5, 0)
    assert fit.call_args.args[1].shape[0] == 300
    assert max(found) > 300  # a random one
    assert set(of[found].tolist()) == {0, 1, 2}


def test_few_candidates_are_enough_and_chosen_among_all_rows(monkeypatch):
    X, _ = blobs(200)
    every = spread_rows(X, 12, 0)
    monkeypatch.setattr("lapwing.labelling.spread._CANDIDATES", 3)
    few = spread_rows(X, 12, 0)
    assert len(set(few)) == 12
    assert few != every  # twelve random rows
    assert max(few) > 100


def test_rows_are_those_of_a_seed():
    X, _ = blobs(200)
    assert spread_rows(X, 12, 1) == spread_rows(X, 12, 1)
    assert len(set(spread_rows(X, 12, 1))) == 12
