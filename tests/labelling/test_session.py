"""The loop of questions and answers: no answer is lost, and no estimate knows what it judges."""

import json
import os
import threading
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import NearestCentroid

from helpers.labelling import TREES, blobs
from lapwing.auto import limits
from lapwing.labelling import panel as panel_module
from lapwing.labelling.answers import RANDOM, SPREAD, SUGGESTED
from lapwing.labelling.cards import Cards, cards_of
from lapwing.labelling.estimates import share_of, worth_of_labels
from lapwing.labelling.journal import Journal
from lapwing.labelling.learner import Opinion
from lapwing.labelling.pictures import png_of
from lapwing.labelling.session import LabelSession

PATIENCE = 60.0
N = 60
X, TRUTH = blobs(N)
TREE = [TREES[code] for code in TRUTH]
SIX = {row: TREE[row] for row in range(6)}


def open_session(folder, rows=X, *, name="rows", cards=None, **parameters):
    journal = Journal(folder / f"{name}.journal", {"rows": rows.shape[0]})
    return LabelSession(rows, cards or cards_of(None, rows), journal, **parameters)


@pytest.fixture
def start(tmp_path):
    """Start a session on the one journal of the test; the session before is ended."""
    sessions = []

    def start(*arguments, **parameters):
        for session in sessions:
            session.close()
        sessions.append(open_session(tmp_path, *arguments, **parameters))
        return sessions[-1]

    yield start
    for session in sessions:
        session.close()


@pytest.fixture
def session(start):
    return start()


def written(folder, name="rows"):
    """Return the entries that are on disk."""
    lines = (folder / f"{name}.journal").read_text("utf-8").splitlines()[1:]
    return [json.loads(line) for line in lines]


def until(is_so):
    """Wait for something that another thread does."""
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.001)


def learn(session):
    """Wait until the model knows all labels, and return the panel."""
    assert session.wait(PATIENCE, opinions=True)
    last = session.snapshot
    if last is not None:
        until(lambda: session.panel()["map_version"] == last.lesson.version + 1)
    return session.panel()


def asked(session, tab="a"):
    """Return the rows that a tab is asked for."""
    return [card["row"] for card in session.state(tab)["questions"]]


def label(session, n, tab="a", trees=TREE):
    """Answer the next n questions of a tab, and return them."""
    cards = []
    for _ in range(n):
        cards.append(session.state(tab)["questions"][0])
        session.answer(tab, cards[-1]["row"], trees[cards[-1]["row"]])
    return cards


def skip_to(session, why, tab="a"):
    """Skip rows until one is asked for because of `why`, and return it."""
    while (card := session.state(tab)["questions"][0])["why"] != why:
        session.skip(tab, card["row"])
    return card


