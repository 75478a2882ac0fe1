"""The model that learns in the background: the newest labels win, and opinions are made blindly."""

import threading

import numpy as np
import pytest
import scipy.sparse as sp

from helpers.labelling import TREES, blobs
from lapwing import SemiSupervisedClassifier
from lapwing.labelling.estimates import steadied_shares
from lapwing.labelling.learner import Learner, Lesson, Opinion

PATIENCE = 60.0
X, TRUTH = blobs(90)


def lesson(rows, *, version=0, truth=TRUTH, **more):
    return Lesson({row: TREES[truth[row]] for row in rows}, version=version, **more)


def learn(learner, *arguments, opinions=False, **more):
    """Teach labels and wait until they are learnt; return the snapshot."""
    learner.teach(lesson(*arguments, **more))
    assert learner.wait(PATIENCE, opinions=opinions)
    assert learner.error is None
    return learner.snapshot


@pytest.fixture
def make():
    """Make learners that are closed in the end."""
    learners = []

    def make(rows=X, **parameters):
        learners.append(Learner(rows, **parameters))
        return learners[-1]

    yield make
    for learner in learners:
        learner.close()


@pytest.fixture
def learner(make):
    return make()


class Gate:
    """Lets the fits of a learner wait, and records the labels that they are given."""

    def __init__(self, learner, monkeypatch, *, is_open=True):
        self.labels, self.entered, self.open = [], threading.Event(), threading.Event()
        fitted = learner._fitted

        def wait_and_fit(labels, shares):
            self.labels.append(dict(labels))
            self.entered.set()
            assert self.open.wait(PATIENCE)
            return fitted(labels, shares)

        monkeypatch.setattr(learner, "_fitted", wait_and_fit)
        if is_open:
            self.open.set()


# ---------------------------------------------------------------- what is learnt


def test_there_is_a_model_as_soon_as_there_are_two_classes(learner):
    assert learn(learner, []) is None
    assert learn(learner, [0, 3]) is None  # of one class
    last = learn(learner, [0, 1], version=7)
    assert last.classes == ["ash", "birch"]
    assert last.lesson.version == 7
    last = learn(learner, [0, 1, 2])
    assert last.classes == ["ash", "birch", "cedar"]
    assert last.P.shape == last.free.shape == (90, 3)
    np.testing.assert_allclose(last.P.sum(axis=1), 1.0, rtol=1e-9)
    assert (last.P.argmax(axis=1) == TRUTH).all()


def test_rows_may_be_sparse(make):
    last = learn(make(sp.csr_matrix(X)), range(6))
    assert (last.P.argmax(axis=1) == TRUTH).mean() > 0.9


def test_the_model_learns_more_labels_without_a_new_start(learner, monkeypatch):
    calls = []
    for name in ("fit", "add_labels"):
        real = getattr(SemiSupervisedClassifier, name)

        def note(self, *arguments, name=name, real=real, **more):
            calls.append((name, len(arguments[0])))
            return real(self, *arguments, **more)

        monkeypatch.setattr(SemiSupervisedClassifier, name, note)
    selected = []
    for n in (6, 7, 8, 9, 13):
        learn(learner, range(n), opinions=True)
        selected.append("selected again" in str(learner.snapshot.model.report_.warnings))
    assert [name for name, _ in calls] == ["fit"] + ["add_labels"] * (len(calls) - 1)
    # A selection when the labels have doubled, and only then.
    assert selected == [False, False, False, False, True]


def test_a_label_that_is_taken_away_is_unlearnt(learner):
    learn(learner, range(12))
    last = learn(learner, [row for row in range(12) if row != 5])
    assert 5 not in last.lesson.labels
    assert last.model.labelled_.tolist() == [row for row in range(12) if row != 5]
    wrong = {row: TREES[TRUTH[row]] for row in range(12)} | {5: "ash"}
    learner.teach(Lesson(wrong))
    assert learner.wait(PATIENCE)
    assert learner.snapshot.model.transduction_[5] == "ash"
    assert learn(learner, range(12)).model.transduction_[5] == "cedar"


