"""The comparison with peers, on the digits that need no data folder."""

import json

import numpy as np
import pytest

from experiments import peers, peers_report
from experiments.command import peers_command
from experiments.data import DataFolder, few_labels


@pytest.fixture(scope="module")
def digits():
    X, y = peers.data_set(DataFolder(None), "digits")
    rng = np.random.default_rng(0)
    keep = rng.permutation(len(y))[:400]
    return X[keep], y[keep]


@pytest.mark.parametrize("per_class", [1, 3])
@pytest.mark.parametrize("method", [m for m in peers.METHODS if m != "graphlearning"])
def test_methods_learn(method, per_class, digits):
    X, y = digits
    marks = few_labels(y, per_class, np.random.default_rng(0))
    labels, predict = peers.METHODS[method](X, marks, per_class)
    assert labels.shape == y.shape
    assert np.mean(labels == y) > 0.4
    assert np.mean(predict(X) == y) > 0.4


def test_few_labels_have_the_same_number_of_each_class(digits):
    _, y = digits
    marks = few_labels(y, 2, np.random.default_rng(0))
    assert np.all((marks == -1) | (marks == y))
    assert np.sum(marks != -1) == 20
    assert set(np.unique(marks[marks != -1])) == set(range(10))


def test_paired_comparisons():
    """On the same draws a steady lead is better, and a lead by chance is even."""

    def cell(method, values):
        found = {"unlabelled rows": values}
        return {"set": "s", "labels a class": 2, "method": method, "values": found}

    steady, shaky, equal = [90.0, 80.0, 70.0], [95.0, 60.0, 85.0], [90.0, 80.0, 70.0]
    ours = [91.0, 81.1, 70.9]
    cells = [cell(peers.OURS, ours), cell("A", steady), cell("B", shaky), cell("C", equal)]
    pairs = {pair["method"]: pair for pair in peers_report.paired_comparisons(cells)}
    assert pairs["A"]["verdict"] == pairs["C"]["verdict"] == "better"
    assert pairs["A"]["difference"] == pytest.approx(1.0)
    assert pairs["A"]["half"] == pytest.approx(4.303 * 0.1 / np.sqrt(3), rel=1e-3)
    assert pairs["B"]["verdict"] == "even"
    assert [pair["best"] for pair in pairs.values()] == [True, False, False]
    swapped = [cell("A", ours), cell(peers.OURS, steady)]
    assert peers_report.paired_comparisons(swapped)[0]["verdict"] == "worse"
    assert peers_report.paired_comparisons([cell("A", ours)]) == []


def test_command_writes_report_and_plot(tmp_path, monkeypatch, capsys):
    jobs = [
        job
        for job in peers.jobs("quick")
        if job.settings["per_class"] == 1 and job.method in ("SVC", "Lapwing")
    ]
    assert {job.settings["name"] for job in jobs} == {"digits", "USPST"}
    monkeypatch.setattr(peers, "jobs", lambda mode: jobs)
    monkeypatch.delenv("LAPWING_DATA", raising=False)
    assert peers_command(["--out", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert "not run: no uspst.npz" in printed.out
    folder = tmp_path / "peers-quick"
    assert (folder / "peers.png").read_bytes().startswith(b"\x89PNG")
    text = (folder / "report.md").read_text(encoding="utf-8")
    assert "## digits" in text
    assert "| 1 | SVC | missing |" in text
    cells = json.loads((folder / "report.json").read_text(encoding="utf-8"))["cells"]
    done = [cell for cell in cells if cell["status"] == "done"]
    assert len(done) == 2
    assert all(len(cell["values"]["new rows"]) == 1 for cell in done)
