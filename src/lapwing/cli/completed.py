"""Tables that `lapwing label` has completed: the labels in them that were predicted are none."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from ..labelling.exports import added_columns
from ..messages import quoted
from ..tables import Table
from ..tables.table import as_texts


def without_predictions(table: Table, target: str | None) -> tuple[Table, list[str]]:
    """Return a table as it was before it was completed, and notes on what is not used."""
    if target is None:
        return table, []
    added = added_columns(target)
    source, labels = table.columns.get(added[0]), table.columns.get(target)
    if source is None or labels is None:
        return table, []
    sources = as_texts(source).tolist()
    if not set(sources) <= {"given", "predicted", None}:  # a column of the user's own
        return table, []
    is_predicted = np.array([one == "predicted" for one in sources], dtype=bool)
    labels = labels.astype(object)
    labels[is_predicted] = None
    columns = {name: cells for name, cells in table.columns.items() if name not in added}
    note = (
        f"{int(is_predicted.sum())} labels are not used, since {quoted(added[0])} says that they "
        "were predicted"
    )
    return replace(table, columns={**columns, target: labels}), [note]


def refuse_completed(source: str, columns: Collection[str], target: str | None) -> None:
    """Refuse a completed table that is read in blocks, of which no label is left out."""
    if target is not None and added_columns(target)[0] in columns:
        names = ",".join(added_columns(target))
        raise ValueError(
            f"{source} was completed by `lapwing label`, and its predicted labels cannot be left "
            "out where it is read in blocks: raise --memory-limit and leave out --workers and "
            f"--scheduler, or empty the predicted cells of {quoted(target)} and pass --drop {names}"
        )
