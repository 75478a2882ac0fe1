"""The journal of a labelling session: an append-only file of answers, beside the table.

An entry is a line of JSON. It is on disk before the answer is acknowledged, so that a process that
is killed loses at most the answer in flight. Must not know what entries mean.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # on Windows two programs may open the same journal
    fcntl = None  # type: ignore[assignment]

#: What the first line says, and the layout of the entries.
_KIND, _LAYOUT = "lapwing labels", 1
_BINARY = getattr(os, "O_BINARY", 0)  # on Windows line ends stay as they are
_BEGINNING = f'{{"kind": "{_KIND}"'.encode()


class Journal:
    """A file of entries, to which one process at a time appends.

    Parameters
    ----------
    path : str or Path
        The file, in a folder that exists; it is created, or continued where it exists.
    about : dict
        What the entries are about, such as the number of rows: the first line of the file. A file
        that is about something else is refused, because its answers belong to other rows.
    agrees : callable, optional
        Returns whether a first line that differs from `about` is about the present rows, too.

    Attributes
    ----------
    path : Path
        The file.
    about : dict
        The first line of the file.
    entries : list of dict
        All entries, the oldest first.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> journal = Journal(Path(folder.name) / "rows.journal", {"rows": 3})
    >>> journal.append({"do": "answer", "row": 1, "label": "ash"})
    >>> journal.close()
    >>> Journal(journal.path, {"rows": 3}).entries
    [{'do': 'answer', 'row': 1, 'label': 'ash'}]
    """

    def __init__(
        self,
        path: str | Path,
        about: dict[str, Any],
        agrees: Callable[[dict[str, Any]], bool] = lambda found: False,
    ) -> None:
        self.path = Path(path)
        is_new = not self.path.exists()
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | _BINARY, 0o600)
        except OSError as error:
            raise OSError(
                error.errno,
                f"the file of the answers cannot be written ({error.strerror}): name another one, "
                "in a folder in which you may write, as the journal",
                str(self.path),
            ) from error
        try:
            self._lock()
            lines, self._end = self._whole_lines()
            if lines:
                self.about = self._first(lines[0])
                if self.about != json.loads(json.dumps(about)) and not agrees(self.about):
                    raise self.other_rows()
            self.entries = [self._entry(i, line) for i, line in enumerate(lines[1:], 2)]
            self._is_torn = True  # the last line may have no end
            self._cut()
            if not lines:
                self.about = dict(about)
                self._write({"kind": _KIND, "layout": _LAYOUT, **about})
            if is_new:
                _synchronise_folder(self.path.parent)
        except BaseException:
            os.close(self._file)
            raise

    def append(self, entry: dict[str, Any]) -> None:
        """Write an entry, and return when it is on disk."""
        self._write(entry)
        self.entries.append(entry)

    def close(self) -> None:
        """Give the file back; nothing can be appended then."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _write(self, entry: dict[str, Any]) -> None:
        if self._file < 0:
            raise ValueError("the journal is closed: start the session again")
        data = json.dumps(entry, ensure_ascii=False, allow_nan=False).encode() + b"\n"
        try:
            self._cut()
            self._end = os.fstat(self._file).st_size
            self._is_torn = True
            while data:
                data = data[os.write(self._file, data) :]
            os.fsync(self._file)
            self._is_torn = False
        except OSError as error:  # as where the disk is full
            with suppress(OSError):  # otherwise before the next entry
                self._cut()
            raise OSError(
                error.errno,
                f"the answer could not be written ({error.strerror}): make room, then answer again",
                str(self.path),
            ) from error

    def _cut(self) -> None:
        """Remove a line that was not written to its end."""
        if self._is_torn and os.fstat(self._file).st_size > self._end:
            os.ftruncate(self._file, self._end)
        self._is_torn = False

    def _lock(self) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ValueError(
                f"{self.path} is in use: another `lapwing label` is running for this table. Go on "
                "there, or end it first (in a notebook by close())"
            ) from error
        except OSError:  # a file system without locks
            return

    def _whole_lines(self) -> tuple[list[bytes], int]:
        """Return the lines of the file that have an end, and where the last one ends."""
        data = self.path.read_bytes()
        end = data.rfind(b"\n") + 1
        if not end and not (data.startswith(_BEGINNING) or _BEGINNING.startswith(data)):
            raise self._damaged(1)  # a file of somebody else, whose only line has no end
        return data[:end].splitlines(), end

    def other_rows(self) -> ValueError:
        """Return the error that refuses answers for other rows."""
        return ValueError(
            f"{self.path} has answers for other rows: the table has changed since, or the file "
            "belongs to another table. Restore the table, or name another file for the answers"
        )

    def _first(self, line: bytes) -> dict[str, Any]:
        found = self._entry(1, line)
        if found.pop("kind", None) != _KIND:
            raise self._damaged(1)
        if found.pop("layout", None) != _LAYOUT:
            raise ValueError(
                f"{self.path} was written by another version of Lapwing: use that version, or move "
                "the file away to begin anew"
            )
        return found

    def _entry(self, number: int, line: bytes) -> dict[str, Any]:
        try:
            entry = json.loads(line)
        except ValueError:
            raise self._damaged(number) from None
        if not isinstance(entry, dict):
            raise self._damaged(number)
        return entry

    def _damaged(self, number: int) -> ValueError:
        remedy = "" if number == 1 else 'replace that line by {"do": "none"}, or '
        return ValueError(
            f"{self.path} is not a journal of `lapwing label`, or is damaged (line {number}): "
            f"{remedy}move the file away to begin anew"
        )


def _synchronise_folder(folder: Path) -> None:
    """Make the name of a new file as lasting as its contents, where the system can."""
    try:
        number = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(number)
    except OSError:
        pass
    finally:
        os.close(number)