@contextmanager
def slow(session, monkeypatch):
    """Stop the next fit of the model until the block ends; yield an event that it has begun."""
    learner = session._learner
    begun, go_on, fitted = threading.Event(), threading.Event(), learner._fitted

    def wait_and_fit(*arguments):
        begun.set()
        assert go_on.wait(PATIENCE)
        return fitted(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(learner, "_fitted", wait_and_fit)
        try:
            yield begun
        finally:
            go_on.set()


# ---------------------------------------------------------------- from the first row to the last


@pytest.fixture(scope="module")
def loop(tmp_path_factory):
    """All rows in the order in which they were asked for, and what there was in between."""
    folder = tmp_path_factory.mktemp("loop")
    session = open_session(folder)
    cards = label(session, 12)
    learn(session)
    first = session.snapshot  # idle: the next answer is judged by this model
    cards += label(session, N - 12)
    learn(session)
    yield session, cards, written(folder), first
    session.close()


def test_spread_rows_come_first_then_suggested_ones_and_one_in_five_is_random(loop):
    _, cards, _, first = loop
    whys = [card["why"] for card in cards]
    chosen = [why for why in whys if why != RANDOM]
    assert chosen == [SPREAD] * 10 + [SUGGESTED] * (len(chosen) - 10)
    assert 4 <= whys[:40].count(RANDOM) <= 12
    assert cards[whys.index(SUGGESTED)]["row"] == first.suggested[0]


def test_the_first_rows_are_of_all_classes(loop):
    _, cards, _, _ = loop
    assert {TREE[card["row"]] for card in cards[:6]} == set(TREES[:3])


def test_no_row_is_asked_for_twice_and_none_is_left_out(loop):
    _, cards, _, _ = loop
    assert sorted(card["row"] for card in cards) == list(range(N))
    assert all(card["label"] is None for card in cards)


def test_only_suggested_rows_carry_the_opinion_of_the_model(loop):
    _, cards, _, _ = loop
    for card in cards:
        assert (card["opinion"] is not None) == (card["why"] == SUGGESTED)
    for opinion in [card["opinion"] for card in cards if card["opinion"]]:
        names = [opinion["label"], *(name for name, _ in opinion["others"])]
        p = [opinion["probability"], *(share for _, share in opinion["others"])]
        assert sorted(names) == list(TREES[:3])
        assert p == sorted(p, reverse=True)
        assert sum(p) == pytest.approx(1.0, abs=3e-4)
    right = [c["opinion"]["label"] == TREE[c["row"]] for c in cards if c["opinion"]]
    assert np.mean(right) > 0.9


def test_what_the_model_said_before_an_answer_is_kept_also_where_it_was_hidden(loop):
    _, _, entries, first = loop
    assert entries[0]["before"] is None
    p, entry = first.P[entries[12]["row"]], entries[12]
    probability = pytest.approx(p.max(), abs=1e-4)
    name = first.classes[p.argmax()]
    assert entry["before"] == {"label": name, "probability": probability, "labels": 12}
    hidden = [entry["before"] for entry in entries[12:] if entry["why"] == RANDOM]
    assert len(hidden) >= 4
    assert all(before["label"] in TREES and before["labels"] >= 12 for before in hidden)


def test_an_answer_is_on_disk_with_its_reason(loop):
    _, cards, entries, _ = loop
    found = [(entry["do"], entry["row"], entry["label"], entry["why"]) for entry in entries]
    assert found == [("answer", card["row"], TREE[card["row"]], card["why"]) for card in cards]


def test_when_all_rows_are_done_nothing_is_asked_for(loop):
    session, _, _, _ = loop
    state, panel = session.state("a"), session.panel()
    assert state["questions"] == session.state("b")["questions"] == []
    assert (state["answered"], state["left"], state["skipped"]) == (N, 0, 0)
    assert panel["model"]["labels"] == N
    assert panel["worth"] is None  # there are no more labels
    assert panel["help"]["kind"] == "unused"
    assert session.map()["labelled"] == [1] * N
    assert session.labels == dict(enumerate(TREE))


# ---------------------------------------------------------------- the order


def test_questions_are_those_of_the_seed(tmp_path):
    rows = {}
    for name, seed in [("first", 0), ("again", 0), ("other", 1)]:
        session = open_session(tmp_path, name=name, seed=seed)
        rows[name] = [card["row"] for card in label(session, 20, trees=["ash"] * N)]
        session.close()
    assert rows["first"] == rows["again"] != rows["other"]


def test_rows_may_be_sparse(start):
    session = start(sp.csr_matrix(X))
    label(session, 12)
    assert learn(session)["error"] is None
    assert session.snapshot.P.shape == (N, 3)


def test_no_row_is_asked_for_in_two_tabs(session):
    tabs = {tab: asked(session, tab) for tab in "abc"}
    assert len(set().union(*tabs.values())) == 6
    session.answer("a", tabs["b"][0], "ash")  # as by the list of the last answers
    assert asked(session, "b")[0] == tabs["b"][1]
    assert asked(session, "a") == tabs["a"]


def test_an_answer_to_a_row_that_is_no_question_has_no_reason(session, tmp_path):
    row, following = asked(session)
    other = min(set(range(N)) - {row, following})
    session.answer("a", other, "ash")
    session.answer("b", row, "ash")  # a question of another tab
    session.answer("a", row, "elm")  # which has not heard of it
    session.answer("a", following, "ash")
    whys = [entry.get("why") for entry in written(tmp_path)]
    assert whys == [None, None, None, SPREAD]


# ---------------------------------------------------------------- answers, and what the page shows


def test_an_answer_counts_at_once(session):
    before = session.state("a")
    assert before["version"] == before["answered"] == 0
    assert before["classes"] == before["recent"] == []
    assert not before["can_undo"]
    row, following = asked(session)
    state = session.answer("a", row, "ash")
    assert state == session.state("a")
    assert (state["version"], state["answered"], state["left"], state["rows"]) == (1, 1, N - 1, N)
    assert state["classes"] == ["ash"]
    assert state["can_undo"]
    assert asked(session)[0] == following
    [card] = state["recent"]
    assert (card["row"], card["label"], card["opinion"]) == (row, "ash", None)
    assert card["why"] == before["questions"][0]["why"]
    assert session.labels == {row: "ash"}


def test_the_last_ten_answers_are_listed_the_last_first(session):
    for row in range(12):
        session.answer("a", row, "ash")
    assert [card["row"] for card in session.state("a")["recent"]] == list(range(11, 1, -1))
    state = session.answer("a", 5, "elm")
    assert [card["row"] for card in state["recent"]][:2] == [5, 11]
    assert [card["row"] for card in state["recent"]].count(5) == 1


def test_an_answer_can_be_changed(session):
    row = asked(session)[0]
    why = session.state("a")["questions"][0]["why"]
    session.answer("a", row, "ash")
    state = session.answer("b", row, "elm")
    assert (state["answered"], state["left"], state["version"]) == (1, N - 1, 2)
    assert session.labels == {row: "elm"}
    assert session.card(row)["why"] == why
    assert session.answers.confirmed == set()


def test_the_same_answer_again_changes_nothing(session, tmp_path):
    state = session.answer("a", 3, "ash")
    assert session.answer("a", 3, " ash ") == state  # as where the reply was lost
    assert len(written(tmp_path)) == 1
    assert session.answers.confirmed == set()


def test_a_skipped_row_is_not_asked_for_again(session):
    row, following = asked(session)
    state = session.skip("a", row)
    assert (state["skipped"], state["answered"], state["left"]) == (1, 0, N)
    assert asked(session)[0] == following
    rest = [card["row"] for card in label(session, N - 1, trees=["ash"] * N)]
    assert sorted([row, *rest]) == list(range(N))
    state = session.state("a")
    assert state["questions"] == []
    assert state["left"] == 1
    state = session.answer("a", row, "ash")  # it can still be opened
    assert (state["skipped"], state["left"]) == (0, 0)


def test_skipped_rows_can_be_asked_for_again(session):
    label(session, N - 3, trees=["ash"] * N)
    rows = asked(session)
    for row in rows:
        session.skip("a", row)
    assert len(asked(session)) == 1
    state = session.ask_again("b")
    assert state["skipped"] == 0
    assert sorted(card["row"] for card in label(session, 2, "b")) == sorted(rows)
    assert session.state("b")["left"] == 1


def test_a_flag_changes_nothing_else(session):
    row = asked(session)[0]
    state = session.flag("a", row, True)
    assert state["flagged"] == 1
    assert state["questions"][0]["row"] == row
    assert state["questions"][0]["flagged"]
    assert not state["can_undo"]
    session.answer("a", row, "ash")
    assert session.card(row)["flagged"]
    assert session.flag("a", row, False)["flagged"] == 0
    assert not session.card(row)["flagged"]


def test_a_label_that_is_removed_is_asked_for_again(session):
    cards = label(session, N, trees=["ash"] * N)
    row = cards[4]["row"]
    state = session.remove("a", row)
    assert (state["answered"], state["left"]) == (N - 1, 1)
    assert [card["row"] for card in state["questions"]] == [row]
    assert row not in session.labels
    assert session.remove("a", row) == state  # sent twice, since a reply was lost


def test_a_row_that_is_skipped_twice_is_skipped_once(session):
    row = asked(session)[0]
    state = session.skip("a", row)
    assert session.skip("a", row) == state
    assert (state["skipped"], session.undo("a")["skipped"]) == (1, 0)
    session.answer("a", row, "ash")
    assert session.skip("a", row)["skipped"] == 0  # it has been answered meanwhile


def test_a_class_can_be_added(start):
    session = start(classes=["oak", "ash"])
    assert session.add_class("a", "elm")["classes"] == ["oak", "ash", "elm"]
    state = session.answer("a", 0, "fir")
    assert state["classes"] == ["oak", "ash", "elm", "fir"]
    again = session.add_class("a", "oak")  # known already: nothing to write
    assert again == state


@pytest.mark.parametrize("method", ["answer", "class"])
@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("  ash ", "ash"),
        ("mountain \t ash", "mountain ash"),
        ("x" * 200, "x" * 200),
        ("ё 木 \U0001f468\u200d\U0001f33e", "ё 木 \U0001f468\u200d\U0001f33e"),
        ("re\u0301sume\u0301", "r\u00e9sum\u00e9"),
    ],
)
def test_the_name_of_a_class_has_single_spaces(session, method, name, kept):
    state = session.answer("a", 0, name) if method == "answer" else session.add_class("a", name)
    assert state["classes"] == [kept]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        *[
            (name, "a class needs a name of 1 to 200 characters")
            for name in ("", " \n ", "x" * 201)
        ],
        *[
            (name, "control or invisible characters")
            for name in ("a\x00b", "a\x1b[31m", "\x7f", "\ud800", "a\u200bsh", "\ufeffash")
        ],
    ],
)
def test_a_name_that_cannot_be_shown_is_refused(session, tmp_path, name, reason):
    with pytest.raises(ValueError, match=reason):
        session.answer("a", 0, name)
    with pytest.raises(ValueError, match=reason):
        session.add_class("a", name)
    assert written(tmp_path) == []
    assert session.state("a")["version"] == 0


