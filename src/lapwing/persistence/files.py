"""`lapwing.save` and `lapwing.load`: a fitted estimator as a file, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..arrays.archive import ModelFileError, read_archive, write_archive
from ..arrays.memory import memory_budget
from ..arrays.packing import expect, pack, unpack
from ..estimators.base import Model
from ..version import __version__
from .types import known_types


def save(model: Any, path: str | Path, extra: dict[str, Any] | None = None) -> None:
    """Write a fitted estimator to a file that `load` reads, on any computer.

    The file is a zip of JSON and plain arrays; nothing in it is ever run. It contains the training
    rows where `add_labels` needs them. For pipelines use skops with ``lapwing.TRUSTED_TYPES``.

    Parameters
    ----------
    model : estimator
        A fitted estimator of this library.
    path : str or Path
        Where to write. An older file is replaced once the new one is complete.
    extra : dict, optional
        Values that JSON can represent; `load` puts them into ``extra_``. By default those of a
        loaded model.

    Raises
    ------
    TypeError
        If the model is no estimator of this library, or a parameter cannot be stored: a function as
        kernel or score, a splitter other than `LabeledKFold`, or labels that are neither numbers
        nor texts. A ``callback`` is not stored, and a ``random_state`` that is not a number becomes
        None; what was drawn from it is kept.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import lapwing
    >>> X, y = np.arange(40.0)[:, None], np.full(40, -1)
    >>> y[[0, 5, 30, 39]] = 0, 0, 1, 1
    >>> model = lapwing.LapSVC().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lapwing.save(model, os.path.join(folder, "model.lapwing"))
    ...     again = lapwing.load(os.path.join(folder, "model.lapwing"))
    >>> bool(np.all(again.decision_function(X) == model.decision_function(X)))
    True
    """
    if not isinstance(model, Model) or type(model).__name__ not in known_types:
        raise TypeError(
            f"a {type(model).__name__} cannot be stored in a model file, which is for estimators "
            "of Lapwing: use skops for pipelines and other estimators, and "
            "lapwing.persistence.register for an estimator of your own"
        )
    check_is_fitted(model, "predictor_")
    for name, value in model.to_state()["parameters"].items():
        try:
            pack(value, known_types)
        except TypeError:
            raise TypeError(
                f"{name}={value!r} cannot be stored in a model file: set {name} to a number, a "
                "text, an array or None before saving, or use skops or pickle"
            ) from None
    packed, arrays = pack(model, known_types)
    extra = getattr(model, "extra_", {}) if extra is None else extra
    page = {"lapwing": __version__, "model": packed, "extra": extra}
    write_archive(path, page, arrays)


def load(path: str | Path, memory_limit: float | str | None = None) -> Any:
    """Read a model that `save` or ``lapwing fit`` has written.

    The file is a zip of JSON and plain arrays, which are compared with their checksums and with
    each other. Nothing in it is run.

    Parameters
    ----------
    path : str or Path
        The file.
    memory_limit : int, str or None, default=None
        Memory that may be used for its arrays, in bytes or as text such as "8GB"; None is 60 % of
        the free memory.

    Returns
    -------
    estimator
        The fitted estimator, with an attribute ``extra_`` that contains what was given to `save`.
        It predicts the same bits as the one that was saved.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    lapwing.ModelFileError
        If it is damaged, is no model file, or was written by another version of the format.
    MemoryError
        If the model needs more than ``memory_limit``.
    """
    page, arrays = read_archive(path, memory_limit)
    try:
        model = unpack(page["model"], arrays, known_types)
        expect(isinstance(model, Model), "it contains no model")
        fits = 8 * model.n_features_in_ <= memory_budget(memory_limit)
        expect(fits, "a row needs more memory than memory_limit allows")
        _predict_one(model)
        model.extra_ = dict(page["extra"])
    except Exception as error:  # whatever contradicts itself in the contents
        reason = str(error)[:300] or type(error).__name__
        raise ModelFileError(
            f"{path}: the parts of the model do not fit together ({reason}): write it again"
        ) from None
    return model


def _predict_one(model: Model) -> None:
    """Refuse a model that cannot predict a row."""
    X = getattr(model, "X_fit_", None)
    X = np.zeros((1, model.n_features_in_)) if X is None else X[:1]
    expect(X.shape[1] == model.n_features_in_)
    values = model.predictor_.values(X)
    classes = getattr(model, "classes_", ())
    expect(values.shape == (1, len(classes) if len(classes) > 2 else 1))
    expect(bool(np.isfinite(values).all()), "its predictions are not finite")
