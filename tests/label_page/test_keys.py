"""Rows are labelled by keyboard alone: every key does what it says, and the server has it."""

import csv
import io
import re
import threading

import numpy as np
import pytest

from helpers.labelling import TREES, Loop, Page, blobs
from lapwing.labelling.cards import Cards

THREE = TREES[:3]
KEYS = "1234567890"
MANY = [*TREES, *(f"{name} hybrid" for name in TREES), "érable", "7", "b <i>x</i>"]


def labels_of(truth, names, per_class):
    """Labels of the first rows of each class."""
    rows = [row for c in range(len(names)) for row in np.flatnonzero(truth == c)[:per_class]]
    return {int(row): names[truth[row]] for row in rows}


@pytest.fixture
def learnt(tmp_path):
    """The same with twelve labels, so that the model has an opinion from the first question on."""
    X, truth = blobs()
    with Loop(tmp_path, X, given=labels_of(truth, THREE, 4)) as loop:
        assert loop.session.wait(60)
        yield loop


@pytest.fixture
def many(tmp_path):
    """More classes than keys."""
    X, _ = blobs()
    with Loop(tmp_path, X, classes=MANY) as loop:
        yield loop


# ---------------------------------------------------------------- answers


def test_thirty_answers_and_the_table(window, tmp_path):
    X, truth = blobs(80, len(TREES))
    window.requests.clear()
    with Loop(tmp_path, X, classes=TREES) as loop:
        page = Page(window, loop.server.start_address())
        assert page.text("progress") == "0 labelled, 0 skipped, 80 left"
        answered = [page.answer(KEYS[truth[page.row]]) for _ in range(15)]
        window.press("f")
        flagged = page.row
        skipped = page.answer(" ")
        answered += [page.answer(KEYS[truth[page.row]]) for _ in range(15)]
        assert page.text("progress") == "30 labelled, 1 skipped, 49 left, 1 flagged"
        assert len(set(answered)) == 30
        right = {row: TREES[truth[row]] for row in answered}
        assert loop.session.labels == right
        text = window.read("fetch('/export/table').then(response => response.text())")
    table = list(csv.DictReader(io.StringIO(text.lstrip("\ufeff"))))
    assert [line["name"] for line in table] == [f"row {i + 1}" for i in range(80)]
    given = {i: line["label"] for i, line in enumerate(table) if line["label_source"] == "given"}
    assert given == right
    assert all(table[row]["label_probability"] == "" for row in answered)
    others = [line for i, line in enumerate(table) if i not in right]
    assert {line["label_source"] for line in others} == {"predicted"}
    assert {line["label"] for line in others} <= set(TREES)
    assert all(0.0 < float(line["label_probability"]) <= 1.0 for line in others)
    agree = [line["label"] == TREES[c] for line, c in zip(table, truth, strict=True)]
    assert np.mean(agree) > 0.9
    assert [i for i, line in enumerate(table) if line["label_flagged"]] == [flagged]
    assert flagged == skipped
    assert {address.split("/")[2] for address in window.requests} == {loop.server.address[7:]}


def test_enter_accepts_what_the_model_says(window, learnt):
    page = Page(window, learnt.server.start_address())
    page.find("card.opinion")
    opinion = page.card["opinion"]["label"]
    assert page.text("opinion").startswith(f"The model's opinion: {opinion} (")
    assert page.texts("#classes .guess .name") == [opinion]
    row = page.answer("Enter")
    assert learnt.done[-1] == ("answer", row, opinion)


def test_held_key_answers_one_row(window, learnt):
    page = Page(window, learnt.server.start_address())
    first = page.row
    window.press("2", repeats=5)
    page.wait_until_saved()
    window.press(" ", repeats=5)
    page.wait_until_saved()
    assert [what for what, *_ in learnt.done] == ["answer", "skip"]
    assert learnt.done[0] == ("answer", first, "birch")


