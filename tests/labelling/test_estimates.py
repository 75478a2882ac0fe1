"""How good the model is, and what more labels are worth: coverage, not appearance, is tested."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lapwing.labelling.estimates import (
    LEVEL,
    Estimate,
    Worth,
    class_shares,
    share_of,
    steadied_shares,
    worth_of_labels,
)

# ---------------------------------------------------------------- a share


@pytest.mark.parametrize(("right", "rows"), [(1, 2), (18, 20), (5, 300), (299, 300), (50, 100)])
def test_the_interval_is_that_of_jeffreys(right, rows):
    found = share_of(right, rows)
    expected = stats.beta(right + 0.5, rows - right + 0.5).ppf([0.025, 0.975])
    np.testing.assert_allclose([found.low, found.high], expected, rtol=1e-8)
    assert found.value == right / rows


@pytest.mark.parametrize("rows", [1, 3, 1000])
def test_without_an_error_or_a_success_the_interval_reaches_the_end(rows):
    none, all_ = share_of(0, rows), share_of(rows, rows)
    assert (none.value, none.low) == (0.0, 0.0)
    assert (all_.value, all_.high) == (1.0, 1.0)
    assert all_.low == pytest.approx(1.0 - none.high, abs=1e-12)
    assert 0.0 < none.high < 1.0


@pytest.mark.parametrize("rows", [3, 5, 10, 20, 50, 100, 400])
def test_the_interval_contains_the_truth(rows):
    """Exact coverage, by sums over the binomial distribution, for shares on a fine grid."""
    ends = [share_of(right, rows) for right in range(rows + 1)]
    low, high = np.array([(one.low, one.high) for one in ends]).T
    p = np.linspace(0.002, 0.998, 499)[:, None]
    inside = (low <= p) & (p <= high)
    coverage = (stats.binom.pmf(np.arange(rows + 1), rows, p) * inside).sum(axis=1)
    assert coverage.mean() > LEVEL - 0.01
    assert coverage.min() > 0.84  # jumps between binomial counts: 0.885 … for Jeffreys, and lower
    assert (coverage > 0.9).mean() > 0.9


def test_intervals_shrink_with_rows():
    widths = [share_of(9 * n, 10 * n) for n in (1, 4, 16, 64)]
    widths = [one.high - one.low for one in widths]
    assert all(after < 0.6 * before for before, after in pairwise(widths))


# ---------------------------------------------------------------- class shares


def biased_model(rng, n=4000):
    """Classes of n rows, and the probabilities of a model that takes class 0 for class 1."""
    truth = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    P = np.eye(3)[truth] * 0.6 + 0.4 / 3
    wrong = (truth == 0) & (rng.random(n) < 0.4)
    P[wrong] = [0.15, 0.75, 0.10]
    return truth, P


def test_shares_are_unbiased_and_their_intervals_contain_the_truth():
    rng, runs, m = np.random.default_rng(0), 400, 60
    truth, P = biased_model(rng)
    shares, overall = np.bincount(truth) / len(truth), P.mean(axis=0)
    assert abs(overall - shares).max() > 0.05  # the model is far off
    values, inside, widths, plain = [], [], [], []
    for _ in range(runs):
        rows = rng.choice(len(truth), m, replace=False)
        found = class_shares(truth[rows], 3, overall, P[rows])
        values.append([one.value for one in found])
        inside.append([o.low <= s <= o.high for o, s in zip(found, shares, strict=True)])
        widths.append([one.high - one.low for one in found])
        plain.append([o.high - o.low for o in class_shares(truth[rows], 3, None, None)])
    error = np.mean(values, axis=0) - shares
    standard_error = np.std(values, axis=0) / math.sqrt(runs)
    assert (abs(error) < 4 * standard_error).all()
    assert (np.mean(inside, axis=0) > 0.92).all()
    # The model, although biased, makes them more precise than the random rows alone.
    assert np.mean(widths) < 0.95 * np.mean(plain)


def test_shares_of_a_perfect_model_are_its_own_but_not_certain():
    codes, overall = np.array([0, 1, 1, 0, 1]), np.array([0.3, 0.7])
    found = class_shares(codes, 2, overall, np.eye(2)[codes])
    np.testing.assert_allclose([one.value for one in found], overall, rtol=1e-12)
    assert all(0.05 < one.high - one.low < 1.0 for one in found)


def test_rows_with_a_label_count_as_they_are():
    codes, P = np.array([0, 1, 1]), np.array([[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]])
    overall = np.array([0.4, 0.6])
    every = class_shares(codes, 2, overall, P, overall)
    assert [(one.low, one.value, one.high) for one in every] == [(0.4,) * 3, (0.6,) * 3]
    free = class_shares(codes, 2, overall, P)
    some = class_shares(codes, 2, overall, P, np.array([0.1, 0.1]))
    assert [one.value for one in some] == pytest.approx([one.value for one in free])
    most = class_shares(codes, 2, overall, P, np.array([0.6, 0.3]))
    assert [one.value for one in most] == pytest.approx([0.6, 0.4])
    assert all(0.3 <= one.low <= one.value <= one.high <= 0.7 + 1e-12 for one in most)


def test_a_row_that_could_not_be_predicted_changes_no_share():
    codes, overall = np.array([0, 1, 1]), np.array([0.3, 0.7])
    P = np.array([[0.6, 0.4], [0.1, 0.9], [0.0, 0.0]])
    with_it = class_shares(codes, 2, overall, P)
    error = (np.eye(2)[[0, 1]] - P[:2]).sum(axis=0) + (np.eye(2)[1] - overall)
    assert with_it[0].value == pytest.approx(0.3 + error[0] / 3)


def test_without_a_model_shares_are_counts():
    found = class_shares(np.array([0, 2, 2]), 4, None, None)
    assert found == [share_of(1, 3), share_of(0, 3), share_of(2, 3), share_of(0, 3)]


@given(st.data())
def test_shares_are_shares(data):
    n_classes, m = data.draw(st.integers(2, 5)), data.draw(st.integers(1, 12))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**16)))
    P = rng.dirichlet(np.full(n_classes, 0.3), m)
    overall = rng.dirichlet(np.full(n_classes, 0.3))
    codes = rng.integers(0, n_classes, m)
    if data.draw(st.booleans()):  # a model that is certain
        P, overall = np.eye(n_classes)[codes], np.eye(n_classes)[0]
    found = class_shares(codes, n_classes, overall, P)
    assert sum(one.value for one in found) == pytest.approx(1.0)
    assert all(0.0 <= one.low <= one.value <= one.high <= 1.0 for one in found)
    for judged in (None, P):
        moved = steadied_shares(codes, n_classes, overall, judged)
        if moved is not None:
            assert moved.sum() == pytest.approx(1.0)
            assert (moved > 0).all()  # no class is ruled out by a few rows


# ---------------------------------------------------------------- what more labels are worth

#: Errors of the model at the time, on random rows: half of them with 10 labels, few with 50.
LEARNING = [(10, i % 2 == 0) for i in range(10)] + [(50, i == 0) for i in range(10)]


def test_labels_are_worth_more_to_a_model_that_learns():
    flat = [(known, i % 10 == 0) for i, (known, _) in enumerate(LEARNING)]
    learns, stays = worth_of_labels(2, 20, LEARNING, 60), worth_of_labels(2, 20, flat, 60)
    assert learns.gain.value > 1.5 * stays.gain.value


def test_labels_are_worth_less_the_more_there_are():
    values = [worth_of_labels(4, 20, [], labels).gain.value for labels in (10, 20, 50, 100, 1000)]
    assert all(after < before for before, after in pairwise(values))


def test_labels_are_worth_less_to_a_better_model():
    values = [worth_of_labels(wrong, 40, [], 40).gain.value for wrong in (20, 10, 4, 0)]
    assert all(after < before for before, after in pairwise(values))


def test_more_labels_are_worth_more():
    values = [worth_of_labels(4, 20, LEARNING, 60, more).gain.value for more in (1, 10, 100)]
    assert values == sorted(values)
    assert values[0] < values[-1]


def test_more_rows_make_the_interval_narrower():
    few, many = worth_of_labels(2, 10, [], 50).gain, worth_of_labels(200, 1000, LEARNING * 20, 50)
    assert many.gain.high - many.gain.low < few.high - few.low


@pytest.mark.parametrize("beta", [0.0, 0.3, 0.8])
def test_the_gain_of_a_known_learning_curve(beta):
    """Errors drawn from error = 0.5·(10/labels)^β are found again."""
    rng = np.random.default_rng(0)
    before = [(int(k), bool(rng.random() < 0.5 * (10 / k) ** beta)) for k in range(10, 410)]
    now = 0.5 * (10 / 410) ** beta
    wrong = int(rng.binomial(400, now))
    truth = now - 0.5 * (10 / 420) ** beta
    gain = worth_of_labels(wrong, 400, before, 410).gain
    assert gain.low - 1e-9 <= truth <= gain.high + 1e-9
    assert gain.value == pytest.approx(truth, abs=0.003)


@given(
    st.integers(0, 30),
    st.integers(0, 30),
    st.lists(st.tuples(st.integers(0, 200), st.booleans()), max_size=20),
    st.integers(0, 500),
)
def test_gains_are_ordered_and_possible(wrong, right, before, labels):
    gain = worth_of_labels(wrong, wrong + right, before, labels).gain
    assert 0.0 <= gain.low <= gain.value <= gain.high <= 1.0


def worth(value, low, high, rows=20):
    return Worth(10, Estimate(value, low, high), rows)


def test_what_is_said_of_the_gain():
    assert worth(0.0213, 0.004, 0.051).text == (
        "10 more labels are worth about 2.1 points of accuracy (0.4 to 5.1)."
    )
    assert worth(0.003, 0.0, 0.012).text == (
        "10 more labels are worth about 0.3 points of accuracy (0.0 to 1.2): little, so it may be "
        "time to stop."
    )
    assert worth(0.001, 0.0, 0.004).text == (
        "10 more labels would change the accuracy by less than 0.5 points: it is time to stop."
    )


def test_few_random_rows_give_no_advice_to_stop():
    assert "stop" not in worth(0.001, 0.0, 0.004, rows=14).text
    assert "stop" not in worth(0.003, 0.0, 0.012, rows=14).text
    assert "stop" in worth(0.003, 0.0, 0.012, rows=15).text


def test_one_label_is_one_label():
    one = Worth(1, Estimate(0.02, 0.01, 0.03), 20)
    assert one.text == "1 more label is worth about 2.0 points of accuracy (1.0 to 3.0)."


def test_it_is_time_to_stop_when_a_model_no_longer_errs():
    before = [(known, False) for known in range(100, 500, 4)]
    assert worth_of_labels(0, 100, before, 500).text.endswith("it is time to stop.")
    assert "stop" not in worth_of_labels(8, 20, LEARNING, 30).text


# ---------------------------------------------------------------- shares against those of a model


def test_counts_that_agree_with_the_model_change_nothing():
    overall, found = np.array([0.5, 0.3, 0.2]), []
    for seed in range(400):
        codes = np.random.default_rng(seed).choice(3, 30, p=overall)
        found.append(steadied_shares(codes, 3, overall) is not None)
    assert 0.01 < np.mean(found) < 0.1  # one in twenty, by chance


@pytest.mark.parametrize(("m", "error"), [(10, 0.15), (30, 0.09), (300, 0.03)])
def test_counts_that_contradict_the_model_move_its_shares(m, error):
    truth, overall = np.array([0.85, 0.1, 0.05]), np.array([0.3, 0.3, 0.4])
    found = []
    for seed in range(100):
        codes = np.random.default_rng(seed).choice(3, m, p=truth)
        shares = steadied_shares(codes, 3, overall)
        found.append(overall if shares is None else shares)
    found = np.array(found)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    assert abs(found - truth).mean() < error
    assert abs(found - truth).mean() < 0.6 * abs(overall - truth).mean()


def test_errors_of_the_model_move_its_shares():
    rng, found = np.random.default_rng(0), []
    truth, P = biased_model(rng)
    shares, overall = np.bincount(truth) / len(truth), P.mean(axis=0)
    for m in (12, 60, 300):
        moved = []
        for _ in range(100):
            rows = rng.choice(len(truth), m, replace=False)
            one = steadied_shares(truth[rows], 3, overall, P[rows])
            moved.append(overall if one is None else one)
        found.append(abs(np.array(moved) - shares).mean())
    assert found == sorted(found, reverse=True)
    assert found[2] < 0.3 * abs(overall - shares).mean()


def test_shares_by_errors_step_by_step():
    """Plain sums; the last row was not predicted, and counts as all rows do."""
    codes, known = np.array([0] * 9 + [1, 2, 0]), np.array([0.05, 0.01, 0.02])
    overall = np.array([0.3, 0.3, 0.4])
    P = np.tile([0.2, 0.5, 0.3], (12, 1))
    P[-1] = 0.0
    errors = [
        [float(codes[i] == k) - (overall[k] if i == 11 else P[i, k]) for k in range(3)]
        for i in range(12)
    ]
    mean = [sum(error[k] for error in errors) / 12 for k in range(3)]
    rest = [max(overall[k] + mean[k] - known[k], 0.0) for k in range(3)]
    found = [known[k] + 0.92 * rest[k] / sum(rest) for k in range(3)]
    weight = 12 / 22  # the shares of the model count as ten rows
    moved = [max(weight * found[k] + (1 - weight) * overall[k], 0.5 / 15) for k in range(3)]
    shares = steadied_shares(codes, 3, overall, P, known)
    np.testing.assert_allclose(shares, np.array(moved) / sum(moved), rtol=1e-6)


def test_shares_are_never_zero():
    found = steadied_shares(np.zeros(20, dtype=int), 3, np.array([0.2, 0.8, 0.0]))
    assert found[0] > 0.7
    assert found.min() > 0.01


@pytest.mark.parametrize(("m", "n_classes"), [(2, 2), (9, 10), (0, 2)])
def test_fewer_rows_than_classes_contradict_nothing(m, n_classes):
    overall = np.full(n_classes, 1e-6)
    overall[-1] = 1.0
    assert steadied_shares(np.zeros(m, dtype=int), n_classes, overall) is None
