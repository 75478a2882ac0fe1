"""Text files as another thread reads them."""

import subprocess
import sys
import threading
import time

import pytest

from lapwing.arrays.text_source import TextSource


def test_a_closed_file_has_ended_for_the_thread_that_reads_it(tmp_path):
    """Otherwise the thread is still at it when the process ends, which then waits forever."""
    path = tmp_path / "a.csv"
    path.write_bytes(b"1,2\n" * 1000)
    source, begun, read = TextSource(path, "utf-8"), threading.Event(), []

    def read_ahead():
        while data := source.read(4):
            read.append(data)
            begun.set()

    thread = threading.Thread(target=read_ahead)
    source.read(4)
    thread.start()
    begun.wait()
    source.close()
    thread.join(timeout=10)
    assert not thread.is_alive()
    assert set(read) == {b"1,2\n"}
    assert source.read(4) == b""


def test_close_waits_until_the_thread_that_reads_has_given_up(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"1,2\n" * 1000)
    source, begun, go_on, read = TextSource(path, "utf-8"), threading.Event(), threading.Event(), []
    handles = [source.handle()]

    def read_ahead():
        handle = handles.pop()
        read.append(handle.read(4))
        begun.set()
        go_on.wait()
        time.sleep(0.2)  # other processes keep all cores busy
        read.append(handle.read(4))

    thread = threading.Thread(target=read_ahead)
    thread.start()
    begun.wait()
    go_on.set()
    source.close()
    assert read == [b"1,2\n", b""]
    thread.join()


def test_close_does_not_wait_after_an_error(tmp_path):
    """The error refers to the file by its traceback, and nobody reads it any more."""
    path = tmp_path / "a.csv"
    path.write_bytes(b"1,\0\n")
    source = TextSource(path, "utf-8")
    with pytest.raises(ValueError, match="NUL") as caught:
        source.handle().read(4)
    started = time.perf_counter()
    source.close()
    assert time.perf_counter() - started < 1
    assert caught.value.__traceback__ is not None


_ENDS_EARLY = """
import sys, time
from pathlib import Path
from lapwing.arrays.text_files import open_text_file
from lapwing.arrays.text_source import TextSource

plain = TextSource._read
TextSource._read = lambda source, size: time.sleep(0.01) or plain(source, size)
batches = open_text_file(Path(sys.argv[1])).batches(["a", "b"])
next(batches)
"""


@pytest.mark.parametrize("end", ["", "sys.exit(3)", "1 / 0"])
def test_a_process_ends_while_a_file_is_read(end, tmp_path):
    """It would be aborted, or wait forever, while the thread of pyarrow is still at it."""
    pytest.importorskip("pyarrow")
    path = tmp_path / "a.csv"
    path.write_bytes(b"a,b\n" + b"1,2\n" * 2_000_000)
    command = [sys.executable, "-c", _ENDS_EARLY + end, path]
    found = subprocess.run(command, timeout=60, check=False)
    assert found.returncode == {"": 0, "sys.exit(3)": 3, "1 / 0": 1}[end]


def test_close_waits_for_a_read(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_bytes(b"1,2\n")
    source, inside, go_on = TextSource(path, "utf-8"), threading.Event(), threading.Event()

    class Slow:
        def read(self, size):
            inside.set()
            go_on.wait()
            return b"3"

        def close(self):
            assert go_on.is_set()

    monkeypatch.setattr(source, "_file", Slow())
    reading = threading.Thread(target=source.read)
    closing = threading.Thread(target=source.close)
    reading.start()
    inside.wait()
    closing.start()
    assert not source.closed
    go_on.set()
    closing.join()
    assert source.closed
    reading.join()
