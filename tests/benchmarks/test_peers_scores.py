"""Scores of classes and probabilities, against hand computations and brute force."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score

from experiments.peers_scores import (
    BINS,
    abstention,
    accuracy,
    balanced_accuracy,
    calibration_error,
    credit,
    shared_answers,
    shares,
)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40))
def test_accuracies_of_codes(pairs):
    found, y = np.array(pairs).T
    assert accuracy(found, y) == pytest.approx(100.0 * np.mean(found == y))
    present = [k for k in range(4) if np.any(y == k)]
    recalls = [np.mean(found[y == k] == k) for k in present]
    assert balanced_accuracy(found, y) == pytest.approx(100.0 * np.mean(recalls))


def test_balanced_accuracy_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    y = rng.choice(3, 200, p=[0.8, 0.15, 0.05])
    found = np.where(rng.random(200) < 0.7, y, 0)
    expected = 100.0 * balanced_accuracy_score(y, found)
    assert balanced_accuracy(found, y) == pytest.approx(expected, rel=1e-12)
    assert balanced_accuracy(np.eye(3)[found], y) == pytest.approx(expected, rel=1e-12)


@given(st.lists(st.lists(st.integers(0, 2), min_size=4, max_size=4), min_size=1, max_size=8))
def test_shares_are_means_over_all_class_orders(rows):
    """The reference lets the first class of each order win a tie."""
    P = np.array(rows, dtype=float)
    wins = np.zeros_like(P)
    orders = list(permutations(range(4)))
    for order in orders:
        first = np.array(order)[P[:, order].argmax(axis=1)]
        wins[np.arange(len(P)), first] += 1.0
    np.testing.assert_allclose(shares(P), wins / len(orders), rtol=1e-12)


@pytest.mark.parametrize("nothing", [0.0, np.nan])
def test_rows_that_no_label_reaches_have_equal_probabilities(nothing):
    answers = shared_answers(np.array([[0.7, 0.3, 0.0], [nothing] * 3]))
    np.testing.assert_allclose(answers.probabilities, [[0.7, 0.3, 0.0], [1 / 3] * 3], rtol=1e-12)
    np.testing.assert_allclose(credit(answers.classes, np.array([0, 2])), [1, 1 / 3], rtol=1e-12)


def two_classes(largest, right):
    """Return probabilities with these largest values, and truths that make rows right or wrong."""
    largest = np.array(largest)
    return np.column_stack([largest, 1.0 - largest]), np.where(right, 0, 1)


def test_calibration_error_by_hand():
    """Bins have the width 1/15: 0.81 and 0.85 share one, 0.95 and 1 another, 0.6 has its own."""
    P, y = two_classes([0.81, 0.85, 0.95, 1.0, 0.6], [True, False, True, True, False])
    gaps = [abs(1 - 0.81 - 0.85), abs(2 - 0.95 - 1.0), abs(0 - 0.6)]
    assert BINS == 15
    assert calibration_error(P, y) == pytest.approx(100.0 * sum(gaps) / 5, rel=1e-12)


def test_calibration_error_of_calibrated_rows_is_zero():
    """Of the rows with probability p exactly the share p is right."""
    for p, n in [(0.75, 20), (0.6, 50), (1.0, 7)]:
        P, y = two_classes(np.full(n, p), np.arange(n) < p * n)
        assert calibration_error(P, y) == pytest.approx(0.0, abs=1e-12)


def test_calibration_error_of_classes_drawn_from_the_probabilities():
    """It is small if classes are drawn by the probabilities, and large if these are exaggerated."""
    rng = np.random.default_rng(0)
    P = rng.dirichlet([0.5] * 4, 100_000)
    y = (P.cumsum(axis=1) < rng.random((len(P), 1))).sum(axis=1).clip(max=3)
    assert calibration_error(P, y) < 1.0
    sharp = P**3 / (P**3).sum(axis=1, keepdims=True)
    assert calibration_error(sharp, y) > 10.0


def test_abstention_by_hand():
    P, y = two_classes([0.9, 0.95, 0.89, 0.6], [True, False, True, True])
    assert abstention(P, y) == pytest.approx((50.0, 25.0))
    assert abstention(P[2:], y[2:]) == (0.0, 0.0)
