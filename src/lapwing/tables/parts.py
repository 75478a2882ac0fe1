"""Encoded rows of a table in parts, each of which another process can read.

Must not know who reads them, nor estimators.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from ..arrays.blocks import join_rows
from ..arrays.row_collections import Part
from .encode import TableEncoder
from .read import TableReader, open_table


@dataclass(frozen=True)
class EncodedParts:
    """Reads and encodes a part of a table, given its number.

    Attributes
    ----------
    source : str
        The file or folder, by a path that all processes know.
    encoding : str
        Encoding of text files.
    encoder : TableEncoder
        The conversion of the table to rows of features.
    rows : int
        Most rows of a part of a Parquet file, about, and of what is encoded at a time.
    """

    source: str
    encoding: str
    encoder: TableEncoder
    rows: int

    def __len__(self) -> int:
        return len(self._readers())

    def __call__(self, number: int) -> Part:
        """Return the rows of a part, with their labels."""
        encoder, X, y = self.encoder, [], []
        for table in self._readers()[number].tables(self.rows):
            X.append(encoder.transform(table))
            y.append(encoder.target_of(table))
        return Part(join_rows(X), np.concatenate(y))

    def _readers(self) -> list[TableReader]:
        return _readers(self.source, self.encoding, self.rows, json.dumps(self.encoder.reading))


@lru_cache(maxsize=2)
def _readers(source: str, encoding: str, rows: int, reading: str) -> list[TableReader]:
    """Open a table once in each process; return a reader of each of its parts.

    The options of the encoder are JSON, so that they can be compared with those of another call.
    """
    reader = open_table(source, encoding=encoding, **json.loads(reading))
    parts = [replace(reader, files=files) for files in reader.files.split(rows)]
    return [part for part in parts if part.files.n_rows != 0]
