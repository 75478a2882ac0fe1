"""The commands behind `make papers` and `make peers`, as scripts and as functions."""

import subprocess
import sys
from pathlib import Path

import pytest

from experiments import find_papers
from experiments.command import papers_command, peers_command
from experiments.papers import jobs_of

ROOT = Path(__file__).resolve().parents[2]


def run_script(name, *arguments, cwd):
    command = [sys.executable, str(ROOT / "benchmarks" / name), *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_script_runs_jobs_in_processes_and_writes_the_report(tmp_path):
    """Without data files the figures of one paper remain; the other jobs are listed as not run."""
    done = run_script("papers.py", "--paper", "003", "--data", ".", "--jobs", 2, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "not run: no usps11000.npz" in done.stdout
    folder = tmp_path / "results" / "papers-quick-003"
    assert (folder / "report.md").is_file()
    assert len(list(folder.glob("*.png"))) == 3
    assert len((tmp_path / "results" / "papers-quick.jsonl").read_text().splitlines()) == 3


def test_script_of_peers_explains_its_options(tmp_path):
    done = run_script("peers.py", "--help", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for option in ("--task", "--first-draw", "--mode", "--jobs", "--data", "--out"):
        assert option in done.stdout


def test_list_runs_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert papers_command(["--list", "--paper", "000", "--table", "8", "--mode", "standard"]) == 0
    jobs = jobs_of(find_papers(["000"]), "standard", "8")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(jobs)
    assert all(line.startswith(job.title) for line, job in zip(lines, jobs, strict=True))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("command", "arguments", "message"),
    [
        (papers_command, ["--paper", "7"], "no paper '7'"),
        (papers_command, [], "--data FOLDER"),
        (papers_command, ["--data", "no such folder"], "no such folder"),
        (peers_command, ["--jobs", "0"], "--jobs must be at least 1"),
        (peers_command, ["--first-draw", "-1"], "--first-draw must be at least 0"),
    ],
)
def test_errors_are_one_line_on_standard_error(
    command, arguments, message, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LAPWING_DATA", raising=False)
    assert command(arguments) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert message in line
    assert not list(tmp_path.iterdir())
