"""Unequal numbers of labels per class, and labels that arrive after a selection."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits, make_blobs

import lapwing
from lapwing import SemiSupervisedClassifier, SemiSupervisedRegressor
from lapwing.auto.candidate_settings import (
    GRAPH,
    SUPERVISED,
    LinearSetting,
    kernel_reduction,
    without_scale,
)
from lapwing.auto.labels import PRIOR, SUBSETS, Labels, sample_probability

counts_of_classes = st.lists(st.integers(1, 12), min_size=2, max_size=5)


def labels_of(counts, sampled=PRIOR, weights=None):
    codes = np.repeat(np.arange(len(counts)), counts)
    targets = np.where(codes[:, None] == np.arange(len(counts)), 1.0, -1.0)
    weights = np.ones(len(codes)) if weights is None else weights
    return Labels(np.arange(len(codes)), targets, weights, codes, sampled)


# ---------------------------------------------------------------- numbers of labels


@given(counts_of_classes)
def test_even_subsets_have_equal_numbers_and_use_all_labels_alike(counts):
    labels = labels_of(counts)
    subsets = list(labels.even_subsets())
    assert len(subsets) == SUBSETS
    used = np.zeros(len(labels.index), dtype=int)
    for subset in subsets:
        assert len(np.unique(subset)) == len(subset)
        assert (np.bincount(labels.codes[subset]) == min(counts)).all()
        used[subset] += 1
    for code, count in enumerate(counts):
        times = used[labels.codes == code]
        assert times.sum() == SUBSETS * min(counts)
        if count <= SUBSETS * min(counts):
            assert times.max() - times.min() <= SUBSETS * min(counts) / count + 1


@given(counts_of_classes, st.floats(0, 1))
def test_labels_count_one_on_average_by_class_or_each(counts, sampled):
    labels = labels_of(counts, sampled)
    assert labels.counting.mean() == pytest.approx(1.0)
    sums = np.bincount(labels.codes, weights=labels.counting) / len(labels.index)
    natural = np.array(counts) / sum(counts)
    np.testing.assert_allclose(sums, sampled * natural + (1 - sampled) / len(counts))
    assert labels.is_even == (max(counts) <= 1.5 * min(counts))


def test_even_weights_keep_the_weights_of_the_user():
    labels = labels_of([6, 2], weights=np.array([1, 1, 1, 1, 1, 1, 10.0, 10.0]))
    np.testing.assert_allclose(labels.even_weights, [*[8 / 12] * 6, *[20.0] * 2])


def test_quantities_have_no_classes():
    labels = Labels(np.arange(4), np.arange(4.0)[:, None], np.arange(1.0, 5.0))
    assert labels.is_even
    np.testing.assert_array_equal(labels.even_weights, labels.weights)
    np.testing.assert_array_equal(labels.counting, np.ones(4))


@pytest.mark.parametrize("family", [SUPERVISED, GRAPH])
def test_uneven_labels_are_solved_by_subsets(family):
    rng = np.random.default_rng(0)
    labels = labels_of([7, 3, 2], sampled=0.3, weights=rng.uniform(0.5, 2.0, 12))
    A = rng.normal(size=(12, 12))
    R, reg = A @ A.T, 0.2

    def ridge(index, weights):
        m = len(index)
        system = np.ones((m + 1, m + 1))
        system[:m, :m] = R[np.ix_(index, index)] + reg * np.diag(1.0 / weights)
        system[m, m] = 0.0
        found = np.zeros((13, 3))
        right = np.vstack([labels.targets[index], np.zeros(3)])
        found[np.append(index, 12)] = np.linalg.solve(system, right)
        return found

    counts = np.array([7, 3, 2])[labels.codes]
    expected = 0.3 * ridge(np.arange(12), labels.weights * 12 / (3 * counts))
    for subset in labels.even_subsets():
        expected += 0.7 / SUBSETS * ridge(subset, labels.weights[subset])
    c, b = LinearSetting(family, {"reg": reg}, kernel_reduction(R)).solve(labels)
    np.testing.assert_allclose(np.vstack([c, b]), expected, rtol=1e-8, atol=1e-8)


# ---------------------------------------------------------------- a sample, or chosen by class


def simulated(seed, l, chosen, shares=(0.85, 0.15)):
    """Probabilities of a calibrated model for l rows, drawn at random or by class."""
    rng = np.random.default_rng(seed)
    codes = rng.choice(2, size=4000, p=shares)
    x = rng.normal(size=4000) + 2.0 * codes
    density = np.exp(-0.5 * (x[:, None] - 2.0 * np.arange(2)) ** 2) * shares
    P = density / density.sum(axis=1, keepdims=True)
    rows = rng.permutation(4000)[:l]
    if chosen:
        rows = np.concatenate([np.flatnonzero(codes == k)[:number] for k, number in chosen.items()])
    return P[rows], codes[rows], P.mean(axis=0)


def test_a_random_sample_is_told_from_rows_chosen_by_class():
    samples = [sample_probability(*simulated(seed, 60, {})) for seed in range(10)]
    chosen = [sample_probability(*simulated(seed, 0, {0: 10, 1: 50})) for seed in range(10)]
    assert np.median(samples) > PRIOR  # with two classes there is one number to tell by
    assert max(chosen) < 0.1


def test_evidence_is_that_of_the_formulas():
    P, codes, shares = simulated(3, 12, {}, shares=(0.6, 0.4))
    counts = np.bincount(codes, minlength=2)

    def likelihood(b):
        """Of the labels times the prior of a factor e^b of the second class."""
        weighted = P * [1.0, np.exp(b)]
        own = (weighted / weighted.sum(axis=1, keepdims=True))[np.arange(12), codes]
        prior = shares @ (np.array([0.0, b]) - np.log(shares @ [1.0, np.exp(b)]))
        return own.prod() * np.exp(5.0 * prior), np.exp(5.0 * prior)

    grid = np.linspace(-15.0, 15.0, 6001)
    evidence, normalisation = np.array([likelihood(b) for b in grid]).sum(axis=0)
    by_class = np.log(P / shares)[np.arange(12), codes].sum()
    factorial = np.cumsum(np.log(np.maximum(np.arange(20), 1)))  # of log k!
    by_class += factorial[1] - factorial[13] + factorial[counts].sum()
    expected = 1.0 / (1.0 + 3.0 * np.exp(by_class) * normalisation / evidence)
    assert sample_probability(P, codes, shares) == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize("C", [3, 10])
def test_more_labels_of_a_sample_make_it_more_likely_one(C):
    found = []
    for l in (20, 60, 150):
        several = []
        for seed in range(21):
            codes = np.random.default_rng(seed).integers(C, size=l)
            P = np.where(codes[:, None] == np.arange(C), 0.98, 0.02 / (C - 1))
            several.append(sample_probability(P, codes, np.full(C, 1.0 / C)))
        found.append(np.median(several))
    assert found == sorted(found)
    assert found[-1] > 0.6


@given(st.integers(0, 100), st.integers(1, 30), st.floats(0.01, 0.99))
def test_names_of_classes_do_not_matter(seed, l, prior):
    P, codes, shares = simulated(seed, l, {})
    found = sample_probability(P, codes, shares, prior)
    swapped = sample_probability(P[:, ::-1], 1 - codes, shares[::-1], prior)
    assert 0.0 <= found <= 1.0
    assert swapped == pytest.approx(found, abs=1e-4)


def test_without_rows_the_prior_stays():
    none = np.zeros((0, 3)), np.zeros(0, dtype=int), np.ones(3) / 3
    assert sample_probability(*none, 0.7) == pytest.approx(0.7)


@pytest.mark.parametrize("prior", [0.0, 1.0])
def test_what_is_certain_stays_certain(prior):
    assert sample_probability(*simulated(0, 20, {0: 5, 1: 15}), prior) == prior


# ---------------------------------------------------------------- the default


def skewed_blobs():
    """Two overlapping classes of equal size; two labels of one and forty of the other."""
    X, truth = make_blobs(600, 10, centers=[[-0.6] * 10, [0.6] * 10], random_state=0)
    y = np.full(600, -1)
    for code, count in ((0, 2), (1, 40)):
        y[np.flatnonzero(truth == code)[:count]] = code
    return X, y, truth


@pytest.mark.parametrize(
    "method", ["auto", "supervised", "manifold", "graph", "margin", "self-training"]
)
def test_many_labels_of_one_class_do_not_decide(method):
    X, y, truth = skewed_blobs()
    found = SemiSupervisedClassifier(method).fit(X, y).transduction_
    assert np.mean(found == truth) > 0.85
    assert 0.35 < np.mean(found == 1) < 0.65


def test_many_labels_of_one_class_may_arrive():
    X, y, truth = skewed_blobs()
    late = np.flatnonzero(y == 1)[2:]
    first = y.copy()
    first[late] = -1
    model = SemiSupervisedClassifier().fit(X, first)
    before = np.mean(model.transduction_ == truth)
    for rows in np.array_split(late, 8):
        model.add_labels(rows, truth[rows])
        assert np.mean(model.transduction_ == truth) > before - 0.05


@pytest.fixture(scope="module")
def digits():
    X, truth = load_digits(return_X_y=True)
    X, truth = X[:500], truth[:500]
    y = np.full(500, -1)
    for digit in range(10):
        y[np.flatnonzero(truth == digit)[:3]] = digit
    return X, y, truth


def test_few_labels_keep_the_selection_and_many_repeat_it(digits):
    X, y, truth = digits
    model = SemiSupervisedClassifier().fit(X, y)
    before = model.candidates_
    hidden = [np.flatnonzero((truth == digit) & (y == -1))[:3] for digit in range(10)]
    rows = np.concatenate(hidden)
    one_class = np.flatnonzero((truth == 7) & (y == -1))[3:]
    for few in (rows[:5], one_class):  # which say little about the models, however many
        model.add_labels(few, truth[few])
        assert model.candidates_ is before
    assert model.report_.refits == 2
    model.add_labels(one_class, np.full(len(one_class), -1))
    model.add_labels(rows[5:], truth[rows[5:]])
    assert model.candidates_ is not before
    again = "models were selected again, because there are 60 labels instead of 30"
    assert again in model.report_.warnings
    assert model.report_.refits == 0
    model.add_labels(rows[:1], truth[rows[:1]])  # labels that are known already
    assert model.report_.refits == 1
    assert not any("selected again" in note for note in model.report_.warnings)


def weights_of(model):
    return {(c.family, str(without_scale(c.settings))): c.weight for c in model.candidates_}


@pytest.mark.parametrize("method", ["auto", "graph"])
def test_a_repeated_selection_keeps_shares_by_the_labels_they_are_based_on(digits, method):
    X, y, truth = digits
    model = SemiSupervisedClassifier(method).fit(X, y)
    before = weights_of(model)
    rows = np.concatenate([np.flatnonzero((truth == k) & (y == -1))[:6] for k in range(10)])
    model.add_labels(rows, truth[rows])
    assert any("selected again" in note for note in model.report_.warnings)
    y = np.where(np.isin(np.arange(len(y)), rows), truth, y)
    now = weights_of(SemiSupervisedClassifier(method).fit(X, y))
    share = 0.25 if method == "auto" else 0.0  # 30 of 30 + 90 labels; a name means one model
    expected = np.array([(1 - share) * now[key] + share * before[key] for key in now])
    expected = np.where(expected < 0.02, 0.0, expected)
    assert list(weights_of(model).values()) == pytest.approx(expected / expected.sum())
    assert before != now
    assert ("in part by the selection before" in model.report_.reason) == (method == "auto")


def test_shares_by_labels_that_were_wrong_are_not_kept(digits):
    X, y, _ = digits
    model = SemiSupervisedClassifier().fit(X, y)
    rows = np.flatnonzero(y == 0)[:1]
    model.add_labels(rows, [1])
    y = np.where(np.arange(len(y)) == rows, 1, y)
    assert "labels have been corrected" in " ".join(model.report_.warnings)
    assert weights_of(model) == weights_of(SemiSupervisedClassifier().fit(X, y))
    assert "the selection before" not in model.report_.reason


def test_predictions_with_one_label_per_class_promise_nothing(digits):
    X, y, truth = digits
    single = np.full(len(y), -1)
    first = [np.flatnonzero(truth == digit)[0] for digit in range(10)]
    single[first] = truth[first]
    model = SemiSupervisedClassifier().fit(X, single)
    sure = np.argsort(-model.label_distributions_.max(axis=1) + 10.0 * (single != -1))[:5]
    model.add_labels(sure, (model.transduction_[sure] + 1) % 10)
    assert not any("selected again" in note for note in model.report_.warnings)


def test_labels_that_contradict_the_model_repeat_the_selection(digits):
    X, y, _ = digits
    model = SemiSupervisedClassifier().fit(X, y)
    sure = np.argsort(-model.label_distributions_.max(axis=1) + 10.0 * (y != -1))[:12]
    wrong = (model.transduction_[sure] + 1) % 10
    model.add_labels(sure, wrong)
    assert "differ from the predictions more than expected" in model.report_.warnings[0]


def test_a_new_class_repeats_the_selection(digits):
    X, y, truth = digits
    y = np.where(truth == 9, -1, y)
    model = SemiSupervisedClassifier().fit(X, y)
    rows = np.flatnonzero(truth == 9)[:4]
    model.add_labels(rows, [9] * 4)
    assert any("the classes have changed" in note for note in model.report_.warnings)
    assert model.classes_.tolist() == list(range(10))
    assert np.mean(model.predict(X)[truth == 9] == 9) > 0.5


def test_targets_that_double_repeat_the_selection():
    X = np.linspace(0, 1, 80)[:, None]
    y = np.where(np.arange(80) % 10 == 0, np.sin(4 * X[:, 0]), np.nan)
    model = SemiSupervisedRegressor().fit(X, y)
    rows = np.arange(5, 80, 10)
    model.add_labels(rows, np.sin(4 * X[rows, 0]))
    assert any("there are 16 labels instead of 8" in note for note in model.report_.warnings)


def test_whether_labels_are_a_sample_can_be_said():
    X, y, truth = skewed_blobs()
    late = np.flatnonzero(y == 1)[2:]
    first = y.copy()
    first[late] = -1
    found = {}
    for random in (True, False, None):
        model = SemiSupervisedClassifier("supervised").fit(X, first)
        model.add_labels(late[:5], truth[late[:5]], random=random)
        found[random] = np.mean(model.transduction_ == 1)
        assert model._last_selection.said == random
    assert found[True] > found[False]
    with pytest.raises(ValueError, match="random must be True, False or None, got 1"):
        model.add_labels(late, truth[late], random=1)


def test_what_was_said_holds_until_it_is_said_again():
    X, y, truth = skewed_blobs()
    late = np.flatnonzero(y == 1)[2:]
    first = y.copy()
    first[late] = -1
    model = SemiSupervisedClassifier("supervised").fit(X, first)
    model.add_labels(late[:2], truth[late[:2]], random=True)
    model.add_labels(late[2:4], truth[late[2:4]])
    assert model._last_selection.sampled_now(model._targets) == 1.0
    rows = np.flatnonzero(first == -1)[:60]
    model.add_labels(rows, truth[rows])  # selects again
    assert any("selected again" in note for note in model.report_.warnings)
    assert model._last_selection.sampled_now(model._targets) == 1.0
    model.add_labels(late, truth[late], random=False)
    assert model._last_selection.sampled_now(model._targets) == 0.0
    model.set_params(class_shares="labels")
    with pytest.raises(ValueError, match='random=False contradicts class_shares="labels"'):
        model.add_labels(late, truth[late], random=False)


def test_saying_that_labels_are_a_sample_is_no_reason_to_select_again():
    X, y, truth = skewed_blobs()
    model = SemiSupervisedClassifier("supervised").fit(X, y)
    row = np.flatnonzero(y == -1)[:1]
    model.add_labels(row, truth[row], random=True)
    assert model.report_.refits == 1


def test_labels_may_change_where_every_row_has_one():
    X, _, truth = skewed_blobs()
    X, truth = X[:80], truth[:80]
    for index, label in ((3, 1 - truth[3]), (3, -1), (5, 7)):
        model = SemiSupervisedClassifier("supervised").fit(X, truth)
        model.add_labels([index], [label])
        assert np.isfinite(model.predict_proba(X)).all()


def test_corrected_labels_repeat_the_selection(digits):
    X, y, truth = digits
    wrong = y.copy()
    some = np.flatnonzero(y != -1)[:10]
    wrong[some] = (y[some] + 1) % 10
    model = SemiSupervisedClassifier().fit(X, wrong)
    before = model.report_.score
    model.add_labels(some, truth[some])
    assert any("labels have been corrected" in note for note in model.report_.warnings)
    assert model.report_.score > before
    model.add_labels(some[:1], [-1])  # a label that is removed is no contradiction
    assert model.report_.refits == 1


def test_notes_on_numbers_of_labels_follow_added_ones(digits):
    X, y, truth = digits
    few = y.copy()
    few[np.flatnonzero(y == 0)[1:]] = -1
    model = SemiSupervisedClassifier().fit(X, few)
    assert any("classes with a single label" in note for note in model.report_.warnings)
    rows = np.flatnonzero((truth == 0) & (few == -1))[:2]
    model.add_labels(rows, [0, 0])
    assert not any("classes with a single label" in note for note in model.report_.warnings)
    many = np.flatnonzero((truth == 1) & (few == -1))[:25]
    model.add_labels(many, [1] * 25, random=False)
    assert any("different numbers of labels" in note for note in model.report_.warnings)


def test_shares_of_the_labels_mean_a_sample():
    X, y, _ = skewed_blobs()
    plain, sample = (
        SemiSupervisedClassifier("supervised", class_shares=shares).fit(X, y)
        for shares in (None, "labels")
    )
    assert np.mean(sample.transduction_ == 1) > 0.9 > np.mean(plain.transduction_ == 1)
    assert sample._last_selection.said == 1.0


def test_balanced_weights_are_the_rule():
    X, y, _ = skewed_blobs()
    plain, balanced, heavy = (
        SemiSupervisedClassifier("supervised", class_weight=weight).fit(X, y)
        for weight in (None, "balanced", {0: 20.0, 1: 1.0})
    )
    assert np.array_equal(plain.decision_function(X), balanced.decision_function(X))
    assert np.mean(heavy.transduction_ == 0) > np.mean(plain.transduction_ == 0)


def test_a_loaded_model_goes_on_as_the_original(digits, tmp_path):
    X, y, truth = digits
    model = SemiSupervisedClassifier().fit(X, y)
    lapwing.save(model, tmp_path / "model.lapwing")
    loaded = lapwing.load(tmp_path / "model.lapwing")
    rows = np.flatnonzero((y == -1) & (truth < 3))[:12]
    for one in (model, loaded):
        one.add_labels(rows, truth[rows])
    np.testing.assert_allclose(
        loaded.label_distributions_, model.label_distributions_, rtol=1e-9, atol=1e-12
    )
