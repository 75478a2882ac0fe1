"""Edges of the graph of a sample that are weighed by all rows."""

import numpy as np
import pytest

from lapwing import KNNGraph
from lapwing.arrays.blocks import RowBlocks
from lapwing.auto import limits
from lapwing.auto.edges import weigh_edges
from lapwing.auto.rows import UsedRows
from lapwing.auto.scaling import learn_scaling
from lapwing.auto.setup import DEFAULT_GRAPH


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


def test_weights_are_those_of_the_formula(rows, graph):
    found, n = weigh_edges(graph, rows, RowBlocks.of(rows.X))
    X, U, W = rows.scaling.apply(rows.X), rows.scaled, graph.affinity_.toarray()
    own, every = naive_sums(U, U, 5), naive_sums(U, X, 5)
    assert n == 400
    expected = np.zeros_like(W)
    edges = W > 0
    m = len(U)
    expected[edges] = W[edges] * (m / (m + n)) * (own + every)[edges] / own[edges]
    np.testing.assert_allclose(found.affinity_.toarray(), expected, rtol=1e-9)
    assert found.n_neighbors == 4
    assert np.array_equal(found.component_, graph.component_)


def test_rows_like_the_sample_change_nothing(rows, graph):
    found, _ = weigh_edges(graph, rows, RowBlocks.of(np.tile(rows.X[rows.index], (3, 1))))
    np.testing.assert_allclose(found.affinity_.toarray(), graph.affinity_.toarray(), rtol=1e-12)


def test_edges_with_rows_between_their_ends_are_stronger():
    """A gap that the sample does not show: the same distances, and rows on one side only."""
    used = np.arange(20.0)[:, None]
    between = np.random.default_rng(0).uniform(0.0, 9.0, 500)[:, None]
    X = np.vstack([used, between])
    rows = UsedRows(X, np.arange(20), np.arange(520), learn_scaling(used))
    graph = DEFAULT_GRAPH.__class__(2, bandwidth="local").fit(rows.scaled)
    found, _ = weigh_edges(graph, rows, RowBlocks.of(X))
    ratio = found.affinity_.toarray()[np.arange(19), np.arange(1, 20)]
    ratio /= graph.affinity_.toarray()[np.arange(19), np.arange(1, 20)]
    assert ratio[1:8].min() > 10 * ratio[11:18].max()


def test_rows_are_drawn_by_their_values(rows, graph, monkeypatch):
    """Above a bound some rows count, the same ones whatever block they are in."""
    monkeypatch.setattr(limits, "EDGE_ROWS", 100)
    whole, n = weigh_edges(graph, rows, RowBlocks.of(rows.X))
    assert 60 < n < 140
    blocks = RowBlocks(lambda: [rows.X[:7], rows.X[7:7], rows.X[7:391], rows.X[391:]], 400)
    parts, other = weigh_edges(graph, rows, blocks)
    assert n == other
    np.testing.assert_allclose(whole.affinity_.data, parts.affinity_.data, rtol=1e-12)
    assert np.array_equal(whole.component_, graph.component_)