@pytest.mark.parametrize("name", ["New  York", "New\xa0York", " ash", "x" * 201, "a\tb"])
def test_a_class_of_the_table_keeps_its_name(start, name):
    session = start(given={0: name, 1: "elm"})
    state = session.answer("a", 2, name)
    assert state["classes"] == sorted([name, "elm"])
    assert session.labels[2] == session.labels[0] == name


@pytest.mark.parametrize("row", [-1, N, 10**14])
def test_rows_that_do_not_exist_are_refused(session, tmp_path, row):
    calls = [
        lambda: session.card(row),
        lambda: session.answer("a", row, "ash"),
        lambda: session.skip("a", row),
        lambda: session.flag("a", row, True),
        lambda: session.remove("a", row),
    ]
    for call in calls:
        with pytest.raises(LookupError, match=f"there is no row {row}: the first of 60"):
            call()
    with pytest.raises(LookupError, match="no picture"):
        session.image(row)
    assert written(tmp_path) == []
    assert session.state("a")["classes"] == []


def test_pictures_are_those_of_the_cards(start):
    session = start(cards=Cards(N, picture=lambda row: ("image/png", png_of(X[row][None]))))
    assert session.image(7) == ("image/png", png_of(X[7][None]))
    assert session.state("a")["questions"][0]["image"]
    with pytest.raises(LookupError, match="no picture"):
        session.image(N)


def test_an_answer_that_cannot_be_written_changes_nothing(session, tmp_path, monkeypatch):
    session.answer("a", 0, "ash")
    state = session.state("a")

    def full(file):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        for call in (
            lambda: session.answer("a", 1, "elm"),
            lambda: session.skip("a", 1),
            lambda: session.undo("a"),
        ):
            with pytest.raises(OSError, match="make room, then answer again"):
                call()
    assert session.state("a") == state
    assert len(written(tmp_path)) == 1
    assert session.answer("a", 1, "elm")["answered"] == 2


# ---------------------------------------------------------------- undo


def test_an_answer_that_is_undone_is_asked_for_again(session):
    cards = label(session, 8, trees=["ash"] * N)
    assert {card["why"] for card in cards} == {SPREAD, RANDOM}
    for card in reversed(cards):
        state = session.undo("a")
        again = state["questions"][0]
        assert (again["row"], again["why"], again["label"]) == (card["row"], card["why"], None)
    assert (state["answered"], state["left"], state["recent"]) == (0, N, [])
    assert not state["can_undo"]
    assert state["classes"] == []  # it was named by those answers only
    with pytest.raises(ValueError, match="there is nothing to undo"):
        session.undo("a")
    assert [card["row"] for card in label(session, 2)] == [card["row"] for card in cards[:2]]


