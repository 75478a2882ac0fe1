"""Text files as another thread reads them."""

import threading

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
