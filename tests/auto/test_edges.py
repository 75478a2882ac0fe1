"""Edges of the graph of a sample that are weighed by other rows as well."""

import numpy as np
import pytest
import scipy.sparse as sp

from lapwing import KNNGraph
from lapwing.auto import edges, limits
from lapwing.auto.edges import weigh_edges
from lapwing.auto.rows import UsedRows
from lapwing.auto.scaling import learn_scaling


@pytest.fixture
def rows():
    X = np.random.default_rng(0).normal(size=(400, 3))
    index = np.arange(0, 400, 5)
    return UsedRows(X, index, np.arange(400), learn_scaling(X))


@pytest.fixture
def graph(rows):
    return KNNGraph(4, bandwidth="local").fit(rows.scaled)


def naive_sums(U, X, k):
    """Return Σ_x s_i(x)s_j(x) of all pairs of rows of U, over the rows of X."""
    total = np.zeros((len(U), len(U)))
    for x in X:
        d = np.linalg.norm(U - x, axis=1)
        near = np.argsort(d, kind="stable")[:k]
        s = np.zeros(len(U))
        s[near] = np.exp(-2.0 * (d[near] ** 2 - d[near[0]] ** 2) / d[near[-1]] ** 2)
        total += np.outer(s, s) / s.sum() ** 2
    return total


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_weights_are_those_of_the_formula(form, monkeypatch):
    monkeypatch.setattr(edges, "_TILE_ROWS", 70)
    X = form(np.random.default_rng(0).normal(size=(400, 3)))
    rows = UsedRows(X, np.arange(0, 400, 5), np.arange(400), learn_scaling(X))
    graph = KNNGraph(4, bandwidth="local").fit(rows.scaled)
    found = weigh_edges(graph, rows, rows.others(seed=0))
    dense = [M.toarray() if sp.issparse(M) else M for M in (rows.scaling.apply(X), rows.scaled)]
    X, U, W = *dense, graph.affinity_.toarray()
    own, every = naive_sums(U, U, 5), naive_sums(U, X, 5)
    expected, linked, m, n = np.zeros_like(W), W > 0, len(U), len(X)
    expected[linked] = W[linked] * (every[linked] / n) / (own[linked] / m)
    np.testing.assert_allclose(found.affinity_.toarray(), expected, rtol=1e-9)
    assert found.n_neighbors == 4
    assert np.array_equal(found.component_, graph.component_)


def test_rows_like_the_sample_change_nothing(rows, graph):
    found = weigh_edges(graph, rows, np.tile(rows.X[rows.index], (3, 1)))
    np.testing.assert_allclose(found.affinity_.toarray(), graph.affinity_.toarray(), rtol=1e-12)


def test_edges_with_rows_between_their_ends_are_stronger():
    """A gap that the sample does not show: the same distances, and rows on one side only."""
    used = np.arange(20.0)[:, None]
    between = np.random.default_rng(0).uniform(0.0, 9.0, 500)[:, None]
    rows = UsedRows(used, np.arange(20), np.arange(20), learn_scaling(used))
    graph = KNNGraph(2, bandwidth="local").fit(rows.scaled)
    found = weigh_edges(graph, rows, between)
    ratio = found.affinity_.toarray()[np.arange(19), np.arange(1, 20)]
    ratio /= graph.affinity_.toarray()[np.arange(19), np.arange(1, 20)]
    assert ratio[1:8].min() > 10 * ratio[11:18].max()


def test_a_graph_without_edges_stays(rows):
    graph = KNNGraph.from_affinity(sp.csr_array((80, 80)))
    assert weigh_edges(graph, rows, rows.others(seed=0)) is graph


def test_others_are_a_random_sample_of_the_rows_that_are_not_in_use(rows, monkeypatch):
    unused = {tuple(row) for row in np.delete(rows.X, rows.index, axis=0)}
    assert {tuple(row) for row in rows.others(seed=0)} == unused
    monkeypatch.setattr(limits, "EDGE_ROWS", 100)
    few, again = rows.others(seed=0), rows.others(seed=0)
    assert len(few) == 100
    assert {tuple(row) for row in few} < unused
    assert np.array_equal(few, again)
    assert not np.array_equal(few, rows.others(seed=1))
