"""What the command line writes: not over its inputs, no formulas, errors as JSON, recall."""

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import lapwing
from lapwing.cli import main
from lapwing.cli.fit import _held_out_recall
from lapwing.cli.output import check_out, text_table
from lapwing.tables import read_table
from lapwing.tables.write import safe_csv

CLASSES = ("=1+1", "-left")
IDS = ("=cmd|' /C calc'!A0", "+1-555", "-7", "@sum(a)", "-1.5e3", "plain")


def table(n=40, classes=CLASSES, n_labelled=(6, 6)):
    """Return two groups of rows far apart, as lines of CSV."""
    rng, lines, given = np.random.default_rng(0), ["id,x,y,label"], [0, 0]
    for i in range(n):
        side = i % 2
        name = IDS[i] if i < len(IDS) else f"r{i}"
        x, y = rng.normal(6 * side, 1, 2)
        label = classes[side] if given[side] < n_labelled[side] else ""
        given[side] += 1
        lines.append(f"{name},{x:.3f},{y:.3f},{label}")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a table and a model of it."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "t.csv").write_text(table())
    assert fit(folder / "t.csv", folder / "m") == 0
    return folder


def fit(data, out, *options):
    names = ["--target", "label", "--id", "id", "--method", "supervised", "--quiet"]
    return main(["fit", str(data), *names, "--out", str(out), *options])


def run(capsys, *arguments):
    capsys.readouterr()
    code = main([str(argument) for argument in arguments])
    return code, *capsys.readouterr()


# ---------------------------------------------------------------- inputs are not overwritten


def spellings(path):
    """Return other paths of a file: relative, through a folder, by links."""
    folder = path.parent
    symbolic, hard = folder / f"symbolic-{path.name}", folder / f"hard-{path.name}"
    symbolic.symlink_to(path)
    os.link(path, hard)
    through = folder / f"folder-{path.name}"
    through.symlink_to(folder, target_is_directory=True)
    relative = os.path.relpath(path)
    return [path, f"{folder}/./{path.name}", relative, symbolic, hard, through / path.name]


def test_no_command_overwrites_what_it_reads(folder, tmp_path, capsys):
    data, model = tmp_path / "t.csv", tmp_path / "m.lapwing"
    data.write_bytes((folder / "t.csv").read_bytes())
    model.write_bytes((folder / "m").read_bytes())
    before = data.read_bytes(), model.read_bytes()
    of_data, of_model = spellings(data), spellings(model)
    commands = [
        (["fit", data, "--target", "label"], of_data),
        (["predict", model, data], [*of_data, *of_model]),
        (["report", model], of_model),
        (["suggest", model], of_model),
    ]
    for command, outs in commands:
        for out in outs:
            code, _, err = run(capsys, *command, "--out", out)
            assert code == 1, (command, out)
            assert f"--out {Path(out)} is the file" in err
            assert "give another name" in err
    assert before == (data.read_bytes(), model.read_bytes())


def test_a_folder_is_one_table(folder, tmp_path, capsys):
    """Its rows give the model of one file, and nothing is written into it."""
    header, *lines = (folder / "t.csv").read_text().splitlines()
    rows = tmp_path / "rows"
    rows.mkdir()
    for name, part in (("a.csv", lines[:15]), ("b.csv", lines[15:])):
        (rows / name).write_text("\n".join([header, *part]) + "\n")
    assert fit(rows, tmp_path / "m") == 0
    outs = []
    for model, data in ((folder / "m", folder / "t.csv"), (tmp_path / "m", rows)):
        outs.append(tmp_path / f"{len(outs)}.csv")
        assert run(capsys, "predict", model, data, "--out", outs[-1], "--proba")[0] == 0
    assert outs[0].read_text() == outs[1].read_text()
    before = {path.name: path.read_bytes() for path in rows.iterdir()}
    (tmp_path / "link").symlink_to(rows, target_is_directory=True)
    for out in (rows / "a.csv", rows / "new.csv", tmp_path / "link" / "b.csv"):
        code, _, err = run(capsys, "predict", tmp_path / "m", rows, "--out", out)
        assert code == 1
        assert f"--out {out} is in the folder {rows}" in err
    assert before == {path.name: path.read_bytes() for path in rows.iterdir()}
    (rows / "b.csv").write_text(f"{header}\nr1,oops,2,\n")
    code, _, err = run(capsys, "predict", tmp_path / "m", rows, "--out", outs[0])
    assert code == 1
    assert "column 'x' of rows contains 'oops' in line 2 of b.csv, where the model needs" in err


