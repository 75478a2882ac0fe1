"""The ways in which labels arrive in the benchmark, and what counts as a fall."""

import numpy as np
import pytest

import label_arrival


@pytest.fixture
def labels():
    y = np.arange(400) % 4
    return y, np.arange(8), np.array([2, 0, 3, 1])  # two labels of each class


@pytest.mark.parametrize("way", ["random", "one class", "two classes", "skewed"])
def test_ten_new_rows_arrive(way, labels):
    y, labelled, classes = labels
    rows = label_arrival.arrival(y, way, labelled, classes, np.random.default_rng(0))
    assert len(np.unique(rows)) == 10
    assert not np.isin(rows, labelled).any()


def test_classes_arrive_one_after_the_other(labels):
    y, labelled, classes = labels
    for code in classes:
        rows = label_arrival.arrival(y, "one class", labelled, classes, np.random.default_rng(0))
        assert (y[rows] == code).all()
        labelled = np.append(labelled, rows)


def test_two_classes_arrive(labels):
    y, labelled, classes = labels
    rows = label_arrival.arrival(y, "two classes", labelled, classes, np.random.default_rng(0))
    assert np.bincount(y[rows], minlength=4).tolist() == [5, 0, 5, 0]


def test_a_fall_is_measured_from_the_best_so_far(monkeypatch):
    y = np.arange(200) % 2

    class Scripted:
        """A model that has 80, 90, 70 and 85 % of the rows right, one after the other."""

        def __init__(self):
            self.right = [0.8, 0.9, 0.7, 0.85]

        def fit(self, X, marks):
            return self.add_labels(None, None)

        def add_labels(self, rows, labels):
            share = self.right.pop(0) if self.right else 0.85
            self.transduction_ = np.where(np.arange(200) % 20 < 20 * share, y, 1 - y)
            return self

    monkeypatch.setattr(label_arrival, "SemiSupervisedClassifier", Scripted)
    monkeypatch.setattr(label_arrival, "LAST", 34)
    found = label_arrival.run(np.zeros((200, 1)), y, "random", 0, False)
    assert found.accuracies == pytest.approx([80, 90, 70, 85], abs=4)
    best = found.accuracies[1]
    assert found.falls == pytest.approx([0, best - found.accuracies[2], best - found.accuracies[3]])
    assert found.errors[1] == pytest.approx(100 * np.sqrt(20 / 100 / 166), rel=0.2)
