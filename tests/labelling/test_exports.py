"""What is downloaded: the table with a label for every row, the model, and the report."""

import csv
import html
import io
import threading

import numpy as np
import pytest

import lapwing
from helpers.labelling import TREES, blobs
from lapwing.labelling import exports as exports_module
from lapwing.labelling.cards import cards_of
from lapwing.labelling.exports import Exports
from lapwing.labelling.journal import Journal
from lapwing.labelling.session import LabelSession

N = 40
X, TRUTH = blobs(N)
TREE = [TREES[code] for code in TRUTH]
NAMES = [f"leaf {row}" for row in range(N)]


def open_session(folder, **parameters):
    journal = Journal(folder / "rows.journal", {"rows": N})
    return LabelSession(X, cards_of(None, X), journal, **parameters)


@pytest.fixture
def session(tmp_path):
    """A session without labels."""
    session = open_session(tmp_path)
    yield session
    session.close()


@pytest.fixture(scope="module")
def learnt(tmp_path_factory):
    """A session with nine labels, one of them changed, and flagged rows."""
    given = {row: TREE[row] for row in range(8)} | {3: "cedar"}
    session = open_session(tmp_path_factory.mktemp("learnt"), given=given)
    session.answer("a", 3, TREE[3])
    session.answer("a", 12, TREE[12])
    session.flag("a", 12, True)
    session.flag("a", 30, True)
    assert session.wait(60, opinions=True)
    yield session
    session.close()


def label(session, rows):
    for row in rows:
        session.answer("a", row, TREE[row])


def exports(session, columns=None, **more):
    columns = {"name": NAMES} if columns is None else columns
    return Exports(session, "leaves", "tree", lambda: columns, **more)


def table(exports):
    """Return the columns of the table, by name in their order."""
    text = exports("table")[2].decode()
    header, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    assert len(set(header)) == len(header)
    assert len(rows) == N
    return dict(zip(header, zip(*rows, strict=True), strict=True))


# ---------------------------------------------------------------- the table


def test_every_row_has_a_label_and_where_it_is_from(learnt):
    found = table(exports(learnt))
    given = set(range(8)) | {12}
    assert list(found) == ["name", "tree", "tree_source", "tree_probability", "tree_flagged"]
    assert found["name"] == tuple(NAMES)
    assert found["tree"] == tuple(TREE)  # also of the row whose label was changed
    sources = tuple("given" if row in given else "predicted" for row in range(N))
    assert found["tree_source"] == sources
    assert found["tree_flagged"] == tuple("yes" if row in (12, 30) else "" for row in range(N))
    model = learnt.snapshot.model
    for row in range(N):
        if row in given:
            assert found["tree_probability"][row] == ""
        else:
            assert found["tree"][row] == model.transduction_[row]
            p = model.label_distributions_[row].max()
            assert float(found["tree_probability"][row]) == pytest.approx(p, abs=6e-5)


def test_a_column_of_the_labels_is_replaced_where_it_is(learnt):
    columns = {"tree": ["x"] * N, "name": NAMES, "tree_source": ["y"] * N}
    found = table(exports(learnt, columns))
    assert list(found) == ["tree", "name", "tree_source", "tree_probability", "tree_flagged"]
    assert found["tree"] == tuple(TREE)
    assert set(found["tree_source"]) == {"given", "predicted"}


def test_a_table_that_was_downloaded_here_keeps_its_columns(learnt):
    first = table(exports(learnt))
    again = table(exports(learnt, first))
    assert list(again) == list(first)
    assert again == first


def test_before_there_is_a_model_only_given_labels_are_in_the_table(session):
    session.answer("a", 5, "ash")
    session.answer("a", 6, "ash")  # one class is not enough
    session.flag("a", 7, True)
    found = table(exports(session))
    assert found["tree"] == tuple("ash" if row in (5, 6) else "" for row in range(N))
    assert found["tree_source"] == tuple("given" if row in (5, 6) else "" for row in range(N))
    assert set(found["tree_probability"]) == {""}
    assert found["tree_flagged"][7] == "yes"


def test_a_label_that_was_removed_is_predicted(session):
    label(session, range(6))
    session.remove("a", 2)
    found = table(exports(session))
    assert found["tree_source"][:6] == ("given", "given", "predicted", "given", "given", "given")
    assert found["tree"][2] == TREE[2]
    assert float(found["tree_probability"][2]) > 0.5