def test_a_class_without_labels_is_no_class(learner):
    assert learn(learner, range(6)).classes == ["ash", "birch", "cedar"]
    assert learn(learner, [0, 1, 3, 4]).classes == ["ash", "birch"]
    assert learn(learner, [0, 3]) is None
    assert learn(learner, [1, 2, 4, 5]).classes == ["birch", "cedar"]


def test_labels_are_given_to_the_model_as_the_values_that_they_stand_for(make):
    def values(names):
        return {name: int(name) if set(names) <= {"1", "2", "10"} else name for name in names}

    learner = make(values=values)
    truth = np.array(["1", "2", "10"])[TRUTH]
    labels = {row: truth[row] for row in range(9)}
    learner.teach(Lesson(labels))
    assert learner.wait(PATIENCE, opinions=True)
    last = learner.snapshot
    assert last.model.classes_.tolist() == [1, 2, 10]
    assert last.classes == ["1", "2", "10"]
    assert {row: one.label for row, one in learner.opinions.items()} == labels
    # A class that is no number makes texts of all.
    learner.teach(Lesson(labels | {9: "oak"}))
    assert learner.wait(PATIENCE)
    assert learner.snapshot.model.classes_.tolist() == ["1", "10", "2", "oak"]
    assert learner.snapshot.classes == ["1", "10", "2", "oak"]


# ---------------------------------------------------------------- in the background


def test_the_newest_labels_win(learner, monkeypatch):
    gate = Gate(learner, monkeypatch, is_open=False)
    learner.teach(lesson(range(3)))
    assert gate.entered.wait(PATIENCE)
    for n in (4, 5, 6, 7, 8):
        learner.teach(lesson(range(n), version=n))
    assert not learner.wait(0)
    assert learner.busy
    gate.open.set()
    assert learner.wait(PATIENCE)
    assert [len(labels) for labels in gate.labels[:2]] == [3, 8]  # none of those between
    assert learner.snapshot.lesson.version == 8


def test_new_labels_come_before_checks_of_old_ones(learner, monkeypatch):
    learn(learner, range(12), opinions=True)
    gate = Gate(learner, monkeypatch, is_open=False)
    learner.teach(lesson(range(24), version=1))
    assert gate.entered.wait(PATIENCE)
    learner.teach(lesson(range(25), version=2))
    gate.open.set()
    assert learner.wait(PATIENCE, opinions=True)
    assert [len(labels) for labels in gate.labels[:2]] == [24, 25]
    assert len(gate.labels) > 2  # then parts are checked
    assert all(len(labels) < 25 for labels in gate.labels[2:])


def test_random_rows_are_checked_although_there_are_always_new_labels(learner, monkeypatch):
    random = frozenset(range(0, 90, 3))
    learn(learner, range(30), random=random & set(range(30)), opinions=True)
    fitted, given = learner._fitted, []

    def fit_and_teach(labels, shares):
        given.append(len(labels))
        n = len(learner._wanted.labels)
        if n < 60:  # while a model is fitted, there is an answer
            learner.teach(lesson(range(n + 1), random=random & set(range(n + 1))))
        return fitted(labels, shares)

    monkeypatch.setattr(learner, "_fitted", fit_and_teach)
    learner.teach(lesson(range(31), random=random & set(range(31))))
    assert learner.wait(PATIENCE)
    # Two fits to the newest labels, then a part that lacks some of them, and so on.
    is_check = [here < max(given[: i + 1]) for i, here in enumerate(given)]
    assert is_check[:9] == [False, False, True] * 3
    assert all(one.labels >= 30 for one in learner.opinions.values())


