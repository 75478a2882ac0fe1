"""`lapwing label`: the table it reads, its journal, and what it writes at the end."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file

import lapwing
from helpers.labelling import TREES, blobs
from lapwing.cli import _parser, label, main, training
from lapwing.cli.label_rows import read_label_rows
from lapwing.labelling import exports
from lapwing.labelling.pictures import png_of

ROOT = Path(__file__).resolve().parents[1]
X, TRUTH = blobs(30)
THREE = TREES[:3]
GIVEN = {row: THREE[TRUTH[row]] for row in range(6)}
NAMES = ("--target", "tree", "--id", "name")


def trees(**columns):
    """A table of thirty trees, of which six have a label; None removes a column."""
    table = {
        "name": [f"t{row:03d}" for row in range(30)],
        "height": X[:, 0],
        "width": X[:, 1],
        "code": [f"{row % 5:03d}" for row in range(30)],
        "tree": [GIVEN.get(row) for row in range(30)],
    }
    kept = {name: cells for name, cells in (table | columns).items() if cells is not None}
    return pd.DataFrame(kept)


@pytest.fixture
def table(tmp_path):
    """The table as a CSV file."""
    trees().to_csv(tmp_path / "trees.csv", index=False)
    return tmp_path / "trees.csv"


@dataclass
class Run:
    """What a call of `lapwing label` did, and what the page would have shown."""

    code: int = 0
    out: str = ""
    err: str = ""
    given: dict = field(default_factory=dict)
    classes: list = field(default_factory=list)
    cards: list = field(default_factory=list)
    title: str = ""

    @property
    def fields(self):
        return [name for name, _, _ in self.cards[0]["fields"]]


@pytest.fixture
def run(capsys, monkeypatch):
    """Call `lapwing label`; instead of serving the page, give rows these labels."""

    def run(data, *options, answers=(), then=lambda session: None):
        found = Run()

        def serve(session, arguments):
            found.given, found.title = session.given, session.title
            found.classes = session.state("tab")["classes"]
            found.cards = [session.card(row) for row in range(session.n)]
            for row, name in dict(answers).items():
                session.answer("tab", row, name)
            then(session)

        monkeypatch.setattr(label, "_serve", serve)
        capsys.readouterr()
        found.code = main(["label", str(data), *map(str, options)])
        found.out, found.err = capsys.readouterr()
        return found

    return run


def labels_in(journal):
    """The rows and labels of the answers in a journal."""
    entries = map(json.loads, journal.read_text(encoding="utf-8").splitlines())
    return {one["row"]: one["label"] for one in entries if one.get("do") == "answer"}


# ---------------------------------------------------------------- the table


def write_folder(frame, path):
    path.mkdir()
    frame[:13].to_csv(path / "a.csv", index=False)
    frame[13:].to_csv(path / "b.csv", index=False)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("trees.csv", lambda frame, path: frame.to_csv(path, index=False)),
        ("trees.tsv", lambda frame, path: frame.to_csv(path, index=False, sep="\t")),
        ("trees.csv.gz", lambda frame, path: frame.to_csv(path, index=False)),
        ("trees.parquet", lambda frame, path: frame.to_parquet(path)),
        ("trees.feather", lambda frame, path: frame.to_feather(path)),
        ("trees", write_folder),
    ],
)
def test_every_format_gives_the_same_session(run, tmp_path, name, write):
    data = tmp_path / name
    write(trees(code=None), data)
    files = [data] if data.is_file() else sorted(data.iterdir())
    before = [path.read_bytes() for path in files]
    found = run(data, *NAMES, "--classes", "larch, ash", answers={9: "larch"})
    assert (found.code, found.out) == (0, "")
    assert found.given == GIVEN
    assert found.classes == ["larch", "ash", "birch", "cedar"]
    assert found.title == f"{name}: tree"
    assert found.cards[9]["name"] == "t009"
    assert found.cards[0]["fields"] == [["height", "1.019", True], ["width", "-0.02", True]]
    journal = tmp_path / f"{name}.tree.journal"
    assert labels_in(journal) == {9: "larch"}
    assert f"1 answer is in {journal}" in found.err
    assert [path.read_bytes() for path in files] == before
    assert sorted(tmp_path.iterdir()) == [data, journal]


def test_matrix_has_its_labels_in_y(run, tmp_path):
    data = tmp_path / "trees.npz"
    np.savez(data, X=X, y=np.where(np.arange(30) < 6, TRUTH, -1))
    found = run(data, "--target", "y", answers={9: "1"})
    assert found.code == 0
    assert found.given == {row: str(TRUTH[row]) for row in range(6)}
    assert found.cards[0]["fields"] == [["column 1", "1.019", True], ["column 2", "-0.02", True]]
    np.savez(tmp_path / "new.npz", X=X)
    assert run(tmp_path / "new.npz", "--target", "y").given == {}
    dump_svmlight_file(X, TRUTH, str(tmp_path / "trees.svm"), zero_based=False)
    assert len(run(tmp_path / "trees.svm", "--target", "y").given) == 30


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--target", "tree"],
            "contains a matrix, whose columns have no names, and thus no 'tree'",
        ),
        (["--target", "y", "--text", "x"], "--text names a column"),
        (["--target", "y", "--image", "x"], "--image names a column"),
        (["--target", "y", "--fields", "x"], "--fields names a column"),
        (["--target", "y", "--drop", "x"], "--drop names a column"),
        (["--target", "y", "--text-columns", "x"], "--text-columns names a column"),
        (["--target", "y", "--categorical-columns", "x"], "--categorical-columns names a column"),
    ],
)
def test_columns_of_a_matrix_have_no_names(run, tmp_path, options, message):
    np.savez(tmp_path / "trees.npz", X=X, y=TRUTH)
    found = run(tmp_path / "trees.npz", *options)
    assert (found.code, found.out) == (1, "")
    assert message in found.err


def test_wide_matrix_tells_nobody_what_a_row_is(run, tmp_path):
    np.savez(tmp_path / "wide.npz", X=np.repeat(X, 101, axis=1))
    found = run(tmp_path / "wide.npz", "--target", "y")
    assert found.code == 1
    assert "202 columns of the matrix in wide.npz tell nobody what a row is" in found.err


def test_column_of_labels_need_not_exist(run, table):
    found = run(table, "--target", "leaf", "--id", "name", "--classes", "ovate,'linear'")
    assert found.code == 0
    assert found.given == {}
    assert found.classes == ["ovate", "'linear'"]
    assert "note: trees.csv has no column 'leaf', so no row has a label yet; it has " in found.err
    assert found.fields == ["height", "width", "code", "tree"]


@pytest.mark.parametrize(
    ("cells", "options", "given"),
    [
        (["ash", "?", "oak", None], ["--unlabeled", "?"], {0: "ash", 2: "oak"}),
        (["ash", "?", "oak", None], [], {0: "ash", 1: "?", 2: "oak"}),
        ([3, -1, 4, None], ["--unlabeled", "-1"], {0: "3", 2: "4"}),
        ([3.0, None, 4.0, None], [], {0: "3", 2: "4"}),
        (["007", "", "7", ""], [], {0: "007", 2: "7"}),
        (["+1", "1", "-2", "1.0"], [], {0: "+1", 1: "+1", 2: "-2", 3: "+1"}),
        (["1", "-2", "", ""], ["--classes=-2,+1"], {0: "+1", 1: "-2"}),
        ([True, None, False, None], [], {0: "True", 2: "False"}),
        ([True, None, False, None], ["--classes", "true,false"], {0: "true", 2: "false"}),
    ],
)
def test_given_labels(run, tmp_path, cells, options, given):
    frame = trees(code=None, tree=pd.Series([*cells, *[None] * 26], dtype=object))
    frame.to_csv(tmp_path / "trees.csv", index=False)
    assert run(tmp_path / "trees.csv", *NAMES, *options).given == given


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (X[:, 0], "the labels in 'tree' are numbers with fractions, and this command is for class"),
        (np.where(TRUTH == 0, -1, 1), "pass --unlabeled -1 if it does"),
    ],
)
def test_labels_that_are_no_classes(run, tmp_path, cells, message):
    trees(tree=cells).to_csv(tmp_path / "trees.csv", index=False)
    found = run(tmp_path / "trees.csv", *NAMES)
    assert found.code == 1
    assert message in found.err


# ---------------------------------------------------------------- what is shown and learnt


def features(data, *options):
    """The number of rows and features that the model learns from."""
    arguments = _parser().parse_args(["label", str(data), "--target", "tree", *options])
    return read_label_rows(arguments).X.shape


def test_model_learns_from_all_columns_that_are_not_named_otherwise(table):
    assert features(table, "--id", "name", "--drop", "code") == (30, 2)
    assert features(table, "--id", "name", "--drop", "code,width") == (30, 1)
    assert features(table, "--image", "name", "--drop", "code") == (30, 2)
    assert features(table, "--id", "name", "--categorical-columns", "code") == (30, 2 + 5)
    assert features(table, "--id", "name", "--fields", "code", "--drop", "code") == (30, 2)


def test_dropped_columns_are_shown(run, table):
    found = run(table, *NAMES, "--drop", "height,width")
    assert found.fields == ["height", "width", "code"]


def test_fields_that_are_shown(run, tmp_path):
    data = tmp_path / "trees.csv"
    many = {f"c{k}": X[:, 0] + k for k in range(40)}
    trees(note=[f"tree of row {row}" for row in range(30)], **many).to_csv(data, index=False)
    assert run(data, *NAMES).fields == ["height", "width", "code", "note", *list(many)[:26]]
    assert run(data, *NAMES, "--text", "note").fields == []
    assert run(data, *NAMES, "--fields", "c39, c7").fields == ["c39", "c7"]
    found = run(data, *NAMES, "--text", "note", "--fields", "c39,note")
    assert found.fields == ["c39"]
    assert found.cards[4]["text"] == "tree of row 4"


def test_text_is_shown_and_learnt(run, tmp_path):
    data = tmp_path / "trees.csv"
    notes = [f"the leaves of {THREE[TRUTH[row]]} number {row}" for row in range(30)]
    trees(note=notes, height=None, width=None, code=None).to_csv(data, index=False)
    found = run(data, *NAMES, "--text", "note")
    assert found.cards[7]["text"] == notes[7]
    assert found.cards[7]["fields"] == []
    assert features(data, "--id", "name", "--text", "note")[1] > 20  # words
    trees(note=notes).to_csv(data, index=False)
    dropped = ("--text", "note", "--drop", "note,code")
    assert run(data, *NAMES, *dropped, "--journal", tmp_path / "j").cards[7]["text"] == notes[7]
    assert features(data, "--id", "name", *dropped) == (30, 2)


def test_pictures_are_beside_the_table_or_in_their_folder(run, tmp_path):
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    for row in range(30):
        (pictures / f"{row}.png").write_bytes(png_of([[0, row + 1]]))
    wanted = (pictures / "7.png").read_bytes()
    found = []

    def look(session):
        found.append(session.image(7))

    data = tmp_path / "trees.csv"
    for folder, options in (("pictures/", ()), ("", ("--image-folder", pictures))):
        trees(file=[f"{folder}{row}.png" for row in range(30)]).to_csv(data, index=False)
        session = run(
            data, *NAMES, "--image", "file", *options, "--journal", tmp_path / "j", then=look
        )
        assert session.code == 0
        assert session.cards[7]["image"] is True
        assert session.fields == ["height", "width", "code"]
        (tmp_path / "j").unlink()
    assert found == [("image/png", wanted)] * 2
    named = run(data, "--target", "tree", "--id", "file", "--image", "file")
    assert (named.code, named.cards[7]["name"]) == (0, "7.png")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--id", "tree"], "column 'tree' is the target"),
        (["--text", "tree"], "column 'tree' is the target"),
        (["--drop", "height,tree"], "column 'tree' is the target"),
        (["--text-columns", "tree"], "column 'tree' is the target"),
        (["--id", "nam"], "has no column 'nam': did you mean 'name'? It has 'name', 'height'"),
        (["--text", "note"], "has no column 'note'"),
        (["--image", "file"], "has no column 'file'"),
        (["--fields", "height,hight"], "has no column 'hight': did you mean 'height'?"),
        (["--drop", "note"], "has no column 'note'"),
        (["--text-columns", "note"], "has no column 'note'"),
        (["--categorical-columns", "note"], "has no column 'note'"),
        (["--drop", "name,height", "--id", "name"], "--id name is also in --drop"),
        (["--text", "name", "--image", "name"], "--text and --image are both name"),
        (["--text-columns", "code", "--categorical-columns", "code"], "choose one"),
        (["--drop", "name,height,width,code"], "no column of trees.csv is left to learn from"),
        (["--image-folder", "."], "--image-folder is of no use without --image"),
        (["--image", "name", "--image-folder", "nowhere"], "there is no folder nowhere"),
        (["--memory-limit", "1kB"], "raise --memory-limit"),
    ],
)
def test_refused_columns(run, table, options, message):
    found = run(table, "--target", "tree", *options)
    assert (found.code, found.out) == (1, "")
    assert message in found.err
    assert found.err.startswith("lapwing label: error: ")
    assert found.cards == []
    assert list(table.parent.iterdir()) == [table]


def test_seed_and_memory_reach_the_session(run, table, tmp_path):
    found = []

    def look(session):
        rows = [question["row"] for question in session.state("tab")["questions"]]
        found.append((rows, session._learner._memory_limit))

    for seed in (0, 0, 1, 2):
        journal = tmp_path / f"{len(found)}.journal"
        limits = ("--seed", seed, "--memory-limit", "1GB", "--journal", journal)
        run(table, *NAMES, *limits, then=look)
    assert [limit for _, limit in found] == [10**9] * 4
    rows = [rows for rows, _ in found]
    assert rows[0] == rows[1]
    assert rows[2:] != [rows[0]] * 2


@pytest.mark.parametrize(
    "options",
    [[], ["--target", "tree", "--port", "x"], ["--target", "tree", "--port", "-1"]],
    ids=["no target", "no number", "negative"],
)
def test_invalid_options_end_with_2(run, table, options, capsys):
    with pytest.raises(SystemExit) as exited:
        run(table, *options)
    assert exited.value.code == 2
    assert "lapwing label: error: " in capsys.readouterr().err


# ---------------------------------------------------------------- the journal


def test_journal_is_beside_the_table(run, table, tmp_path, monkeypatch):
    """Wherever the command is called, and by whatever name of the table."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    (elsewhere / "link.csv").symlink_to(table)
    run(os.path.relpath(table), *NAMES, answers={8: "ash"})
    run("link.csv", *NAMES, answers={9: "ash"})
    assert labels_in(tmp_path / "trees.csv.tree.journal") == {8: "ash", 9: "ash"}
    run(table, "--target", "a/b c.é", "--id", "name")
    assert (tmp_path / "trees.csv.a_b_c__.journal").exists()
    run(table, *NAMES, "--journal", "own", answers={8: "birch"})
    assert labels_in(elsewhere / "own") == {8: "birch"}
    assert [path.name for path in elsewhere.iterdir()] == ["link.csv", "own"]


