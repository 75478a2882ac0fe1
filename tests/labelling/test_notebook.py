"""`lapwing.label`: labels and model as values of Python, what is shown, files, and the cell."""

import http.client
import re
import socket
import tempfile
import threading
import time
import warnings
from contextlib import ExitStack, closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import lapwing
from helpers.browser import LEFT, Browser
from helpers.labelling import TREES, blobs, digit_pictures
from lapwing.labelling.journal import Journal

X, TRUTH = blobs(30)
THREE = TREES[:3]
NAN = float("nan")


@pytest.fixture
def start():
    """`lapwing.label`; whatever it has started is closed at the end."""
    with ExitStack() as opened:

        def start(*arguments, **options):
            labelling = lapwing.label(*arguments, **options)
            opened.callback(labelling.close)
            return labelling

        yield start


def answer(labelling, answers):
    """Give rows the classes of these names, as the page does."""
    for row, name in answers.items():
        labelling._session.answer("tab", row, name)


def true_names(rows, names=THREE):
    return {row: str(names[TRUTH[row]]) for row in rows}


def true_labels(n=6, marker=-1):
    """The indices of the classes of the first n rows, the marker for the others."""
    return [int(label) if row < n else marker for row, label in enumerate(TRUTH)]


def get(address):
    """Return the status with which an address is answered."""
    parts = urlsplit(address)
    with closing(http.client.HTTPConnection(parts.hostname, parts.port, timeout=10)) as connection:
        connection.request("GET", f"{parts.path}?{parts.query}")
        return connection.getresponse().status


# ---------------------------------------------------------------- labels and model


def test_texts_are_refused_as_rows():
    table = pd.DataFrame({"a": ["x", "y", "z"], "b": [1, 2, 3]})
    for rows in (table, [["x"], ["y"]]):
        with pytest.raises(ValueError, match=r"X must contain numbers .* show=.*lapwing label"):
            lapwing.label(rows)


def test_answers_become_labels_and_a_model(start):
    labelling = start(X, classes=THREE)
    assert repr(labelling) == "Labelling(0 of 30 rows have a label)"
    assert labelling.labels.tolist() == [None] * 30
    with pytest.raises(ValueError, match="no model yet: label rows of at least two classes"):
        labelling.model  # noqa: B018
    answer(labelling, true_names(range(6)))
    assert repr(labelling) == "Labelling(6 of 30 rows have a label)"
    assert labelling.labels.tolist() == [*(THREE[k] for k in TRUTH[:6]), *[None] * 24]
    model = labelling.model
    assert model.labelled_.tolist() == [0, 1, 2, 3, 4, 5]
    assert model.predict(X).tolist() == [THREE[k] for k in TRUTH]


def test_labels_are_what_fit_takes(start):
    labelling = start(X, true_labels(), classes=range(3))
    answer(labelling, {9: "0"})
    model = lapwing.SemiSupervisedClassifier().fit(X, labelling.labels)
    assert model.labelled_.tolist() == [0, 1, 2, 3, 4, 5, 9]


def test_model_is_an_ordinary_one_and_does_not_disturb_the_session(start, tmp_path):
    labelling = start(X, true_labels())
    model, known = labelling.model, labelling._session.snapshot
    before = known.P.copy()
    assert type(model) is lapwing.SemiSupervisedClassifier
    assert model.callback is None
    assert model._setup.families is not known.model._setup.families  # the session goes on
    model.save(tmp_path / "model.lapwing")
    loaded = lapwing.load(tmp_path / "model.lapwing")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    model.add_labels([10, 11], [0, 0])
    assert model.labelled_.tolist() == [0, 1, 2, 3, 4, 5, 10, 11]
    assert labelling._session.snapshot is known
    np.testing.assert_array_equal(known.P, before)
    assert len(labelling.model.labelled_) == 6
    answer(labelling, {12: "0"})
    assert labelling.model.labelled_.tolist() == [0, 1, 2, 3, 4, 5, 12]


def test_model_that_cannot_be_fitted_says_why(start):
    labelling = start(X, true_labels(), memory_limit=1000)
    with pytest.raises(ValueError, match=r"could not be learnt: fitting 30 rows .* 1 kB"):
        labelling.model  # noqa: B018


@pytest.mark.parametrize(
    "form",
    [np.asfortranarray, np.float32, np.ndarray.tolist, sp.csr_matrix],
)
def test_rows_may_have_every_form(start, form):
    rows = form(X)
    labelling = start(rows, true_labels())
    assert labelling.model.score(rows, TRUTH) == 1.0
    assert labelling._session.card(0)["brief"] == "column 1 1.019, column 2 -0.02"