def test_random_rows_come_without_an_opinion(window, learnt):
    page = Page(window, learnt.server.start_address())
    page.find("card.why === 'random'")
    row = page.row
    assert page.card["opinion"] is None
    assert page.text("opinion") == "Drawn at random: the model's opinion is hidden."
    assert page.texts("#classes .guess") == []
    names = "Array.from(document.querySelectorAll('#classes button'), e => e.ariaLabel)"
    assert window.read(names) == ["ash, key 1", "birch, key 2", "cedar, key 3"]
    before = learnt.done
    page.press("Enter")
    assert page.row == row
    assert learnt.done == before
    assert page.text("saved").startswith("Choose a class: for random rows")
    page.answer("1")
    assert learnt.journal.entries[-1]["why"] == "random"


def test_random_rows_are_not_pointed_out_on_the_map(window, learnt):
    page = Page(window, learnt.server.start_address())
    window.until("page.spots().length === 90")
    ring = """fetch("/api/map").then(response => response.json()).then(map => {
      const at = map.row.indexOf(page.shown().row), [x, y] = page.spots()[at];
      const g = canvas.getContext("2d"), ink = [0x1c, 0x1c, 0x1a];
      const inked = Array.from({length: 36}, (_, i) => {
        const [dx, dy] = [Math.cos(i * Math.PI / 18), Math.sin(i * Math.PI / 18)];
        const found = g.getImageData(Math.round(x + 10 * dx - 0.5), Math.round(y + 10 * dy - 0.5),
          1, 1).data;
        return ink.every((value, k) => Math.abs(value - found[k]) < 120) && found[3] > 100;
      });
      const box = canvas.getBoundingClientRect();
      return [inked.filter(Boolean).length, box.x + x, box.y + y, map.name[at]];
    })"""
    ring = f"(() => {{ const canvas = document.getElementById('canvas'); return {ring}; }})()"

    def pointed_out():
        window.read("document.getElementById('canvas').scrollIntoView({behavior: 'instant'})")
        inked, x, y, name = window.read(ring)
        window.move(x, y)
        return inked, name, window.read("document.getElementById('canvas').title")

    page.find("card.why === 'suggested'")
    inked, name, title = pointed_out()
    assert inked > 30
    assert re.fullmatch(r"row \d+: (predicted|labelled) (ash|birch|cedar)", title)
    assert "The circle marks the row" in page.text("map-now")
    page.find("card.why === 'random'")
    inked, name, title = pointed_out()
    assert inked < 20
    assert not title.startswith(f"{name}:")
    assert "not marked" in page.text("map-now")


# ---------------------------------------------------------------- undo, flags, help


def test_undo_asks_the_same_rows_again(window, trees):
    page = Page(window, trees.server.start_address())
    rows = [page.answer(key) for key in ("1", " ", "2", "3")]
    back = []
    for key, *modifiers in (("Backspace",), ("z", "Control"), ("z", "Meta"), ("Backspace",)):
        page.press(key, *modifiers)
        back.append(page.row)
    assert back == rows[::-1]
    assert trees.session.labels == {}
    assert page.text("progress") == "0 labelled, 0 skipped, 90 left"
    count = len(trees.done)
    page.press("Backspace")
    assert page.text("saved") == "There is nothing to undo."
    page.press("z", "Control", "Shift")  # elsewhere it means to do it again
    assert len(trees.done) == count
    assert page.answer("3") == rows[0]
    assert trees.session.labels == {rows[0]: "cedar"}


def test_skipped_rows_are_asked_for_again_at_the_end(window, tmp_path):
    X, _ = blobs(6)
    with Loop(tmp_path, X, classes=THREE) as loop:
        page = Page(window, loop.server.start_address())
        skipped = [page.answer(" "), page.answer(" ")]
        for _ in range(4):
            page.answer("1")
        assert page.text("finished-text") == "All other rows are labelled; 2 rows were skipped."
        page.tab_to("again")
        page.press("Enter")
        window.until("page.shown()")
        assert {page.answer("2"), page.answer("3")} == set(skipped)
        assert page.text("finished-text") == "All rows are labelled."
        assert not page.is_shown("again")
        assert len(loop.session.labels) == 6


def test_flag(window, trees):
    page = Page(window, trees.server.start_address())
    row = page.row
    page.press("f")
    assert page.is_shown("flagged")
    assert window.read("document.getElementById('flag').ariaPressed") == "true"
    assert trees.session.answers.flagged == {row}
    page.press("f")
    assert not page.is_shown("flagged")
    assert trees.session.answers.flagged == set()
    page.press("F", "Shift")
    page.answer("1")
    assert not page.is_shown("flagged")
    assert "flagged" in page.texts("#recent-list li")[0]
    assert trees.session.answers.flagged == {row}