def test_folder_is_named_by_its_path(run, tmp_path, monkeypatch):
    write_folder(trees(), tmp_path / "trees")
    monkeypatch.chdir(tmp_path / "trees")
    files = []
    found = run(".", *NAMES, then=lambda session: files.append(session.export("table")[0]))
    assert found.title == "trees: tree"
    assert files == ["trees-labelled.csv"]
    assert (tmp_path / "trees.tree.journal").exists()
    assert sorted(os.listdir(".")) == ["a.csv", "b.csv"]


def test_next_call_goes_on(run, table):
    done = []
    run(table, *NAMES, answers={8: "ash", 9: "larch"})
    found = run(table, *NAMES, then=lambda session: done.append(session.labels))
    assert done == [{**GIVEN, 8: "ash", 9: "larch"}]
    assert found.classes == ["ash", "birch", "cedar", "larch"]
    assert "2 answers are in" in found.err
    assert "more rows" not in found.err


@pytest.mark.parametrize("options", [(), ("--id", "name")])
def test_rows_may_be_appended(run, table, options):
    options = ("--target", "tree", *options)
    run(table, *options, answers={8: "ash"})
    with open(table, "a", encoding="utf-8") as file:
        file.write("t030,0.5,0.5,001,\nt031,0.1,0.5,001,birch\n")
    done = []
    found = run(table, *options, then=lambda session: done.append(session.labels))
    assert found.code == 0
    assert "note: 2 rows have been added to the table" in found.err
    assert done == [{**GIVEN, 8: "ash", 31: "birch"}]
    found = run(table, *options, answers={30: "cedar"})
    assert "more rows" not in found.err
    whole = table.read_text(encoding="utf-8")
    table.write_text("".join(whole.splitlines(keepends=True)[:-1]), encoding="utf-8")
    found = run(table, *options)
    assert found.code == 1
    assert "trees.csv.tree.journal has answers for other rows" in found.err
    table.write_text(whole, encoding="utf-8")
    assert run(table, *options).code == 0