def test_model_knows_the_columns_of_a_dataframe(start):
    frame = pd.DataFrame(X, columns=["height", "width"])
    labelling = start(frame, true_labels())
    assert labelling._session.card(0)["brief"] == "height 1.019, width -0.02"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert labelling.model.score(frame, TRUTH) == 1.0
    with pytest.raises(ValueError, match="feature names should match"):
        labelling.model.predict(frame[["width", "height"]])


# ---------------------------------------------------------------- types of labels


@pytest.mark.parametrize(
    ("y", "marker", "name", "expected", "dtype"),
    [
        (np.array([0, 1, -1, -1]), -1, "2", [0, 1, 2, -1], np.int64),
        (np.array([-7, 1, 0, 0]), 0, "-3", [-7, 1, -3, 0], np.int64),
        (np.array([0, 1, -1, -1], np.int8), -1, "2", [0, 1, 2, -1], np.int8),
        (np.array([0, 1, -1, -1], np.int8), -1, "300", [0, 1, 300, -1], object),
        (np.array([0.0, 1.0, NAN, NAN]), None, "2", [0, 1, 2, NAN], np.float64),
        (np.array([0.0, 1.0, NAN, NAN]), pd.NA, "2", [0, 1, 2, NAN], np.float64),
        (np.array([0.0, 1.0, NAN, NAN]), -1, "2", [0, 1, 2, -1], np.float64),
        (np.array(["ash", "oak", "?", "?"]), "?", "hazel", ["ash", "oak", "hazel", "?"], "U5"),
        (["ash", "oak", None, None], None, "fir", ["ash", "oak", "fir", None], object),
        (["ash", "oak", NAN, pd.NA], -1, "fir", ["ash", "oak", "fir", -1], object),
        ([True, False, None, None], None, "True", [True, False, True, None], object),
        (pd.Series([1, 5, pd.NA, pd.NA], dtype="Int64"), -1, "7", [1, 5, 7, -1], object),
        (pd.Series(["ash", "oak", None, None]), "?", "fir", ["ash", "oak", "fir", "?"], object),
        (pd.Categorical(["ash", "oak", None, None]), -1, "ash", ["ash", "oak", "ash", -1], object),
    ],
)
def test_answers_have_the_type_of_y(start, y, marker, name, expected, dtype):
    labelling = start(X[:4], y, unlabeled=marker)
    assert labelling._session.n - len(labelling._session.labels) == 2
    answer(labelling, {2: name})
    labels = labelling.labels
    assert labels.dtype == dtype
    np.testing.assert_array_equal(labels, np.array(expected, dtype=dtype))
    assert [type(one) for one in labels.tolist()[:3]] == [type(labels.tolist()[0])] * 3


def test_first_answers_are_numbers_if_y_has_numbers_only(start):
    labelling = start(X, np.full(30, -1))
    answer(labelling, {0: "4", 1: "12"})
    assert labelling.labels.dtype == np.int64
    assert labelling.labels.tolist() == [4, 12, *[-1] * 28]
    assert labelling.model.classes_.tolist() == [4, 12]
    for y, options in ((["?"] * 30, {"unlabeled": "?"}), (None, {})):
        labelling = start(X, y, **options)
        answer(labelling, {0: "4"})
        assert labelling.labels[0] == "4"


def test_order_of_rows_depends_on_the_seed(start):
    first = [
        [
            question["row"]
            for question in start(X, random_state=k)._session.state("tab")["questions"]
        ]
        for k in (0, 0, 1, 2)
    ]
    assert first[0] == first[1]
    assert len({tuple(rows) for rows in first}) > 1


def test_without_y_the_classes_have_their_type(start):
    labelling = start(X, classes=range(-1, 11))
    assert labelling._session.state("tab")["classes"] == [str(k) for k in range(-1, 11)]
    answer(labelling, {0: "-1", 1: "10"})
    assert labelling.labels.tolist() == [-1, 10, *[None] * 28]
    assert labelling.model.classes_.tolist() == [-1, 10]
    for classes in ([True, False], np.array([True, False])):
        labelling = start(X, classes=classes)
        assert labelling._session.state("tab")["classes"] == ["True", "False"]
        answer(labelling, {0: "False"})
        assert labelling.labels[0] == np.False_


