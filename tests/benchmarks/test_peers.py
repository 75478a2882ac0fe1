"""The comparison with peers, on data sets that need no data folder."""

import json
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from sklearn.semi_supervised import LabelPropagation, LabelSpreading

from experiments import Store, peers, peers_quantities, peers_report
from experiments.command import peers_command
from experiments.data import DataFolder, few_labels
from experiments.peers_scores import accuracy, balanced_accuracy
from experiments.peers_task import ALONE, OURS
from lapwing import SemiSupervisedClassifier


@pytest.fixture(scope="module")
def digits():
    return peers.data_set(DataFolder(None), "digits", 400)


@pytest.mark.parametrize("per_class", [1, 3])
@pytest.mark.parametrize("method", [m for m in peers.METHODS if m != "graphlearning"])
def test_methods_learn(method, per_class, digits):
    X, y = digits
    marks = few_labels(y, per_class, np.random.default_rng(0))
    on_train, on_new = peers.METHODS[method](X, marks, per_class)
    for answers in (on_train(), on_new(X)):
        assert accuracy(answers.classes, y) > 40.0
        if method == "SVC":
            assert answers.probabilities is None
        else:
            np.testing.assert_allclose(answers.probabilities.sum(axis=1), 1.0, rtol=1e-9)


def test_answers_of_lapwing_are_those_of_the_model(digits):
    X, y = digits
    marks = few_labels(y, 2, np.random.default_rng(0))
    on_train, on_new = peers.METHODS[OURS](X[:300], marks[:300], 2)
    model = SemiSupervisedClassifier().fit(X[:300], marks[:300])
    np.testing.assert_array_equal(on_train().classes, model.transduction_)
    np.testing.assert_array_equal(on_train().probabilities, model.label_distributions_)
    np.testing.assert_array_equal(on_new(X[300:]).classes, model.predict(X[300:]))
    np.testing.assert_array_equal(on_new(X[300:]).probabilities, model.predict_proba(X[300:]))


@pytest.fixture(scope="module")
def unreached():
    """Three clusters with one label each, and a fourth, far away, that no label reaches."""
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [0.0, 3.0], [3.0, 0.0], [90.0, 90.0]])
    X = np.repeat(centres, [20, 20, 20, 40], axis=0) + 0.8 * rng.standard_normal((100, 2))
    y = np.repeat([0, 1, 2, 0], [20, 20, 20, 40])
    marks = np.full(100, -1)
    marks[[0, 20, 40]] = [0, 1, 2]
    return X, y, marks


@pytest.mark.parametrize(
    ("method", "model"),
    [
        ("LabelSpreading", LabelSpreading(kernel="knn", max_iter=200)),
        ("LabelPropagation", LabelPropagation(kernel="knn", max_iter=1000)),
    ],
)
def test_graph_methods_are_averaged_over_class_orders(method, model, unreached):
    """The reference fits with the classes in each of the six orders."""
    X, y, marks = unreached
    on_train, on_new = peers.METHODS[method](X, marks, 1)
    fits = []
    for order in permutations(range(3)):
        code = np.array([*order, -1])  # -1 stays -1
        model.fit(X, code[marks])
        with np.errstate(invalid="ignore"):
            right = [model.transduction_ == code[y], model.predict(X) == code[y]]
        fits.append([100.0 * np.mean(found) for found in right])
    found = [accuracy(answers.classes, y) for answers in (on_train(), on_new(X))]
    np.testing.assert_allclose(found, np.mean(fits, axis=0), rtol=1e-12)
    assert np.ptp(fits, axis=0).max() > 30.0  # the order matters to a single fit


@pytest.mark.parametrize("method", ["LabelSpreading", "LabelPropagation"])
def test_renaming_classes_changes_nothing(method, unreached):
    X, y, marks = unreached
    scores = []
    for order in permutations(range(3)):
        code = np.array([*order, -1])
        on_train, on_new = peers.METHODS[method](X, code[marks], 1)
        answers = on_train().classes, on_new(X).classes
        scores.append([f(a, code[y]) for f in (accuracy, balanced_accuracy) for a in answers])
    np.testing.assert_allclose(scores, np.broadcast_to(scores[0], (6, 4)), rtol=1e-12)


