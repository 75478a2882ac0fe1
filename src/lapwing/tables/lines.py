"""Lines of text files, in any encoding and compressed or not, within the memory limit.

A compressed file of a few kilobytes can contain a line of many gigabytes, so lines are read in
pieces. Must not know what a line contains.
"""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from .table import MemoryCheck

#: Characters that are read at once, and bytes that one of them may take until its row is stored, in
#: its line and in its cells.
_PIECE, _CHARACTER_BYTES = 1 << 20, 16


def open_text(path: Path, encoding: str) -> IO[str]:
    """Open a text file, compressed by gzip or not, and leave its line ends as they are."""
    if _is_utf8(encoding):
        encoding = "utf-8-sig"  # some programs write a mark of three bytes first
    return _open(path, "rt", encoding=encoding, newline="")


def check_encoding(encoding: str) -> None:
    """Raise a ValueError if there is no encoding of that name."""
    try:
        "".encode(encoding)
    except LookupError:
        raise ValueError(
            f"there is no encoding {encoding!r}: try 'utf-8', 'latin-1' or 'utf-16'"
        ) from None


class Lines(Iterator[str]):
    """The lines of an open text file; the reader sets `characters` to zero after each row.

    Parameters
    ----------
    file : text file
        The file.
    source : str
        Its name, for messages.
    check_memory : callable
        Raises a MemoryError if a row is too long.

    Attributes
    ----------
    characters : int
        Number of characters that were read since the last row.
    number : int
        Number of lines that were read.
    """

    def __init__(self, file: IO[str], source: str, check_memory: MemoryCheck) -> None:
        self._file, self._source, self._check_memory = file, source, check_memory
        self.characters = self.number = 0

    def __next__(self) -> str:
        """Return the next line.

        Raises
        ------
        ValueError
            If it contains a NUL character.
        MemoryError
            If the lines of the row need more memory than the limit.
        """
        pieces: list[str] = []
        while piece := self._file.readline(_PIECE):
            pieces.append(piece)
            self.characters += len(piece)
            self._check_memory(0, 0, _CHARACTER_BYTES * self.characters)
            if len(piece) < _PIECE or piece[-1] in "\r\n":
                break
        if not pieces:
            raise StopIteration
        self.number += 1
        line = "".join(pieces)
        if "\0" in line:
            raise ValueError(
                f"line {self.number} of {self._source} contains a NUL character: remove it, or "
                "pass the encoding of the file, such as --encoding utf-16"
            )
        return line


def unpacked_size(path: Path) -> int:
    """Return the bytes of a file after decompression; an estimate if it is compressed."""
    size = path.stat().st_size
    if path.suffix.lower() != ".gz" or size < 18:
        return size
    with open(path, "rb") as file:
        file.seek(-4, 2)  # modulo 2³²: a lower bound
        return max(int.from_bytes(file.read(4), "little"), 2 * size)


def bad_encoding(path: Path, encoding: str) -> str:
    """Return the message about a file that cannot be decoded."""
    position = _first_bad_byte(path) if _is_utf8(encoding) else ""
    other = "latin-1" if encoding.lower() != "latin-1" else "utf-8"
    if position.startswith(" (line 1, byte 1,"):
        other = "utf-16"  # it begins with a mark of its own
    return (
        f"{path.name} is not text in {encoding}{position}: save it as UTF-8, or pass its encoding, "
        f"such as --encoding {other}"
    )


def _open(path: Path, mode: str, **options: Any) -> Any:
    opener: Any = gzip.open if path.suffix.lower() == ".gz" else open
    return opener(path, mode, **options)


def _is_utf8(encoding: str) -> bool:
    return codecs.lookup(encoding).name == "utf-8"


def _first_bad_byte(path: Path) -> str:
    with suppress(EOFError, zlib.error, gzip.BadGzipFile), _open(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                return f" (line {number}, byte {error.start + 1}, 0x{line[error.start]:02x})"
    return ""