def test_random_rows_stay_judged_by_about_the_present_model(make, monkeypatch):
    learner, random, shares = make(), set(range(0, 90, 5)), []
    fitted = learner._fitted

    def fit_and_teach(labels, class_shares):
        n, last = len(learner._wanted.labels), learner.snapshot
        if n < 85:  # the model is always behind
            learner.teach(lesson(range(n + 1), random=random & set(range(n + 1))))
        elif last is not None:
            known = [row for row in random if row in last.lesson.labels]
            shares.append(np.mean([row in last.recent(learner.opinions) for row in known]))
        return fitted(labels, class_shares)

    monkeypatch.setattr(learner, "_fitted", fit_and_teach)
    learner.teach(lesson(range(8), random=random & set(range(8))))
    assert learner.wait(PATIENCE)
    # One of ten parts is predicted for every three new labels, and 17 of 85 may be missing: about
    # 57 % of the rows.
    assert shares[0] > 0.4


def test_waiting_ends_after_the_given_time(learner, monkeypatch):
    gate = Gate(learner, monkeypatch, is_open=False)
    learner.teach(lesson(range(3)))
    assert not learner.wait(0.01)
    gate.open.set()
    assert learner.wait(PATIENCE)


def test_waiting_for_the_model_does_not_wait_for_checks(learner, monkeypatch):
    learn(learner, range(12))
    gate = Gate(learner, monkeypatch, is_open=False)
    try:
        assert gate.entered.wait(PATIENCE)
        assert learner.busy == "checking"
        assert learner.wait(0.0)
        assert not learner.wait(0.0, opinions=True)
    finally:
        gate.open.set()


def test_every_change_is_announced(make):
    changed = threading.Semaphore(0)
    learner = make(on_change=changed.release)
    learner.teach(lesson(range(3)))
    assert changed.acquire(timeout=PATIENCE)
    assert learner.snapshot is not None


def test_an_error_is_shown_and_the_next_labels_repair_it(learner, monkeypatch, caplog):
    last = learn(learner, range(6), opinions=True)

    def broken(labels, shares):
        raise MemoryError("there is no room for the graph")

    with monkeypatch.context() as patch, caplog.at_level("CRITICAL"):
        patch.setattr(learner, "_fitted", broken)
        learner.teach(lesson(range(7)))
        assert learner.wait(PATIENCE, opinions=True)
        assert learner.error == "there is no room for the graph"
        assert learner.snapshot is last  # the model before is kept
    assert learn(learner, range(8)).lesson.labels.keys() == set(range(8))


def test_nothing_is_learnt_after_the_end(make, monkeypatch):
    learner = make()
    gate = Gate(learner, monkeypatch)
    learner.close()
    learner.teach(lesson(range(3)))
    learner.close()
    assert gate.labels == []
    assert learner.snapshot is None


# ---------------------------------------------------------------- opinions


def test_an_opinion_is_that_of_a_model_that_did_not_know_the_label(learner, monkeypatch):
    gate, seen = Gate(learner, monkeypatch), []

    class Opinions(dict):
        def __setitem__(self, row, opinion):
            if opinion.label is not None:
                assert row not in gate.labels[-1]
                assert opinion.labels >= len(gate.labels[-1]) + 1
            seen.append(row)
            super().__setitem__(row, opinion)

    learner.opinions = Opinions()
    for n in (4, 9, 30, 33, 60):
        learn(learner, range(n), opinions=True)
        assert set(learner.opinions) == set(range(n))
    assert len(seen) > 60
    right = [one.label == TREES[TRUTH[row]] for row, one in learner.opinions.items()]
    assert np.mean(right) > 0.95
    assert all(one.supervised in TREES for one in learner.opinions.values())


def test_a_wrong_label_is_not_repeated(learner):
    wrong = {row: TREES[TRUTH[row]] for row in range(30)} | {10: "cedar"}  # it is a birch
    learner.teach(Lesson(wrong))
    assert learner.wait(PATIENCE, opinions=True)
    opinion = learner.opinions[10]
    assert opinion.label == "birch"
    assert opinion.probabilities["birch"] > 3 * opinion.probabilities["cedar"]
    assert sum(opinion.probabilities.values()) == pytest.approx(1.0)


