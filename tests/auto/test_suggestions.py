"""Which rows are worth a label: by hand, on small graphs."""

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import make_moons

from lapwing import KNNGraph, SemiSupervisedClassifier
from lapwing.auto.suggestions import map_rows, worth_labelling


def suggested(W, doubt, labelled, n):
    X = np.arange(len(W), dtype=float)[:, None]
    W = np.maximum(W, W.T)
    return worth_labelling(X, KNNGraph.from_affinity(W), doubt, np.array(labelled), n).tolist()


def path(n):
    return np.diag(np.ones(n - 1), 1)


def test_neighbours_of_a_suggested_row_come_last():
    # In a path, rows 3 and 4 are the least certain, and a label of 3 says much about 4.
    doubt = np.array([0.0, 0.1, 0.2, 0.5, 0.49, 0.3, 0.3, 0.3])
    assert suggested(path(8), doubt, [0], 2) == [3, 6]


def test_neighbours_of_neighbours_are_worth_less():
    # Half-joined rows: row 2 is two edges away from row 0, and row 3 is three.
    W = 0.5 * path(8)
    doubt = np.array([0.9, 0.0, 0.50, 0.48, 0.0, 0.0, 0.0, 0.0])
    assert suggested(W, doubt, [7], 2) == [0, 3]


def test_rows_near_a_label_are_worth_less():
    doubt = np.array([0.0, 0.5, 0.45, 0.45, 0.4, 0.1])
    assert suggested(path(6), doubt, [0], 1) == [3]


def test_rows_with_many_neighbours_come_first():
    W = np.zeros((7, 7))
    W[0, 1:6] = W[5, 6] = 1.0
    assert suggested(W, np.full(7, 0.5), [6], 1) == [0]


def test_half_of_the_suggestions_reach_parts_of_the_graph_without_a_label():
    # A path with the label, in which row 4 is uncertain, and three paths of three, two, two rows.
    W = np.zeros((13, 13))
    for start, end in ((0, 6), (6, 9), (9, 11), (11, 13)):
        W[start:end, start:end] = path(end - start)
    doubt = np.full(13, 0.1)
    doubt[4] = 0.9
    assert suggested(W, doubt, [0], 1) == [7]
    assert suggested(W, doubt, [0], 2) == [7, 4]
    assert suggested(W, doubt, [0], 4)[:3] == [7, 9, 4]


def test_suggestions_among_duplicate_rows_are_those_without_them():
    """Rows that are not in use shift the indices of the others."""
    X, truth = make_moons(120, noise=0.1, random_state=0)
    labelled = np.r_[np.flatnonzero(truth == 0)[:4], np.flatnonzero(truth == 1)[:4]]
    y = np.full(120, -1)
    y[labelled] = truth[labelled]
    alone = SemiSupervisedClassifier().fit(X, y)
    twice = SemiSupervisedClassifier().fit(
        np.repeat(X, 2, axis=0), np.column_stack([y, np.full(120, -1)]).ravel()
    )
    assert twice.n_duplicates_ == 120
    assert twice.suggest(6).tolist() == (2 * alone.suggest(6)).tolist()
    assert not np.isin(alone.suggest(20), labelled).any()


def test_map_of_a_connected_graph():
    """Eigenvectors of I − D⁻¹W: a ring stays a ring."""
    n = 60
    W = path(n)
    W[0, -1] = 1.0
    points, kind = map_rows(np.zeros((n, 4)), KNNGraph.from_affinity(np.maximum(W, W.T)))
    assert kind == "eigenvectors of the graph"
    radius = np.linalg.norm(points, axis=1)
    np.testing.assert_allclose(radius, radius[0], rtol=1e-6)
    uneven = np.maximum(W, W.T) * np.outer(np.arange(1, n + 1), np.arange(1, n + 1))
    graph = KNNGraph.from_affinity(uneven)
    points, _ = map_rows(np.zeros((n, 4)), graph)
    walk = uneven / uneven.sum(axis=1, keepdims=True)
    values, vectors = np.linalg.eig(walk)
    second = vectors[:, np.argsort(-values.real)[1]].real
    assert abs(np.corrcoef(second, points[:, 0])[0, 1]) > 0.9  # but for points moved inwards


def test_map_of_other_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4)) * [5.0, 3.0, 0.1, 0.1]
    parts = np.kron(np.eye(2), np.ones((20, 20))) - np.eye(40)
    points, kind = map_rows(X, KNNGraph.from_affinity(parts))
    assert kind == "principal components"
    assert abs(np.corrcoef(points[:, 0], X[:, 0])[0, 1]) > 0.99
    sparse_points, kind = map_rows(sp.csr_matrix(X), KNNGraph.from_affinity(parts))
    assert kind == "principal components"
    assert sparse_points.shape == (40, 2)
    _, kind = map_rows(X[:10], KNNGraph.from_affinity(np.ones((10, 10)) - np.eye(10)))
    assert kind == "principal components"  # of few rows
    narrow, kind = map_rows(X[:, :1], KNNGraph.from_affinity(parts))
    assert kind == "columns"
    np.testing.assert_array_equal(narrow[:, 1], 0.0)
    np.testing.assert_allclose(narrow[:, 0], X[:, 0])


def test_outliers_of_the_map_are_moved_inwards():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 2))
    X[7] = [1e6, -1e6]
    parts = np.kron(np.eye(2), np.ones((200, 200))) - np.eye(400)
    points, _ = map_rows(X, KNNGraph.from_affinity(parts))
    assert 1.1 < points[7, 0] < 1.3
    assert -0.3 < points[7, 1] < -0.1
    np.testing.assert_array_equal(np.delete(points, 7, axis=0), np.delete(X, 7, axis=0))


def test_rows_without_any_doubt_are_suggested_by_their_number_of_neighbours():
    W = np.zeros((9, 9))
    W[0, 1:5] = W[5, 6:8] = W[4, 5] = W[7, 8] = 1.0
    assert suggested(W, np.zeros(9), [8], 1) == [0]
