"""Text files in any encoding, compressed or not, as bytes in UTF-8 and as lines.

Must not know what a line contains.
"""

from __future__ import annotations

import codecs
import gzip
import io
import threading
import zlib
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

#: Errors of damaged compressed files.
DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile)
#: Seconds in which pyarrow has given up a closed file, even if other processes keep all cores busy.
_PATIENCE = 5.0


class TextSource:
    """A text file as pyarrow reads it: unpacked, in UTF-8, without empty lines at the start.

    pyarrow reads ahead in a thread of its own, which may still do so when its consumer has failed.
    A process that ends meanwhile would wait for that thread forever, or be aborted: so `close` ends
    the file for it, and waits until pyarrow has given up its handle.

    Attributes
    ----------
    n_bytes, n_quotes : int
        Number of bytes, and of quotes among them, that were read.
    """

    def __init__(self, path: Path, encoding: str) -> None:
        self._path, self._file = path, _open(path)
        self._decoder: Any = None
        if not _is_utf8(encoding):
            self._decoder = codecs.getincrementaldecoder(encoding)()
        self._n_lines = self.n_bytes = self.n_quotes = 0
        self._at_start, self.closed = True, False
        self._lock, self._given_up = threading.Lock(), threading.Event()
        self._given_up.set()

    def __enter__(self) -> TextSource:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; the thread that reads it finds its end."""
        with self._lock:
            self._file.close()
            self.closed = True
        self._given_up.wait(_PATIENCE)

    def handle(self) -> TextHandle:
        """Return the file for pyarrow, which must have the only reference to it."""
        self._given_up.clear()
        return TextHandle(self, self._given_up)

    def read(self, size: int = -1) -> bytes:
        """Return at most ``size`` bytes, none at the end of the file, and once it is closed."""
        with self._lock:
            return b"" if self.closed else self._read(size)

    def _read(self, size: int) -> bytes:
        while True:
            # A byte of another encoding may need three in UTF-8.
            data = self._file.read(size if self._decoder is None else max(size // 3, 1))
            at_end = not data
            if self._decoder is not None:
                data = self._decoder.decode(data, final=at_end).encode("utf-8")
            self._check(data)
            if self._at_start:
                data = data.removeprefix(codecs.BOM_UTF8).lstrip(b"\r\n")
                self._at_start = not data
            if data or at_end:
                self.n_bytes += len(data)
                self.n_quotes += data.count(b'"')
                return data

    def _check(self, data: bytes) -> None:
        if (at := data.find(b"\0")) >= 0:
            line = self._n_lines + data.count(b"\n", 0, at) + 1
            raise ValueError(
                f"line {line} of {self._path.name} contains a NUL character: remove it, or pass "
                "the encoding of the file, such as --encoding utf-16"
            )
        self._n_lines += data.count(b"\n")


class TextHandle:
    """A text file that another thread may read until nobody refers to this object."""

    def __init__(self, source: TextSource, given_up: threading.Event) -> None:
        self._source, self._given_up = source, given_up
        self.read = source.read  # the traceback of an error does not refer to the handle

    @property
    def closed(self) -> bool:
        """Whether the file is closed."""
        return self._source.closed

    def __del__(self) -> None:
        self._given_up.set()


def open_text(path: Path, encoding: str) -> IO[str]:
    """Open a text file, compressed by gzip or not, and leave its line ends as they are."""
    if _is_utf8(encoding):
        encoding = "utf-8-sig"  # some programs write a mark of three bytes first
    return io.TextIOWrapper(_open(path), encoding=encoding, newline="")


def check_encoding(encoding: str) -> None:
    """Raise a ValueError if there is no encoding of that name."""
    try:
        "".encode(encoding)
    except LookupError:
        raise ValueError(
            f"there is no encoding {encoding!r}: try 'utf-8', 'latin-1' or 'utf-16'"
        ) from None


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


def is_packed(path: Path) -> bool:
    """Return whether a file is compressed by gzip, as its name shows."""
    return path.suffix.lower() == ".gz"


def unpacked_size(path: Path) -> int:
    """Return the bytes of a file after decompression; an estimate if it is compressed."""
    size = path.stat().st_size
    if not is_packed(path) or size < 18:
        return size
    with open(path, "rb") as file:
        file.seek(-4, 2)  # modulo 2³²: a lower bound
        return max(int.from_bytes(file.read(4), "little"), 2 * size)


def _open(path: Path) -> Any:
    return gzip.open(path) if is_packed(path) else open(path, "rb")


def _is_utf8(encoding: str) -> bool:
    return codecs.lookup(encoding).name == "utf-8"


def _first_bad_byte(path: Path) -> str:
    with suppress(*DAMAGED), _open(path) as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                return f" (line {number}, byte {error.start + 1}, 0x{line[error.start]:02x})"
    return ""