@pytest.mark.parametrize(
    ("options", "change"),
    [
        ((), lambda lines: [*lines[:5], lines[5].replace("0.676", "0.677"), *lines[6:]]),
        ((), lambda lines: lines[:-1]),
        (("--id", "name"), lambda lines: lines[:-1]),
        (("--id", "name"), lambda lines: [lines[0], *lines[:0:-1]]),
        (("--id", "name"), lambda lines: [*lines[:3], lines[5], *lines[3:]]),
    ],
    ids=["other cell", "fewer", "fewer named", "other order", "inserted"],
)
def test_journal_of_other_rows_is_refused(run, table, options, change):
    run(table, "--target", "tree", *options, answers={8: "ash"})
    lines = table.read_text(encoding="utf-8").splitlines(keepends=True)
    changed = change(lines)
    assert changed != lines
    table.write_text("".join(changed), encoding="utf-8")
    journal = table.with_name("trees.csv.tree.journal")
    before = journal.read_bytes()
    found = run(table, "--target", "tree", *options)
    assert (found.code, found.cards) == (1, [])
    assert f"{journal} has answers for other rows" in found.err
    assert "Restore the table, or name another file" in found.err
    assert journal.read_bytes() == before
    assert run(table, "--target", "tree", *options, "--journal", f"{journal}.new").code == 0