def test_a_change_that_is_undone_leaves_the_answer_before(session):
    row = asked(session)[0]
    session.answer("a", row, "ash")
    following = asked(session)
    session.answer("a", row, "elm")
    state = session.undo("a")
    assert session.labels == {row: "ash"}
    assert state["classes"] == ["ash"]
    assert asked(session) == following


def test_a_skip_and_a_removal_can_be_undone(session):
    row = asked(session)[0]
    session.skip("a", row)
    state = session.undo("a")
    assert state["skipped"] == 0
    assert state["questions"][0]["row"] == row
    session.answer("a", row, "ash")
    session.remove("a", row)
    session.flag("a", row, True)  # flags and classes are not undone
    session.add_class("a", "oak")
    state = session.undo("a")
    assert session.labels == {row: "ash"}
    assert (state["flagged"], state["classes"]) == (1, ["ash", "oak"])


def test_a_tab_undoes_its_own_answers(session):
    for tab, row in zip("abab", range(4), strict=True):
        session.answer(tab, row, "ash")
    assert asked(session, "a")[0] != 2
    session.undo("a")
    assert asked(session, "a")[0] == 2
    session.undo("a")
    assert list(session.labels) == [1, 3]
    assert not session.state("a")["can_undo"]
    assert session.state("b")["can_undo"]
    with pytest.raises(ValueError, match="nothing to undo"):
        session.undo("a")


def test_after_a_restart_a_new_tab_undoes_the_last_answers_and_an_old_one_its_own(start):
    session = start()
    for tab, row in zip("aab", range(3), strict=True):
        session.answer(tab, row, "ash")
    session = start()
    assert session.state("a")["can_undo"]
    session.undo("a")
    assert list(session.labels) == [0, 2]
    assert session.undo("new")["questions"][0]["row"] == 2
    assert session.undo("new")["questions"][0]["row"] == 0  # again for the one before
    assert session.labels == {}


# ---------------------------------------------------------------- restart


def test_a_restart_changes_nothing(start):
    session = start(given={50: "oak"}, classes=["yew"])
    label(session, 9)
    row, following = asked(session)
    session.skip("a", row)
    session.flag("a", following, True)
    session.flag("a", row, True)
    session.flag("a", row, False)
    session.add_class("a", "elm")
    session.remove("a", next(iter(session.answers.labels)))
    session.answer("a", following, "fir")
    session.answer("a", following, "fir")
    session.undo("a")
    session.remove("a", 50)
    state, labels, answers = session.state("b"), session.labels, session.answers
    session = start(given={50: "oak"}, classes=["yew"])
    again = session.state("b")
    for key in set(state) - {"questions"}:
        assert again[key] == state[key]
    assert list(session.labels.items()) == list(labels.items())
    assert session.answers == answers
    assert again["flagged"] == again["skipped"] == 1
    learn(session)
    assert session.snapshot.lesson.labels == labels
    assert session.snapshot.lesson.skipped == {row}


def test_a_restart_goes_on_with_the_draw(start, tmp_path):
    ash = ["ash"] * N  # without a second class there is no model, and no suggestion
    whole = open_session(tmp_path, name="whole")
    expected = [(card["row"], card["why"]) for card in label(whole, 40, trees=ash)]
    whole.close()
    assert {why for _, why in expected[:10]} == {SPREAD, RANDOM}
    found = []
    for n, tab in [(3, "a"), (2, "b"), (17, "c"), (18, "d")]:
        cards = label(start(), n, tab, trees=ash)
        found += [(card["row"], card["why"]) for card in cards]
    assert found == expected


# ---------------------------------------------------------------- labels that the table has


def test_rows_that_have_a_label_are_not_asked_for(start):
    session = start(given=dict(enumerate(TREE[: N - 3])))
    state = session.state("a")
    assert (state["given"], state["answered"], state["left"]) == (N - 3, 0, 3)
    assert state["classes"] == ["ash", "birch", "cedar"]
    assert state["recent"] == []
    assert sorted(card["row"] for card in label(session, 3)) == [N - 3, N - 2, N - 1]
    assert asked(session) == []
    assert session.labels == dict(enumerate(TREE))


@pytest.mark.parametrize(("n", "is_spread"), [(9, True), (10, False)])
def test_rows_are_spread_where_the_table_has_few_labels(start, n, is_spread):
    session = start(given=dict.fromkeys(range(n), "ash"))
    cards = label(session, 5, trees=["ash"] * N)
    assert (SPREAD in [card["why"] for card in cards]) == is_spread


def test_classes_keep_their_order_when_a_session_goes_on(start):
    session = start(given={0: "oak", 1: "elm"}, classes=["yew", "fir"])
    session.answer("a", 5, "oak")
    session.add_class("a", "box")
    classes = session.state("a")["classes"]
    assert classes == ["yew", "fir", "elm", "oak", "box"]
    assert start(given={0: "oak", 1: "elm"}).state("a")["classes"] == classes
    more = start(given={0: "oak", 1: "elm", 2: "ash"}, classes=["ivy", "yew"])
    assert more.state("a")["classes"] == [*classes, "ivy", "ash"]


def test_labels_of_the_table_may_be_spelt_differently(start):
    session = start(given={0: "1", 1: "-1", 2: "01", 3: "1.0"}, classes=["-1", "+1"])
    assert session.state("a")["classes"] == ["-1", "+1", "01"]
    assert session.labels == {0: "+1", 1: "-1", 2: "01", 3: "+1"}
    state = session.answer("a", 5, "1")
    assert (session.labels[5], len(state["classes"])) == ("+1", 3)
    session = start(given={0: "true", 1: "false"}, name="two", classes=["True", "False"])
    assert session.labels == {0: "True", 1: "False"}