CELLS = ["=1+2", "+x", "-3", "@me", 'a "b" c', "a,b", "a\nb", "a\r\nb", "a\rb", " a ", "", None]
CELLS += ["'", "<b>", "é 木 \U0001f333", "\ufeff", "#", ";\t|"]


def test_cells_of_the_table_are_as_they_were(learnt):
    cells = [CELLS[row % len(CELLS)] for row in range(N)]
    found = table(exports(learnt, {'a "name", = of\nlines': cells, "number": np.arange(N)}))
    assert list(found)[:2] == ['a "name", = of\nlines', "number"]
    assert next(iter(found.values())) == tuple("" if cell is None else cell for cell in cells)
    assert found["number"] == tuple(str(row) for row in range(N))


def test_names_of_classes_may_have_commas_and_quotes(session):
    for row, name in enumerate(["=a", 'b "c", d']):
        session.answer("a", row, name)
    found = table(exports(session))
    assert found["tree"][:2] == ("=a", 'b "c", d')
    assert set(found["tree"]) == {"=a", 'b "c", d'}


# ---------------------------------------------------------------- the model


def test_the_model_that_is_loaded_predicts_the_same(learnt, tmp_path):
    path = tmp_path / "model.lapwing"
    path.write_bytes(exports(learnt, extra=lambda labels: {"labelled": labels})("model")[2])
    loaded, model = lapwing.load(path), learnt.snapshot.model
    new = X + 0.05
    np.testing.assert_array_equal(loaded.predict_proba(new), model.predict_proba(new))
    np.testing.assert_array_equal(loaded.predict(X), TREE)
    assert loaded.labelled_.tolist() == [*range(8), 12]
    assert loaded.extra_ == {"labelled": 9}


def test_without_extra_facts_none_are_stored(learnt, tmp_path):
    path = tmp_path / "model.lapwing"
    path.write_bytes(exports(learnt)("model")[2])
    assert lapwing.load(path).extra_ == {}


# ---------------------------------------------------------------- the report


def test_the_report_is_one_page_with_the_names_of_the_rows(learnt):
    page = exports(learnt, names=NAMES)("report")[2].decode()
    assert page.startswith("<!DOCTYPE html>")
    assert page.count("<html") == page.count("</html>") == 1
    assert "<title>leaves: tree</title>" in page
    assert "leaf 39" in page
    assert "40 rows, 9 of them labelled" in page


def test_names_of_the_file_and_the_target_are_text_in_the_report(learnt):
    nasty = "<script>alert('&')</script>"
    page = Exports(learnt, nasty, nasty, lambda: {}, [nasty] * N)("report")[2].decode()
    assert nasty not in page
    name = html.escape(nasty)
    assert f"<title>{name}: {name}</title>" in page


# ---------------------------------------------------------------- all of them


def test_names_of_the_files(learnt):
    found = {what: exports(learnt)(what)[:2] for what in ("table", "model", "report")}
    assert found == {
        "table": ("leaves-labelled.csv", "text/csv; charset=utf-8"),
        "model": ("leaves.lapwing", "application/octet-stream"),
        "report": ("leaves-report.html", "text/html; charset=utf-8"),
    }


@pytest.mark.parametrize("what", ["model", "report"])
def test_without_a_model_there_is_neither_file_nor_report(session, what):
    session.answer("a", 0, "ash")
    with pytest.raises(LookupError, match="there is no model yet: label rows of two classes first"):
        exports(session)(what)


def test_a_download_has_the_last_answers(session):
    label(session, range(6))
    for tree in ("oak", TREE[20]):  # a class that is new, and that is gone again
        session.answer("a", 20, tree)
        found = table(exports(session))
        assert (found["tree"][20], found["tree_source"][20]) == (tree, "given")
        assert session.snapshot.lesson.labels == session.labels


def test_a_download_does_not_wait_for_ever(session, monkeypatch):
    label(session, range(6))
    assert session.wait(60, opinions=True)
    go_on, fitted = threading.Event(), session._learner._fitted

    def wait_and_fit(*arguments):
        assert go_on.wait(60)
        return fitted(*arguments)

    monkeypatch.setattr(exports_module, "PATIENCE", 0.05)
    monkeypatch.setattr(session._learner, "_fitted", wait_and_fit)
    session.answer("a", 21, "oak")
    try:
        found = table(exports(session))
    finally:
        go_on.set()
    assert (found["tree"][21], found["tree_source"][21]) == ("oak", "given")
    assert found["tree"][22:] == tuple(TREE[22:])  # by the model before
