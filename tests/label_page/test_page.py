"""The page for labels: it survives, is safe, is usable by everyone and in a narrow window."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from helpers.labelling import TREES, Loop, Page, blobs, digit_pictures
from lapwing.displays.canvas import PALETTE
from lapwing.labelling.cards import Cards, cards_of

THREE = TREES[:3]
NASTY = '</script><b>bold</b><img src="x" onerror="window.ran=1"><script>window.ran=1</script>&amp;'
RECORDED = 36  # answers of the recording of the guide


# ---------------------------------------------------------------- nothing is lost


def test_reload(window, trees):
    page = Page(window, trees.server.start_address())
    rows = [page.answer("1"), page.answer("2"), page.answer(" ")]
    asked, before = page.row, page.text("progress")
    assert before == "2 labelled, 1 skipped, 87 left"
    window.reload()
    page.wait_for_rows()
    assert page.row == asked
    assert page.text("progress") == before
    assert page.texts("#recent-list strong") == [f"row {row + 1}" for row in rows[1::-1]]
    page.press("Backspace")  # the tab is still the same one
    page.press("Backspace")
    assert page.row == rows[1]
    assert trees.session.labels == {rows[0]: "ash"}


def test_reload_before_an_answer_is_acknowledged(window, trees, monkeypatch):
    opened, answer = threading.Event(), trees.session.answer

    def later(*values):
        assert opened.wait(60)
        return answer(*values)

    monkeypatch.setattr(trees.session, "answer", later)
    page = Page(window, trees.server.start_address())
    try:
        rows = [page.row]
        window.press("1")
        rows.append(page.row)
        window.press("2")
        assert window.read("page.unsaved()") == 2
        window.reload()
        page.wait_for_rows()
        assert window.read("page.unsaved()") == 2
    finally:
        opened.set()
    page.wait_until_saved()
    assert trees.session.labels == {rows[0]: "ash", rows[1]: "birch"}
    assert page.text("progress").startswith("2 labelled")


def test_server_that_cannot_be_reached_for_a_while(window, trees):
    page = Page(window, trees.server.start_address())
    window.offline(True)
    rows = [page.row]
    window.press("1")
    rows.append(page.row)
    assert rows[0] != rows[1]
    window.until("!document.getElementById('lost').hidden")
    assert "Your last answer is not saved yet" in page.text("lost")
    window.press("2")
    assert "Your last 2 answers are not saved yet" in page.text("lost")
    window.press("Backspace")
    assert page.text("saved") == "answer withdrawn"
    assert "Your last answer is not saved yet" in page.text("lost")
    window.press("2")
    assert trees.done == []
    window.offline(False)
    page.wait_until_saved()
    window.until("document.getElementById('lost').hidden")
    assert trees.done == [("answer", rows[0], "ash"), ("answer", rows[1], "birch")]
    assert {error.split()[-1].rsplit("/", 1)[-1] for error in window.errors} >= {"answer"}
    assert all("ERR_INTERNET_DISCONNECTED" in error for error in window.errors)
    window.errors.clear()


def test_answer_while_the_page_knows_that_it_cannot_reach_the_server(window, trees):
    page = Page(window, trees.server.start_address())
    window.offline(True)
    window.until("!document.getElementById('lost').hidden")  # it asks for the panel by itself
    assert "not saved" not in page.text("lost")
    window.press("1")
    assert "Your last answer is not saved yet" in page.text("lost")
    window.offline(False)
    page.wait_until_saved()
    assert len(trees.session.labels) == 1
    assert all("ERR_INTERNET_DISCONNECTED" in error for error in window.errors)
    window.errors.clear()


def test_answer_that_was_withdrawn_is_not_sent_after_a_reload(window, trees):
    page = Page(window, trees.server.start_address())
    window.offline(True)
    first = page.row
    window.press("1")
    second = page.row
    window.press("2")
    window.press("Backspace")
    assert page.text("saved") == "answer withdrawn"
    window.offline(False)
    window.reload()
    page.wait_for_rows()
    page.wait_until_saved()
    assert trees.done == [("answer", first, "ash")]
    assert page.row == second
    window.errors.clear()  # of a server that could not be reached


def test_answer_that_the_server_refuses_is_asked_again(window, trees, monkeypatch):
    def refuse(*values):
        raise OSError(28, "no space left", "rows.csv.journal")

    page = Page(window, trees.server.start_address())
    row = page.row
    with monkeypatch.context() as patch:
        patch.setattr(trees.session, "answer", refuse)
        page.press("1")
        window.until("!document.getElementById('problem').hidden")
    assert "no space left" in page.text("problem")
    window.until(f"page.shown().row === {row}")
    assert trees.done == []
    page.answer("1")
    assert not page.is_shown("problem")
    assert trees.done == [("answer", row, "ash")]
    assert len(window.errors) == 1
    assert "500" in window.errors.pop()


class Program:
    """`lapwing label` in a process of its own, to be used in a ``with`` statement."""

    def __init__(self, table: Path, port: int) -> None:
        command = [sys.executable, "-m", "lapwing", "label", str(table), "--target", "tree"]
        self._process = subprocess.Popen(
            [*command, "--classes", ",".join(THREE), "--port", str(port), "--no-browser"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )

    def __enter__(self):
        self.address = self._process.stdout.readline().strip()
        if not self.address.startswith("http://127.0.0.1:"):
            self._process.kill()
            raise AssertionError(f"{self.address!r}: {self._process.communicate()[1]}")
        return self

    @property
    def port(self) -> int:
        return int(self.address.split(":")[2].split("/")[0])

    def end(self, number: int) -> int:
        """Send a signal, and return the exit code."""
        self._process.send_signal(number)
        self._process.communicate(timeout=60)
        return self._process.returncode

    def __exit__(self, *_):
        self._process.kill()
        self._process.communicate()


@pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL")
def test_killed_program_goes_on_where_it_was(window, tmp_path):
    X, truth = blobs()
    table = tmp_path / "rows.csv"
    lines = [f"{x},{y}" for x, y in X.tolist()]
    table.write_text("\n".join(["x,y", *lines, ""]), encoding="utf-8")
    before = table.read_bytes()
    with Program(table, 0) as program:
        page = Page(window, program.address)
        answered = {}
        for _ in range(8):
            row = page.row
            answered[row] = THREE[truth[row]]
            page.answer(str(1 + truth[row]))
        window.press("1")  # it is on its way
        program.end(signal.SIGKILL)
        port = program.port
    window.press("2")
    window.until("!document.getElementById('lost').hidden")
    assert "start it again and open the address that it prints" in page.text("lost")
    window.errors.clear()
    with Program(table, port) as program:
        page = Page(window, program.address)
        labelled = page.text("progress").split()[0]
        assert labelled in ("8", "9")
        state = window.read("fetch('/api/state?tab=other').then(response => response.json())")
        recent = {card["row"]: card["label"] for card in state["recent"]}
        assert {row: recent[row] for row in answered} == answered
        assert page.row not in recent
        page.answer("1")
        assert page.text("progress").split()[0] == str(int(labelled) + 1)
        window.until("document.getElementById('fitted').textContent.includes('Fitted to')")
        assert program.end(signal.SIGTERM) == 0
    assert table.read_bytes() == before
    window.errors.clear()


def test_page_of_an_earlier_program(window, tmp_path):
    X, _ = blobs()
    with Loop(tmp_path, X, classes=THREE) as loop:
        page = Page(window, loop.server.start_address())
        page.answer("1")
        loop.server._guard._cookies.clear()  # as a program that was started again
        window.press("2")
        window.until("!document.getElementById('problem').hidden")
    assert "the program has been started again since" in page.text("problem")
    assert len(loop.session.labels) == 1
    assert all("403" in error for error in window.errors)
    window.errors.clear()


# ---------------------------------------------------------------- two tabs


def test_two_tabs(window, trees):
    first_tab, page = window.tab, Page(window, trees.server.start_address())
    rows = [page.row]
    second_tab = window.new_tab()
    other = Page(window, trees.server.start_address())
    try:
        assert other.row != rows[0]
        rows.append(other.answer("2"))
        window.show_tab(first_tab)
        assert page.row == rows[0]
        page.answer("1")
        window.until("document.getElementById('progress').textContent.startsWith('2 labelled')")
        both = [f"row {row + 1}" for row in rows]
        assert sorted(page.texts("#recent-list strong")) == sorted(both)
        window.show_tab(second_tab)
        window.until("document.getElementById('progress').textContent.startsWith('2 labelled')")
        assert sorted(other.texts("#recent-list strong")) == sorted(both)
        assert trees.session.labels == {rows[0]: "ash", rows[1]: "birch"}
        other.press("Backspace")  # the last answer of this tab
        assert other.row == rows[1]
        assert trees.session.labels == {rows[0]: "ash"}
        window.show_tab(first_tab)
        window.until("document.getElementById('progress').textContent.startsWith('1 labelled')")
        assert page.row != rows[1]
    finally:
        window.show_tab(second_tab)
        window.close_tab()
        window.show_tab(first_tab)


# ---------------------------------------------------------------- safety


def hostile_cards(n):
    """Cards with markup in every place."""
    fields = {
        NASTY: np.array([f"{NASTY}{i}" for i in range(n)], dtype=object),
        "long": np.array([f"{i} {NASTY * 9}" for i in range(n)], dtype=object),
        "number": np.arange(n) / 4.0,
    }
    names, texts = [f"{NASTY}{i}" for i in range(n)], [f"{i}: {NASTY * 20}" for i in range(n)]
    return Cards(n, names, fields, texts)


def test_markup_in_every_kind_of_cell_is_text(window, tmp_path):
    X, truth = blobs()
    classes = [NASTY, f"{NASTY}2", f"{NASTY}3"]
    given = {row: classes[truth[row]] for row in range(20)}
    given[0], given[20] = classes[(truth[0] + 1) % 3], f"{NASTY}4"  # doubted; the only one of its
    loop = Loop(tmp_path, X, hostile_cards(90), given=given, title=f"{NASTY}.csv")
    with loop:
        assert loop.session.wait(60, opinions=True)
        assert any("</script><b>" in note for note in loop.session.panel()["notes"])
        page = Page(window, loop.server.start_address())
        row = page.row

        def check():
            assert window.read("window.ran") is None
            assert page.texts("b, img, iframe, object, link") == []
            assert window.read("document.scripts.length") == 2

        window.until("document.querySelectorAll('#doubted-list li').length && page.spots().length")
        assert window.read("document.title") == f"{NASTY}.csv"
        assert page.text("name") == f"{NASTY}{row}"
        assert page.texts("#content th") == [NASTY, "long", "number"]
        assert page.texts("#content td")[0] == f"{NASTY}{row}"
        assert page.texts("#classes .name") == [*classes, f"{NASTY}4"]
        assert any("</script><b>" in note for note in page.texts("#notes li"))
        assert NASTY in window.read("document.getElementById('canvas').ariaLabel")
        check()
        page.tab_to("show all")
        window.press("Enter")
        page.tab_to("show all")
        window.press("Enter")
        assert page.texts(".text")[0] == f"{row}: {NASTY * 20}"
        assert page.texts("#content td")[1] == f"{row} {NASTY * 9}"
        check()
        page.answer("1")
        assert page.texts("#recent-list strong") == [f"{NASTY}{row}"]
        assert NASTY in page.text("saved")
        x, y = window.read(
            """(box => { const [x, y] = page.spots().find(spot => spot);
            return [box.x + x, box.y + y]; })(document.getElementById("canvas")
            .getBoundingClientRect())"""
        )
        window.move(x, y)
        window.press("d")
        assert NASTY in page.texts("#doubted-list li")[0]
        check()
        page.tab_to(f"Open {NASTY}0")
        window.press("Enter")
        window.until("page.shown().row === 0")
        check()
        window.press("Escape")
        window.press("+", "Shift")
        window.type("<b>x</b>")
        page.press("Enter")
        assert page.texts("#classes .name")[-1] == "<b>x</b>"
        check()


def test_page_loads_nothing_from_elsewhere(window, trees):
    window.requests.clear()
    page = Page(window, trees.server.start_address())
    for key in "12312":
        page.answer(key)
    window.press("d")
    window.press("?", "Shift")
    window.reload()
    page.wait_for_rows()
    assert len(window.requests) > 10
    assert {address.split("/")[2] for address in window.requests} == {trees.server.address[7:]}


# ---------------------------------------------------------------- for everyone


def names_of_controls(window):
    """The role and the name of each control and picture that a screen reader finds."""
    nodes = window.call("Accessibility.getFullAXTree")["nodes"]
    found = [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in nodes
        if not node["ignored"]
    ]
    return [
        (role, name)
        for role, name in found
        if role in ("button", "textbox", "link", "image", "dialog", "group", "complementary")
    ]


def test_downloads(window, trees, tmp_path):
    folder = tmp_path / "downloads"
    folder.mkdir()
    window.save_downloads(folder)
    page = Page(window, trees.server.start_address())
    for key in "123":
        page.answer(key)
    page.wait_until_learnt(trees)
    for what, name in (("table", "rows-labelled.csv"), ("model", "rows.lapwing")):
        page.tab_to(what.capitalize())
        window.press("Enter")
        file, expected = folder / name, trees.session.export(what)[2]
        end = time.monotonic() + 60
        while not file.exists() or file.stat().st_size < len(expected):
            assert time.monotonic() < end
            time.sleep(0.01)
        assert file.read_bytes() == expected
    window.until("!document.getElementById('preparing').textContent")


def test_a_download_that_fails_says_why(window, trees, tmp_path, monkeypatch):
    window.save_downloads(tmp_path)
    page = Page(window, trees.server.start_address())

    def fails(what):
        raise ValueError(f"the {what} has <b>other</b> rows now")

    monkeypatch.setattr(trees.session, "exports", fails)
    page.tab_to("Table")
    window.press("Enter")
    window.until("!document.getElementById('problem').hidden")
    assert page.text("problem").startswith("the table has <b>other</b> rows now")
    assert list(tmp_path.glob("*.csv")) == []
    # The browser notes the answer 400, as for every request that is refused.
    assert all("400" in error for error in window.errors)
    window.errors.clear()


def test_controls_have_names_and_are_reached_by_tab(window, tmp_path):
    X, truth = blobs()
    classes = [*TREES, *(f"{name} hybrid" for name in TREES[:4])]
    given = {row: classes[truth[row]] for row in range(15)}
    cards = hostile_cards(90)
    with Loop(tmp_path, X, cards, given=given, classes=classes) as loop:
        assert loop.session.wait(60)
        page = Page(window, loop.server.start_address())
        window.until("document.querySelector('[data-export=model]').href && page.spots().length")
        page.answer("1")
        page.wait_until_learnt(loop)
        controls = names_of_controls(window)
        assert len(controls) > 30
        assert [role for role, name in controls if not name.strip()] == []
        assert ("textbox", "Find a class") in controls
        assert any(role == "image" and name.startswith("Map of 90 rows") for role, name in controls)
        every = """Array.from(document.querySelectorAll("button:enabled, a[href], input"))
          .filter(e => e.offsetParent)"""
        count = window.read(f"{every}.length")
        for _ in range(count + 5):
            window.press("Tab")
            window.read("document.activeElement.dataset.reached = 1")
        missed = window.read(f"{every}.filter(e => !e.dataset.reached).map(e => e.outerHTML)")
        assert count > 30
        assert missed == []


def test_screen_readers_are_told_what_changes(window, tmp_path):
    X, truth = blobs()
    given = {row: THREE[truth[row]] for row in range(12)}
    texts = [f"text number {i}" for i in range(90)]
    with Loop(tmp_path, X, Cards(90, texts=texts), given=given) as loop:
        assert loop.session.wait(60)
        page = Page(window, loop.server.start_address())
        roles = "['said', 'saved', 'lost', 'problem'].map(id => document.getElementById(id).role)"
        assert window.read(roles) == ["status", "status", "alert", "alert"]
        page.find("card.opinion")
        row = page.row
        said = page.text("said")
        assert said.startswith(f"row {row + 1}. The model's opinion: ")
        assert said.endswith(f"text number {row}")
        page.answer("2")
        assert page.text("saved") == f"row {row + 1}: birch saved"
        assert page.text("said").startswith(f"row {page.row + 1}. ")
        assert page.focus == "ask"
        label = "document.getElementById(document.activeElement.getAttribute('aria-labelledby'))"
        assert window.read(f"{label}.textContent") == f"row {page.row + 1}"
        window.press("d")
        assert page.text("said").endswith("doubted labels")
        page.press("Backspace")
        assert page.text("said") == "undone"


def overflow(window):
    """Elements that leave the window, and by how much the page is too wide."""
    return window.read(
        """[document.documentElement.scrollWidth - innerWidth, Array.from(
          document.querySelectorAll("body *")).filter(e => e.offsetParent &&
          !e.closest(".spoken") && (e.getBoundingClientRect().right > innerWidth + 0.5 ||
          e.getBoundingClientRect().left < -0.5)).map(e => e.outerHTML.slice(0, 200))]"""
    )


def refuse_at_length(*values):
    raise ValueError("Antidisestablishmentarianism" * 4)


@pytest.mark.parametrize("n_classes", [3, 14])
def test_narrow_window(n_classes, window, tmp_path):
    X, truth = blobs()
    long = "Antidisestablishmentarianism" * 4
    classes = [f"{long}{i}" if i < 2 else f"class {i}" for i in range(n_classes)]
    given = {row: classes[truth[row]] for row in range(20)}
    given[0] = classes[(truth[0] + 1) % 3]
    fields = {
        long: np.array([f"{long}{i}" for i in range(90)], dtype=object),
        "height": X[:, 0] / 7.0 * 1e5,
        "note": np.array(["Some words of a long note. " * 30] * 90, dtype=object),
        **{f"field {i}": X[:, 1] / 3.0 for i in range(12)},
    }
    cards = Cards(90, [f"{long}{i}" for i in range(90)], fields, ["word " * 300] * 90)
    loop = Loop(tmp_path, X, cards, given=given, classes=classes, title=f"{long}.csv")
    with loop:
        assert loop.session.wait(60, opinions=True)
        window.resize(390, 844)
        page = Page(window, loop.server.start_address())
        window.until("document.querySelectorAll('#doubted-list li').length && page.spots().length")
        page.press("F", "Shift")
        page.answer("1")
        assert overflow(window) == [0, []]
        for name in ("show all", "Show all 15 fields"):
            page.tab_to(name)
            window.press("Enter")
            assert overflow(window) == [0, []]
        window.press("?", "Shift")
        assert overflow(window) == [0, []]
        window.press("Escape")
        window.until("!document.getElementById('keys').open")
        window.press("+", "Shift")
        assert overflow(window) == [0, []]
        window.press("Escape")
        window.press("D", "Shift")
        assert page.is_shown("doubted-list")
        assert overflow(window) == [0, []]
        page.tab_to(f"Open {long}0")
        window.press("Enter")
        window.until("page.shown().row === 0")
        assert overflow(window) == [0, []]
        loop.session.flag = refuse_at_length
        page.press("F", "Shift")
        window.until("!document.getElementById('problem').hidden")
        assert overflow(window) == [0, []]
        loop.server.close()
        window.until("!document.getElementById('lost').hidden")
        assert overflow(window) == [0, []]
        window.errors.clear()


def test_classes_are_in_sight_in_a_narrow_window(window, tmp_path):
    X, _ = blobs()
    with Loop(tmp_path, X, Cards(90, texts=["word " * 300] * 90), classes=THREE) as loop:
        window.resize(390, 700)
        page = Page(window, loop.server.start_address())
        assert window.read("scrollY") == 0
        box = "document.getElementById('{}').getBoundingClientRect()"
        assert window.read(f"{box.format('skip')}.top") > 720
        assert window.read(f"{box.format('classes')}.bottom") <= 700
        page.tab_to("skip")  # what has the focus is not covered
        box = box.format("skip")
        window.until(f"{box}.bottom <= 700")
        hit = f"document.elementFromPoint({box}.x + 5, {box}.y + 5).closest('button').id"
        assert window.read(hit) == "skip"


def test_colours_follow_the_system(window, trees):
    window.prefer("dark")
    Page(window, trees.server.start_address())
    back = "getComputedStyle(document.body).backgroundColor"
    assert window.read("document.documentElement.dataset.theme") == "dark"
    assert window.read(back) == "rgb(21, 22, 23)"
    window.prefer("light")
    window.until("document.documentElement.dataset.theme === 'light'")
    assert window.read(back) == "rgb(251, 251, 249)"
    window.click("#theme")
    assert window.read("document.documentElement.dataset.theme") == "dark"


# ---------------------------------------------------------------- what is shown


def test_numbers_have_their_points_below_each_other(window, tmp_path):
    X, _ = blobs()
    rows = {"a": X[:, 0] * 1000.0, "b": X[:, 1], "whole": np.full(90, 7.0)}
    with Loop(tmp_path, X, Cards(90, fields=rows), classes=THREE) as loop:
        page = Page(window, loop.server.start_address())
        assert page.texts("#content td")[2] == "7"
        ends = window.read(
            """Array.from(document.querySelectorAll(".decimal"), e =>
              Math.round(e.firstElementChild.getBoundingClientRect().right))"""
        )
        assert len(ends) == 3
        assert len(set(ends)) == 1


def test_long_fields_are_folded(window, tmp_path):
    X, _ = blobs()
    fields = {f"field {i}": np.array(["word " * 100] * 90, dtype=object) for i in range(20)}
    with Loop(tmp_path, X, Cards(90, fields=fields), classes=THREE) as loop:
        page = Page(window, loop.server.start_address())
        cells = page.texts("#content td")
        assert len(cells) == 12
        assert all(len(cell) < 260 and cell.endswith("… show all") for cell in cells)
        page.tab_to("show all")
        window.press("Enter")
        assert page.texts("#content td")[0] == "word " * 100
        assert page.focus == "ask"
        page.tab_to("Show all 20 fields")
        window.press("Enter")
        assert len(page.texts("#content td")) == 20


def test_pictures(window, tmp_path):
    pictures, _ = digit_pictures(60)
    X = pictures.reshape(60, -1)
    with Loop(tmp_path, X, cards_of(pictures, X), classes=list("0123456789")) as loop:
        page = Page(window, loop.server.start_address())
        for _ in range(2):
            window.until("document.querySelector('#content img').naturalWidth > 0")
            alt = window.read("document.querySelector('#content img').alt")
            assert alt == f"picture of row {page.row + 1}"
            page.answer("0")
        window.until("document.querySelector('#recent-list img').naturalWidth > 0")
        assert page.texts("#content table") == []


def test_pictures_that_cannot_be_shown_say_why(window, tmp_path):
    X, truth = blobs()
    missing = LookupError("there is no file 'a.png' in the folder of the pictures")

    def picture(row):
        raise missing

    given = {row: THREE[truth[row]] for row in range(12)}
    with Loop(tmp_path, X, Cards(90, picture=picture), given=given) as loop:
        page = Page(window, loop.server.start_address())
        window.until("document.getElementById('content').textContent.startsWith('No picture: ')")
        assert page.text("content") == f"No picture: {missing.args[0]}"
        page.answer("1")
        window.until("document.getElementById('content').textContent.startsWith('No picture: ')")
        window.until("document.querySelectorAll('#recent-list img').length === 0")
    assert {error.split(" http")[0][-15:] for error in window.errors} == {"404 (Not Found)"}
    window.errors.clear()


def test_panel(window, tmp_path):
    X, truth = blobs()
    given = {row: THREE[truth[row]] for row in range(12)}
    with Loop(tmp_path, X, given=given) as loop:
        page = Page(window, loop.server.start_address())
        while sum(entry.get("why") == "random" for entry in loop.journal.entries) < 4:
            page.answer(str(1 + truth[page.row]))
        assert loop.session.wait(60, opinions=True)
        panel = loop.session.panel()
        labels = len(loop.session.labels)
        window.reload()
        page.wait_for_rows()
        window.until("page.spots().length && !document.getElementById('panel').hidden")
        found = panel["accuracy"]
        low, high = (round(100 * found[end]) for end in ("low", "high"))
        assert page.text("accuracy-text") == (
            f"100 %, between {low} and {high} %, from {found['rows']} random rows"
        )
        counts = [int(text) for text in page.texts("#counts tbody td:nth-child(2) .figure")]
        assert counts == [n for _, n in panel["counts"]]
        assert sum(counts) == labels
        shares = [text.split()[0] for text in page.texts("#counts tbody td:nth-child(3) .figure")]
        assert shares == [str(round(100 * share[1])) for share in panel["shares"]]
        assert page.text("worth") == panel["worth"]["text"].replace("\u00a0", " ")
        assert page.text("help") == panel["help"]["text"]
        assert page.text("fitted").startswith(f"Fitted to {labels} labels in ")


# ---------------------------------------------------------------- the recording of the guide


def record(window, folder):
    """Label digits by keyboard; return the frames, as files."""
    pictures, truth = digit_pictures(300)
    X, frames = pictures.reshape(300, -1), []

    def take():
        frames.append(folder / f"{len(frames):02}.png")
        window.picture(frames[-1], whole=False)

    window.resize(1120, 1080, 0.857)
    digits = list("0123456789")
    with Loop(folder, X, cards_of(pictures, X), classes=digits, title="digits.csv: digit") as loop:
        page = Page(window, loop.server.start_address())
        loaded = "document.querySelector('#content img').complete"
        window.until(loaded)
        take()
        for i in range(RECORDED):
            page.answer(str(truth[page.row]))
            if i % 3 == 2 or i < 3:
                page.wait_until_learnt(loop)
                window.until(loaded)
                take()
        assert len(loop.session.labels) == RECORDED
    return frames


@pytest.mark.slow
def test_recording(window, tmp_path):
    """Written to LAPWING_RECORDING, which is docs/labelling.gif for the guide."""
    image = pytest.importorskip("PIL.Image")
    frames = [image.open(path).convert("RGB") for path in record(window, tmp_path)]
    out = Path(os.environ.get("LAPWING_RECORDING") or tmp_path / "labelling.gif")
    width, height = frames[0].size
    every = image.new("RGB", (width, height * (len(frames) + 1)))
    for i, frame in enumerate(frames):
        every.paste(frame, (0, i * height))
    for i, colour in enumerate(PALETTE):  # in as many pixels as what is large on the page
        patch = image.new("RGB", (width // len(PALETTE), height), colour)
        every.paste(patch, (i * patch.width, len(frames) * height))
    palette = every.quantize(128, method=image.Quantize.MEDIANCUT)
    first, *others = [f.quantize(palette=palette, dither=image.Dither.NONE) for f in frames]
    seconds = [1.5] + [0.9] * (len(others) - 1) + [4.0]
    first.save(
        out,
        save_all=True,
        append_images=others,
        duration=[round(1000 * s) for s in seconds],
        loop=0,
        optimize=True,
    )
    with image.open(out) as written:
        assert written.size[0] <= 960
        assert written.size[1] <= 930
        assert written.n_frames == len(frames)
    assert out.stat().st_size < 400_000