@pytest.mark.parametrize(("n", "n_classes", "most"), [(60, 9, 10), (600, 3, 10), (600, 90, 50)])
def test_a_bounded_number_of_rows_is_spread(start, n, n_classes, most):
    rows = np.random.default_rng(0).normal(size=(n, 2))
    session = start(rows, classes=[f"class {i}" for i in range(n_classes)])
    whys = []
    for _ in range(100 if n > 100 else 30):
        card = session.state("a")["questions"][0]
        whys.append(card["why"])
        session.skip("a", card["row"])
    assert most - 2 <= whys.count(SPREAD) <= most  # one row may be the nearest of two clusters


def test_classes_of_the_user_come_before_those_of_the_table(start):
    session = start(given={0: "oak", 1: "elm", 2: "fir"}, classes=["fir", "yew"])
    assert session.state("a")["classes"] == ["fir", "yew", "elm", "oak"]


def test_a_label_of_the_table_can_be_changed_and_removed(start):
    session = start(given={0: "ash", 1: "elm", 2: "ash"})
    assert session.answer("a", 0, "elm")["answered"] == 1
    assert session.remove("a", 1)["left"] == N - 2
    assert session.labels == {0: "elm", 2: "ash"}
    assert session.card(1)["label"] is None
    assert 1 in [card["row"] for card in label(session, N - 2, trees=["ash"] * N)]
    session = start(given={0: "ash", 1: "elm", 2: "ash"})  # the table is as it was
    assert (session.labels[0], session.labels[1]) == ("elm", "ash")


def test_a_change_of_a_label_of_the_table_can_be_undone(start):
    session = start(given={0: "ash", 1: "elm"})
    session.remove("a", 1)
    session.answer("a", 0, "fir")
    following = asked(session)
    session.undo("a")
    assert session.labels == {0: "ash"}
    session.undo("a")
    assert session.labels == {0: "ash", 1: "elm"}
    assert asked(session) == following
    assert session.state("a")["classes"] == ["ash", "elm"]


def test_an_answer_counts_more_than_a_label_that_the_table_has_got_since(start):
    start().answer("a", 0, "ash")
    session = start(given={0: "elm", 1: "elm"})
    assert session.labels == {0: "ash", 1: "elm"}


# ---------------------------------------------------------------- how good the model is

DRAWN, MISTAKEN = range(12), {2, 7, 9, 14, 20}
ANSWERED = [TREES[(TRUTH[row] + (row in MISTAKEN)) % 3] for row in range(30)]
BEFORE = {0: "ash", 2: "cedar", 4: "elm"}  # what the model said; only that of row 0 was right


def write(folder, trees=ANSWERED):
    """Write a journal of answers, of which the first twelve are to rows drawn at random."""
    journal = Journal(folder / "rows.journal", {"rows": N})
    for row, tree in enumerate(trees):
        entry = {"do": "answer", "row": row, "label": tree, "tab": "old", "before": None}
        if row in BEFORE:
            entry["before"] = {"label": BEFORE[row], "probability": 0.6, "labels": 7}
        why = RANDOM if row in DRAWN else SPREAD if row < 20 else SUGGESTED
        journal.append({**entry, "why": why})
    journal.close()


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """A session of thirty answers of which five are wrong, when all is learnt."""
    folder = tmp_path_factory.mktemp("judged")
    write(folder)
    session = open_session(folder)
    learn(session)
    yield session
    session.close()


@cache
def foretold():
    """Return the class of each row by the labels of the others."""
    found = []
    for row in range(30):
        others = np.arange(30) != row
        model = NearestCentroid().fit(X[:30][others], np.array(ANSWERED)[others])
        found.append(model.predict(X[row][None])[0])
    return found


def test_the_accuracy_is_that_on_random_rows_without_their_labels(judged):
    found = foretold()
    right = sum(found[row] == ANSWERED[row] for row in DRAWN)
    assert right == 9  # three of the answers are wrong; a model that knew them would be right
    share = share_of(9, 12)
    assert judged.panel()["accuracy"] == {
        "estimate": 0.75,
        "low": pytest.approx(share.low, abs=1e-4),
        "high": pytest.approx(share.high, abs=1e-4),
        "rows": 12,
        "supervised": 0.75,
    }


def test_predictions_of_much_worse_models_do_not_count(start, tmp_path):
    write(tmp_path)
    session = start()
    panel = learn(session)
    assert panel["random"] == panel["accuracy"]["rows"] == 12
    session._learner.close()
    for row, opinion in session._learner.opinions.items():
        session._learner.opinions[row] = replace(opinion, labels=10)
    panel = session.panel()
    assert panel["random"] == 12
    assert (panel["accuracy"], panel["worth"]) == (None, None)
    counts = Counter(ANSWERED[row] for row in DRAWN)
    assert [(name, value) for name, value, *_ in panel["shares"]] == [
        (name, round(counts[name] / 12, 4)) for name in session.snapshot.classes
    ]


def test_rows_with_an_improbable_label_are_doubted(judged):
    panel = judged.panel()
    doubted = {card["row"]: card["instead"] for card in panel["doubted"]}
    assert doubted == {row: TREE[row] for row in MISTAKEN}
    assert doubted == {row: tree for row, tree in enumerate(foretold()) if tree != ANSWERED[row]}
    p = [card["probability"] for card in panel["doubted"]]
    assert p == sorted(p, reverse=True)
    assert all(card["label"] == ANSWERED[card["row"]] for card in panel["doubted"])


