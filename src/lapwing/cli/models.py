"""Model files of `lapwing fit`: a fitted model with what is known about its training table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..auto import SemiSupervisedClassifier, SemiSupervisedRegressor, view_rows
from ..persistence import load
from ..tables import TableEncoder


@dataclass(frozen=True)
class TableModel:
    """A model that `lapwing fit` saved, with what is known about its training table.

    Attributes
    ----------
    model : SemiSupervisedClassifier or SemiSupervisedRegressor
        The fitted model.
    encoder : TableEncoder
        The conversion of tables to rows of features.
    ids : list of str or None
        Names of the training rows that `view_rows` returns; None for their numbers.
    source : str
        Name of the training file.
    n_rows, n_labelled : int
        Number of training rows, and of labelled ones.
    """

    model: Any
    encoder: TableEncoder
    ids: list[str] | None
    source: str
    n_rows: int
    n_labelled: int


def table_facts(
    encoder: TableEncoder,
    *,
    ids: list[str] | None,
    source: str,
    task: str,
    rows: int,
    labelled: int,
) -> dict[str, Any]:
    """Return what is stored with a model, so that `load_table_model` knows its table."""
    return {
        "encoder": encoder.to_dict(),
        "target": encoder.target,
        "id": encoder.id,
        "ids": ids,
        "source": source,
        "task": task,
        "rows": rows,
        "labelled": labelled,
    }


def load_table_model(path: Path) -> TableModel:
    """Read a model file of `lapwing fit`.

    Raises
    ------
    ValueError
        If the file is damaged, or was not written by `lapwing fit`.
    """
    model = load(path)
    extra = model.extra_
    is_default = isinstance(model, (SemiSupervisedClassifier, SemiSupervisedRegressor))
    if not is_default or "encoder" not in extra:
        raise ValueError(
            f"{path} contains a model without a table encoder: write it with `lapwing fit`, or use "
            "lapwing.load in Python"
        )
    encoder = TableEncoder.from_dict(extra["encoder"])
    ids, source, n_labelled = (extra.get(key) for key in ("ids", "source", "labelled"))
    view = view_rows(model)
    if not (
        _are_names(ids, len(view.found), in_blocks=view.numbers is not None)
        and encoder.n_features == model.n_features_in_
        and isinstance(source, str)
        and isinstance(n_labelled, int)
    ):
        raise ValueError(
            f"{path} is damaged: its table does not fit its model. Fit the model again"
        )
    return TableModel(model, encoder, ids, source, model.report_.rows, n_labelled)


def _are_names(ids: Any, n: int, in_blocks: bool) -> bool:
    """Return whether these are names of n rows; rows in blocks may have none."""
    if ids is None:
        return in_blocks
    return isinstance(ids, list) and len(ids) == n and all(isinstance(name, str) for name in ids)
