"""Model files of `lapwing fit`: a fitted model with what is known about its training table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
    ids : list of str
        Names of the training rows.
    source : str
        Name of the training file.
    n_labelled : int
        Number of labelled training rows.
    """

    model: Any
    encoder: TableEncoder
    ids: list[str]
    source: str
    n_labelled: int


def load_table_model(path: Path) -> TableModel:
    """Read a model file of `lapwing fit`.

    Raises
    ------
    ValueError
        If the file is damaged, or was not written by `lapwing fit`.
    """
    model = load(path)
    extra = model.extra_
    if "encoder" not in extra:
        raise ValueError(
            f"{path} contains a model without a table encoder: write it with `lapwing fit`, or use "
            "lapwing.load in Python"
        )
    encoder = TableEncoder.from_dict(extra["encoder"])
    ids, source, n_labelled = (extra.get(key) for key in ("ids", "source", "labelled"))
    if not (
        isinstance(ids, list)
        and all(isinstance(name, str) for name in ids)
        and isinstance(source, str)
        and isinstance(n_labelled, int)
    ):
        raise ValueError(
            f"{path} is damaged: the names of its training rows are not valid. Fit the model again"
        )
    return TableModel(model, encoder, ids, source, n_labelled)