def test_a_label_is_doubted_if_another_class_is_more_than_three_times_as_likely(start):
    session = start(given={0: "ash", 1: "ash", 2: "ash", 3: "ash"})
    session._learner.close()
    for row, p in enumerate([0.70, 0.75, 0.76, 1.00]):
        opinion = Opinion({"ash": 1.0 - p, "elm": p}, "elm", "ash", 9)
        session._learner.opinions[row] = opinion
    doubted = session.panel()["doubted"]
    assert [(card["row"], card["instead"], card["probability"]) for card in doubted] == [
        (3, "elm", 1.0),
        (2, "elm", 0.76),
    ]


def test_labels_are_counted_by_class_in_the_order_of_the_classes(judged):
    panel = judged.panel()
    assert panel["counts"] == [[name, ANSWERED.count(name)] for name in ["ash", "birch", "cedar"]]
    assert panel["model"]["labels"] == 30
    assert judged.snapshot.lesson.random == set(DRAWN)
    assert panel["model"]["behind"] == 0
    assert (panel["busy"], panel["error"]) == (None, None)


def test_class_shares_are_those_of_the_model_corrected_by_the_random_rows(judged):
    last, opinions = judged.snapshot, judged._learner.opinions
    found = judged.panel()["shares"]
    assert [name for name, *_ in found] == last.classes
    for i, (name, value, low, high) in enumerate(found):
        p = [opinions[row].probabilities[name] for row in range(30)]
        p += last.free[30:, i].tolist()
        errors = [(ANSWERED[row] == name) - opinions[row].probabilities[name] for row in DRAWN]
        assert value == pytest.approx(np.mean(p) + np.mean(errors), abs=1e-4)
        assert low < value < high
        assert low >= ANSWERED.count(name) / N - 1e-4  # what is known already


def test_what_more_labels_are_worth_is_estimated_from_what_the_model_said_before(judged):
    worth = worth_of_labels(3, 12, [(7, ANSWERED[row] != BEFORE[row]) for row in BEFORE], 30)
    assert judged.panel()["worth"] == {
        "labels": 10,
        "gain": pytest.approx(worth.gain.value, abs=1e-4),
        "low": pytest.approx(worth.gain.low, abs=1e-4),
        "high": pytest.approx(worth.gain.high, abs=1e-4),
        "text": worth.text,
    }


def test_nothing_is_estimated_before_there_is_a_model(session):
    panel = session.panel()
    for key in ("model", "accuracy", "shares", "worth", "busy", "error"):
        assert panel[key] is None
    assert panel["counts"] == panel["doubted"] == panel["notes"] == []
    assert panel["help"]["kind"] == "unclear"


def test_nothing_is_estimated_when_there_is_no_model_any_more(start, tmp_path):
    write(tmp_path, [TREES[TRUTH[row]] for row in range(12)])
    session = start()
    assert session.wait(PATIENCE, opinions=True)
    assert session.panel()["accuracy"] is not None
    for row in range(12):
        if session.labels[row] != "ash":
            session.remove("a", row)
    assert session.wait(PATIENCE, opinions=True)
    until(lambda: session.panel()["map_version"] == 0)
    panel = session.panel()
    assert (panel["model"], panel["accuracy"], panel["worth"]) == (None, None, None)
    assert session.map()["row"] == []


def test_the_first_label_of_a_class_is_not_doubted(start):
    session = start(given={row: TREES[TRUTH[row]] for row in range(N - 5)})
    assert session.wait(PATIENCE, opinions=True)
    session.answer("a", 0, "oak")
    assert session.wait(PATIENCE, opinions=True)
    assert session.panel()["doubted"] == []


@pytest.mark.parametrize("n", [2, 3, 5])
def test_without_a_model_class_shares_are_those_of_the_random_rows(start, tmp_path, n):
    write(tmp_path, ["ash"] * n)
    found = start(classes=["ash", "elm"]).panel()["shares"]
    ash, elm = share_of(n, n), share_of(0, n)
    expected = [["ash", 1.0, round(ash.low, 4), 1.0], ["elm", 0.0, 0.0, round(elm.high, 4)]]
    assert found == (None if n == 2 else expected)


def test_rows_that_had_a_label_when_it_was_their_turn_are_in_the_random_sample(start):
    session = start(given=dict(enumerate(TREE[:20])))
    rows = []
    while len(rows) < 3:
        rows.append(skip_to(session, RANDOM)["row"])
        session.answer("a", rows[-1], TREE[rows[-1]])
    order = [*session._questions.met(rows[-1], lambda row: True), rows[-1]]
    assert set(rows) <= set(order)
    assert session.answers.sample == set(order)
    labelled = [row for row in order if row in session.labels]
    assert len(labelled) > 3  # some of them are of the table
    assert learn(session)["accuracy"]["rows"] == len(labelled)


def test_a_random_row_is_judged_at_once_by_what_the_model_said_before(start, tmp_path, monkeypatch):
    write(tmp_path)
    session = start()
    before = learn(session)["accuracy"]
    with slow(session, monkeypatch):
        row = skip_to(session, SUGGESTED)["row"]
        session.answer("a", row, TREE[row])
        assert session.panel()["accuracy"] == before  # it was not drawn
        row = skip_to(session, RANDOM)["row"]
        session.answer("a", row, TREE[row])
        accuracy, entry = session.panel()["accuracy"], written(tmp_path)[-1]
        assert entry["before"]["label"] == TREE[row]
        drawn = {*DRAWN, *(one for one in entry["met"] if one < 30)}
        found, rows = foretold(), len(drawn) + 1
        right = sum(found[one] == ANSWERED[one] for one in drawn) + 1
        assert (accuracy["rows"], accuracy["estimate"]) == (rows, round(right / rows, 4))
        assert accuracy["supervised"] is None  # it is not known of that row