def test_class_that_is_no_number_turns_all_into_texts(start):
    labelling = start(X, true_labels())
    for name in ("07", "1.5", "1e0", "9" * 20, "none of them"):
        answer(labelling, {7: name})
        assert labelling.labels.tolist() == ["0", "1", "2", "0", "1", "2", -1, name, *[-1] * 22]
    assert labelling.model.classes_.tolist() == ["0", "1", "2", "none of them"]
    answer(labelling, {7: "0"})
    assert labelling.labels.tolist() == [*true_labels()[:7], 0, *[-1] * 22]
    assert labelling.model.classes_.tolist() == [0, 1, 2]


def test_class_that_is_the_same_number_is_no_other_class(start):
    labelling = start(X, true_labels())
    answer(labelling, {7: "+1", 8: "2.0", 9: "-0"})
    assert labelling.labels.tolist()[7:10] == [1, 2, 0]
    assert labelling.model.classes_.tolist() == [0, 1, 2]


def test_class_that_looks_like_the_marker_is_not_taken_for_it(start):
    labelling = start(X, true_labels())
    answer(labelling, {7: "-1"})
    assert labelling.labels[7] == "-1"
    assert "-1" in labelling.model.classes_
    with pytest.raises(ValueError, match="-1 marks unlabelled rows"):
        lapwing.SemiSupervisedClassifier().fit(X, labelling.labels)


@pytest.mark.parametrize(
    ("y", "marker"), [([True, False, True], -1), ([1, 0, 1], None), (np.uint8([1, 0, 1]), -1)]
)
def test_label_that_is_removed_leaves_the_marker(start, y, marker):
    labelling = start(X[:3], np.array(y), unlabeled=marker)
    assert labelling.labels.dtype == np.array(y).dtype
    labelling._session.remove("tab", 1)
    assert labelling.labels.tolist() == [y[0], marker, y[2]]


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        ([0.0, 1.5, NAN], {}, r"y contains 1\.5, which is no class"),
        ([0.0, 1.5, None], {}, r"y contains 1\.5, which is no class"),
        ([b"ash", b"oak", b"oak"], {}, r"y contains b'ash', which is no class"),
        (["ash", 3, None], {}, r"labels mix types \(int, str\)"),
        (["ash", "-1", "oak"], {}, r"'-1' is a class here, and -1 marks unlabelled rows"),
        ([0, 1, -1], {"classes": [-1, 0, 1]}, r"-1 is one of the classes, and marks"),
        (None, {"classes": [0.5, 1]}, r"classes contains 0\.5, which is no class"),
        (None, {"classes": ["ash", None]}, "classes contains None, which is no class"),
        ([1, -1, 1], {}, r"the labels are exactly -1 and \+1, and -1 also marks unlabelled rows"),
        ([0, 1], {}, r"inconsistent numbers of samples: \[3, 2\]"),
    ],
)
def test_labels_that_are_refused(y, options, message):
    with pytest.raises(ValueError, match=message):
        lapwing.label(X[:3], y, **options)


def test_one_class_may_be_labelled_if_the_other_is_named(start):
    labelling = start(X, np.where(np.arange(30) < 3, 1, -1), classes=[0, 1])
    assert repr(labelling) == "Labelling(3 of 30 rows have a label)"
    signs = np.where(TRUTH == 0, -1, 1).astype(object)
    signs[5:] = None
    labelling = start(X, signs, unlabeled=None)
    assert repr(labelling) == "Labelling(5 of 30 rows have a label)"


@pytest.mark.parametrize("classes", ["ash,oak", 3])
def test_classes_are_a_list(classes):
    with pytest.raises(TypeError, match=f"must be a list of classes, got {classes!r}"):
        lapwing.label(X, classes=classes)


def test_journal_that_cannot_be_written(tmp_path):
    with pytest.raises(OSError, match=r"cannot be written.*: name another one"):
        lapwing.label(X, journal=tmp_path / "nowhere" / "journal")


# ---------------------------------------------------------------- what is shown


def test_texts_are_shown(start):
    texts = [f"tree {row}" for row in range(30)]
    for show in (texts, np.array(texts), pd.Series(texts, index=range(50, 80)), texts.__getitem__):
        card = start(X, show=show)._session.card(7)
        assert (card["text"], card["image"], card["fields"]) == ("tree 7", False, [])


