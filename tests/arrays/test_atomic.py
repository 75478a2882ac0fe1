"""A file is complete or as it was before, also if the process is killed while it writes."""

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from lapwing.arrays.atomic import atomic_file, write_text

ROOT = Path(__file__).resolve().parents[2]


def names(folder):
    return sorted(item.name for item in folder.iterdir())


def test_a_file_is_replaced(tmp_path):
    path = tmp_path / "a.txt"
    write_text(path, "old")
    before = os.umask(0o027)
    try:
        write_text(path, "é\r\n")
    finally:
        os.umask(before)
    assert path.read_bytes() == "é\r\n".encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_leaves_the_old_file(tmp_path, error):
    path = tmp_path / "a.txt"
    write_text(path, "old")

    def write_half():
        with atomic_file(path) as file:
            file.write(b"half")
            assert len(names(tmp_path)) == 2
            raise error

    with pytest.raises(error):
        write_half()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


def test_the_temporary_file_is_in_the_same_folder_and_recognised(tmp_path):
    for name in ("predictions.csv", "n" * 255, "ü" * 120):
        with atomic_file(tmp_path / name) as file:
            file.write(b"x")
            [part] = names(tmp_path)
            assert part.startswith(name[:20])
            assert part.endswith(".part")
        assert names(tmp_path) == [name]
        (tmp_path / name).unlink()


def test_links_and_devices(tmp_path):
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    write_text(tmp_path / "link.txt", "new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"
    os.mkfifo(tmp_path / "pipe")
    found = []
    reader = threading.Thread(target=lambda: found.append((tmp_path / "pipe").read_text()))
    reader.start()
    write_text(tmp_path / "pipe", "through")
    reader.join(10)
    assert found == ["through"]
    write_text(os.devnull, "x")
    assert not Path(os.devnull).is_file()


def test_killed_processes_leave_the_old_file_or_the_new_one(tmp_path):
    """Killed in the middle of a file, and at random moments: see the helper."""
    program = [sys.executable, "-m", "helpers.killed_writers"]
    folders = [str(ROOT / name) for name in ("src", "benchmarks", "tests")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(folders)}
    done = subprocess.run(
        program, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    written = done.stdout.split()
    assert set(written) == {"save", "predict", "report", "suggest", "path", "papers"}
    kept = {"m", "p.csv", "r.html", "s.csv", "path.html", "report.md", "report.json", "t.csv"}
    left = set(names(tmp_path)) - kept
    assert left  # a process that is killed cannot tidy up
    assert all(name.endswith(".part") for name in left)
