"""Files that are written completely or not at all: every file that the package writes.

The contents go to a temporary file in the same folder, which takes the place of the old file in one
step once it is complete and on disk. A process that is killed leaves the old file or the new one,
and perhaps the temporary file ``NAME.XXXXXXXX.part``, which can be deleted. Must not know what is
written.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

#: Characters of the name that a temporary file keeps: names may have 255 bytes.
_KEPT = 50


@contextmanager
def atomic_file(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file for writing that replaces `path` when the block ends without an error.

    A link is followed: the file that it leads to is replaced. A device or pipe such as
    ``/dev/stdout`` is written to as it is.

    Parameters
    ----------
    path : str or Path
        The file, in a folder that exists.

    Yields
    ------
    file
        Open for binary writing.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_file(Path(folder) / "a.txt") as file:
    ...         _ = file.write(b"new")
    ...     [(item.name, item.read_text()) for item in Path(folder).iterdir()]
    [('a.txt', 'new')]
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        with open(path, "wb") as file:
            yield file
        return
    part = path.with_name(f"{path.name[:_KEPT]}.{secrets.token_hex(4)}.part")
    try:
        with open(part, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def write_text(path: str | Path, text: str) -> None:
    """Write a text file in UTF-8, completely or not at all; line ends are left as they are."""
    with atomic_file(path) as file:
        file.write(text.encode("utf-8"))