def test_commands_without_pyarrow_say_what_to_install(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    command = ["fit", folder / "t.csv", "--target", "label", "--out", tmp_path / "m"]
    code, _, err = run(capsys, *command)
    assert code == 1
    assert 't.csv needs pyarrow, which is not installed: pip install "lapwing[tables]"' in err
    assert "Traceback" not in err


def test_the_default_name_is_refused_as_well(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "predictions.csv").write_bytes((folder / "t.csv").read_bytes())
    code, _, err = run(capsys, "predict", folder / "m", "predictions.csv")
    assert code == 1
    assert "--out predictions.csv is the file predictions.csv" in err


def test_other_files_are_replaced(folder, tmp_path, capsys):
    out = tmp_path / "p.csv"
    out.write_text("old")
    assert run(capsys, "predict", folder / "m", folder / "t.csv", "--out", out)[0] == 0
    assert out.read_text().count("\n") == 41
    check_out(tmp_path / "new.csv", folder / "t.csv")
    check_out(out, tmp_path / "not there")  # the error of the reader explains more


def test_suggestions_do_not_replace_the_training_rows(folder, tmp_path, capsys):
    labels = tmp_path / "t.csv"
    labels.write_bytes((folder / "t.csv").read_bytes())
    code, _, err = run(capsys, "suggest", folder / "m", "--out", labels)
    assert code == 1
    assert "the name of the rows that the model was fitted to" in err
    assert labels.read_bytes() == (folder / "t.csv").read_bytes()


# ---------------------------------------------------------------- spreadsheets


def test_predictions_contain_no_formulas(folder, tmp_path, capsys):
    out = tmp_path / "p.csv"
    assert run(capsys, "predict", folder / "m", folder / "t.csv", "--out", out, "--proba")[0] == 0
    with open(out, newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["id", "prediction", "confidence", "p(-left)", "p(=1+1)"]
    assert {row["prediction"] for row in rows} == {"'=1+1", "'-left"}
    expected = ["'=cmd|' /C calc'!A0", "'+1-555", "-7", "'@sum(a)", "-1.5e3", "plain"]
    assert [row["id"] for row in rows[:6]] == expected
    assert run(capsys, "suggest", folder / "m", "--n", 40, "--out", tmp_path / "s.csv")[0] == 0
    suggested = read_table(tmp_path / "s.csv", as_text=["prediction"])
    assert set(suggested.columns["prediction"]) <= {"'=1+1", "'-left"}
    result = json.loads(run(capsys, "suggest", folder / "m", "--json")[1])
    assert {row["prediction"] for row in result["rows"]} <= set(CLASSES)  # JSON is no spreadsheet


@pytest.mark.parametrize(
    "text",
    ["=1", "+a", "-a", "@a", "\ta", "\ra", "\na", "-", "-inf", "+nan", "--1", "-1_0", "\uff1d1"],
)
def test_texts_that_are_marked(text):
    [cells] = csv.reader(io.StringIO(safe_csv([text], []), newline=""))
    assert cells == ["'" + text]


@pytest.mark.parametrize(
    "cell", ["-1", "+2.5", "-.5", "-1e-3", "a=b", "'x", "", -1, -0.5, None, "0"]
)
def test_cells_that_stay_as_they_are(cell):
    assert next(csv.reader([safe_csv(["a", "b"], [[cell, "x"]]).splitlines()[1]])) == [
        "" if cell is None else str(cell), "x",
    ]  # fmt: skip


def test_negative_numbers_are_numbers(tmp_path, capsys):
    x = np.linspace(-3, 3, 40)
    lines = [
        f"{i - 20},{v:.3f},{v - 5:.3f}" if i % 3 else f"{i - 20},{v:.3f}," for i, v in enumerate(x)
    ]
    (tmp_path / "t.csv").write_text("id,x,label\n" + "\n".join(lines) + "\n")
    assert fit(tmp_path / "t.csv", tmp_path / "m") == 0
    out = tmp_path / "p.csv"
    assert run(capsys, "predict", tmp_path / "m", tmp_path / "t.csv", "--out", out)[0] == 0
    found = read_table(out)
    np.testing.assert_allclose(found.columns["prediction"], x - 5, atol=0.5)
    np.testing.assert_array_equal(found.columns["id"], np.arange(-20, 20))


# ---------------------------------------------------------------- errors, and what fit prints


def test_errors_as_json(folder, tmp_path, capsys):
    code, out, err = run(capsys, "predict", tmp_path / "none", folder / "t.csv", "--json")
    assert code == 1
    assert json.loads(out) == {
        "command": "predict", "error": f"there is no file {tmp_path / 'none'}",
    }  # fmt: skip
    assert err == f"lapwing predict: error: there is no file {tmp_path / 'none'}\n"
    fit_it = ["fit", folder / "t.csv", "--target", "label", "--memory-limit", "1kB"]
    result = json.loads(run(capsys, *fit_it, "--json")[1])
    assert "--memory-limit allows" in result["error"]
    code, out, _ = run(capsys, "predict", tmp_path / "none", folder / "t.csv")
    assert (code, out) == (1, "")


@pytest.mark.parametrize(
    ("arguments", "command", "error"),
    [
        (["predict"], "predict", "the following arguments are required: model, data"),
        (["suggest", "m", "--n", "x"], "suggest", "argument --n: invalid whole number value: 'x'"),
        (["report", "m", "--fast"], "report", "unrecognized arguments: --fast"),
        ([], None, "the following arguments are required: command"),
        (["fly"], "fly", "argument command: invalid choice: 'fly'"),
    ],
)
def test_invalid_arguments_as_json(arguments, command, error, capsys):
    for flag in ("--json", "--js"):
        with pytest.raises(SystemExit) as ended:
            main([*arguments, flag])
        assert ended.value.code == 2
        out, err = capsys.readouterr()
        result = json.loads(out)
        assert result["command"] == command
        assert result["error"].startswith(error)
        assert err.startswith("usage: lapwing")
        assert err.endswith(f"error: {result['error']}\n")
    with pytest.raises(SystemExit):
        main(arguments)
    assert capsys.readouterr().out == ""


def test_the_demo_does_not_replace_a_table(tmp_path, capsys):
    mine = tmp_path / "t.csv"
    mine.write_text("my labels")
    code, out, err = run(capsys, "demo", "--write-csv", mine)
    assert (code, out) == (1, "")
    assert "t.csv: there is such a file, and it is not replaced: give another name" in err
    assert mine.read_text() == "my labels"


def test_errors_of_the_system_have_no_number(folder, capsys, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied", "t.csv")

    monkeypatch.setattr("lapwing.cli.predict.open_table", lambda *_, **__: refuse())
    code, _, err = run(capsys, "predict", folder / "m", folder / "t.csv")
    assert (code, err) == (1, "lapwing predict: error: t.csv: Permission denied\n")


def test_a_target_that_names_the_rows_is_refused(tmp_path, capsys):
    (tmp_path / "t.csv").write_text(table())
    out = tmp_path / "m"
    code, _, err = run(capsys, "fit", tmp_path / "t.csv", "--target", "id", "--out", out)
    assert code == 1
    assert "each of the 40 labelled rows has a label of its own in 'id'" in err
    assert not out.exists()
    (tmp_path / "one.csv").write_text(table(n_labelled=(1, 1)))  # one label per class is enough
    assert fit(tmp_path / "one.csv", out) == 0


def test_unbalanced_classes_are_reported(tmp_path, capsys):
    (tmp_path / "t.csv").write_text(table(60, ("often", "rare"), (20, 4)))
    base = ["fit", tmp_path / "t.csv", "--target", "label", "--drop", "id", "--out", tmp_path / "m"]
    _, out, _ = run(capsys, *base)
    assert "balanced accuracy  1.000; recall of held-out labels: often 1.000, rare 1.000" in out
    result = json.loads(run(capsys, *base, "--json")[1])
    assert result["recall"] == {"often": 1.0, "rare": 1.0}
    confusion = np.array(lapwing.load(tmp_path / "m").report_.confusion)
    assert (confusion.sum(axis=1) > 0).all()
    (tmp_path / "t.csv").write_text(table(60, ("often", "rare"), (8, 4)))
    assert "recall" not in run(capsys, *base)[1]


def test_recall_of_a_class_that_is_rarely_found(tmp_path, capsys):
    """By hand: the rows of one class are among those of the other."""
    lines = [f"r{i},{i},{'a' if i % 6 else 'b'}" for i in range(24)]
    (tmp_path / "t.csv").write_text("id,x,label\n" + "\n".join(lines) + "\n" + "u,5,\n" * 9)
    base = ["fit", tmp_path / "t.csv", "--target", "label", "--id", "id", "--out", tmp_path / "m"]
    result = json.loads(run(capsys, *base, "--json", "--quiet")[1])
    [[aa, ab], [ba, bb]] = result["report"]["confusion"]
    assert result["recall"] == pytest.approx({"a": aa / (aa + ab), "b": bb / (ba + bb)})
    assert result["balanced_accuracy"] == pytest.approx(sum(result["recall"].values()) / 2)
    assert result["recall"]["b"] < result["recall"]["a"]


# ---------------------------------------------------------------- decimal commas


def german(n=60):
    """Return one table with decimal points and the same with decimal commas."""
    rng, lines = np.random.default_rng(0), {".": ["x,n,label"], ",": ["x;n;label"]}
    for i in range(n):
        x, people = rng.normal(1000 * (i % 2), 300), round(rng.normal(2000 + 3000 * (i % 2), 600))
        label = ("north", "south")[i % 2] if i < 12 else ""
        lines["."].append(f"{x:.2f},{people},{label}")
        comma = f"{x:,.2f};{people:,}".replace(",", "T").replace(".", ",").replace("T", ".")
        lines[","].append(f"{comma};{label}")
    return {mark: "\n".join(rows) + "\n" for mark, rows in lines.items()}


def test_a_table_with_decimal_commas_gives_the_same_model(tmp_path, capsys):
    """Numbers such as 1.623,50 and 1.200, in the fit and in every later table."""
    tables, predictions, files = german(), {}, {}
    for mark, text in tables.items():
        files[mark] = tmp_path / f"{ord(mark)}.csv"
        files[mark].write_text(text)
        target = ["--target", "label", "--method", "supervised", "--out", tmp_path / "m"]
        code, out, _ = run(capsys, "fit", files[mark], *target, "--json", "--quiet")
        assert code == 0
        assert any("--decimal ." in note for note in json.loads(out)["notes"]) == (mark == ",")
        save = ["--proba", "--out", tmp_path / "p.csv"]
        assert run(capsys, "predict", tmp_path / "m", files[mark], *save)[0] == 0
        predictions[mark] = (tmp_path / "p.csv").read_text()
    assert predictions["."] == predictions[","]
    # The model was fitted to commas: without one in sight, 1.200 is still a number of thousands.
    (tmp_path / "new.csv").write_text("x;n\n900;1.200\n1.100;5.000\n")
    (tmp_path / "same.csv").write_text("x,n\n900,1200\n1100,5000\n")
    assert run(capsys, "predict", tmp_path / "m", tmp_path / "new.csv", *save)[0] == 0
    thousands = (tmp_path / "p.csv").read_text()
    assert run(capsys, "predict", tmp_path / "m", tmp_path / "same.csv", *save)[0] == 0
    assert (tmp_path / "p.csv").read_text() == thousands
    # A table in the other notation needs the option.
    assert "--decimal . reads it" in run(capsys, "predict", tmp_path / "m", files["."], *save)[2]
    assert run(capsys, "predict", tmp_path / "m", files["."], "--decimal", ".", *save)[0] == 0
    assert (tmp_path / "p.csv").read_text() == predictions["."]


def test_the_decimal_mark_is_an_option_of_fit(tmp_path, capsys):
    """Here no cell shows that the points are between thousands."""
    lines = [f"{n};{'ab'[i % 2] if i < 8 else ''}" for i, n in enumerate(["950", "1.200"] * 15)]
    (tmp_path / "t.csv").write_text("n;label\n" + "\n".join(lines) + "\n")
    base = ["fit", tmp_path / "t.csv", "--target", "label", "--method", "supervised"]
    assert run(capsys, *base, "--decimal", ",", "--quiet", "--out", tmp_path / "m")[0] == 0
    extra = lapwing.load(tmp_path / "m").extra_
    assert extra["encoder"]["columns"][0]["median"] == (950 + 1200) / 2
    assert "--decimal ," in extra["command"]


def test_recall_of_a_class_without_held_out_labels_is_not_known():
    report = SimpleNamespace(confusion=[[3, 1, 0], [0, 0, 0], [1, 0, 1]])
    model = SimpleNamespace(report_=report, classes_=np.array(["a", "b", "c"]))
    found = _held_out_recall(model)
    assert found == {"recall": {"a": 0.75, "b": None, "c": 0.5}, "balanced_accuracy": 0.625}
    report.confusion = [[0, 0, 0]] * 3
    assert _held_out_recall(model)["balanced_accuracy"] is None


def test_digits_of_a_table_show_how_numbers_differ():
    rows = [[1, 293.151], [2, 293.982], [3, "x"]]
    assert text_table(["row", "y"], rows).splitlines() == [
        "row  y",
        "1    293.151",
        "2    293.982",
        "3    x",
    ]
    assert text_table(["y"], [[1.7e9], [1.7e9 + 30]]).splitlines()[1:] == [
        "1700000000",
        "1700000030",
    ]
    assert text_table(["y"], [[0.12345], [0.9]]).splitlines()[1:] == ["0.123", "0.9"]
    assert text_table(["y"], []).splitlines() == ["y"]


def test_a_closed_pipe_ends_a_command_quietly(tmp_path):
    command = [sys.executable, "-m", "lapwing", "demo", "--write-csv", "/dev/stdout"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--target", "y", "--drop", "y"], "--target y is also in --drop"),
        (["--target", "y", "--id", "x", "--drop", "x"], "--id x is also in --drop"),
    ],
)
def test_columns_that_are_named_and_dropped(options, words, tmp_path, capsys):
    (tmp_path / "t.csv").write_text("x,y\n1,a\n2,b\n3,\n")
    assert main(["fit", str(tmp_path / "t.csv"), *options, "--out", str(tmp_path / "m")]) == 1
    assert words in capsys.readouterr().err
