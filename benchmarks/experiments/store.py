"""What is finished, kept in a file to which lines are only ever added.

A line is written, flushed and forced to the disk before the next job is reported: a process that is
killed loses at most the jobs it was in. A last line that was cut off is left out when reading and
ended before the next one is written.
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
        """Return what is kept, by the keys of the jobs; of two with one key the later."""
        kept: dict[str, dict[str, Any]] = {}
        try:
            lines = self.path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return kept
        for line in lines:
            try:
                record = json.loads(line)
                kept[record["key"]] = record
            except (ValueError, KeyError, TypeError):
                continue  # cut off when the process was killed
        return kept

    def check(self) -> None:
        """Raise an OSError if nothing can be written there, before anything is run."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "ab"):
            pass

    def add(self, record: dict[str, Any]) -> None:
        """Write a record for good."""
        line = json.dumps(record, ensure_ascii=False).encode() + b"\n"
        with open(self.path, "a+b") as file:
            if file.seek(0, os.SEEK_END) > 0:
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":  # a line that was cut off
                    line = b"\n" + line
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
