"""Which rows are worth a label: by hand, on small graphs."""

import numpy as np

from lapwing import KNNGraph
from lapwing.auto.suggestions import worth_labelling


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
