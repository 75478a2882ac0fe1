"""Model files of `lapwing fit`: a fitted model with what is known about its training table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..auto import SemiSupervisedClassifier, SemiSupervisedRegressor
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
    is_default = isinstance(model, (SemiSupervisedClassifier, SemiSupervisedRegressor))
    if not is_default or "encoder" not in extra:
        raise ValueError(
            f"{path} contains a model without a table encoder: write it with `lapwing fit`, or use "
            "lapwing.load in Python"
        )
    encoder = TableEncoder.from_dict(extra["encoder"])
    ids, source, n_labelled = (extra.get(key) for key in ("ids", "source", "labelled"))
    if not (
        isinstance(ids, list)
        and len(ids) == len(model.transduction_)
        and encoder.n_features == model.n_features_in_
        and all(isinstance(name, str) for name in ids)
        and isinstance(source, str)
        and isinstance(n_labelled, int)
    ):
        raise ValueError(
            f"{path} is damaged: its table does not fit its model. Fit the model again"
        )
    return TableModel(model, encoder, ids, source, n_labelled)
