"""A few hundred mutated files: an error of ours or a well-defined answer, in limited memory."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fuzz_files
from file_cases.mutations import check_error, mutated_bytes
from lapwing.tables import read_table

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(("name", "count"), [("csv", 300), ("model", 200)])
def test_mutated_files(name, count):
    command = [sys.executable, str(ROOT / "benchmarks" / "fuzz_files.py"), "--only", name]
    command += ["--count", str(count), "--seed", "19"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{name}: {count} cases" in done.stdout
    assert "refused" in done.stdout
    assert "the same answer" in done.stdout


def test_findings_are_reported_with_their_case():
    class Files:
        def __init__(self, folder):
            pass

        def write(self, rng):
            return rng.random()

        def run(self, case):
            if case < 0.5:
                raise IndexError("too far")
            return "fine"

    shown = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fuzz_files, "FILES", {"csv": Files})
        n_findings = fuzz_files.run(40, seed=3, show=shown.append)
    assert 0 < n_findings < 40
    assert len(shown) == n_findings + 1
    assert "IndexError" in shown[0]
    assert f"{n_findings} FINDING" in shown[-1]
    number = int(shown[0].split("case ")[1].split(":")[0])
    assert isinstance(fuzz_files.try_case(Files(None), (3, 0, number))[1], IndexError)


def test_which_errors_are_ours(tmp_path):
    (tmp_path / "t.csv").write_text("")
    with pytest.raises(ValueError, match="is empty") as ours:
        read_table(tmp_path / "t.csv")
    check_error(ours.value)
    with pytest.raises(ValueError, match="could not convert") as other:
        np.array(["a"]).astype(float)
    with pytest.raises(ValueError, match="could not convert"):
        check_error(other.value)


def test_bytes_are_mutated():
    content = bytes(range(200))
    found = {mutated_bytes(np.random.default_rng(seed), content) for seed in range(30)}
    assert len(found) > 25
    assert mutated_bytes(np.random.default_rng(0), b"") == b""