def test_labels_in_the_table_may_change(run, table):
    run(table, "--target", "tree", answers={8: "ash"})
    trees(tree=["elm", *[None] * 29]).to_csv(table, index=False)
    found = run(table, "--target", "tree")
    assert (found.code, found.given, found.cards[8]["label"]) == (0, {0: "elm"}, "ash")


def test_rows_with_names_may_get_other_cells_and_columns(run, table):
    run(table, *NAMES, answers={8: "ash"})
    trees(height=X[:, 0] + 1, bark=X[:, 1] * 2).to_csv(table, index=False)
    assert run(table, *NAMES).code == 0


def test_journal_does_not_depend_on_how_columns_are_read(run, tmp_path):
    data = tmp_path / "trees.csv"
    frame = trees(price=[f"1,{row:03d}.50" for row in range(30)])
    frame.to_csv(data, index=False)
    run(data, "--target", "tree", answers={8: "ash"})
    for options in (
        ("--text-columns", "price,height"),
        ("--categorical-columns", "code"),
        ("--decimal", "."),
        ("--id", "name"),
        ("--drop", "width", "--fields", "code", "--seed", "3", "--classes", "fir"),
    ):
        assert run(data, "--target", "tree", *options).code == 0, options
    frame[frame.columns[::-1]].to_csv(data, index=False)
    assert run(data, "--target", "tree").code == 0