def test_what_a_model_says_that_knew_the_label_is_neither_shown_nor_kept(start, tmp_path):
    session = start(given=SIX)
    learn(session)
    row = skip_to(session, SUGGESTED)["row"]
    session.answer("a", row, "elm")  # by mistake
    learn(session)
    session._learner.close()  # it takes long to learn that the answer is undone
    assert session.undo("a")["questions"][0]["row"] == row
    assert session.state("a")["questions"][0]["opinion"] is None
    session.answer("a", row, TREE[row])
    assert written(tmp_path)[-1]["before"] is None


def test_a_label_that_is_changed_because_of_a_doubt_is_judged_as_it_was(start, tmp_path):
    write(tmp_path)
    session = start()
    learn(session)
    session.answer("a", 2, TREE[2], True)  # the model was right
    panel = session.panel()
    assert panel["accuracy"]["estimate"] == 0.75
    assert 2 not in [card["row"] for card in panel["doubted"]]
    session.answer("a", 0, "cedar")  # nobody doubted that it was an ash
    assert session.panel()["accuracy"]["estimate"] == round(8 / 12, 4)
    assert [entry.get("doubted") for entry in written(tmp_path)[30:]] == [ANSWERED[2], None]


def test_a_label_that_is_confirmed_is_no_longer_doubted(start):
    session = start(given={row: TREE[row] for row in range(18)} | {7: "ash"})
    assert [card["row"] for card in learn(session)["doubted"]] == [7]
    assert session.answer("a", 7, "ash")["answered"] == 0  # as if its reply had been lost
    assert session.answer("a", 7, "ash", True)["answered"] == 1
    assert session.panel()["doubted"] == []
    assert learn(session)["doubted"] == []
    session.answer("a", 8, "ash")  # it is a cedar
    assert [card["row"] for card in session.panel()["doubted"]] == [8]
    session.answer("a", 8, "cedar")
    assert session.panel()["doubted"] == []


def test_the_version_of_the_panel_grows_with_answers_and_with_what_is_learnt(start):
    session = start(given=SIX)
    learn(session)
    session._learner.close()  # nothing is learnt from here on
    first = session.panel()
    assert session.panel() == first
    session.state("a")
    assert session.panel()["version"] == first["version"]
    session.flag("a", 0, True)
    second = session.panel()
    assert second["version"] > first["version"] > 0
    assert second["map_version"] == first["map_version"]
    session.answer("a", 10, "ash")
    assert session.panel()["version"] > second["version"]


def test_the_version_of_the_map_grows_with_every_model(start):
    session = start(given=SIX)
    assert learn(session)["map_version"] == session.map()["version"] > 0
    before = session.panel()
    session.answer("a", 10, "ash")
    after = learn(session)
    assert after["map_version"] == session.map()["version"] > before["map_version"]
    assert after["version"] > before["version"]


def test_the_model_may_be_behind(start, tmp_path, monkeypatch):
    session = start(given=SIX)
    learn(session)
    with slow(session, monkeypatch) as begun:
        session.flag("a", 10, True)
        session.add_class("a", "oak")
        assert session.wait(0)  # neither is to be learnt
        session.answer("a", 10, TREE[10])
        session.answer("a", 0, "oak")
        session.remove("a", 1)
        assert begun.wait(PATIENCE)
        panel = session.panel()
        assert panel["model"]["labels"] == 6
        assert panel["model"]["behind"] == 3
        assert panel["busy"]
    assert learn(session)["model"]["behind"] == 0
    assert session.snapshot.lesson.labels == session.labels
    # What the model said is kept of the row whose label it did not know.
    before = [entry.get("before") for entry in written(tmp_path)[3:]]
    assert [one is not None for one in before] == [True, False, False]


def test_why_nothing_can_be_learnt_is_shown_and_answers_are_taken(start, caplog):
    with caplog.at_level("CRITICAL"):
        session = start(given=SIX, memory_limit=1000)
        assert session.wait(PATIENCE)
        until(lambda: session.panel()["error"])
        assert "memory_limit allows 1 kB" in session.panel()["error"]
        assert session.panel()["model"] is None
        assert session.answer("a", 10, "ash")["answered"] == 1


def test_the_model_gets_the_values_that_names_of_classes_stand_for(start):
    session = start(values=lambda names: {name: int(name) for name in names})
    label(session, 9, trees=[str(code) for code in TRUTH])
    learn(session)
    assert session.snapshot.model.classes_.tolist() == [0, 1, 2]
    assert set(session.labels.values()) == {"0", "1", "2"}


# ---------------------------------------------------------------- the map


def test_there_is_no_map_before_there_is_a_model(session):
    assert session.map() == {"version": 0, "kind": "", "row": []}


def test_the_map_has_all_rows_with_their_labels_or_what_the_model_predicts(judged):
    found, last = judged.map(), judged.snapshot
    assert found["row"] == list(range(N))
    points = np.column_stack([found["x"], found["y"]])
    np.testing.assert_allclose(points, last.model.map_, rtol=1e-5, atol=1e-9)
    assert found["kind"] == last.model.map_kind_
    assert found["labelled"] == [1] * 30 + [0] * 30
    names = [found["classes"][code] for code in found["answer"]]
    assert names == ANSWERED + TREE[30:]
    assert found["name"][:2] == ["row 1", "row 2"]
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_labelled_rows_are_on_the_map_where_not_all_rows_are(judged, monkeypatch):
    monkeypatch.setattr(panel_module, "_MAP", 40)
    found = judged.map()
    assert len(found["row"]) == 40
    assert found["row"][:30] == list(range(30))
    assert found["row"] == sorted(set(found["row"]))
    assert judged.map() == found  # a redraw moves no point
    monkeypatch.setattr(panel_module, "_MAP_LABELLED", 3)
    monkeypatch.setattr(panel_module, "_MAP", 5)
    found = judged.map()
    assert len(found["row"]) == 5
    assert {0, 14, 29} <= set(found["row"])


