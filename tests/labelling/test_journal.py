"""The journal: an entry is on disk before it is acknowledged, and no accident costs more."""

import errno
import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.labelling import journal as journals
from lapwing.labelling.journal import Journal

ABOUT = {"rows": 3, "target": "tree"}
ENTRIES = [
    {"do": "answer", "row": 1, "label": "ash"},
    {"do": "answer", "row": 2, "label": "Vogelbeere – 花楸 🌳\u2028\x85\r\n\x00"},
    {"do": "undo", "entry": 0},
]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "rows.csv.journal"


def written(path, entries=ENTRIES, about=ABOUT):
    """Write a journal and return its bytes."""
    journal = Journal(path, about)
    for entry in entries:
        journal.append(entry)
    journal.close()
    return path.read_bytes()


def read(path, about=ABOUT):
    """Return the entries of a journal."""
    journal = Journal(path, about)
    journal.close()
    return journal.entries


# ---------------------------------------------------------------- what is on disk


def test_entries_are_read_as_they_were_written(path):
    data = written(path)
    assert read(path) == ENTRIES
    assert path.read_bytes() == data  # reading changes nothing
    assert len(data.splitlines()) == 1 + len(ENTRIES)  # an entry is a line, whatever its label


def test_old_lines_stay_as_they_are(path):
    before = written(path, ENTRIES[:1])
    after = written(path, ENTRIES[1:])
    assert after.startswith(before)
    assert read(path) == ENTRIES


@pytest.mark.skipif(os.name != "posix", reason="other systems have other rights")
def test_only_the_user_may_read_it(path):
    old = os.umask(0)
    try:
        written(path)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_entry_is_on_disk_when_append_returns(path, monkeypatch):
    calls = []
    for name in ("write", "fsync"):
        real = getattr(os, name)
        monkeypatch.setattr(
            os, name, lambda *a, name=name, real=real: (calls.append((name, a[0])), real(*a))[1]
        )
    journal = Journal(path, ABOUT)
    for entry in ENTRIES:
        calls.clear()
        journal.append(entry)
        assert [name for name, _ in calls] == ["write", "fsync"]
        assert calls[0][1] == calls[1][1]  # the same file
        assert json.loads(path.read_bytes().splitlines()[-1]) == entry
    journal.close()


def test_the_name_of_a_new_file_is_made_lasting_too(path, monkeypatch):
    folders = []
    real = os.fsync

    def note(file):
        folders.append(stat.S_ISDIR(os.fstat(file).st_mode))
        real(file)

    monkeypatch.setattr(os, "fsync", note)
    Journal(path, ABOUT).close()
    assert folders == [False, True]


def test_a_system_that_writes_little_at_a_time(path, monkeypatch):
    real = os.write
    monkeypatch.setattr(os, "write", lambda file, data: real(file, data[:3]))
    written(path)
    assert read(path) == ENTRIES


# ---------------------------------------------------------------- accidents


def test_a_file_cut_off_anywhere_loses_at_most_one_entry(path):
    data = written(path)
    ends = [i + 1 for i, byte in enumerate(data) if byte == ord("\n")]
    for length in range(len(data) + 1):
        path.write_bytes(data[:length])
        whole = max(sum(end <= length for end in ends) - 1, 0)
        journal = Journal(path, ABOUT)
        assert journal.entries == ENTRIES[:whole], length
        journal.append(ENTRIES[0])
        journal.close()
        assert read(path) == [*ENTRIES[:whole], ENTRIES[0]], length


scalars = st.none() | st.booleans() | st.integers() | st.text()
entry_lists = st.lists(
    st.dictionaries(st.text(), scalars | st.dictionaries(st.text(), scalars), min_size=1),
    max_size=5,
)


