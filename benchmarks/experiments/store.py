"""The store of finished jobs: a file of JSON lines that only grows.

Each line is written, flushed and synchronised to disk before the next job is reported, so a process
that is killed loses at most the jobs that were running. An incomplete last line is skipped when
reading, and terminated before the next line is written.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Store:
    """Finished jobs, in a file of JSON lines."""

    path: Path

    def read(self) -> dict[str, dict[str, Any]]:
        """Return the stored records by job key; the later one if a key occurs twice."""
        stored: dict[str, dict[str, Any]] = {}
        try:
            lines = self.path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return stored
        for line in lines:
            try:
                record = json.loads(line)
                stored[record["key"]] = record
            except (ValueError, KeyError, TypeError):
                continue  # incomplete: the process was killed while writing it
        return stored

    def check(self) -> None:
        """Raise an OSError if the file cannot be written; called before any job is run."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "ab"):
            pass

    def add(self, record: dict[str, Any]) -> None:
        """Append a record and synchronise it to disk."""
        line = json.dumps(record, ensure_ascii=False).encode() + b"\n"
        with open(self.path, "a+b") as file:
            if file.seek(0, os.SEEK_END) > 0:
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":  # an incomplete line
                    line = b"\n" + line
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