@pytest.mark.parametrize(
    ("module", "name", "method", "labels"),
    [(peers, "digits", "LabelSpreading", 1), (peers_quantities, "wine", "Ridge", 10)],
)
def test_draws_are_those_of_their_seeds(module, name, method, labels):
    def values(*seeds):
        return module.measure(DataFolder(None), name, labels, method, seeds, 200).values

    many, few = values(5, 9), values(7, 9)
    assert many.keys() == few.keys()
    for key in many.keys() - {"seconds"}:
        assert many[key][2:] == few[key]
        assert len(set(many[key])) > 1


@pytest.mark.parametrize("module", [peers, peers_quantities])
def test_keys_of_jobs_contain_the_draws(module):
    keys = [{job.key for job in module.jobs("standard", first)} for first in (0, 1, 10)]
    assert len(keys[0]) == len(module.jobs("standard"))
    assert len(set.union(*keys)) == 3 * len(keys[0])


def test_few_labels_have_the_same_number_of_each_class(digits):
    _, y = digits
    marks = few_labels(y, 2, np.random.default_rng(0))
    assert np.all((marks == -1) | (marks == y))
    assert np.sum(marks != -1) == 20
    assert set(np.unique(marks[marks != -1])) == set(range(10))


def cell(method, values, name="unlabelled rows", field="labels a class"):
    return {"set": "s", field: 2, "method": method, "values": {name: values}}


def test_paired_comparisons():
    """On the same draws a steady lead is better, and a lead by chance is even."""
    task, measure = peers.TASK, peers.TASK.measures[0]
    steady, shaky, equal = [90.0, 80.0, 70.0], [95.0, 60.0, 85.0], [90.0, 80.0, 70.0]
    ours = [91.0, 81.1, 70.9]
    cells = [cell(OURS, ours), cell("A", steady), cell("B", shaky), cell("C", equal)]
    pairs = {p["method"]: p for p in peers_report.paired_comparisons(task, measure, cells)}
    assert pairs["A"]["verdict"] == pairs["C"]["verdict"] == "better"
    assert pairs["A"]["difference"] == pytest.approx(1.0)
    assert pairs["A"]["half"] == pytest.approx(4.303 * 0.1 / np.sqrt(3), rel=1e-3)
    assert pairs["B"]["verdict"] == "even"
    assert [pair["best"] for pair in pairs.values()] == [True, False, False]
    swapped = [cell("A", ours), cell(OURS, steady)]
    assert peers_report.paired_comparisons(task, measure, swapped)[0]["verdict"] == "worse"
    assert peers_report.paired_comparisons(task, measure, [cell("A", ours)]) == []


def test_each_measure_is_compared_by_its_own_values():
    task = peers.TASK
    plain, balanced = task.measures
    cells = [
        {**cell(m, v), "values": {plain.unlabelled: v, balanced.unlabelled: w}}
        for m, v, w in [(OURS, [90.0, 91.0], [50.0, 51.0]), ("A", [70.0, 71.0], [60.0, 61.1])]
    ]
    verdicts = [
        [pair["verdict"] for pair in peers_report.paired_comparisons(task, measure, cells)]
        for measure in task.measures
    ]
    assert verdicts == [["better"], ["worse"]]


def test_lower_errors_are_better():
    task = peers_quantities.TASK
    entries = [(OURS, [50.0, 40.1]), ("A", [60.0, 50.0]), ("B", [45.0, 35.0]), (ALONE, [9.0, 9.0])]
    cells = [cell(method, values, field="targets") for method, values in entries]
    pairs = peers_report.paired_comparisons(task, task.measures[0], cells)
    verdicts = {pair["method"]: (pair["verdict"], pair["best"]) for pair in pairs}
    assert verdicts == {"A": ("better", False), "B": ("worse", True), ALONE: ("even", False)}
    assert pairs[0]["difference"] == pytest.approx(-9.95)