@settings(max_examples=60)
@given(entries=entry_lists, more=entry_lists, data=st.data())
def test_a_journal_killed_at_any_byte_goes_on_with_a_prefix(entries, more, data):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "journal"
        every = written(path, entries)
        length = data.draw(st.integers(0, len(every)), label="length")
        path.write_bytes(every[:length])
        kept = read(path)
        assert kept == entries[: len(kept)]
        # All entries whose last byte is there are there.
        assert len(kept) == max(every[:length].count(b"\n") - 1, 0)
        written(path, more)
        assert read(path) == kept + more


@pytest.mark.parametrize("whole_calls", [0, 1], ids=["a part", "all but a part"])
def test_a_full_disk_leaves_no_part_of_a_line(path, monkeypatch, whole_calls):
    journal = Journal(path, ABOUT)
    journal.append(ENTRIES[0])
    before, real, calls = path.read_bytes(), os.write, []

    def write(file, data):
        calls.append(data)
        if len(calls) > whole_calls + 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(file, data[:5])

    with monkeypatch.context() as full:
        full.setattr(os, "write", write)
        with pytest.raises(OSError, match="make room, then answer again") as caught:
            journal.append(ENTRIES[1])
    assert len(calls) == whole_calls + 2  # something was written before it failed
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename == str(path)
    assert path.read_bytes() == before
    assert journal.entries == ENTRIES[:1]
    journal.append(ENTRIES[1])
    journal.close()
    assert read(path) == ENTRIES[:2]