def test_question_mark_shows_the_keys(window, trees):
    page = Page(window, trees.server.start_address())
    row = page.row
    window.press("?", "Shift")
    assert window.read("document.getElementById('keys').open")
    keys = page.texts("#key-table kbd")
    assert {"1 … 9, 0", "Enter", "Space", "Backspace, Ctrl + Z", "F", "+", "D", "?"} <= set(keys)
    for key in ("1", "f", "d", "Backspace"):
        page.press(key)  # nothing of the page behind
    assert trees.done == []
    window.press("?", "Shift")
    window.press("Escape")
    window.until("!document.getElementById('keys').open")
    assert page.focus == "ask"
    assert page.answer("1") == row


# ---------------------------------------------------------------- classes


def test_class_is_added(window, trees):
    page = Page(window, trees.server.start_address())
    row = page.row
    window.press("+", "Shift")
    assert page.focus == "new-class"
    window.type("fir 1")  # digits and letters are text here
    page.press("Enter")
    assert page.focus == "ask"
    assert page.texts("#classes .name") == [*THREE, "fir 1"]
    assert page.answer("4") == row
    assert trees.done == [("class",), ("answer", row, "fir 1")]
    window.press("+", "Shift")
    window.type("ash")
    page.press("Enter")
    assert page.text("saved") == "“ash” is a class already"
    window.press("+", "Shift")
    window.type("x")
    window.press("Escape")
    assert page.focus == "ask"
    assert not page.is_shown("add")


def test_classes_are_named_first(window, tmp_path):
    X, _ = blobs()
    with Loop(tmp_path, X) as loop:
        page = Page(window, loop.server.start_address())
        assert page.focus == "new-class"
        assert page.text("add-why") == "Name the classes first: at least two are needed."
        window.type("ash")
        page.press("Enter")
        assert page.text("add-why") == "One more class is needed."
        window.press("Escape")
        assert page.is_shown("add")
        window.type("ash")  # there is one already
        page.press("Enter")
        assert page.text("add-why") == "One more class is needed."
        window.type("birch")
        page.press("Enter")
        assert page.text("add-why") == "Add more classes, or press Enter to begin."
        window.press("Enter")
        assert page.focus == "ask"
        row = page.answer("2")
        assert loop.session.labels == {row: "birch"}


def test_digits_that_are_classes_are_their_own_keys(window, tmp_path):
    X, _ = blobs()
    with Loop(tmp_path, X, classes=["0", "1", "2", "none"]) as loop:
        page = Page(window, loop.server.start_address())
        assert page.texts("#classes kbd") == ["0", "1", "2", "4"]
        rows = [page.answer(key) for key in "0124"]
        assert list(loop.session.labels.items()) == [
            *zip(rows, "012", strict=False),
            (rows[3], "none"),
        ]
        page.press("3")  # no class has it
        assert len(loop.session.labels) == 4


def test_class_is_found_by_typing(window, many):
    page = Page(window, many.server.start_address())
    assert page.texts("#classes kbd") == list(KEYS)

    def give(*keys):
        row = page.row
        for key in keys:
            window.press(key)
        page.wait_until_saved()
        window.until(f"page.shown().row !== {row}")
        assert page.focus == "ask"
        assert window.read("document.getElementById('finder').value") == ""
        return many.session.labels[row]

    window.type("map")
    assert page.focus == "finder"
    assert page.texts("#classes .name") == ["maple", "maple hybrid"]
    assert give("Enter") == "maple"
    assert give(*"map", "ArrowDown", "Enter") == "maple hybrid"
    assert give(*"map", "ArrowUp", "Enter") == "maple hybrid"
    assert give(*"hybrid", "ArrowDown", "ArrowDown", "ArrowUp", "Enter") == "birch hybrid"
    assert give(*"era", "Enter") == "érable"
    assert give("0") == "pine"
    page.tab_to("finder")
    assert give("3") == "cedar"  # in the empty box a digit is a key
    window.type("map")
    window.press("Escape")
    assert page.focus == "ask"
    assert len(page.texts("#classes .name")) == len(MANY)