def test_journal_of_another_column_or_no_journal_is_refused(run, table, tmp_path):
    run(table, *NAMES, answers={8: "ash"})
    journal = tmp_path / "trees.csv.tree.journal"
    found = run(table, "--target", "leaf", "--id", "name", "--journal", journal)
    assert found.code == 1
    assert "has answers for other rows" in found.err
    (tmp_path / "notes.txt").write_text("buy bread\n", encoding="utf-8")
    found = run(table, *NAMES, "--journal", tmp_path / "notes.txt")
    assert found.code == 1
    assert "is not a journal of `lapwing label`, or is damaged (line 1)" in found.err
    assert (tmp_path / "notes.txt").read_text(encoding="utf-8") == "buy bread\n"


@pytest.mark.skipif(os.name != "posix", reason="journals are locked on POSIX systems only")
def test_second_program_is_refused(run, table):
    codes = []
    command = ["label", str(table), *NAMES]
    found = run(table, *NAMES, then=lambda session: codes.append(main(command)))
    assert (found.code, codes) == (0, [1])
    assert "is in use: another `lapwing label` is running for this table" in found.err
    assert run(table, *NAMES).code == 0


# ---------------------------------------------------------------- files at the end


def test_table_and_model_are_written_at_the_end(run, table, tmp_path):
    given = ["cedar", *trees()["tree"][1:]]  # the first one is wrong
    trees(tree=given).to_csv(table, index=False)
    before = table.read_bytes()
    out, model = tmp_path / "out.csv", tmp_path / "trees.lapwing"
    found = run(
        table,
        *(*NAMES, "--out", out, "--model", model),
        answers={row: THREE[TRUTH[row]] for row in (0, 6, 7, 8)},
        then=lambda session: session.flag("tab", 20, True),
    )
    assert (found.code, found.out) == (0, "")
    assert f"table: {out}\nmodel: {model}\n" in found.err
    assert table.read_bytes() == before
    written = pd.read_csv(out, dtype=str, keep_default_na=False)
    read = pd.read_csv(table, dtype=str, keep_default_na=False)
    kept = ["name", "height", "width", "code"]
    assert list(written) == [
        *kept,
        *("tree" + end for end in ("", "_source", "_probability", "_flagged")),
    ]
    pd.testing.assert_frame_equal(written[kept], read[kept])
    assert written["tree"].tolist() == [THREE[k] for k in TRUTH]
    assert written["tree_source"].tolist() == ["given"] * 9 + ["predicted"] * 21
    assert written["tree_probability"][:9].tolist() == [""] * 9
    assert written["tree_probability"][9:].astype(float).between(1 / 3, 1).all()
    assert written["tree_flagged"].tolist() == [*[""] * 20, "yes", *[""] * 9]
    fitted = lapwing.load(model)
    assert fitted.classes_.tolist() == ["ash", "birch", "cedar"]
    assert fitted.extra_["labelled"] == 9
    assert fitted.extra_["target"] == "tree"
    predictions = tmp_path / "predictions.csv"
    assert main(["predict", str(model), str(table), "--out", str(predictions)]) == 0
    predicted = pd.read_csv(predictions, dtype=str)
    assert predicted["name"].tolist() == read["name"].tolist()
    assert predicted["prediction"].tolist() == written["tree"].tolist()