def test_rows_without_coordinates_are_not_on_the_map(start, monkeypatch):
    monkeypatch.setattr(limits, "MOST_ROWS", 40)  # of more rows a sample is used
    session = start(given=SIX)
    learn(session)
    found = session.map()
    assert len(found["row"]) == 40
    assert None not in found["x"] + found["y"]
    unused = min(set(range(N)) - set(found["row"]))
    session.answer("a", unused, TREE[unused])
    assert unused not in session.map()["row"]
    learn(session)
    assert unused in session.map()["row"]


def test_a_class_that_the_model_does_not_know_has_no_number_on_the_map(start, monkeypatch):
    session = start(given=SIX)
    learn(session)
    with slow(session, monkeypatch):
        session.answer("a", 40, "oak")
        found = session.map()
    at = found["row"].index(40)
    assert (found["answer"][at], found["labelled"][at]) == (-1, 1)
    learn(session)
    found = session.map()
    assert found["classes"][found["answer"][at]] == "oak"


# ---------------------------------------------------------------- many at a time


def together(*functions):
    """Run functions in threads of their own, begun at the same time, and raise what they raise."""
    barrier, errors = threading.Barrier(len(functions)), []

    def run(function):
        try:
            barrier.wait(PATIENCE)
            function()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=[function]) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_no_answer_is_lost_when_many_answer_at_once(session, tmp_path):
    def label_all(tab):
        while questions := session.state(tab)["questions"]:
            row = questions[0]["row"]
            session.answer(tab, row, TREE[row])

    def look():
        for _ in range(30):
            session.panel(), session.map(), session.state("a")

    together(*[lambda tab=tab: label_all(tab) for tab in "abcdef"], look, look)
    entries = written(tmp_path)
    assert len(entries) == session.state("a")["version"] == N  # every row once
    assert {entry["row"]: entry["label"] for entry in entries} == dict(enumerate(TREE))
    learn(session)
    assert session.snapshot.lesson.labels == dict(enumerate(TREE))


def test_answers_to_one_row_at_once_leave_that_of_the_last_entry(session, tmp_path):
    def flip(tab, name):
        for _ in range(10):
            session.answer(tab, 3, name)
            session.flag(tab, 3, name == "ash")

    together(*[lambda tab=tab: flip(tab, TREES["abcd".index(tab)]) for tab in "abcd"])
    entries = written(tmp_path)
    assert len(entries) == session.state("a")["version"]
    answers = [entry["label"] for entry in entries if entry["do"] == "answer"]
    flags = [entry["on"] for entry in entries if entry["do"] == "flag"]
    assert len(flags) == 40
    assert session.labels == {3: answers[-1]}
    assert session.card(3)["flagged"] == flags[-1]
    assert all(before != after for before, after in pairwise(answers))


def test_nobody_waits_for_the_model(start, monkeypatch):
    session = start(given=SIX)
    learn(session)
    with slow(session, monkeypatch) as begun:
        started = time.monotonic()
        label(session, 1)
        assert begun.wait(PATIENCE)
        label(session, 5)
        session.undo("a")
        session.skip("a", asked(session)[0])
        session.panel(), session.map()
        assert not session.wait(0)
        assert time.monotonic() - started < PATIENCE / 2  # the model would have taken longer
        assert session.snapshot.lesson.labels == SIX
    learn(session)
    assert session.snapshot.lesson.labels == session.labels
    assert len(session.labels) == 11


# ---------------------------------------------------------------- the end


def test_a_session_that_is_ended_takes_no_answer_and_can_be_continued(start, tmp_path):
    session = start(given=SIX)
    session.answer("a", 10, "ash")
    learn(session)
    session.close()
    session.close()
    for call in (lambda: session.answer("a", 11, "elm"), lambda: session.undo("a")):
        with pytest.raises(ValueError, match="the journal is closed: start the session again"):
            call()
    assert session.labels == {**SIX, 10: "ash"}  # what there is can still be read
    assert session.panel()["model"]["labels"] == 7
    assert [entry["do"] for entry in written(tmp_path)] == ["class", "answer"]
    assert start(given=SIX).labels == session.labels


def test_the_end_does_not_wait_for_the_model(start, monkeypatch):
    session = start(given=SIX)
    learn(session)
    closing = threading.Thread(target=session.close)
    with slow(session, monkeypatch) as begun:
        session.answer("a", 10, TREE[10])
        assert begun.wait(PATIENCE)
        session.answer("a", 11, TREE[11])
        closing.start()
        until(lambda: session._learner._closed)
    closing.join(PATIENCE)
    assert not closing.is_alive()
    assert session.snapshot.lesson.labels == SIX  # the fit was given up
    assert session.panel()["model"]["behind"] == 2
    assert start(given=SIX).state("a")["answered"] == 2


def test_downloads_are_those_of_the_exports(session):
    with pytest.raises(LookupError, match="there is nothing to download here"):
        session.export("table")
    session.exports = lambda what: (f"{what}.csv", "text/csv", b"a,b")
    assert session.export("table") == ("table.csv", "text/csv", b"a,b")
