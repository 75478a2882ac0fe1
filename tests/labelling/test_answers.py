"""What the entries of a journal amount to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.labelling.answers import RANDOM, SUGGESTED, Answers, last_undoable


def answer(row, label, **more):
    return {"do": "answer", "row": row, "label": label, **more}


def undo(entry, **more):
    return {"do": "undo", "entry": entry, **more}


def skip(row, **more):
    return {"do": "skip", "row": row, **more}


def remove(row, **more):
    return {"do": "remove", "row": row, **more}


def flag(row, on):
    return {"do": "flag", "row": row, "on": on}


def test_the_last_answer_of_a_row_counts_and_is_the_last_one():
    answers = Answers.of([answer(1, "ash"), answer(2, "elm"), answer(1, "elm")])
    assert answers.labels == {1: "elm", 2: "elm"}
    assert list(answers.labels) == [2, 1]  # the most recent answer is the last


def test_an_undone_answer_leaves_the_one_before():
    entries = [answer(1, "ash"), answer(1, "elm")]
    assert Answers.of([*entries, undo(1)]).labels == {1: "ash"}
    assert Answers.of([*entries, undo(1), undo(0)]).labels == {}
    assert Answers.of([*entries, undo(0)]).labels == {1: "elm"}


def test_a_skipped_row_that_is_answered_is_no_longer_skipped():
    assert Answers.of([skip(1), skip(2), answer(1, "ash")]).skipped == {2}
    assert Answers.of([skip(1), answer(1, "ash"), undo(1)]).skipped == {1}
    assert Answers.of([skip(1), undo(0)]).skipped == set()


def test_a_label_that_is_taken_away():
    entries = [answer(1, "ash"), remove(1)]
    assert Answers.of(entries).labels == {}
    assert Answers.of(entries).removed == {1}
    assert Answers.of([*entries, undo(1)]).labels == {1: "ash"}
    assert Answers.of([*entries, undo(1)]).removed == set()
    again = Answers.of([*entries, answer(1, "elm")])
    assert (again.labels, again.removed) == ({1: "elm"}, set())
    given = Answers.of([remove(7)])  # a label that the table has
    assert (given.labels, given.removed) == ({}, {7})


def test_flags_are_set_and_cleared():
    entries = [flag(1, True), flag(2, True), flag(1, False), flag(2, True)]
    assert Answers.of(entries).flagged == {2}
    assert Answers.of([*entries, answer(2, "ash"), remove(2)]).flagged == {2}


def test_a_doubted_label_that_is_kept_is_confirmed():
    kept = answer(1, "ash", confirms=True)
    assert Answers.of([answer(1, "ash")]).confirmed == set()
    assert Answers.of([answer(1, "ash"), answer(1, "ash")]).confirmed == set()
    assert Answers.of([answer(1, "ash"), kept]).confirmed == {1}
    assert Answers.of([answer(1, "ash"), kept, answer(1, "elm")]).confirmed == set()
    assert Answers.of([answer(1, "ash"), kept, remove(1)]).confirmed == set()
    assert Answers.of([answer(1, "ash"), kept, undo(1)]).confirmed == set()
    assert Answers.of([kept]).confirmed == {1}  # the label is one of the table


def test_the_label_before_a_doubt_is_remembered():
    entries = [answer(1, "ash"), answer(1, "elm", doubted="ash")]
    assert Answers.of(entries).labels == {1: "elm"}
    assert Answers.of(entries).blind == {1: "ash"}
    again = [*entries, answer(1, "fir", doubted="elm")]
    assert Answers.of(again).blind == {1: "ash"}
    assert Answers.of([*entries, answer(1, "elm", confirms=True)]).blind == {1: "ash"}
    assert Answers.of([*entries, undo(1)]).blind == {}
    assert Answers.of([*entries, remove(1), answer(1, "elm")]).blind == {}


def test_the_sample_has_the_rows_that_were_drawn_and_those_met_on_the_way():
    entries = [answer(1, "ash", why="random", met=[4, 7]), answer(2, "ash", why="suggested")]
    assert Answers.of(entries).sample == {1, 4, 7}
    assert Answers.of([*entries, undo(0)]).sample == set()
    assert Answers.of([*entries, answer(1, "elm")]).sample == {1, 4, 7}
    assert Answers.of([*entries, {"do": "rows", "about": {}}]).sample == set()


def test_skipped_rows_are_asked_for_again():
    skip = {"do": "skip", "row": 3}
    assert Answers.of([skip, {"do": "again"}]).skipped == set()
    assert Answers.of([skip, {"do": "again"}, skip]).skipped == {3}


def test_why_and_what_the_model_said_before_are_those_of_the_first_answer():
    before = {"label": "elm", "probability": 0.6, "labels": 4}
    entries = [
        answer(1, "ash", why=RANDOM, before=before),
        answer(1, "elm", why=SUGGESTED, before={**before, "labels": 9}),
        answer(2, "elm", why=None, before=None),
    ]
    answers = Answers.of(entries)
    assert answers.why == {1: RANDOM}
    assert answers.before == {1: before}
    # An answer that was undone was none.
    answers = Answers.of([*entries, undo(0)])
    assert answers.why == {1: SUGGESTED}
    assert answers.before[1]["labels"] == 9


def test_classes_are_in_the_order_in_which_they_were_named():
    entries = [answer(1, "elm"), {"do": "class", "names": ["fir", "elm", "fir"]}, answer(2, "ash")]
    assert Answers.of(entries).classes == ["elm", "fir", "ash"]
    assert Answers.of([*entries, undo(0)]).classes == ["fir", "elm", "ash"]
    entries[1]["names"] = ["fir"]
    assert Answers.of([*entries, undo(0)]).classes == ["fir", "ash"]  # a slip leaves no class


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("ash", "ash"),
        ("Ash", None),
        ("1", "+1"),
        ("1.0", "+1"),
        ("+1.", "+1"),
        ("-1", None),
        ("01", None),
        ("1.5", None),
        ("0", "-0"),
        ("true", "True"),
        ("10", "10"),
        ("10.0", "10"),
        ("", None),
        ("9" * 5000, None),
    ],
)
def test_a_name_stands_for_the_class_that_is_the_same_number(name, found):
    answers = Answers.of([{"do": "class", "names": ["ash", "+1", "-0", "True", "10"]}])
    assert answers.class_of(name) == found


def test_names_that_are_classes_stand_for_themselves():
    answers = Answers.of([{"do": "class", "names": ["1", "1.0"]}])
    assert [answers.class_of(name) for name in ("1", "1.0", "+1")] == ["1", "1.0", "1"]


@pytest.mark.parametrize("do", ["name", "of", "", "apply"])
def test_entries_of_other_sorts_change_nothing(do):
    assert Answers.of([{"do": do, "about": {"rows": 3}, "row": 1, "label": "ash"}]) == Answers()


@pytest.mark.parametrize(
    "entry",
    [{}, {"do": "answer"}, {"do": "answer", "row": [1], "label": "ash"}, {"do": "flag", "row": 1}],
)
def test_an_entry_that_lacks_something_is_refused_with_its_line(entry):
    with pytest.raises(ValueError, match="line 3 of the journal is damaged: replace it"):
        Answers.of([answer(1, "ash"), entry])


rows, labels = st.integers(0, 4), st.sampled_from(["ash", "birch", "cedar"])
entries = st.one_of(
    st.builds(
        answer,
        rows,
        labels,
        why=st.sampled_from([None, RANDOM, SUGGESTED]),
        before=st.none() | st.builds(lambda n: {"labels": n}, st.integers(0, 9)),
        confirms=st.booleans(),
    ),
    st.builds(skip, rows),
    st.builds(remove, rows),
    st.builds(flag, rows, st.booleans()),
    st.builds(lambda name: {"do": "class", "names": [name]}, labels),
)


@given(st.lists(entries))
def test_one_entry_after_the_other_amounts_to_the_same(entries):
    answers = Answers()
    for entry in entries:
        answers.apply(entry)
    assert answers == Answers.of(entries)
    assert list(answers.labels.items()) == list(Answers.of(entries).labels.items())


@given(st.lists(entries, min_size=1), st.data())
def test_undo_takes_exactly_that_entry_out(entries, data):
    number = data.draw(st.integers(0, len(entries) - 1))
    rest = [*entries[:number], *entries[number + 1 :]]
    assert Answers.of([*entries, undo(number)]) == Answers.of(rest)
    every = [undo(i) for i in range(len(entries))]
    assert Answers.of([*entries, *every]) == Answers()


# ---------------------------------------------------------------- which entry is undone


def test_a_tab_undoes_its_own_entries_the_last_first():
    entries = [
        answer(1, "ash", tab="a"),
        answer(2, "elm", tab="b"),
        skip(3, tab="a"),
        {"do": "flag", "row": 1, "on": True, "tab": "a"},
        {"do": "class", "names": ["fir"], "tab": "a"},
    ]
    for number in (2, 0):
        assert last_undoable(entries, "a") == number
        entries.append(undo(number, tab="a"))
    assert last_undoable(entries, "a") is None  # it had entries; those of others stay
    assert last_undoable(entries, "b") == 1


def test_a_new_tab_goes_on_undoing_where_the_old_one_ended():
    entries = [answer(1, "ash", tab="old"), skip(2, tab="old"), remove(1, tab="old")]
    undone = []
    while (number := last_undoable(entries, "new")) is not None:
        undone.append(number)
        entries.append(undo(number, tab="new"))
    assert undone == [2, 1, 0]


def test_there_may_be_nothing_to_undo():
    assert last_undoable([], "a") is None
    assert last_undoable([{"do": "class", "names": ["fir"], "tab": "a"}], "a") is None


def replayed(entries):
    """Return entries without those that were undone, and what each tab could undo of them."""
    undone = {entry["entry"] for entry in entries if entry["do"] == "undo"}
    return [e for i, e in enumerate(entries) if e["do"] != "undo" and i not in undone]


@given(st.lists(st.tuples(entries, st.sampled_from("ab")), max_size=8))
def test_undoing_to_the_end_leaves_nothing_that_can_be_undone(pairs):
    entries = [{**entry, "tab": tab} for entry, tab in pairs]
    for tab in ("a", "b", "new"):
        while (number := last_undoable(entries, tab)) is not None:
            entries.append(undo(number, tab=tab))
    assert {entry["do"] for entry in replayed(entries)} <= {"flag", "class"}
