"""Jobs run once, their records are stored, and a killed run continues where it was."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from experiments import Job, Store, run_jobs
from experiments.data import DataFolder
from helpers.runner_jobs import crash, doubled, fail, process_id

ROOT = Path(__file__).resolve().parents[2]


def job(name, work=doubled, files=(), **settings):
    return Job("none", name, "method", work, settings, files)


def run(jobs, folder, **options):
    return run_jobs(jobs, DataFolder(folder), Store(folder / "store.jsonl"), **options)


# Each job starts a process, which imports the library: that takes longer than all else here.


def test_each_job_runs_once_in_a_process_of_its_own(tmp_path):
    jobs = [job("a", number=1.0), job("b", process_id), job("c", process_id)]
    records = run(jobs, tmp_path, processes=2)
    values = [records[j.key]["values"] for j in jobs]
    assert values[0] == {"error": [2.0]}
    assert len({os.getpid(), *(v["process"][0] for v in values[1:])}) == 3
    assert records[jobs[0].key]["seconds"] >= 0
    assert records[jobs[0].key]["memory"] > 1
    lines = (tmp_path / "store.jsonl").read_bytes()
    again = run(jobs, tmp_path)
    assert again == records
    assert (tmp_path / "store.jsonl").read_bytes() == lines
    [record] = run([job("a", number=3.0)], tmp_path).values()  # other settings are another job
    assert record["values"] == {"error": [6.0]}


def test_a_failure_is_reported_and_tried_again(tmp_path):
    reported = []
    jobs = [job("bad", fail), job("worse", crash), job("good", number=1.0)]
    records = run(
        jobs, tmp_path, report=lambda j, record: reported.append((j.row, record["status"]))
    )
    assert dict(reported) == {"bad": "failed", "worse": "failed", "good": "done"}
    assert "ValueError: bad luck" in records[jobs[0].key]["message"]
    assert "exit code 3" in records[jobs[1].key]["message"]
    assert set(Store(tmp_path / "store.jsonl").read()) == {jobs[2].key}


def test_missing_files_are_reported_and_the_environment_is_restored(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    wanted = job("a", files=("iris.npz",), number=1.0)
    [record] = run([wanted], tmp_path).values()
    assert record["status"] == "missing"
    assert "iris.npz" in record["message"]
    (tmp_path / "iris.npz").touch()
    [record] = run([wanted], tmp_path).values()
    assert record["status"] == "done"
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "MKL_NUM_THREADS" not in os.environ


def test_a_store_that_cannot_be_written_is_an_error_before_anything_runs(tmp_path):
    (tmp_path / "store.jsonl").mkdir()
    reported = []
    with pytest.raises(OSError, match="store"):
        run([job("a", number=1.0)], tmp_path, report=lambda j, record: reported.append(j))
    assert not reported


def test_an_incomplete_line_is_skipped_and_does_not_spoil_the_next(tmp_path):
    store = Store(tmp_path / "store.jsonl")
    store.add({"key": "a", "values": {}})
    whole = store.path.read_bytes()
    for cut in range(1, len(whole)):
        store.path.write_bytes(whole + whole[:cut])
        store.add({"key": "b"})
        assert {"a", "b"} == set(store.read()), cut
    store.path.write_bytes(whole[:-5])
    assert store.read() == {}


SCRIPT = """
    from pathlib import Path
    from helpers.runner_jobs import slow
    from experiments import Job, Store, run_jobs
    from experiments.data import DataFolder

    if __name__ == "__main__":
        folder = Path({folder!r})
        jobs = [Job("none", str(k), "method", slow, {{"folder": str(folder), "number": k}})
                for k in range(4)]
        run_jobs(jobs, DataFolder(folder), Store(folder / "store.jsonl"))
"""


def test_a_killed_run_loses_only_the_running_job(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT.format(folder=str(tmp_path))))
    start = [sys.executable, str(script)]
    folders = [str(ROOT / "tests"), str(ROOT / "benchmarks"), os.environ.get("PYTHONPATH", "")]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(folders)}
    process = subprocess.Popen(start, env=env)
    store = Store(tmp_path / "store.jsonl")
    _wait_until(lambda: len(store.read()) >= 1 and len(_started(tmp_path)) > len(store.read()))
    process.send_signal(signal.SIGKILL)
    process.wait()
    time.sleep(1.0)  # the running job must not write any more
    stored = store.read()
    begun = _started(tmp_path)
    assert len(begun) - len(stored) <= 1
    running = begun[-1]
    _wait_until(lambda: not _alive(running["process"]))  # it ends with its parent
    subprocess.run(start, check=True, timeout=120, env=env)
    assert len(store.read()) == 4
    runs = [entry["number"] for entry in _started(tmp_path)]
    assert sorted(set(runs)) == list(range(4))
    again = [number for number in set(runs) if runs.count(number) > 1]
    assert len(again) <= 1
    assert len(runs) <= 5
    for record in stored.values():
        assert store.read()[record["key"]] == record


def _started(folder):
    log = folder / "started.jsonl"
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def _alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    # A zombie has ended, but its parent has not collected it yet.
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def _wait_until(done, seconds=90.0):
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, "timed out"
        time.sleep(0.05)