@pytest.mark.parametrize("n_colours", [0, 3, 4])
def test_pictures_are_shown(start, n_colours):
    pictures, _ = digit_pictures(30)
    if n_colours:
        pictures = np.repeat(pictures[..., None], n_colours, axis=3)
    for show in (pictures, list(pictures), lambda row: pictures[row]):
        session = start(X, show=show)._session
        assert session.card(7)["image"] is True
        media, content = session.image(7)
        assert (media, content[:4]) == ("image/png", b"\x89PNG")
        assert session.image(8)[1] != content


def test_dataframe_is_shown_as_fields(start):
    frame = pd.DataFrame({"height": X[:, 0], "leaf": ["ovate", "linear", None] * 10})
    session = start(X, show=frame)._session
    assert session.card(1)["fields"] == [["height", "-0.404", True], ["leaf", "linear", False]]
    assert session.card(2)["fields"][1] == ["leaf", "", False]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"show": ["a", "b"]}, ValueError, "show has 2 entries and X has 30 rows"),
        ({"show": np.zeros((29, 8, 8))}, ValueError, "show has 29 entries and X has 30 rows"),
        ({"show": list(range(30))}, TypeError, "show must be texts, pictures"),
        ({"show": 5}, TypeError, "show must be texts, pictures.* got int"),
        ({"names": 3}, TypeError, "names must be a list of names, got 3"),
        ({"names": ["a", "b"]}, ValueError, "names has 2 entries and X has 30 rows"),
    ],
)
def test_something_for_each_row(options, error, message):
    with pytest.raises(error, match=message):
        lapwing.label(X, **options)


def test_many_columns_need_something_to_show(start):
    wide = np.repeat(X, 101, axis=1)
    with pytest.raises(ValueError, match=r"202 columns of X .* pass show="):
        lapwing.label(wide)
    assert start(wide, show=lambda row: f"tree {row}")._session.card(3)["text"] == "tree 3"


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, pd.DataFrame])
def test_rows_with_nan_are_refused(form):
    rows = X.copy()
    rows[3, 1] = NAN
    with pytest.raises(ValueError, match=r"(?s)Input X contains NaN.*imputer"):
        lapwing.label(form(rows))


def test_names_of_rows(start):
    names = [f"tree {row}" for row in range(30)]
    for given in (names, np.array(names), pd.Series(names, index=range(50, 80))):
        assert start(X, names=given)._session.card(7)["name"] == "tree 7"
    assert start(X)._session.card(7)["name"] == "row 8"
    session = start(X, true_labels(), names=names)._session
    table = session.export("table")[2].decode().splitlines()
    assert table[0] == "row,label,label_source,label_probability,label_flagged"
    assert table[1] == "tree 0,0,given,,"
    assert table[8].startswith("tree 7,1,predicted,")
    assert '"tree 7"' in session.export("report")[2].decode()


# ---------------------------------------------------------------- files, threads and ports


def own_threads():
    """The threads but for those of the pools that all fits share."""
    return [thread for thread in threading.enumerate() if not thread.name.startswith("lapwing_")]


def test_later_call_goes_on_with_the_journal(start, tmp_path):
    journal = tmp_path / "trees.journal"
    first = start(X, classes=THREE, journal=journal)
    answer(first, true_names(range(6)))
    first._session.skip("tab", 7)
    with pytest.raises(ValueError, match="is in use"):
        lapwing.label(X, classes=THREE, journal=journal)
    first.close()
    for path in (journal, str(journal)):
        again = start(X, classes=THREE, journal=path)
        assert again.labels.tolist() == first.labels.tolist()
        assert again._session.state("tab")["skipped"] == 1
        assert again.model.labelled_.tolist() == [0, 1, 2, 3, 4, 5]
        again.close()
    before = journal.read_bytes()
    for rows in (X + 1, X[:29], X.astype(np.float32), np.column_stack([X, X])):
        with pytest.raises(ValueError, match=r"trees\.journal has answers for other rows"):
            lapwing.label(rows, journal=journal)
    assert journal.read_bytes() == before


