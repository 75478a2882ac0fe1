"""Files of one table, read in batches; to be replaced."""

from __future__ import annotations

from typing import Any


def is_table_files(source: Any) -> bool:
    """Return whether this names files of a table."""
    return False


def open_files(source: Any) -> Any:
    """Return the files of a table."""
    raise NotImplementedError
