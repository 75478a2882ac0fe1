"""Columns of pyarrow as columns of a `Table`: numbers as float64, everything else as texts.

pyarrow is imported inside functions. Must not know files, nor what columns mean.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from ..arrays.files import TableFiles
from ..arrays.text_files import as_float64, known_texts
from ..messages import quoted
from .numerals import decimal_mark, number_with

#: Bytes of a number, in its column and in the matrix, and of a text apart from its characters.
_NUMBER_BYTES, _TEXT_BYTES = 16, 64
#: Number of rows that are inspected before anything is read.
_SAMPLE = 500
#: Most texts of a column of which equal ones are stored once.
_SHARED = 10_000


def as_numbers(column: Any, decimal: str | None = None) -> Any | None:
    """Return texts of pyarrow as float64, null for missing ones, or None if one is not a number.

    Parameters
    ----------
    column : pyarrow.StringArray
        The texts.
    decimal : {".", ",", None}
        The decimal mark, if it is known; then the other one, a space or an apostrophe may stand
        between thousands.

    Examples
    --------
    >>> import pyarrow as pa
    >>> as_numbers(pa.array(["1", " 2.5", "NA"])).to_pylist()
    [1.0, 2.5, None]
    >>> as_numbers(pa.array(["1.234,5", "2"]), ",").to_pylist()
    [1234.5, 2.0]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    known = known_texts(column)
    # With a decimal comma, "1.200" is another number than for pyarrow.
    if decimal != "," or not pc.any(pc.match_substring(known, ".")).as_py():
        plain = as_float64(pc.replace_substring(known, ",", ".") if decimal == "," else known)
        if plain is not None:
            return plain
    if decimal is None:
        return None
    coded = known.dictionary_encode()
    found = [number_with(text, decimal) for text in coded.dictionary.to_pylist()]
    return None if None in found else pa.array(found, pa.float64()).take(coded.indices)


def as_objects(column: Any, shared: dict[str, str]) -> tuple[np.ndarray, float]:
    """Return texts of pyarrow as str, None where a cell is empty, and the bytes that they take.

    Equal texts are one object, also those that earlier calls have put into `shared`.
    """
    import pyarrow.compute as pc

    coded = column.dictionary_encode()
    texts = np.empty(len(coded.dictionary) + 1, dtype=object)  # the last one is None
    n_bytes = 8.0 * len(column)
    for i, text in enumerate(coded.dictionary.to_pylist()):
        if not text.strip():
            continue
        if text not in shared:
            n_bytes += _TEXT_BYTES + len(text)
            if len(shared) < _SHARED:
                shared[text] = text
        texts[i] = shared.get(text, text)
    return texts[pc.fill_null(coded.indices, len(texts) - 1).to_numpy()], n_bytes


def convert(
    column: Any, name: str, source: str, as_text: bool, shared: dict[str, str]
) -> tuple[np.ndarray, float]:
    """Return a column of pyarrow as numbers or texts, and the bytes that it takes.

    Raises
    ------
    ValueError
        If its cells are neither numbers nor have a text.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    types = pa.types

    def is_any(*tests: Callable[[Any], bool]) -> bool:
        return any(test(column.type) for test in tests)

    is_number = is_any(types.is_integer, types.is_floating, types.is_decimal)
    is_text = is_any(types.is_string, types.is_large_string)
    if types.is_null(column.type) or (is_number and not as_text):
        numbers = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return numbers, _NUMBER_BYTES * len(column)
    if types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)
    elif not (is_number or is_text or is_any(types.is_boolean, types.is_date, types.is_timestamp)):
        remedy = f"leave it out with --drop {name[:60]}"
        if is_any(types.is_list, types.is_large_list, types.is_fixed_size_list):
            remedy = (
                "store each of its entries as a column of its own, or all rows as the array X of "
                f"an .npz file with the targets as y; {remedy}, otherwise"
            )
        raise ValueError(
            f"column {quoted(name)} of {source} contains {column.type}, which is neither number "
            f"nor text: {remedy}"
        )
    return as_objects(column.cast(pa.string()), shared)


def first_cells(files: TableFiles, columns: Sequence[str]) -> dict[str, list[str]]:
    """Return the first cells of columns that are texts, without missing ones."""
    batch = next(files.batches(columns, _SAMPLE), None) if columns else None
    cells = {} if batch is None else dict(zip(batch.schema.names, batch.columns, strict=True))
    return {
        name: known_texts(column).drop_null().to_pylist()
        for name, column in cells.items()
        if column.type == "string"
    }


def sniff_decimal(columns: Collection[Sequence[str]]) -> str | None:
    """Return a comma if the numbers of a column need it as decimal mark and no other a point.

    Then "1.234" in other columns is a number of thousands.
    """
    with_commas = (cells for cells in columns if any("," in cell for cell in cells))
    if not any(decimal_mark(cells) == "," for cells in with_commas):
        return None
    return None if any(decimal_mark(cells) == "." for cells in columns) else ","
