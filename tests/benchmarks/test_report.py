"""The comparison of published results with ours, and the report."""

import json

import numpy as np
import pytest

from experiments import MODES, PAPERS, Job, Outcome, find_papers
from experiments.papers import jobs_of
from experiments.published import (
    PublishedResult,
    parameters,
    published_results,
    reason,
    reasons,
)
from experiments.report import _difference, compare, score, write


def published(quantity="error", mean=10.0, sd=2.0, repeats=4):
    return PublishedResult("1", "row", "method", quantity, mean, sd, repeats)


def test_difference_is_in_standard_errors_of_the_difference():
    # √(2²/4 + 3²/9) = √2
    assert _difference(published(), 12.0, 3.0, 9) == pytest.approx(2.0 / np.sqrt(2.0))


def test_less_accuracy_is_worse_and_less_error_better():
    assert _difference(published("accuracy"), 8.0, 2.0, 4) > 0
    assert _difference(published("error"), 8.0, 2.0, 4) < 0


def test_one_repeat_uses_the_deviation_of_the_paper():
    assert _difference(published(), 12.0, None, 1) == pytest.approx(2.0 / np.sqrt(1.0 + 4.0))


def test_two_repeats_use_it_as_well():
    assert _difference(published(), 12.0, 0.1, 2) == pytest.approx(2.0 / np.sqrt(1.0 + 2.0))


def test_repeats_that_the_paper_does_not_give_are_ours():
    assert _difference(published(repeats=None), 12.0, 2.0, 4) == pytest.approx(2.0 / np.sqrt(2.0))


@pytest.mark.parametrize(("mean", "expected"), [(10.0, 0.0), (11.0, 100.0), (9.0, -100.0)])
def test_without_any_deviation(mean, expected):
    assert _difference(published(sd=None), mean, 0.0, 3) == expected


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_published_results_are_complete(paper):
    found = published_results(paper.name)
    keys = [(f.table, f.row, f.method, f.quantity) for f in found]
    assert len(set(keys)) == len(keys)
    assert {f.table for f in found} == set(paper.tables)
    for f in found:
        assert f.sd is None or f.sd >= 0
        if f.judged:
            assert 0 <= f.mean <= 100


@pytest.mark.parametrize(
    ("paper", "key", "mean", "sd"),
    [
        ("melacci2011", ("4", "USPST(B)", "LapSVM Newton", "U"), 8.72, 2.15),
        ("melacci2011", ("7", "MNIST3VS8", "PCG stability", "T"), 1.93, 0.2),
        ("melacci2011", ("3", "COIL20", "PCG mixed", "seconds"), 3.487, 1.734),
        ("chen2012", ("II", "COIL2", "LapERLS", "error"), 30.93, 8.04),
        ("chen2012", ("III", "MNIST1", "AnchorGraphReg(5000)", "error"), 9.37, 1.15),
        ("chen2012", ("IV", "extended USPS", "LapESVR", "error on new rows"), 0.31, 0.64),
        ("gieseke2013", ("2", "M(1,7) 20", "QN-S3VM", "error"), 2.8, 1.2),
        ("wang2006", ("1", "8/9 16", "LapSVM path", "accuracy"), 95.7, 3.4),
        ("zhang2009", ("1", "SATIMAGE", "PVM(1)", "error"), 14.97, 0.5),
    ],
)
def test_some_results_are_as_printed(paper, key, mean, sd):
    [found] = [f for f in published_results(paper) if (f.table, f.row, f.method, f.quantity) == key]
    assert (found.mean, found.sd) == (mean, sd)


def test_weights_of_the_paper():
    assert parameters("melacci2011")["USPST(B)", "LapSVM Newton"] == [1e-6, 1e-2]
    assert parameters("melacci2011")["COIL20(B)", "PCG validation"] == [1.0, 100.0]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_jobs_have_names_and_settings_of_their_own(paper, mode):
    jobs = paper.jobs(mode)
    assert len({job.key for job in jobs}) == len(jobs)
    assert len({(job.row, job.method) for job in jobs}) == len(jobs)
    for job in jobs:
        assert job.paper == paper.name
        json.dumps(job.settings)
    drawn = {job.method for job in jobs if job.method.startswith("figure")}
    assert drawn <= set(paper.plots)


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_full_mode_runs_every_judged_result_whose_data_are_available(paper):
    keys = {(job.row, job.method) for job in paper.jobs("full")}
    absent = {
        f.row for f in published_results(paper.name) if (f.row, f.method) not in keys and f.judged
    }
    assert all(row.startswith(paper.lost) for row in absent), absent
    assert {job.method for job in paper.jobs("full")} >= set(paper.plots)


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_every_table_is_in_the_quick_mode(paper):
    keys = {(job.row, job.method) for job in paper.jobs("quick")}
    run = {f.table for f in published_results(paper.name) if (f.row, f.method) in keys}
    assert run == set(paper.tables)


