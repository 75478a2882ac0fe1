"""`lapwing fit`, `predict`, `suggest` and `report`: from a table to a report, and bad tables."""

import csv
import io
import json
import shlex
import sys
import warnings
from unittest.mock import Mock

import numpy as np
import pytest
from scipy import sparse

import lapwing
from lapwing.cli import fit, main, terminal, training
from lapwing.cli.options import names
from lapwing.tables import read_table


def write(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return str(path)


def blobs(n=60, labelled=8, seed=0, classes=("left", "right")):
    """Return rows of two groups far apart: x, y, colour, label; the first ones are labelled."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        side = i % 2
        x, y = rng.normal(6 * side, 1, 2)
        colour = ("red", "blue")[side] if rng.random() < 0.9 else "green"
        rows.append(
            (f"r{i}", f"{x:.4f}", f"{y:.4f}", colour, classes[side] if i < labelled else "")
        )
    return rows


def csv_of(rows, header=("id", "x", "y", "colour", "label")):
    return "\n".join(",".join(row) for row in [header, *rows]) + "\n"


def table_in(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a table, a model of it and a table of new rows."""
    folder = tmp_path_factory.mktemp("models")
    write(folder / "train.csv", csv_of(blobs()))
    new = [row[:4] for row in blobs(20, seed=1)]
    write(folder / "new.csv", csv_of(new, ("id", "x", "y", "colour")))
    arguments = ["--target", "label", "--id", "id", "--quiet"]
    out = str(folder / "model.lapwing")
    assert main(["fit", str(folder / "train.csv"), *arguments, "--out", out]) == 0
    return folder


def run(capsys, *arguments):
    """Return exit code, standard output and error stream of a command."""
    capsys.readouterr()
    code = main([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def refused(capsys, *arguments):
    """Return the message of a command that must fail with exit code 1."""
    code, out, err = run(capsys, *arguments)
    assert code == 1
    assert out == ""
    assert "Traceback" not in err
    return err


# ---------------------------------------------------------------- from a table to a report


def test_fit_prints_a_summary(folder, tmp_path, capsys):
    code, out, err = run(
        capsys, "fit", folder / "train.csv", "--target", "label", "--id", "id",
        "--out", tmp_path / "m.lapwing",
    )  # fmt: skip
    assert code == 0
    assert "60: 8 labelled, 52 unlabelled" in out
    assert "classification (the targets are texts): left, right" in out
    assert " %  " in err  # a line for each stage
    assert (tmp_path / "m.lapwing").stat().st_size > 0


def test_json_and_quiet(folder, tmp_path, capsys):
    base = ["fit", folder / "train.csv", "--target", "label", "--out", tmp_path / "m.lapwing"]
    base += ["--drop", "id"]
    code, out, err = run(capsys, *base, "--json", "--quiet")
    result = json.loads(out)
    assert code == 0
    assert err == ""
    assert result["classes"] == ["left", "right"]
    assert (result["rows"], result["labelled"], result["task"]) == (60, 8, "classification")
    assert {"metric", "score", "chosen", "candidates"} <= set(result["report"])
    assert run(capsys, *base, "--quiet") == (0, "", "")


def test_predictions(folder, tmp_path, capsys):
    out_file = tmp_path / "p.csv"
    base = ["predict", folder / "model.lapwing", folder / "new.csv", "--out", out_file]
    code, out, _ = run(capsys, *base, "--proba")
    assert code == 0
    assert "20 rows" in out
    rows = table_in(out_file)
    assert list(rows[0]) == ["id", "prediction", "confidence", "p(left)", "p(right)"]
    assert [row["id"] for row in rows] == [f"r{i}" for i in range(20)]
    right = [row["prediction"] == ("left", "right")[i % 2] for i, row in enumerate(rows)]
    assert np.mean(right) >= 0.9
    for row in rows:
        chances = [float(row["p(left)"]), float(row["p(right)"])]
        assert sum(chances) == pytest.approx(1, abs=1e-4)
        assert float(row["confidence"]) == max(chances)
    assert [path.name for path in tmp_path.iterdir()] == ["p.csv"]  # no part of a file is left


def test_rejected_rows_are_empty(folder, tmp_path, capsys):
    base = ["predict", folder / "model.lapwing", folder / "new.csv", "--out", tmp_path / "p.csv"]
    sure = sorted(float(row["confidence"]) for row in _predict(base, tmp_path, capsys))
    least = (sure[4] + sure[5]) / 2
    code, out, _ = run(capsys, *base, "--reject", least, "--json")
    result = json.loads(out)
    assert (code, result["rows"]) == (0, 20)
    rows = table_in(tmp_path / "p.csv")
    assert sum(row["prediction"] == "" for row in rows) == result["rejected"] > 0
    assert all((float(row["confidence"]) < least) == (row["prediction"] == "") for row in rows)


def _predict(base, tmp_path, capsys):
    assert run(capsys, *base)[0] == 0
    return table_in(tmp_path / "p.csv")


def test_a_saved_model_predicts_the_same_from_every_format(folder, tmp_path, capsys):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = read_table(folder / "new.csv", as_text=["id"])
    columns = {name: pa.array(column.tolist()) for name, column in table.columns.items()}
    columns["extra"] = pa.array([[1]] * 20)  # ignored, although it could not be used
    parquet.write_table(pa.table(columns), tmp_path / "new.parquet")
    base = ["predict", folder / "model.lapwing"]
    assert run(capsys, *base, folder / "new.csv", "--out", tmp_path / "a.csv")[0] == 0
    assert run(capsys, *base, tmp_path / "new.parquet", "--out", tmp_path / "b.csv")[0] == 0
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()


def test_rows_without_names_are_counted(folder, tmp_path, capsys):
    new = write(tmp_path / "n.csv", "x,y,colour\n0,0,red\n6,6,never seen\n")
    base = ["predict", folder / "model.lapwing", new, "--out", tmp_path / "p.csv"]
    rows = _predict(base, tmp_path, capsys)
    assert [row["row"] for row in rows] == ["1", "2"]
    assert [row["prediction"] for row in rows] == ["left", "right"]


def test_suggestions(folder, tmp_path, capsys):
    code, out, _ = run(capsys, "suggest", folder / "model.lapwing", "--n", 5, "--json")
    rows = json.loads(out)["rows"]
    assert code == 0
    assert len({row["row"] for row in rows}) == 5
    assert all(row["row"] > 8 and row["id"] == f"r{row['row'] - 1}" for row in rows)
    assert {row["prediction"] for row in rows} <= {"left", "right"}
    code, out, _ = run(capsys, "suggest", folder / "model.lapwing", "--n", 500)
    assert code == 0
    assert len(out.splitlines()) == 2 + 52
    target = tmp_path / "rows.csv"
    assert run(capsys, "suggest", folder / "model.lapwing", "--n", 5, "--out", target)[0] == 0
    assert [row["id"] for row in table_in(target)] == [row["id"] for row in rows]


def test_report_page(folder, tmp_path, capsys):
    code, out, _ = run(
        capsys, "report", folder / "model.lapwing", "--out", tmp_path / "r.html", "--json"
    )
    assert code == 0
    assert json.loads(out)["bytes"] == (tmp_path / "r.html").stat().st_size
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "train.csv" in page
    assert "</html>" in page


def test_demo_table(tmp_path, capsys):
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    assert run(capsys, "demo", "--write-csv", first)[0] == 0
    assert run(capsys, "demo", "--write-csv", second)[0] == 0
    assert first.read_bytes() == second.read_bytes()
    rows = table_in(first)
    assert (len(rows), sum(row["label"] != "" for row in rows)) == (400, 20)
    code, out, _ = run(
        capsys, "fit", first, "--target", "label", "--id", "id", "--json", "--quiet",
        "--out", tmp_path / "m.lapwing",
    )  # fmt: skip
    assert code == 0
    assert json.loads(out)["classes"] == ["billing", "delivery", "technical"]


# ---------------------------------------------------------------- targets and files


def test_regression(tmp_path, capsys):
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 6, 60)
    rows = [(f"{v:.4f}", f"{np.sin(v):.4f}" if i < 20 else "") for i, v in enumerate(x)]
    data = write(tmp_path / "t.csv", csv_of(rows, ("x", "height")))
    base = ["fit", data, "--target", "height", "--out", tmp_path / "m", "--json", "--quiet"]
    code, out, _ = run(capsys, *base)
    result = json.loads(out)
    assert (code, result["task"], result["classes"]) == (0, "regression", None)
    predict = ["predict", tmp_path / "m", data, "--out", tmp_path / "p.csv"]
    values = [float(row["prediction"]) for row in _predict(predict, tmp_path, capsys)]
    assert np.corrcoef(values, np.sin(x))[0, 1] > 0.9
    assert "classes" in refused(capsys, *predict, "--proba")
    code, out, _ = run(capsys, "suggest", tmp_path / "m", "--n", 3, "--json")
    assert (code, len(json.loads(out)["rows"])) == (0, 3)


@pytest.mark.parametrize(
    ("labels", "task"),
    [
        ([0, 1, 2], "classification"),
        (["a", "b"], "classification"),
        ([0.5, 1], "regression"),
        ([*range(30)], "regression"),
        ([*range(26)] * 5, "classification"),
        ([*range(50)] * 50, "classification"),
        ([*range(51)] * 50, "regression"),
    ],
)
def test_task_is_chosen_by_the_targets(labels, task):
    assert training.choose_task(labels, "auto").name == task
    assert training.choose_task(labels, "classification").name == "classification"


@pytest.mark.parametrize(("n_classes", "end"), [(10, "8, 9\n"), (11, "8, 9 …\n")])
def test_ten_classes_are_printed(n_classes, end, capsys):
    names = "data rows labelled unlabelled features task task_reason model balanced_accuracy"
    result = {**dict.fromkeys(names.split(), "x"), "seconds": 1.0, "notes": []}
    fit._print_result({**result, "classes": [*range(n_classes)]}, Mock(), False)
    assert end in capsys.readouterr().out


def test_warnings_that_the_report_repeats_are_left_out(monkeypatch):
    """Here of a model that warns twice and says one of these in its report as well."""

    class Model(Mock):
        report_ = Mock(warnings=["said twice"])

        def fit(self, X, y):
            for message in ("said twice", "said once", "said once"):
                warnings.warn(message, UserWarning, stacklevel=1)
            warnings.warn("not for users", DeprecationWarning, stacklevel=1)

    monkeypatch.setattr(fit, "SemiSupervisedRegressor", Model)
    data, arguments = Mock(task=training.Task("regression", "")), Mock(quiet=True)
    assert fit.fit_model(data, arguments)[1] == ["said once"]


def test_whole_numbers_stay_whole(tmp_path, capsys):
    data = write(tmp_path / "t.csv", csv_of(blobs(classes=("3", "8"))))
    base = ["fit", data, "--target", "label", "--drop", "id", "--out", tmp_path / "m", "--json"]
    assert json.loads(run(capsys, *base)[1])["classes"] == [3, 8]
    rows = _predict(
        ["predict", tmp_path / "m", data, "--out", tmp_path / "p.csv"], tmp_path, capsys
    )
    assert {row["prediction"] for row in rows} == {"3", "8"}


def test_marker_of_unlabelled_rows(tmp_path, capsys):
    rows = [(*row[:4], row[4] or "todo") for row in blobs()]
    data = write(tmp_path / "t.csv", csv_of(rows))
    base = ["fit", data, "--target", "label", "--drop", "id", "--out", tmp_path / "m", "--json"]
    assert json.loads(run(capsys, *base, "--unlabeled", "todo")[1])["labelled"] == 8


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_matrices_need_no_target(tmp_path, capsys, make):
    # Two directions: sparse rows are treated as text, whose length does not matter.
    X = np.array([[float(x), 6 - float(y)] for _, x, y, _, _ in blobs()])
    y = np.array([5 + i % 2 if i < 8 else -1 for i in range(60)])
    if make is np.asarray:
        np.savez(tmp_path / "t.npz", X=X, y=y)
    else:
        S = sparse.csr_matrix(X)
        parts = {"data": S.data, "indices": S.indices, "indptr": S.indptr, "shape": S.shape}
        np.savez(tmp_path / "t.npz", y=y, **parts)
    base = ["fit", tmp_path / "t.npz", "--out", tmp_path / "m", "--json", "--quiet"]
    code, out, _ = run(capsys, *base)
    assert code == 0
    assert json.loads(out)["labelled"] == 8
    rows = _predict(
        ["predict", tmp_path / "m", tmp_path / "t.npz", "--out", tmp_path / "p.csv"],
        tmp_path, capsys,
    )  # fmt: skip
    assert np.mean([row["prediction"] == str(5 + i % 2) for i, row in enumerate(rows)]) > 0.9


def test_all_rows_labelled(tmp_path, capsys):
    data = write(tmp_path / "t.csv", csv_of(blobs(30, labelled=30)))
    base = ["fit", data, "--target", "label", "--id", "id", "--out", tmp_path / "m", "--json"]
    code, out, _ = run(capsys, *base)
    assert code == 0
    assert any("no unlabelled rows" in note for note in json.loads(out)["notes"])
    assert "all rows of t.csv are labelled" in refused(capsys, "suggest", tmp_path / "m")


def test_constant_columns_are_noted(tmp_path, capsys):
    rows = [(*row, "same") for row in blobs()]
    header = ("id", "x", "y", "colour", "label", "flat")
    data = write(tmp_path / "t.csv", csv_of(rows, header))
    base = ["fit", data, "--target", "label", "--id", "id", "--out", tmp_path / "m"]
    code, out, _ = run(capsys, *base)
    assert code == 0
    assert "column 'flat' is 'same' in all rows: left out" in out


# ---------------------------------------------------------------- bad tables


def bad_fit(tmp_path, capsys, text, *options, encoding="utf-8"):
    data = write(tmp_path / "t.csv", text, encoding)
    message = refused(capsys, "fit", data, "--target", "label", "--out", tmp_path / "m", *options)
    assert message.startswith("lapwing fit: error: ")
    assert not (tmp_path / "m").exists()
    return message


def test_bad_tables(tmp_path, capsys):
    rows = blobs()
    twice = csv_of(rows, ("id", "x", "x", "colour", "label"))
    assert "2 columns named 'x'" in bad_fit(tmp_path, capsys, twice)
    assert "no row has a label" in bad_fit(tmp_path, capsys, csv_of(blobs(labelled=0)))
    one = csv_of(blobs(classes=("same", "same")))
    assert "all 8 labelled rows have the label 'same'" in bad_fit(tmp_path, capsys, one)
    mixed = csv_of(
        [(*row[:2], "abc" if i == 3 else row[2], *row[3:]) for i, row in enumerate(rows)]
    )
    message = bad_fit(tmp_path, capsys, mixed)
    assert "column 'y' of t.csv" in message
    assert "'abc' in line 5" in message
    assert "is empty" in bad_fit(tmp_path, capsys, "")
    assert "no rows" in bad_fit(tmp_path, capsys, "x,label\n")
    ragged = csv_of(rows) + "1,2\n"
    assert "line 62 of t.csv has 2 cells" in bad_fit(tmp_path, capsys, ragged)
    wrong = csv_of(rows, ("id", "x", "y", "colour", "labels"))
    assert "did you mean 'labels'?" in bad_fit(tmp_path, capsys, wrong)
    accents = csv_of(rows).replace("green", "grün").replace("red", "rot é")
    message = bad_fit(tmp_path, capsys, accents, encoding="latin-1")
    assert "--encoding latin-1" in message
    assert "line 2" in message
    assert "numbers as targets" in bad_fit(tmp_path, capsys, csv_of(rows), "--task", "regression")
    assert "no column 'z'" in bad_fit(tmp_path, capsys, csv_of(rows), "--drop", "z")


def test_mixed_columns_can_be_forced_and_encodings_named(tmp_path, capsys):
    rows = [(*row[:2], "abc" if i == 3 else row[2], *row[3:]) for i, row in enumerate(blobs())]
    data = write(tmp_path / "t.csv", csv_of(rows).replace("green", "grün"), "latin-1")
    base = ["fit", data, "--target", "label", "--id", "id", "--out", tmp_path / "m", "--quiet"]
    base += ["--encoding", "latin-1"]
    assert run(capsys, *base, "--categorical-columns", "y")[0] == 0
    assert run(capsys, *base, "--drop", "y")[0] == 0


def test_memory_limit(tmp_path, capsys):
    big = csv_of(blobs(2000))
    message = bad_fit(tmp_path, capsys, big, "--memory-limit", "20kB")
    assert "rows of 5 columns" in message
    assert "use fewer rows or columns, or raise --memory-limit" in message


def test_bad_new_tables(folder, tmp_path, capsys):
    def message(text):
        new = write(tmp_path / "n.csv", text)
        return refused(
            capsys, "predict", folder / "model.lapwing", new, "--out", tmp_path / "p.csv"
        )

    assert "n.csv lacks 'y', which the model needs" in message("x,colour\n1,red\n")
    assert "column 'x' of n.csv contains 'tall' in line 3" in message(
        "x,y,colour\n1,1,r\ntall,1,r\n"
    )
    assert not (tmp_path / "p.csv").exists()


def test_bad_model_files_and_folders(folder, tmp_path, capsys):
    no_model = write(tmp_path / "m.lapwing", "no model at all")
    for command in (["predict", no_model, folder / "new.csv"], ["suggest", no_model]):
        assert "error" in refused(capsys, *command)
    assert "error" in refused(capsys, "suggest", tmp_path / "none.lapwing")
    fit_there = ["fit", folder / "train.csv", "--target", "label"]
    assert "folder that exists" in refused(capsys, *fit_there, "--out", tmp_path / "no" / "m")
    missing = refused(capsys, "fit", tmp_path / "none.csv", "--target", "label")
    assert f"there is no file {tmp_path / 'none.csv'}" in missing


@pytest.mark.parametrize(
    "arguments",
    [
        ["fit"],
        ["fit", "a.csv", "--task", "clustering"],
        ["fit", "a.csv", "--memory-limit", "lots"],
        ["predict", "m", "a.csv", "--reject", "1.5"],
        ["suggest", "m", "--n", "0"],
        ["report"],
    ],
)
def test_usage_errors(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage" in capsys.readouterr().err


# ---------------------------------------------------------------- terminals


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("has_rich", [True, False])
def test_terminals_with_and_without_rich(monkeypatch, has_rich):
    if has_rich:
        pytest.importorskip("rich")
    else:
        for name in ("rich", "rich.console", "rich.progress", "rich.table", "rich.text"):
            monkeypatch.setitem(sys.modules, name, None)
    out, err = Terminal(), Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    with terminal.progress() as show:
        show("reading [bold]", 0.25)
        show("fitting", 1.0)
    terminal.print_summary("Fitted", [("rows", "60"), ("note", "a [red]note[/red]")])
    assert "100 %" in err.getvalue()
    assert "fitting" in err.getvalue()
    assert "a [red]note[/red]" in out.getvalue()
    assert ("┃" in out.getvalue() or "│" in out.getvalue()) == has_rich


def test_the_model_file_contains_its_command(tmp_path, monkeypatch, capsys):
    """The command stored in a model file fits the same model again."""
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--write-csv", "a b.csv"]) == 0
    options = ["--target", "label", "--id", "id", "--drop", "waited,amount", "--seed", "3"]
    assert main(["fit", "a b.csv", *options, "--out", "m", "--quiet"]) == 0
    command = lapwing.load("m").extra_["command"]
    assert command.startswith("lapwing fit 'a b.csv' --target label --id id ")
    first = lapwing.load("m").label_distributions_
    assert main([*shlex.split(command)[1:], "--quiet"]) == 0
    assert np.array_equal(lapwing.load("m").label_distributions_, first)
    assert main(["report", "m", "--out", "r.html"]) == 0
    assert "--drop waited,amount" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_the_command_keeps_names_that_equal_a_default(tmp_path):
    data = write(tmp_path / "t.csv", csv_of(blobs(), ("id", "x", "y", "colour", "auto")))
    model = str(tmp_path / "m")
    assert main(["fit", data, "--target", "auto", "--id", "id", "--out", model, "--quiet"]) == 0
    assert "--target auto --id id" in lapwing.load(model).extra_["command"]


def test_model_files_without_a_valid_table(folder, tmp_path, capsys):
    model, path = lapwing.load(folder / "model.lapwing"), tmp_path / "m.lapwing"
    lapwing.save(model, path, extra={})
    assert "without a table encoder" in refused(capsys, "suggest", path)
    lapwing.save(model, path, {**model.extra_, "ids": [1, 2]})
    assert "is damaged" in refused(capsys, "suggest", path)
    lapwing.save(model, path, {**model.extra_, "encoder": {}})
    assert "is damaged" in refused(capsys, "suggest", path)
    lapwing.save(model, path, {**model.extra_, "ids": model.extra_["ids"][:5]})
    assert "its table does not fit its model" in refused(capsys, "suggest", path)
    other = lapwing.LapSVC().fit(np.eye(3), [0, 1, -1])
    lapwing.save(other, path, model.extra_)
    assert "without a table encoder" in refused(capsys, "suggest", path)


def test_nothing_to_suggest(tmp_path, capsys):
    (tmp_path / "d.csv").write_text("x,label\n0,a\n1,b\n2,a\n3,b\n0,\n1,\n2,\n3,\n")
    assert (
        main(["fit", str(tmp_path / "d.csv"), "--target", "label", "--out", str(tmp_path / "m")])
        == 0
    )
    assert main(["suggest", str(tmp_path / "m")]) == 1
    assert "no row of d.csv is worth a label" in capsys.readouterr().err


def test_names_with_commas():
    assert names('a, "note, free",b') == ["a", "note, free", "b"]


def test_class_shares(tmp_path, capsys):
    """Shares by name, as texts or numbers, or those of the labels; the file has the command."""
    data = write(
        tmp_path / "t.csv", csv_of(blobs(classes=("le,ft", "right"))).replace("le,ft", '"le,ft"')
    )
    model = str(tmp_path / "m")
    fit = ["fit", data, "--target", "label", "--id", "id", "--out", model, "--quiet"]
    assert main([*fit, "--class-shares", '"le,ft=0.7", right = 0.3']) == 0
    fitted = lapwing.load(model)
    assert fitted.class_shares == {"le,ft": 0.7, "right": 0.3}
    mean = fitted.label_distributions_[8:].mean(axis=0)
    np.testing.assert_allclose(mean, [0.7, 0.3], atol=1e-8)
    assert main([*shlex.split(fitted.extra_["command"])[1:], "--quiet"]) == 0
    again = lapwing.load(model)
    assert np.array_equal(again.label_distributions_, fitted.label_distributions_)
    assert main([*fit, "--class-shares", "labels"]) == 0
    assert lapwing.load(model).class_shares == "labels"
    numbers = write(tmp_path / "n.csv", csv_of(blobs(classes=("1", "2"))))
    assert main(["fit", numbers, *fit[2:], "--class-shares", "1=0.6,2=0.4"]) == 0
    assert lapwing.load(model).class_shares == {1: 0.6, 2: 0.4}
    message = refused(capsys, *fit[:-1], "--class-shares", "right=0.5,up=0.5")
    assert "names 'up', and no row has this label" in message
    assert "must add up to 1" in refused(capsys, *fit[:-1], "--class-shares", '"le,ft=70",right=30')
    targets = [(*row[:4], f"{float(row[1]):.2f}" if row[4] else "") for row in blobs()]
    quantities = write(tmp_path / "q.csv", csv_of(targets))
    message = refused(capsys, "fit", quantities, *fit[2:-1], "--class-shares", "labels")
    assert "--class-shares is for classes" in message


@pytest.mark.parametrize("text", ["", "a", "a=much,b=0.1", "=0.5,b=0.5", "a=0.5,a=0.5"])
def test_invalid_class_shares(text, tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["fit", "t.csv", "--class-shares", text])
    assert ended.value.code == 2
    assert "must be labels, or each class once with its share" in capsys.readouterr().err