def test_checks_leave_the_model_as_it_is(learner, monkeypatch):
    gate = Gate(learner, monkeypatch)
    learner.teach(lesson(range(30)))
    while not gate.labels or learner.snapshot is None:
        assert learner.wait(PATIENCE)
    last = learner.snapshot
    P, labelled = last.P.copy(), last.model.labelled_.copy()
    X_new = X[:5] + 0.01
    before = last.model.predict_proba(X_new)
    assert learner.wait(PATIENCE, opinions=True)
    assert len(gate.labels) > 5
    assert learner.snapshot is last
    np.testing.assert_array_equal(last.model.label_distributions_, P)
    np.testing.assert_array_equal(last.model.labelled_, labelled)
    np.testing.assert_array_equal(last.model.predict_proba(X_new), before)


def test_the_only_label_of_a_class_has_no_opinion(learner):
    learn(learner, [0, 3, 6, 9, 1], opinions=True)
    assert learner.opinions[1].label is None
    assert learner.opinions[1].probabilities == {}
    assert learner.opinions[0].label == "ash"


def test_opinions_of_rows_without_a_label_are_forgotten(learner):
    learn(learner, range(12), opinions=True)
    learn(learner, range(9), opinions=True)
    assert set(learner.opinions) == set(range(9))


def test_few_new_labels_do_not_start_all_checks_again(learner, monkeypatch):
    learn(learner, range(60), opinions=True)
    gate = Gate(learner, monkeypatch)
    learn(learner, range(61), opinions=True)
    assert len(gate.labels) <= 2  # a fit, and the part of the new row
    learn(learner, range(70), opinions=True)
    assert len(gate.labels) > 8


# ---------------------------------------------------------------- suggestions and shares


def test_changed_labels_are_checked_again(learner):
    wrong = {row: TREES[(TRUTH[row] + 1) % 3] for row in range(30)}
    learner.teach(Lesson(wrong))
    assert learner.wait(PATIENCE, opinions=True)
    assert all(learner.opinions[row].label == wrong[row] for row in wrong)
    learner.teach(lesson(range(30), version=1))  # as many labels as before
    assert learner.wait(PATIENCE, opinions=True)
    assert all(learner.opinions[row].label == TREES[TRUTH[row]] for row in wrong)


def test_random_rows_are_checked_first_and_apart_from_others(learner, monkeypatch):
    rows, random = range(40), frozenset(range(0, 40, 5))
    gate = Gate(learner, monkeypatch)
    learn(learner, rows, random=random, opinions=True)
    left_out = [set(rows) - set(labels) for labels in gate.labels[1:]]
    is_random = [out <= random for out in left_out]
    assert is_random == sorted(is_random, reverse=True)
    assert set().union(*left_out[: sum(is_random)]) == random
    assert all(not out & random for out in left_out[sum(is_random) :])


def test_opinions_of_much_worse_models_are_not_recent(learner):
    last = learn(learner, range(40))
    known = {row: Opinion({}, None, None, labels) for row, labels in enumerate((31, 32, 40, 50))}
    assert set(last.recent(known)) == {1, 2, 3}
    last = learn(learner, range(8))
    assert [last.is_recent(labels) for labels in (4, 5, 8)] == [False, True, True]


def test_the_shares_of_a_snapshot_are_those_of_models_without_the_label(learner):
    last = learn(learner, range(60))
    counts = np.array([sum(TREES[t] == name for t in TRUTH[:60]) for name in last.classes])
    overall, known = last.overall({})
    np.testing.assert_allclose(known, counts / 90, rtol=1e-12)
    np.testing.assert_allclose(overall, (counts + last.free[60:].sum(axis=0)) / 90, rtol=1e-12)
    half = dict.fromkeys(last.classes, 1 / 3)
    opinions = {row: Opinion(half, None, None, 59) for row in range(60)}
    opinions[0] = Opinion({}, None, None, 59)
    overall, _ = last.overall(opinions)
    expected = 59 / 3 + np.array([name == TREES[TRUTH[0]] for name in last.classes])
    np.testing.assert_allclose(overall, (expected + last.free[60:].sum(axis=0)) / 90, rtol=1e-12)