def test_completed_table_given_back_has_no_predicted_labels(run, table, tmp_path):
    out, again = tmp_path / "out.csv", tmp_path / "again.csv"
    run(table, *NAMES, "--out", out)
    found = run(out, *NAMES, "--out", again, answers={9: THREE[TRUTH[9]]})
    assert found.given == GIVEN
    assert found.fields == ["height", "width", "code"]
    assert "24 labels are not used" in found.err
    written = pd.read_csv(again, dtype=str, keep_default_na=False)
    assert list(written) == list(pd.read_csv(out))
    assert written["tree_source"].tolist().count("given") == 7


def test_completed_table_is_fitted_without_its_predictions(run, table, tmp_path, capsys):
    out, path = tmp_path / "out.csv", tmp_path / "model.lapwing"
    run(table, *NAMES, "--out", out)
    capsys.readouterr()
    fit = ["fit", str(out), *NAMES, "--out", str(path)]
    assert main([*fit, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["labelled"], found["unlabelled"]) == (6, 24)
    assert any("24 labels are not used" in note for note in found["notes"])
    new = str(tmp_path / "new.csv")
    trees(tree=None).to_csv(new, index=False)  # the model needs no other columns than before
    assert main(["predict", str(path), new, "--out", str(tmp_path / "found.csv")]) == 0
    capsys.readouterr()
    assert main([*fit, "--drop", "tree_source", "--json"]) == 0  # as the user wishes
    assert json.loads(capsys.readouterr().out)["labelled"] == 30


def test_completed_table_that_is_too_large_is_not_fitted(run, table, tmp_path, monkeypatch, capsys):
    out = tmp_path / "out.csv"
    run(table, *NAMES, "--out", out)
    monkeypatch.setattr(training, "_is_large", lambda *_: True)
    assert main(["fit", str(out), *NAMES, "--out", str(tmp_path / "model.lapwing")]) == 1
    assert (
        "its predicted labels cannot be left out where it is read in blocks"
        in capsys.readouterr().err
    )
    assert not (tmp_path / "model.lapwing").exists()


def test_column_of_sources_that_is_of_the_user(run, tmp_path):
    data = tmp_path / "rows.csv"
    trees(tree_source=["field", "given"] * 15).to_csv(data, index=False)
    found = run(data, *NAMES)
    assert found.given == GIVEN
    assert "tree_source" in found.fields


def test_model_that_is_written_knows_the_last_answers(run, table, tmp_path, monkeypatch):
    monkeypatch.setattr(exports, "PATIENCE", 0.0)  # downloads do not wait for it
    model = tmp_path / "trees.lapwing"
    found = run(table, *NAMES, "--model", model, answers={8: "larch"})
    assert found.code == 0
    assert lapwing.load(model).extra_["labelled"] == 7


def test_matrix_is_written_as_numbered_rows(run, tmp_path):
    np.savez(tmp_path / "trees.npz", X=X, y=np.where(np.arange(30) < 6, TRUTH, -1))
    out = tmp_path / "out.csv"
    assert run(tmp_path / "trees.npz", "--target", "y", "--out", out, answers={6: "1"}).code == 0
    written = pd.read_csv(out)
    assert list(written) == ["row", "y", "y_source", "y_probability", "y_flagged"]
    assert written["row"].tolist() == list(range(1, 31))
    assert written["y"].tolist() == [*TRUTH[:6], 1, *TRUTH[7:]]


def test_without_a_model_the_table_is_written(run, table, tmp_path):
    out, model = tmp_path / "out.csv", tmp_path / "leaves.lapwing"
    options = ("--target", "leaf", "--id", "name", "--out", out, "--model", model)
    found = run(table, *options, answers={3: "ovate"})
    assert found.code == 0
    assert f"{model} was not written: there is no model yet" in found.err
    assert not model.exists()
    written = pd.read_csv(out, keep_default_na=False)
    assert written["leaf"].tolist() == [*[""] * 3, "ovate", *[""] * 26]
    assert written["leaf_source"].tolist() == [*[""] * 3, "given", *[""] * 26]


def test_table_that_is_gone_is_not_written(run, table, tmp_path):
    out = tmp_path / "out.csv"
    found = run(table, *NAMES, "--out", out, then=lambda session: table.unlink())
    assert found.code == 1
    assert "the table cannot be read again" in found.err
    assert "put trees.csv back, or end `lapwing label`. All answers are in" in found.err


def test_table_and_target_that_are_refused(run, table, tmp_path):
    found = run(table, "--target", "")
    assert (found.code, list(tmp_path.iterdir())) == (1, [table])
    assert "--target is empty: name the column" in found.err
    trees()[:1].to_csv(table, index=False)
    assert "trees.csv has a single row: nothing can be learnt" in run(table, *NAMES).err


@pytest.mark.parametrize("changed", ["renamed rows", "more rows"])
def test_table_that_changes_meanwhile_is_not_written(run, table, tmp_path, changed):
    out, model = tmp_path / "out.csv", tmp_path / "trees.lapwing"
    other = trees(name=[f"u{row:03d}" for row in range(30)])
    frame = other if changed == "renamed rows" else pd.concat([trees(), other])
    found = run(
        table,
        *(*NAMES, "--out", out, "--model", model),
        then=lambda session: frame.to_csv(table, index=False),
    )
    assert found.code == 1
    assert f"error: {out} was not written: trees.csv has other rows now" in found.err
    assert not out.exists()
    assert lapwing.load(model).extra_["labelled"] == 6


def test_files_are_not_written_over_what_is_read(run, table, tmp_path):
    link, journal = tmp_path / "link.csv", tmp_path / "trees.csv.tree.journal"
    link.symlink_to(table)
    run(table, *NAMES, answers={8: "ash"})
    before = table.read_bytes(), journal.read_bytes()
    for option in ("--journal", "--out", "--model"):
        for path in (table, link):
            found = run(table, *NAMES, option, path)
            assert found.code == 1
            assert f"{option} {path} is the file {table}, which this command reads" in found.err
    found = run(table, *NAMES, "--model", journal)
    assert found.code == 1
    assert f"--model {journal} is the file" in found.err
    assert (table.read_bytes(), journal.read_bytes()) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--journal", "j", "--out", "j"], "--journal and --out are both j: give each a name"),
        (["--journal", "j", "--model", "./j"], "--journal and --model are both j"),
        (["--model", "trees.csv.tree.journal"], "--journal and --model are both"),
        (["--out", "o.csv", "--model", "./o.csv"], "--out and --model are both o.csv"),
        (["--out", "o.parquet"], "--out o.parquet: the table is written as CSV"),
        (["--out", "o.feather"], "--out o.feather: the table is written as CSV"),
        (["--out", "o.npz"], "--out o.npz: the table is written as CSV"),
        (["--out", "o.csv.gz"], "--out o.csv.gz: the table is written as CSV"),
        (
            ["--out", "nowhere/o.csv"],
            "--out nowhere/o.csv: give a file name in a folder that exists",
        ),
        (["--model", "."], "--model .: give a file name"),
        (["--journal", "nowhere/j"], "--journal nowhere/j: give a file name in a folder that"),
    ],
)
def test_refused_files(run, table, monkeypatch, options, message):
    monkeypatch.chdir(table.parent)
    found = run(table, *NAMES, *options)
    assert (found.code, found.cards) == (1, [])
    assert message in found.err
    assert os.listdir() == ["trees.csv"]