def test_class_that_is_not_found_is_added_and_chosen(window, many):
    page = Page(window, many.server.start_address())
    row = page.row
    window.type("quince")
    assert page.text("unshown") == "No class matches. Enter adds it."
    window.press("Enter")
    assert page.focus == "new-class"
    assert page.text("add-submit") == "Add and choose it"
    window.press("Enter")
    window.until(f"page.unsaved() === 0 && page.shown().row !== {row}")
    assert many.session.labels == {row: "quince"}
    assert page.focus == "ask"


def test_letters_are_keys_with_shift_where_they_find_classes(window, many):
    page = Page(window, many.server.start_address())
    row = page.row
    assert page.text("flag-key") == "Shift+F"
    page.press("F", "Shift")
    assert many.session.answers.flagged == {row}
    window.press("f")
    assert page.focus == "finder"
    assert page.texts("#classes .picked .name") == ["fir"]
    window.press("Escape")
    window.press("D", "Shift")
    assert page.is_shown("doubted")
    assert not page.is_shown("asking")


# ---------------------------------------------------------------- earlier answers, doubts


def test_earlier_answer_is_changed(window, trees):
    page = Page(window, trees.server.start_address())
    rows = [page.answer("1") for _ in range(12)]
    names = [f"row {row + 1}" for row in rows]
    assert page.texts("#recent-list strong") == names[:1:-1]  # the last ten, the newest first
    asked = page.row
    page.tab_to(f"Change the answer for {names[-2]}")
    window.press("Enter")
    window.until(f"page.shown().row === {rows[-2]}")
    assert page.text("why") == "labelled ash"
    assert page.focus == "ask"
    pressed = "document.querySelector('#classes [aria-pressed=true] .name').textContent"
    assert window.read(pressed) == "ash"
    page.press(" ")  # an opened row is not skipped
    page.press("2")
    assert page.row == asked
    assert trees.session.labels[rows[-2]] == "birch"
    assert page.texts("#recent-list strong")[0] == names[-2]
    page.tab_to(f"Change the answer for {names[-1]}")
    window.press("Enter")
    window.until(f"page.shown().row === {rows[-1]}")
    window.press("Escape")
    assert page.row == asked
    assert trees.session.labels[rows[-1]] == "ash"
    page.press("Backspace")
    assert trees.session.labels[rows[-2]] == "ash"


def test_earlier_answer_is_removed(window, trees):
    page = Page(window, trees.server.start_address())
    rows = [page.answer("1") for _ in range(3)]
    page.tab_to(f"Remove the answer for row {rows[1] + 1}")
    page.press("Enter")
    assert set(trees.session.labels) == {rows[0], rows[2]}
    page.tab_to(f"Change the answer for row {rows[0] + 1}")
    window.press("Enter")
    window.until(f"page.shown().row === {rows[0]}")
    page.tab_to("take-away")
    page.press("Enter")
    assert set(trees.session.labels) == {rows[2]}
    page.press("Backspace")
    assert set(trees.session.labels) == {rows[0], rows[2]}


def test_doubted_labels_are_kept_or_corrected(window, tmp_path):
    X, truth = blobs()
    given = labels_of(truth, THREE, 8)
    wrong = list(given)[::6][:4]
    given |= {row: THREE[(truth[row] + 1) % 3] for row in wrong}
    with Loop(tmp_path, X, given=given) as loop:
        assert loop.session.wait(60, opinions=True)
        page = Page(window, loop.server.start_address())
        window.until("document.querySelectorAll('#doubted-list li').length === 4")
        window.press("d")
        assert not page.is_shown("asking")
        listed = page.texts("#doubted-list strong")
        assert sorted(listed) == sorted(f"row {row + 1}" for row in wrong)
        rows = [int(name.split()[1]) - 1 for name in listed]
        assert page.focus == f"Keep {given[rows[0]]} for {listed[0]}"
        page.press("Enter")
        assert loop.done[-1] == ("answer", rows[0], given[rows[0]])
        assert page.texts("#doubted-list strong") == listed[1:]
        right = [THREE[truth[row]] for row in rows]
        window.press("Tab")
        assert page.focus == f"Change {listed[1]} to {right[1]}"
        page.press("Enter")
        assert loop.done[-1] == ("answer", rows[1], right[1])
        assert page.texts("#doubted-list strong") == listed[2:]
        page.tab_to(f"Open {listed[3]}")
        window.press("Enter")
        window.until(f"page.shown().row === {rows[3]}")
        assert page.text("why") == f"labelled {given[rows[3]]}"
        assert page.texts("#classes .guess .name") == [right[3]]
        page.press("Enter")
        assert loop.done[-1] == ("answer", rows[3], right[3])
        assert page.is_shown("doubted")
        window.press("d")
        assert page.is_shown("ask")
        assert page.card["why"] != ""
        assert loop.session.answers.confirmed == {rows[0]}