def test_the_model_is_given_the_shares_of_the_rows_without_a_label(make, monkeypatch):
    rows, truth = blobs(90)
    every = np.array([0.4, 0.35, 0.25])
    monkeypatch.setattr("lapwing.labelling.learner.steadied_shares", lambda *_: every)
    learner = make(rows)
    labelled = [*np.flatnonzero(truth == 0), *np.flatnonzero(truth == 1)[:6]]
    more = {"truth": truth, "random": set(labelled)}
    learn(learner, [*labelled, 2], **more)
    shares = learn(learner, [*labelled, 2], version=1, **more).model.class_shares
    expected = np.maximum(90 * every - [30, 6, 1], 0.0)
    np.testing.assert_allclose(list(shares.values()), expected / expected.sum(), rtol=1e-9)
    every[:] = [0.3, 0.45, 0.25]  # fewer than are labelled: as good as none is left
    shares = learn(learner, [*labelled, 2], version=2, **more).model.class_shares
    assert 0 < shares["ash"] < 0.05


def test_random_rows_are_counted_until_models_have_judged_them(learner, monkeypatch):
    calls = []
    monkeypatch.setattr(
        "lapwing.labelling.learner.steadied_shares", lambda *values: calls.append(values)
    )
    rows, random = range(40), list(range(0, 40, 2))
    with monkeypatch.context() as patch:
        patch.setattr(learner, "_due_part", lambda **_: None)
        learn(learner, rows)
        learn(learner, rows, random=set(random), version=1)
    last = learn(learner, rows, random=set(random), version=2, opinions=True)
    learn(learner, rows, random=set(random), version=3)
    learn(learner, range(90), random=set(random), version=4)  # no row is left
    (codes, n_classes, prior, P, known), _, (*judged, judged_P, judged_known) = calls
    expected = [last.classes.index(TREES[TRUTH[row]]) for row in random]
    assert sorted(codes) == sorted(judged[0]) == sorted(expected)
    assert n_classes == judged[1] == 3
    assert P is None
    assert prior.sum() == pytest.approx(1.0)
    assert judged_P.shape == (20, 3)
    assert (judged_P.argmax(axis=1) == judged[0]).all()
    assert not (judged_P == last.free[random]).all()  # those of models without the label
    counts = np.bincount([last.classes.index(TREES[TRUTH[row]]) for row in rows], minlength=3)
    for found in (known, judged_known):
        np.testing.assert_allclose(found, counts / 90, rtol=1e-12)


def test_judgements_of_much_worse_models_do_not_correct_shares(learner, monkeypatch):
    calls = []
    monkeypatch.setattr(
        "lapwing.labelling.learner.steadied_shares", lambda *values: calls.append(values[3])
    )
    monkeypatch.setattr(learner, "_due_part", lambda **_: None)
    rows, random, half = range(40), set(range(40)), dict.fromkeys(TREES[:3], 1 / 3)
    learn(learner, rows, random=random)
    for labels in (20, 39):
        learner.opinions = {row: Opinion(half, "ash", None, labels) for row in rows}
        learn(learner, rows, random=random, version=labels)
    assert calls[0] is None
    assert calls[1].shape == (40, 3)


def test_closing_ends_a_fit_between_two_stages(make, monkeypatch):
    learner, entered, ended = make(), threading.Event(), []
    fitted = learner._fitted

    def fit(labels, shares):
        entered.set()
        assert closed.wait(PATIENCE)
        ended.append(fitted(labels, shares))

    closed = threading.Event()
    monkeypatch.setattr(learner, "_fitted", fit)
    learner.teach(lesson(range(30)))
    assert entered.wait(PATIENCE)
    learner._closed = True
    closed.set()
    learner.close()
    assert not ended
    assert learner.error is None