def test_nothing_is_written_into_a_folder_of_rows(run, tmp_path):
    data = tmp_path / "trees"
    write_folder(trees(), data)
    for option in ("--journal", "--out", "--model"):
        found = run(data, *NAMES, option, data / "new.csv")
        assert found.code == 1
        assert f"{option} {data / 'new.csv'} is in the folder {data}" in found.err
    assert sorted(os.listdir(data)) == ["a.csv", "b.csv"]


# ---------------------------------------------------------------- the server


@pytest.fixture
def interrupted(monkeypatch):
    """Ctrl+C as soon as the page is served; returns the addresses that a browser has opened."""

    def sleep(seconds):
        raise KeyboardInterrupt

    opened = []
    monkeypatch.setattr(label, "time", SimpleNamespace(sleep=sleep))
    monkeypatch.setattr(label, "webbrowser", SimpleNamespace(open=opened.append))
    return opened


def test_one_line_is_printed_and_opened(table, interrupted, capsys):
    assert main(["label", str(table), *NAMES]) == 0
    out, err = capsys.readouterr()
    [address] = out.splitlines()
    assert address.startswith("http://127.0.0.1:")
    assert "/start?token=" in address
    assert interrupted == [address]
    assert "The address works once. Ctrl+C ends the session." in err
    assert "0 answers are in" in err
    assert main(["label", str(table), *NAMES, "--no-browser"]) == 0
    assert capsys.readouterr().out.count("\n") == 1
    assert interrupted == [address]