def test_arrows_move_in_the_lists(window, trees):
    page = Page(window, trees.server.start_address())
    rows = [page.answer("1") for _ in range(3)][::-1]
    page.tab_to(f"Remove the answer for row {rows[0] + 1}")
    window.press("ArrowDown")
    assert page.focus == f"Remove the answer for row {rows[1] + 1}"
    window.press("ArrowDown")
    window.press("ArrowDown")  # there is no further one
    assert page.focus == f"Remove the answer for row {rows[2] + 1}"
    window.press("ArrowUp")
    assert page.focus == f"Remove the answer for row {rows[1] + 1}"


# ---------------------------------------------------------------- nobody waits


@pytest.fixture
def gate(trees, monkeypatch):
    """Answers reach the session while it is open."""
    opened, answer = threading.Event(), trees.session.answer

    def later(*values):
        assert opened.wait(60)
        return answer(*values)

    monkeypatch.setattr(trees.session, "answer", later)
    yield opened
    opened.set()


def test_next_question_does_not_wait_for_the_server(window, trees, gate):
    page = Page(window, trees.server.start_address())
    first = page.row
    window.read(
        """addEventListener("keydown", () => {
          const from = performance.now(), name = document.getElementById("name").textContent;
          requestAnimationFrame(() => setTimeout(() => {
            const now = document.getElementById("name").textContent;
            window.waited = now === name ? Infinity : performance.now() - from;
          }));
        }, { capture: true, once: true })"""
    )
    window.press("1")
    window.until("window.waited")
    waited = window.read("String(window.waited)")
    print(f"the next question was there after {waited} ms")
    assert waited != "Infinity"
    second = page.row
    assert second != first
    assert window.read("page.unsaved()") == 1
    assert trees.done == []
    window.press("2")  # there is no third question yet: the answer can still be changed
    window.press("3")
    assert page.row == second
    pressed = "document.querySelector('#classes [aria-pressed=true] .name').textContent"
    assert window.read(pressed) == "cedar"
    assert page.text("saved") == "saving…"
    gate.set()
    page.wait_until_saved()
    window.until(f"page.shown().row !== {second}")
    assert trees.done == [("answer", first, "ash"), ("answer", second, "cedar")]


def test_answer_that_is_not_sent_yet_is_withdrawn(window, trees, gate):
    page = Page(window, trees.server.start_address())
    first = page.row
    window.press("1")
    second = page.row
    window.press("2")
    window.press("Backspace")
    assert page.text("saved") == "answer withdrawn"
    gate.set()
    page.wait_until_saved()
    assert trees.done == [("answer", first, "ash")]
    assert page.row == second


def test_all_rows_are_done(window, tmp_path):
    X, truth = blobs(21)
    given = labels_of(truth, THREE, 5)
    cards = Cards(21, texts=[f"text {i}" for i in range(21)])
    with Loop(tmp_path, X, cards, given=given) as loop:
        page = Page(window, loop.server.start_address())
        for _ in range(5):
            page.answer("1")
        last = page.answer(" ")
        assert page.text("finished-text") == "All other rows are labelled; 1 row was skipped."
        assert page.text("progress").startswith("5 labelled, 1 skipped, 0 left")
        page.press("1")  # nothing to answer
        assert len(loop.session.answers.labels) == 5
        page.press("Backspace")
        assert page.row == last
        page.answer("2")
        assert page.text("finished-text") == "All rows are labelled."