def test_rows_are_suggested_although_many_were_skipped(learner):
    first = learn(learner, range(3)).suggested
    assert len(first) == 40
    assert not set(first) & set(range(3))
    skipped = frozenset(first[:30])
    second = learn(learner, range(3), skipped=skipped, version=1).suggested
    assert len(set(second) - skipped) >= 40


def test_random_rows_tell_the_model_how_frequent_the_classes_are(make):
    rng = np.random.default_rng(0)
    truth = rng.choice(2, 200, p=[0.85, 0.15])
    rows = np.column_stack([2.0 * truth, np.zeros(200)]) + rng.normal(0, 1.0, (200, 2))
    learner = make(rows)
    few, many = [0, 1, 2, int(truth.argmax())], range(40)  # of both classes
    first = learn(learner, few, truth=truth, random=set(few), opinions=True)
    assert first.model.class_shares is None
    learn(learner, many, truth=truth, random=set(many), opinions=True)
    last = learn(learner, many, truth=truth, random=set(many), version=1)
    shares = last.model.class_shares
    assert sum(shares.values()) == pytest.approx(1.0)
    assert shares["ash"] == pytest.approx(0.85, abs=0.12)
    # Labels that were not drawn at random tell nothing of it.
    assert learn(learner, many, truth=truth, version=2).model.class_shares is None


def test_random_rows_that_contradict_the_model_are_counted_before_they_are_judged(
    learner, monkeypatch
):
    monkeypatch.setattr(learner, "_due_part", lambda **_: None)
    ashes = [row for row in range(90) if TRUTH[row] == 0]
    rows = [*ashes[:12], 1, 2]
    learn(learner, rows)
    for random in (ashes[:2], [0, 1, 2, 3]):  # too few, and no more ashes than by chance
        model = learn(learner, rows, random=set(random), version=len(random)).model
        assert model.class_shares is None
    random, overall = ashes[:12], learner.snapshot.overall({})[0]
    shares = learn(learner, rows, random=set(random), version=12).model.class_shares
    assert learner.opinions == {}
    expected = 90 * steadied_shares(np.zeros(12, dtype=int), 3, overall) - [12, 1, 1]
    np.testing.assert_allclose(list(shares.values()), expected / expected.sum(), rtol=1e-9)
    assert shares["ash"] > 0.5


def test_a_new_class_has_a_share(learner, monkeypatch):
    monkeypatch.setattr(learner, "_due_part", lambda **_: None)
    two = [row for row in range(60) if TRUTH[row] == 0] + [1, 4]
    learn(learner, two)
    shares = learn(learner, [*two, 2], random=set(two[:18]), version=2).model.class_shares
    assert set(shares) == {"ash", "birch", "cedar"}
    assert 0 < shares["cedar"] < shares["ash"]


def test_probabilities_without_the_offsets_of_class_shares(make):
    rng = np.random.default_rng(1)
    truth = rng.choice(3, 200, p=[0.7, 0.2, 0.1])
    rows = rng.normal(0, 1.2, (200, 2)) + np.array([[0, 0], [2, 0], [0, 2]])[truth]
    learner = make(rows)
    every = range(60)
    learn(learner, every, truth=truth, random=set(every), opinions=True)
    last = learn(learner, every, truth=truth, random=set(every), version=1)
    assert last.model.class_shares is not None
    values = last.model.decision_function(rows)
    offsets = last.model.class_offsets_
    assert abs(offsets).max() > 0.01
    free = last.model.temperature_ * (values - offsets)
    expected = np.exp(free - free.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    unlabelled = np.setdiff1d(np.arange(200), every)
    np.testing.assert_allclose(last.free[unlabelled], expected[unlabelled], atol=0.02)
