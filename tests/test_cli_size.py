"""The command line on tables that may exceed the memory: fits in blocks, predictions in batches."""

import json
import sys
from itertools import pairwise

import numpy as np
import pytest

import lapwing
from lapwing.auto import limits, view_rows
from lapwing.cli import main, training
from lapwing.cli.models import load_table_model
from lapwing.tables import read as read_module

pa = pytest.importorskip("pyarrow")
csv = pytest.importorskip("pyarrow.csv")
parquet = pytest.importorskip("pyarrow.parquet")

N, N_LABELLED = 900, 60
WORDS = (("late", "parcel", "courier", "box"), ("invoice", "refund", "paid", "card"))


def mixed(n=N, labelled=N_LABELLED, seed=0):
    """Return columns of all types; two classes that words and numbers separate."""
    rng = np.random.default_rng(seed)
    side = rng.integers(0, 2, n)
    x, y = rng.normal(3.0 * side[:, None], 1.0, (n, 2)).T
    days = np.datetime64("2024-01-01") + rng.integers(0, 300, n)
    given = np.where(np.arange(n) % (n // labelled) == 0, side, -1) if labelled else -1 + 0 * side
    words = ("hello", "please", "and", "the")
    return {
        "id": [f"r{i}" for i in range(n)],
        "x": [None if i % 11 == 3 else float(f"{value:.6g}") for i, value in enumerate(x)],
        "y": [float(f"{value:.6g}") for value in y],
        "colour": [("red", "blue", "green")[i] for i in (side + (rng.random(n) < 0.2))],
        "day": [str(day) for day in days],
        "ok": [("no", "yes")[i] for i in rng.integers(0, 2, n)],
        "note": [
            " ".join([*rng.choice(WORDS[i], 2), *rng.choice(words, 3), str(rng.integers(50))])
            for i in side
        ],
        "label": [(None if i < 0 else ("left", "right")[i]) for i in given],
        "amount": [None if i < 0 else float(f"{v:.6g}") for i, v in zip(given, x + y, strict=True)],
    }


def write_folder(folder, columns, suffix, n_files=3):
    """Write a table in several files of different lengths."""
    folder.mkdir()
    table = pa.table(columns)
    ends = np.linspace(0, table.num_rows, n_files + 1).astype(int)
    ends[1:-1] += 7
    for number, (start, end) in enumerate(pairwise(ends)):
        part, path = table.slice(start, end - start), folder / f"{number}.{suffix}"
        if suffix == "csv":
            csv.write_csv(part, path)
        else:
            parquet.write_table(part, path, row_group_size=64)
    return folder


@pytest.fixture(params=["parquet", "csv"])
def rows(request, tmp_path):
    return write_folder(tmp_path / "rows", mixed(), request.param)


@pytest.fixture
def in_blocks(monkeypatch):
    """Every table is large, and every batch small."""

    def switch(on):
        monkeypatch.setattr(training, "_is_large", lambda *_: on)
        monkeypatch.setattr(read_module, "_BATCH_ROWS", 113 if on else 65_536)

    switch(True)
    return switch


def run(capsys, *arguments):
    capsys.readouterr()
    code = main([str(argument) for argument in arguments])
    return code, *capsys.readouterr()


def fit(capsys, data, out, *options, target="label"):
    """Return the result of a fit."""
    other = {"label": "amount", "amount": "label"}[target]
    options = ["--target", target, "--id", "id", "--drop", other, "--json", "--quiet", *options]
    code, out, err = run(capsys, "fit", data, *options, "--out", out)
    assert (code, err) == (0, "")
    return json.loads(out)


def both_ways(capsys, in_blocks, data, tmp_path, *options, **kwargs):
    """Return the results of fits in memory and in blocks."""
    in_blocks(False)
    in_memory = fit(capsys, data, tmp_path / "m", *options, **kwargs)
    in_blocks(True)
    return in_memory, fit(capsys, data, tmp_path / "b", *options, **kwargs)


# ---------------------------------------------------------------- fit


@pytest.mark.parametrize("target", ["label", "amount"])
def test_blocks_give_the_same_model(rows, tmp_path, capsys, in_blocks, target):
    results = both_ways(capsys, in_blocks, rows, tmp_path, target=target)
    assert [result["in_blocks"] for result in results] == [False, True]
    for result in results:
        assert (result["rows"], result["labelled"]) == (N, N_LABELLED)
        assert result["report"]["rows"] == N
        assert result["report"]["rows_used"] > N / 2
    changing = {"model", "seconds", "notes", "report", "in_blocks", "balanced_accuracy", "recall"}
    first, second = ({k: v for k, v in r.items() if k not in changing} for r in results)
    assert first == second
    assert "was read in blocks" in results[1]["notes"][-1]
    stored, other = (load_table_model(tmp_path / name) for name in "mb")
    assert stored.encoder.names == other.encoder.names
    assert stored.encoder.feature_names == other.encoder.feature_names
    new = np.random.default_rng(1).normal(size=(50, stored.encoder.n_features))
    np.testing.assert_allclose(
        stored.model.decision_function(new) if target == "label" else stored.model.predict(new),
        other.model.decision_function(new) if target == "label" else other.model.predict(new),
        rtol=1e-6,
        atol=1e-6,
    )
    assert_same_suggestions(capsys, tmp_path, target)


def assert_same_suggestions(capsys, tmp_path, target):
    """Of the models m and b; and their reports are about all rows."""
    found = []
    for name in "mb":
        code, out, err = run(capsys, "suggest", tmp_path / name, "--n", 8, "--json")
        assert (code, err) == (0, "")
        found.append(json.loads(out)["rows"])
        page = tmp_path / f"{name}.html"
        assert run(capsys, "report", tmp_path / name, "--out", page)[0] == 0
        assert f"{N} rows, {N_LABELLED} of them labelled" in page.read_text(encoding="utf-8")
    assert [row["row"] for row in found[0]] == [row["row"] for row in found[1]]
    for first, second in zip(*found, strict=True):
        assert first["id"] == second["id"] == f"r{first['row'] - 1}"
        if target == "label":
            assert first["prediction"] == second["prediction"]
        else:
            assert first["prediction"] == pytest.approx(second["prediction"], abs=1e-6)


def test_a_sample_is_the_same_in_memory(tmp_path, capsys, in_blocks, monkeypatch):
    """Above the limit both fits see the same labelled rows and the same others."""
    monkeypatch.setattr(limits, "MOST_ROWS", 300)
    rows = write_folder(tmp_path / "rows", mixed(), "parquet")
    first, second = both_ways(capsys, in_blocks, rows, tmp_path, "--method", "supervised")
    assert first["report"]["rows_used"] == second["report"]["rows_used"] == 300
    stored, other = (load_table_model(tmp_path / name) for name in "mb")
    assert np.array_equal(stored.model.sample_, other.model.sample_)
    assert len(stored.ids) == N
    assert other.ids == [f"r{i}" for i in other.model.sample_]
    assert len(other.ids) == 300  # nothing in the file has an entry per row
    assert len(lapwing.load(tmp_path / "b").extra_["ids"]) == 300


def test_a_table_is_large_by_rows_and_memory():
    assert not training._is_large(100_000, 1e12, 1e9)
    assert not training._is_large(200_000, 1e8, 2e9)
    assert training._is_large(200_000, 1e9, 2e9)
    assert training._is_large(200_000, 3.5e8, 2e9)  # 1.4 GB, and what a fit takes beside it
    assert training._is_large(0, 1.0, 2e9)  # the number of rows is not known


def test_the_memory_limit_decides(tmp_path, capsys, monkeypatch):
    rows = write_folder(tmp_path / "rows", mixed(), "csv")
    n, size = read_module.open_table(rows).expected_size()
    assert n == pytest.approx(N, rel=0.1)
    assert size > 8 * n * len(mixed())
    monkeypatch.setattr(training, "_AT_ONCE", 500)
    monkeypatch.setattr(training, "_COPIES", 1e9 / size)
    for limit, in_blocks in (("1.8GB", False), ("1.6GB", True)):
        result = fit(capsys, rows, tmp_path / "m", "--memory-limit", limit)
        assert result["in_blocks"] == in_blocks


def test_errors_are_those_of_a_table_in_memory(tmp_path, capsys, in_blocks):
    columns = mixed(labelled=0)
    rows = write_folder(tmp_path / "rows", columns, "csv")
    code, _, err = run(capsys, "fit", rows, "--target", "label", "--out", tmp_path / "m")
    assert code == 1
    assert "no row has a label" in err
    assert not (tmp_path / "m").exists()
    code, _, err = run(capsys, "fit", rows, "--target", "lable", "--out", tmp_path / "m")
    assert "did you mean 'label'?" in err


def test_stages_are_printed_once(rows, tmp_path, capsys, in_blocks):
    options = ["--target", "label", "--drop", "amount", "--out", tmp_path / "m"]
    code, out, err = run(capsys, "fit", rows, *options)
    assert code == 0
    assert f"{N}: {N_LABELLED} labelled, {N - N_LABELLED} unlabelled" in out
    lines = err.splitlines()
    shares = [int(line.split("%")[0]) for line in lines]
    assert shares == sorted(shares)
    assert shares[-1] == 100
    for stage in ("reading the columns", "reading the labels", "reading the rows", "done"):
        assert stage in err
    assert len(lines) < 40


# ---------------------------------------------------------------- models of rows in blocks


def test_pages_and_suggestions_of_a_sample(tmp_path, capsys, in_blocks, monkeypatch):
    """Rows have their numbers among all rows, also without a column of names."""
    monkeypatch.setattr(limits, "MOST_ROWS", 300)
    rows = write_folder(tmp_path / "rows", mixed(), "parquet")
    options = ["--target", "label", "--drop", "amount,id", "--quiet", "--out", tmp_path / "m"]
    assert run(capsys, "fit", rows, *options)[0] == 0
    stored = load_table_model(tmp_path / "m")
    assert stored.ids is None
    view = view_rows(stored.model)
    assert view.numbers.max() > 300
    assert np.array_equal(view.numbers[view.labelled], stored.model.labelled_)
    code, out, _ = run(capsys, "suggest", tmp_path / "m", "--n", 5, "--json")
    suggested = [row["row"] - 1 for row in json.loads(out)["rows"]]
    assert code == 0
    assert suggested == stored.model.suggest(5).tolist()
    assert run(capsys, "report", tmp_path / "m", "--out", tmp_path / "r.html")[0] == 0
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "are about the 300 rows that the model was fitted to" in page


def test_names_that_do_not_fit_are_refused(tmp_path, capsys, in_blocks):
    rows = write_folder(tmp_path / "rows", mixed(), "parquet")
    fit(capsys, rows, tmp_path / "m", "--method", "supervised")
    model = lapwing.load(tmp_path / "m")
    lapwing.save(model, tmp_path / "d", {**model.extra_, "ids": model.extra_["ids"][:-1]})
    code, _, err = run(capsys, "suggest", tmp_path / "d")
    assert code == 1
    assert "is damaged" in err


# ---------------------------------------------------------------- workers of Dask


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        yield cluster


@pytest.mark.parametrize(
    ("rows", "target"), [("parquet", "label"), ("csv", "amount")], indirect=["rows"]
)
def test_workers_give_the_same_model(rows, cluster, tmp_path, capsys, target, monkeypatch):
    """Those of a running scheduler, which is not closed."""
    monkeypatch.setattr(training, "_BLOCK_ENTRIES", 8_000)
    first = fit(capsys, rows, tmp_path / "m", target=target)
    options = ["--scheduler", cluster.scheduler_address]
    second = fit(capsys, rows, tmp_path / "b", *options, target=target)
    assert [first["in_blocks"], second["in_blocks"]] == [False, True]
    assert first["report"]["rows_used"] == second["report"]["rows_used"]
    stored, other = (load_table_model(tmp_path / name) for name in "mb")
    assert other.ids == [stored.ids[i] for i in view_rows(other.model).numbers]
    new = np.random.default_rng(1).normal(size=(50, stored.encoder.n_features))
    function = "decision_function" if target == "label" else "predict"
    values = [getattr(one.model, function)(new) for one in (stored, other)]
    np.testing.assert_allclose(*values, rtol=1e-6, atol=1e-6)
    assert cluster.status.name == "running"
    code, out, _ = run(capsys, "suggest", tmp_path / "b", "--n", 3, "--json")
    assert (code, len(json.loads(out)["rows"])) == (0, 3)


def test_local_workers_end_with_the_command(tmp_path, capsys):
    distributed = pytest.importorskip("distributed")
    rows = write_folder(tmp_path / "rows", mixed(), "parquet")
    result = fit(capsys, rows, tmp_path / "m", "--workers", 1, "--method", "supervised")
    assert result["in_blocks"]
    assert "--workers" not in lapwing.load(tmp_path / "m").extra_["command"]
    with pytest.raises(ValueError, match="No"):
        distributed.get_client(timeout=1)


def test_workers_that_cannot_be_used(tmp_path, capsys, monkeypatch):
    pytest.importorskip("distributed")
    np.savez(tmp_path / "t.npz", X=np.eye(4), y=[0, 1, 5, 5])
    command = ["fit", tmp_path / "t.npz", "--out", tmp_path / "m"]
    code, _, err = run(capsys, *command, "--workers", 1)
    assert (code, "leave out --workers" in err) == (1, True)
    from lapwing.arrays import cluster as clusters

    assert clusters._TIMEOUT <= 10
    monkeypatch.setattr(clusters, "_TIMEOUT", 0.2)
    code, _, err = run(capsys, *command, "--scheduler", "tcp://127.0.0.1:9")
    assert (code, "no scheduler of Dask answers at tcp://127.0.0.1:9" in err) == (1, True)
    with pytest.raises(SystemExit):
        run(capsys, *command, "--scheduler", "tcp://127.0.0.1:9", "--workers", 1)
    monkeypatch.setitem(sys.modules, "distributed", None)
    code, _, err = run(capsys, *command, "--workers", 1)
    assert (code, 'pip install "lapwing[dask]"' in err) == (1, True)


# ---------------------------------------------------------------- predict


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Models of classes and of quantities, and the file that they were fitted to."""
    folder = tmp_path_factory.mktemp("models")
    rows = write_folder(folder / "rows", mixed(), "parquet")
    for target, other in (("label", "amount"), ("amount", "label")):
        options = ["--target", target, "--drop", other, "--id", "id", "--quiet"]
        options += ["--method", "supervised", "--out", str(folder / target)]
        assert main(["fit", str(rows), *options]) == 0
    return folder


OPTIONS = {"label": ["--proba", "--reject", "0.999"], "amount": []}


@pytest.mark.parametrize("target", ["label", "amount"])
def test_batches_predict_the_same(models, rows, tmp_path, capsys, in_blocks, target):
    printed = []
    for on in (False, True):
        in_blocks(on)
        for suffix in ("csv", "parquet"):
            out = tmp_path / f"{on}.{suffix}"
            code, text, err = run(
                capsys, "predict", models / target, rows, "--out", out, "--json", *OPTIONS[target]
            )
            assert (code, err) == (0, "")
            printed.append({**json.loads(text), "out": ""})
    assert all(result == printed[0] for result in printed)
    assert printed[0]["rows"] == N
    texts, at_once = (csv.read_csv(tmp_path / f"{on}.csv").to_pydict() for on in (True, False))
    first, second = (parquet.read_table(tmp_path / f"{on}.parquet") for on in (True, False))
    assert first.schema == second.schema
    assert list(texts) == list(at_once) == first.column_names
    for name in first.column_names:
        if first.schema.field(name).type == pa.float64():  # sums of other tiles
            np.testing.assert_allclose(first.column(name), second.column(name), atol=1e-9)
            np.testing.assert_allclose(texts[name], at_once[name], atol=1e-5)
        else:
            assert first.column(name).equals(second.column(name))
            assert texts[name] == at_once[name]
    assert first.column("id").to_pylist() == [f"r{i}" for i in range(N)]
    if target == "amount":
        assert texts["prediction"] == first.column("prediction").to_pylist()
        return
    found = first.to_pydict()
    assert printed[0]["rejected"] == found["prediction"].count(None) > 0
    assert sum(printed[0]["counts"].values()) == N - printed[0]["rejected"]
    assert texts["prediction"] == [label or "" for label in found["prediction"]]
    np.testing.assert_allclose(texts["confidence"], found["confidence"], rtol=1e-5)
    np.testing.assert_allclose(np.add(found["p(left)"], found["p(right)"]), 1.0)


def test_rows_without_names_have_numbers(models, tmp_path, capsys, in_blocks):
    columns = {name: cells for name, cells in mixed().items() if name != "id"}
    rows = write_folder(tmp_path / "rows", columns, "csv")
    out = tmp_path / "p.parquet"
    assert run(capsys, "predict", models / "label", rows, "--out", out)[0] == 0
    assert parquet.read_table(out).column("row").to_pylist() == list(range(1, N + 1))


def test_a_damaged_file_leaves_no_predictions(models, tmp_path, capsys, in_blocks):
    """The files before it have been predicted by then; an older file stays."""
    rows = write_folder(tmp_path / "rows", mixed(), "csv")
    with open(rows / "2.csv", "a") as file:
        file.write("r,1,2\n")
    for name in ("p.csv", "p.parquet"):
        (tmp_path / name).write_text("older")
        code, _, err = run(capsys, "predict", models / "label", rows, "--out", tmp_path / name)
        assert code == 1
        assert "2.csv" in err
        assert (tmp_path / name).read_text() == "older"
    code, _, _ = run(capsys, "predict", models / "label", rows, "--out", tmp_path / "new.csv")
    assert code == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.csv", "p.parquet", "rows"]


def test_parquet_needs_pyarrow(models, tmp_path, capsys, monkeypatch):
    """Matrices are read without it."""
    X = np.random.default_rng(0).normal(size=(40, 2)) + 5 * (np.arange(40) % 2)[:, None]
    np.savez(tmp_path / "t.npz", X=X, y=np.where(np.arange(40) < 8, np.arange(40) % 2, 7))
    fit_it = ["fit", tmp_path / "t.npz", "--unlabeled", 7, "--quiet", "--out", tmp_path / "m"]
    assert run(capsys, *fit_it)[0] == 0
    predict = ["predict", tmp_path / "m", tmp_path / "t.npz", "--out"]
    assert run(capsys, *predict, tmp_path / "p.parquet")[0] == 0
    assert parquet.read_table(tmp_path / "p.parquet").schema.field("prediction").type == pa.int64()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    code, _, err = run(capsys, *predict, tmp_path / "q.parquet")
    assert code == 1
    assert 'pip install "lapwing[tables]"' in err
    assert not (tmp_path / "q.parquet").exists()