def test_close_ends_the_page_and_leaves_labels_and_model(start, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    threads = own_threads()
    labelling = start(X, classes=THREE)
    address = labelling.address
    assert len(list(tmp_path.iterdir())) == 1
    answer(labelling, true_names(range(6)))  # which the model has not learnt yet
    labelling.close()
    assert list(tmp_path.iterdir()) == []
    assert own_threads() == threads
    with pytest.raises(ConnectionRefusedError):
        get(address)
    assert repr(labelling) == "Labelling(6 of 30 rows have a label)"
    assert labelling.labels[:3].tolist() == [THREE[k] for k in TRUTH[:3]]
    assert labelling.model.labelled_.tolist() == [0, 1, 2, 3, 4, 5]
    labelling.close()


def broken(row):
    raise KeyError(f"there is nothing to show of row {row}")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("port", "taken"),
        ("port", 70_000),
        ("show", ["a"]),
        ("show", broken),
        ("names", ["a"]),
        ("random_state", None),
        ("random_state", -1),
        ("memory_limit", "a lot"),
        ("classes", [0.5, 1.5]),
    ],
)
def test_refused_call_leaves_nothing_behind(start, tmp_path, monkeypatch, option, value):
    temporary, journal = tmp_path / "temporary", tmp_path / "trees.journal"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    threads = own_threads()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        options = {"classes": THREE, option: port if value == "taken" else value}
        for path in (None, journal):
            with pytest.raises((ValueError, OSError, KeyError)):
                lapwing.label(X, journal=path, **options)
        assert own_threads() == threads
        assert list(temporary.iterdir()) == []
    answer(start(X, classes=THREE, journal=journal, port=port), {3: "ash"})


def test_damaged_journal_is_given_back(tmp_path):
    path = tmp_path / "trees.journal"
    lapwing.label(X, journal=path).close()
    lines = path.read_text(encoding="utf-8")
    path.write_text(lines + '{"do": "answer", "row": 1}\n', encoding="utf-8")
    with pytest.raises(ValueError, match="line 2 of the journal is damaged"):
        lapwing.label(X, journal=path)
    Journal(path, {}, lambda found: True).close()  # nobody else has it


# ---------------------------------------------------------------- the cell


def test_each_address_works_once(start):
    labelling = start(X)
    addresses = [labelling.address for _ in range(3)]
    assert len(set(addresses)) == 3
    assert [get(address) for address in addresses * 2] == [200, 200, 200, 403, 403, 403]


def test_cell_shows_the_page_in_a_frame(start):
    labelling = start(X, title='</title><b>"Trees" & co', height=333)
    cells = [labelling._repr_html_() for _ in range(3)]
    port = urlsplit(labelling.address).port
    for cell in cells:
        assert 'title="&lt;/title&gt;&lt;b&gt;&quot;Trees&quot; &amp; co"' in cell
        assert "<b>" not in cell
        assert "height:333px" in cell
        assert f":{port}/start?token=" in cell
    tokens = [token for cell in cells for token in re.findall(r"token=([\w-]+)", cell)]
    assert len(set(tokens)) == 6  # of the frame and of the link
    names = [name for cell in cells for name in re.findall(r"lapwing-\w+", cell)]
    assert len(names) == 6
    assert len(set(names)) == 3  # so that the script finds the frame of its own cell


class Notebook:
    """A page on another port that contains a cell, to be used in a ``with`` statement."""

    def __init__(self, cell):
        content = f"<!DOCTYPE html><title>Notebook</title><h1>Notebook</h1>{cell}".encode()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(scope="module")
def window(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("browser")) as window:
        yield window


def in_frame(window, expression):
    """Return the value of a JavaScript expression in the frame of the cell."""
    [child] = window.call("Page.getFrameTree")["frameTree"]["childFrames"]
    world = window.call("Page.createIsolatedWorld", frameId=child["frame"]["id"])
    answer = window.call(
        "Runtime.evaluate",
        expression=expression,
        contextId=world["executionContextId"],
        returnByValue=True,
    )
    return answer["result"].get("value")


def until(is_true, seconds=30.0):
    """Wait until a function returns something true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if is_true():
                return
        except RuntimeError as error:
            if not any(words in str(error) for words in LEFT):
                raise
        time.sleep(0.02)
    raise TimeoutError(f"it did not become true within {seconds:.0f} s")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_answer_is_given_in_a_notebook(window, start, host):
    labelling = start(X, classes=THREE, title="Trees")
    with Notebook(labelling._repr_html_()) as notebook:
        window.open(f"http://{host}:{notebook.port}/")
        until(lambda: in_frame(window, "document.getElementById('asking')?.hidden === false"))
        assert in_frame(window, "location.hostname") == host
        assert in_frame(window, "document.title") == "Trees"
        window.read("document.querySelector('iframe').focus()")
        window.press("2")
        until(lambda: len(labelling._session.labels) == 1)
        window.press("1")
        until(lambda: len(labelling._session.labels) == 2)
        assert sorted(filter(None, labelling.labels)) == ["ash", "birch"]
        window.open("about:blank")
    assert window.errors == []