def test_port(table, interrupted, capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["label", str(table), *NAMES, "--port", str(port)]) == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert f"lapwing label: error: port {port} cannot be used (Address already in use)" in err
        assert interrupted == []
    assert main(["label", str(table), *NAMES, "--port", "70000"]) == 1
    assert "port 70000 does not exist" in capsys.readouterr().err
    assert main(["label", str(table), *NAMES, "--port", str(port)]) == 0
    assert capsys.readouterr().out.startswith(f"http://127.0.0.1:{port}/start?token=")


def test_interrupt_before_the_page_is_served(table, monkeypatch, capsys):
    def interrupt(arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(label, "read_label_rows", interrupt)
    assert main(["label", str(table), *NAMES]) == 130
    assert capsys.readouterr() == ("", "lapwing: interrupted\n")
    assert os.listdir(table.parent) == ["trees.csv"]


def test_commands_of_the_guide_run_as_written(interrupted, tmp_path, monkeypatch, capsys):
    text = (ROOT / "docs" / "labelling.md").read_text(encoding="utf-8")
    block = re.search(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)[1]
    monkeypatch.chdir(tmp_path)
    for line in block.splitlines():
        program, *arguments = shlex.split(line)
        assert program == "lapwing"
        assert main(arguments) == 0, line
    assert len(interrupted) == 1
    [journal] = tmp_path.glob("*.journal")
    assert journal.name in text


@pytest.mark.skipif(os.name != "posix", reason="there is no SIGTERM")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_the_session_and_the_files_are_written(table, tmp_path, number):
    if signal.getsignal(number) == signal.SIG_IGN:
        pytest.skip("processes that are started here ignore the signal")
    out, model = tmp_path / "out.csv", tmp_path / "trees.lapwing"
    command = [sys.executable, "-m", "lapwing", "label", str(table), *NAMES, "--no-browser"]
    with subprocess.Popen(
        [*command, "--out", str(out), "--model", str(model)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    ) as process:
        try:
            address = process.stdout.readline()
            assert address.startswith("http://127.0.0.1:"), process.communicate(timeout=60)
            process.send_signal(number)
            rest, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, rest) == (0, "")
    assert f"table: {out}\nmodel: {model}\n" in err
    assert pd.read_csv(out)["tree"].tolist() == [THREE[k] for k in TRUTH]
    assert lapwing.load(model).extra_["labelled"] == 6
