"""What is shown of a row: a text, a picture, or its fields.

Texts are passed on as they are; the page inserts them as text. Must not know answers or models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..tables.table import MISSING_MARKS, as_texts, plain_number
from .pictures import picture_of, png_of

#: Characters of a field, of a text, and of the line that stands for a row in lists.
_FIELD, _TEXT, _BRIEF = 20_000, 200_000, 80
#: What missing cells of a dataframe are as texts.
_MISSING = MISSING_MARKS | {"<na>", "nat"}
#: Most fields of a row.
MOST_FIELDS = 200


@dataclass(frozen=True)
class Cards:
    """What is shown of the rows.

    Attributes
    ----------
    n : int
        Number of rows.
    names : sequence of str, optional
        Names of the rows; by default they are numbered from 1.
    fields : mapping of str to ndarray
        Columns by name: numbers, or texts as objects.
    texts : sequence of str or None, optional
        The text of each row.
    picture : callable, optional
        Returns media type and content of the picture of a row; raises a LookupError without one.
    """

    n: int
    names: Sequence[str] | None = None
    fields: Mapping[str, np.ndarray] = field(default_factory=dict)
    texts: Sequence[str | None] | None = None
    picture: Callable[[int], tuple[str, bytes]] | None = None

    def name(self, row: int) -> str:
        """Return the name of a row."""
        return f"row {row + 1}" if self.names is None else str(self.names[row])

    def of(self, row: int) -> dict[str, Any]:
        """Return what is shown of a row, as JSON types."""
        cells = []
        for name, column in list(self.fields.items())[:MOST_FIELDS]:
            is_number = column.dtype.kind in "iuf"
            cells.append([name, _shown(column[row])[:_FIELD], is_number])
        text = None if self.texts is None else str(self.texts[row] or "")[:_TEXT]
        return {
            "row": row,
            "name": self.name(row),
            "text": text,
            "image": self.picture is not None,
            "fields": cells,
            "brief": _brief(text, cells),
        }


def _shown(cell: Any) -> str:
    """Return a cell as it is; numbers with the digits that their type has."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, (float, np.floating)):
        if cell != cell:
            return ""
        whole = plain_number(float(cell))
        return str(whole if isinstance(whole, int) else cell)
    text = str(cell)
    return "" if text.lower() in _MISSING else text


def _brief(text: str | None, cells: Sequence[Sequence[Any]]) -> str:
    if not text:
        text = ", ".join(f"{name} {value}" for name, value, _ in cells[:8] if value)
    text = " ".join(text[: 4 * _BRIEF].split())
    return text if len(text) <= _BRIEF else text[: _BRIEF - 1] + "…"


def cards_of_table(
    columns: Mapping[str, np.ndarray],
    n: int,
    *,
    names: Sequence[str] | None,
    text: str | None,
    image: str | None,
    folder: Path,
) -> Cards:
    """Return cards of the columns of a table.

    Parameters
    ----------
    columns : mapping of str to ndarray
        The columns to show, the text and the paths of pictures among them.
    n : int
        Number of rows.
    names : sequence of str, optional
        Names of the rows.
    text, image : str, optional
        Columns of the text and of the path of the picture of each row.
    folder : Path
        The folder that pictures must be in.
    """
    fields = {name: cells for name, cells in columns.items() if name not in (text, image)}
    picture = None
    if image is not None:
        paths = as_texts(columns[image])

        def picture(row: int) -> tuple[str, bytes]:
            if paths[row] is None:
                raise LookupError("this row has no picture: its cell is empty")
            return picture_of(folder, paths[row])

    texts = None if text is None else as_texts(columns[text], missing={""}).tolist()
    return Cards(n, names, fields, texts, picture)


def cards_of(show: Any, X: Any) -> Cards:
    """Return cards of what a user of a notebook wants to see of each row.

    Parameters
    ----------
    show : sequence of str, array of pictures, dataframe, callable or None
        Texts; pictures as an array of shape (n, height, width) or (n, height, width, 3 or 4); a
        dataframe with a row of fields per row; a function of the number of a row that returns a
        text or one picture; None shows the entries of X.
    X : array or CSR matrix of shape (n, d)
        The rows.
    """
    n = X.shape[0]
    if show is None:
        return Cards(n, fields=_fields_of(X))
    if callable(show):
        first = show(0)
        if isinstance(first, str):
            return Cards(n, texts=_Lazy(show, n))
        return Cards(n, picture=lambda row: ("image/png", png_of(np.asarray(show(row)))))
    if not hasattr(show, "__len__"):
        raise _wrong_type(type(show).__name__)
    if len(show) != n:
        raise ValueError(
            f"show has {len(show)} entries and X has {n} rows: give one entry for each row"
        )
    if hasattr(show, "columns"):
        return Cards(n, fields={str(name): _cells(show[name]) for name in show.columns})
    values = _array(show)
    if values.ndim in (3, 4) and values.dtype.kind in "biuf":
        return Cards(n, picture=lambda row: ("image/png", png_of(values[row])))
    if values.ndim == 1 and values.dtype.kind in "OUT":
        return Cards(n, texts=[_shown(text) for text in show])
    raise _wrong_type(f"an array of shape {values.shape} and type {values.dtype}")


def _wrong_type(found: str) -> TypeError:
    return TypeError(
        "show must be texts, pictures as an array of shape (n, height, width), a dataframe, or a "
        f"function of the number of a row, got {found}"
    )


class _Lazy(Sequence[str]):
    """Texts that a function returns when they are shown."""

    def __init__(self, show: Callable[[int], Any], n: int) -> None:
        self._show, self._n = show, n

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, row: Any) -> Any:
        return str(self._show(row))


def _array(show: Any) -> np.ndarray:
    try:
        return np.asarray(show)
    except ValueError:  # lists of different lengths
        raise TypeError(
            "the entries of show have different shapes: pass pictures of one size, texts, or a "
            "function of the number of a row"
        ) from None


def _cells(column: Any) -> np.ndarray:
    """Return a column of a dataframe as numbers, or as objects where texts are among them."""
    values = np.asarray(column)
    return values if values.dtype.kind in "biuf" else np.array(column, dtype=object)


def _fields_of(X: Any) -> dict[str, np.ndarray]:
    if hasattr(X, "columns"):
        return {str(name): _cells(X[name]) for name in X.columns}
    if X.shape[1] > MOST_FIELDS:
        raise ValueError(
            f"the {X.shape[1]} columns of X tell nobody what a row is: pass show= with the texts, "
            "pictures or fields of the same rows"
        )
    values = X.toarray() if hasattr(X, "tocsr") else np.asarray(X)
    return {f"column {i + 1}": values[:, i] for i in range(X.shape[1])}