@pytest.mark.parametrize(("sign", "no_worse"), [(1, "67 %"), (-1, "33 %")])
def test_pairs_are_counted_by_verdict_and_by_mean(sign, no_worse):
    measure = replace(peers.TASK.measures[0], sign=sign)
    found = [("even", 0.5, 1.0), ("better", 2.0, 1.0), ("even", -0.5, 1.0)]
    pairs = [
        {"set": "s", "labels a class": 2, "rows": rows, "method": "A", "best": True}
        | {"verdict": verdict, "difference": difference, "half": half}
        for (verdict, difference, half), rows in zip(found, "abc", strict=True)
    ]
    lines = list(peers_report.pair_tables(peers.TASK, measure, pairs))
    assert "| against | better | even | worse | mean at least as good |" in lines
    assert f"| the best other method in each cell | 1 | 2 | 0 | {no_worse} |" in lines
    assert f"| A | 1 | 2 | 0 | {no_worse} |" in lines


def two_methods(module):
    """Return `jobs` that lists SVC or Ridge and Lapwing only."""
    jobs = module.jobs

    def fewer(mode, first_draw):
        listed = jobs(mode, first_draw)
        return [job for job in listed if job.method in ("SVC", "Ridge", OURS)]

    return fewer


def read_report(folder):
    text = (folder / "report.md").read_text(encoding="utf-8")
    return text, json.loads((folder / "report.json").read_text(encoding="utf-8"))


def test_command_writes_reports_and_plots(tmp_path, monkeypatch, capsys):
    for module in (peers, peers_quantities):
        monkeypatch.setattr(module, "jobs", two_methods(module))
    monkeypatch.delenv("LAPWING_DATA", raising=False)
    assert peers_command(["--jobs", "2", "--out", str(tmp_path)]) == 0
    assert "not run: no uspst.npz" in capsys.readouterr().out
    for name in ("peers-quick", "peers-quantities-quick"):
        assert (tmp_path / name / "peers.png").read_bytes().startswith(b"\x89PNG")
    text, document = read_report(tmp_path / "peers-quick")
    assert "## digits" in text
    assert "## Better, even, worse by balanced accuracy" in text
    assert "Draws 0 to 1." in text
    assert "| 2 | SVC | missing |" in text
    done = [cell for cell in document["cells"] if cell["status"] == "done"]
    assert [cell["method"] for cell in done] == ["SVC", OURS]
    rows = {"unlabelled rows", "new rows", "seconds"}
    rows |= {"balanced, unlabelled rows", "balanced, new rows"}
    assert done[0]["values"].keys() == rows
    extra = {"calibration error", "answered", "answered and right"}
    assert done[1]["values"].keys() == rows | extra
    assert all(len(values) == 2 for cell in done for values in cell["values"].values())
    assert len(document["duels"]) == len(document["duels by balanced accuracy"]) == 2
    text, document = read_report(tmp_path / "peers-quantities-quick")
    assert "## Swiss roll" in text
    assert "## Probabilities" not in text
    assert {cell["targets"] for cell in document["cells"]} == {20}
    assert len(document["duels"]) == 4


def test_other_draws_have_jobs_and_a_report_of_their_own(tmp_path, monkeypatch):
    jobs = peers_quantities.jobs
    monkeypatch.setattr(peers_quantities, "jobs", lambda *arguments: jobs(*arguments)[:1])
    for first in ("0", "20", "20"):
        options = ["--task", "quantities", "--first-draw", first, "--out", str(tmp_path)]
        assert peers_command(options) == 0
    assert len(Store(tmp_path / "peers-quick.jsonl").read()) == 2
    assert not (tmp_path / "peers-quick").exists()
    values = []
    for name, draws in [("quick", [0, 1]), ("quick-from-20", [20, 21])]:
        text, document = read_report(tmp_path / f"peers-quantities-{name}")
        assert document["about"]["draws"] == draws
        assert f"Draws {draws[0]} to {draws[1]}." in text
        values.append(document["cells"][0]["values"]["new rows"])
    assert not set(values[0]) & set(values[1])


def test_probabilities_are_means_over_data_sets():
    """Rows that are answered weigh the same in every data set, however few there are."""
    names = "calibration error", "answered", "answered and right"
    cells = [
        {**cell(OURS, []), "set": name, "values": dict(zip(names, values, strict=True))}
        for name, values in [
            ("a", ([1.0, 3.0], [20.0, 40.0], [15.0, 39.0])),
            ("b", ([4.0], [0.0], [0.0])),
        ]
    ]
    lines = list(peers_report.probability_table(peers.TASK, cells))
    assert lines[-1] == f"| 2 | {OURS} | 3.0 | 15.0 | 90.0 |"