def test_papers_and_tables_by_name():
    assert [paper.number for paper in find_papers(None)] == ["000", "001", "002", "003", "004"]
    assert find_papers(["003"]) == find_papers(["wang2006"])
    jobs = jobs_of(find_papers(["000"]), "standard", "8")
    assert {job.row for job in jobs} == {"PCMAC"}
    assert len(jobs) == 4
    with pytest.raises(ValueError, match="no paper '7'"):
        find_papers(["7"])
    with pytest.raises(ValueError, match="no table 'IX'"):
        jobs_of(find_papers(["001"]), "quick", "IX")


def nothing(data):
    return Outcome()


def test_report(tmp_path):
    [paper] = find_papers(["wang2006"])
    jobs = [Job("wang2006", row, "LapSVM path", nothing) for row in ("2/3 2", "2/3 32", "5/6 2")]
    jobs.append(Job("wang2006", "two moons", "figure 2", nothing))
    curves = {
        "lambda": [0.1, 1.0],
        **{share: {"2": [90.0, 80.0]} for share in ("70%", "50%", "30%")},
    }
    done = {"status": "done", "seconds": 2.0, "memory": 100.0, "date": "2026-01-01", "curves": {}}
    records = {
        jobs[0].key: done
        | {
            "values": {"accuracy": [59.0, 58.0], "extra": [1.0]},
            "remark": "selected by the errors shown",
        },
        jobs[1].key: done | {"values": {"accuracy": [90.0, 91.0]}},
        jobs[2].key: {"status": "missing", "message": "no usps11000.npz"},
        jobs[3].key: done | {"values": {}, "curves": curves},
    }
    page, comparisons = write(tmp_path / "out", "quick", [paper], jobs, records)
    assert [c.verdict for c in comparisons[:6]] == [
        "same",
        "not run",
        "not run",
        "not run",
        "worse",
        "missing",
    ]
    assert score(comparisons) == (1, 2)
    assert score(comparisons, min_repeats=3) == (0, 0)
    text = page.read_text(encoding="utf-8")
    assert "1 of 2 results (50%)" in text
    assert "| 2/3 2 | LapSVM path | accuracy | 58.4 ± 16 | 58.5 ± 0.71 | 2 |" in text
    assert "selected by the errors shown" in text  # the remark of the job
    assert "| 2/3 2 | LapSVM path | extra | 1 | 1 |" in text
    assert "unit length" in text  # the protocol of the paper
    assert "no usps11000.npz" in text
    document = json.loads((page.parent / "report.json").read_text(encoding="utf-8"))
    assert len(document["cells"]) == 15
    assert document["beside"][0]["quantity"] == "extra"
    plot = page.parent / "wang2006-figure-2-two-moons.png"
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert plot.name in text


def test_a_result_without_outcome_of_its_quantity(tmp_path):
    [paper] = find_papers(["wang2006"])
    job = Job("wang2006", "2/3 2", "LapSVM path", nothing)
    first, *others = compare(paper, [job], {job.key: {"status": "done", "values": {}}})
    assert first.verdict == "not measured"
    assert first.difference is None
    assert {(c.verdict, c.reason) for c in others} == {("not run", "not in this mode")}


def test_a_result_in_two_tables_counts_once():
    [paper] = find_papers(["000"])
    job = Job("melacci2011", "G50C", "LapSVM Newton", nothing)
    record = {"status": "done", "values": {"U": [6.0, 6.1, 6.2]}}
    comparisons = compare(paper, [job], {job.key: record})
    judged = [c for c in comparisons if c.difference is not None]
    assert {c.table for c in judged} == {"4", "7"}
    assert score(comparisons) == (1, 1)
    assert {c.table for c in compare(paper, [job], {job.key: record}, "7")} == {"7"}


def test_data_sets_that_are_not_available_are_listed():
    [paper] = find_papers(["002"])
    lost = [c for c in compare(paper, [], {}) if c.row.startswith("real-sim")]
    assert lost
    assert {c.verdict for c in lost} == {"missing"}
    assert {c.reason for c in lost} == {"the data set is not available"}


def test_without_matplotlib_there_is_a_report_without_plots(tmp_path, monkeypatch):
    monkeypatch.setattr("experiments.report.can_draw", lambda: False)
    [paper] = find_papers(["wang2006"])
    job = Job("wang2006", "two moons", "figure 2", nothing)
    record = {"status": "done", "values": {}, "curves": {"lambda": []}}
    page, _ = write(tmp_path, "quick", [paper], [job], {job.key: record})
    assert page.exists()
    assert not list(tmp_path.glob("*.png"))


def test_reasons_are_of_known_rows_and_methods():
    papers = {paper.name: paper for paper in PAPERS}
    for name, row, method in reasons():
        jobs = papers[name].jobs("full")
        assert row == "*" or row in {job.row for job in jobs}, row
        assert method == "*" or method in {job.method for job in jobs}, method
    assert reason("wang2006", "no such row", "none") == "not understood"