def test_half_an_entry_that_stays_is_removed_before_the_next(path, monkeypatch):
    journal, real = Journal(path, ABOUT), os.write

    def write(file, data):
        real(file, data[:5])
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    def truncate(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as broken:
        broken.setattr(os, "write", write)
        broken.setattr(os, "ftruncate", truncate)
        with pytest.raises(OSError, match="could not be written"):
            journal.append(ENTRIES[0])
    journal.append(ENTRIES[1])
    journal.close()
    assert read(path) == [ENTRIES[1]]


def test_what_another_program_appends_where_there_are_no_locks_stays(path, monkeypatch):
    monkeypatch.setattr(journals, "fcntl", None)
    first, second = Journal(path, ABOUT), Journal(path, ABOUT)
    first.append(ENTRIES[0])
    second.append(ENTRIES[1])
    first.append(ENTRIES[2])
    first.close()
    second.close()
    assert read(path) == ENTRIES


def test_an_entry_that_may_not_be_on_disk_is_not_acknowledged(path, monkeypatch):
    journal = Journal(path, ABOUT)
    before = path.read_bytes()

    def fsync(_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", fsync)
        with pytest.raises(OSError, match="could not be written"):
            journal.append(ENTRIES[0])
    assert path.read_bytes() == before
    assert journal.entries == []
    journal.close()


def test_what_json_has_no_word_for_is_not_written(path):
    journal = Journal(path, ABOUT)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="not JSON compliant"):
        journal.append({"do": "answer", "row": float("nan")})
    with pytest.raises(UnicodeEncodeError):
        journal.append({"do": "answer", "label": "\ud800"})
    assert path.read_bytes() == before
    assert journal.entries == []
    journal.close()


APPENDS = """
import sys
from lapwing.labelling import journal as journals
from lapwing.labelling.journal import Journal
journal = Journal(sys.argv[1], {"rows": 3, "target": "tree"})
number = len(journal.entries)
while True:
    journal.append({"do": "answer", "row": number, "label": "x" * (number % 300)})
    print(number, flush=True)
    number += 1
"""


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_a_process_killed_while_it_appends_loses_nothing_acknowledged(path):
    for _ in range(3):
        command = [sys.executable, "-c", APPENDS, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            for _ in range(20):
                process.stdout.readline()
            process.send_signal(signal.SIGKILL)
            acknowledged = [int(line) for line in process.stdout.read().split() if line]
        assert process.returncode == -signal.SIGKILL
        entries = read(path)
        assert [entry["row"] for entry in entries] == list(range(len(entries)))
        assert all(len(entry["label"]) == entry["row"] % 300 for entry in entries)
        assert len(entries) > max(acknowledged, default=19)


# ---------------------------------------------------------------- what is refused


@pytest.mark.skipif(os.name != "posix", reason="Windows has no flock")
def test_one_process_at_a_time(path):
    journal = Journal(path, ABOUT)
    with pytest.raises(ValueError, match=r"rows\.csv\.journal is in use: another `lapwing label`"):
        Journal(path, ABOUT)
    journal.append(ENTRIES[0])  # the refused one has not touched it
    journal.close()
    assert read(path) == ENTRIES[:1]


def test_a_file_system_without_locks_will_do(path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def flock(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", flock)
    written(path)
    assert read(path) == ENTRIES


@pytest.mark.parametrize("line", [2, 3, 4])
@pytest.mark.parametrize("content", [b"", b"[1]", b"{", b'"answer"', b"\xff\xfe", b"null"])
def test_a_damaged_line_is_refused_with_its_number(path, line, content):
    lines = written(path).splitlines()
    lines[line - 1] = content
    data = b"".join(one + b"\n" for one in lines)
    path.write_bytes(data)
    with pytest.raises(ValueError, match=rf"rows\.csv\.journal .* damaged \(line {line}\)"):
        Journal(path, ABOUT)
    assert path.read_bytes() == data


@pytest.mark.parametrize(
    "data",
    [
        b"id,label\n1,ash\n",
        b"id,label",
        b"id,label\n1,ash\n2,elm",
        b'{"a": 1}\n',
        b'{"kind": "dog", "legs": 4}\n',
        b'{"kind": "dog", "legs": 4}',
        b"\n",
        b"\x80\x04\n",
    ],
)
def test_a_file_of_somebody_else_is_refused_and_kept(path, data):
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"not a journal of `lapwing label`.*\(line 1\)"):
        Journal(path, ABOUT)
    assert path.read_bytes() == data


def test_another_layout_is_refused(path):
    data = written(path).replace(b'"layout": 1', b'"layout": 2')
    path.write_bytes(data)
    with pytest.raises(ValueError, match="written by another version of Lapwing"):
        Journal(path, ABOUT)
    assert path.read_bytes() == data


def test_answers_for_other_rows_are_refused(path):
    data = written(path)
    for about in ({"rows": 4, "target": "tree"}, {"rows": 3}, {**ABOUT, "checksum": "0"}):
        with pytest.raises(ValueError, match="has answers for other rows"):
            Journal(path, about)
    assert path.read_bytes() == data


def test_rows_that_the_caller_recognises_are_not_refused(path):
    data = written(path)
    seen = []
    journal = Journal(path, {"rows": 4}, lambda found: seen.append(found) or True)
    journal.close()
    assert seen == [ABOUT]
    assert journal.about == ABOUT
    assert journal.entries == ENTRIES
    assert path.read_bytes() == data


def test_facts_are_compared_as_json_has_them(path):
    about = {"shape": (3, 2)}
    written(path, about=about)
    assert read(path, about) == ENTRIES


def test_a_refused_file_can_be_opened_again_at_once(path):
    data = written(path)
    path.write_bytes(data + b"[]\n")
    with pytest.raises(ValueError, match="line 5"):
        Journal(path, ABOUT)
    path.write_bytes(data)
    assert read(path) == ENTRIES  # the lock was given back


def test_nothing_is_appended_to_a_closed_journal(path):
    journal = Journal(path, ABOUT)
    journal.close()
    journal.close()
    before = path.read_bytes()
    with pytest.raises(ValueError, match="closed"):
        journal.append(ENTRIES[0])
    assert path.read_bytes() == before


def test_a_folder_that_does_not_exist(tmp_path):
    with pytest.raises(FileNotFoundError):
        Journal(tmp_path / "none" / "journal", ABOUT)
