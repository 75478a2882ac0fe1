"""A fitted default as JSON and arrays, and back: what is in a model file, and whether it fits.

`arrays.archive` has checked that a file is whole; here it is checked that it makes sense. Nothing
is imported, called or unpickled by a name from the file.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier

from ..arrays.archive import ModelFileError, read_archive
from ..graphs import KNNGraph
from . import parts
from .families import FAMILIES, known_settings
from .parts import check, check_finite, pack_rows, unpack_rows
from .race import Candidate
from .report import SelectionReport
from .scaling import RowScaling

if TYPE_CHECKING:
    from .default import SemiSupervisedClassifier, SemiSupervisedRegressor

_KINDS = ("common", "columns", "text", "counts")
_SETTINGS = ("family", "settings", "weight", "temperature", "score", "spread", "held_out")


def to_file(model: Any, extra: dict[str, Any] | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the page and the arrays of a fitted model."""
    from .. import __version__

    classifier = is_classifier(model)
    known = {id(model._scaled): "scaled"}
    pages, arrays = parts.pack(model.parts_, known)
    arrays |= pack_rows("X", model.X_fit_)
    arrays |= pack_rows("graph", model.graph_.affinity_)
    scaling = model.scaling_
    arrays["scaling.factor"] = scaling.factor
    if scaling.center is not None:
        arrays["scaling.center"] = scaling.center
    arrays["rows"] = model._rows
    arrays["first"] = model._first
    arrays["twin"] = model._twin
    arrays["row_weights"] = model._row_weights
    arrays["label_reach"] = model.label_reach_
    arrays["labelled"] = model.labelled_
    page: dict[str, Any] = {
        "class": type(model).__name__,
        "lapwing": __version__,
        "parameters": _parameters(model),
        "parts": pages,
        "scaling": scaling.kind,
        "graph": {
            "n_neighbors": int(model.graph_.n_neighbors),
            "bandwidth": model.graph_.bandwidth_,
            "normalized": bool(model.graph_.normalized),
        },
        "candidates": [
            {name: _number(getattr(candidate, name)) for name in _SETTINGS}
            for candidate in model.candidates_
        ],
        "report": model.report_.to_dict(),
        "columns": int(model.n_features_in_),
        "names": [str(name) for name in getattr(model, "feature_names_in_", [])],
        "seed": model._seed,
        "copies": model.n_copies_,
        "extra": {} if extra is None else extra,
    }
    if classifier:
        arrays["classes"] = model.classes_
        given = np.full(len(model.transduction_), -1)
        given[model._given] = np.searchsorted(
            model.classes_, model._labels[model._given].astype(model.classes_.dtype)
        )
        arrays["given"] = given
        arrays["found"] = np.searchsorted(model.classes_, model.transduction_)
        arrays["supervised"] = np.searchsorted(model.classes_, model.supervised_transduction_)
        arrays["distributions"] = model.label_distributions_
        page["temperature"] = float(model._temperature)
    else:
        arrays["given"] = model._labels
        arrays["found"] = model.transduction_
        arrays["supervised"] = model.supervised_transduction_
    return page, arrays


def load(path: str | Path, memory_limit: float | str | None = None) -> Any:
    """Read a model that `save` or ``lapwing fit`` wrote.

    Nothing in the file is run: it is a zip of JSON and plain arrays, checked against checksums and
    against each other.

    Parameters
    ----------
    path : str or Path
        The file.
    memory_limit : int, str or None, default=None
        Most memory for its arrays; None is 60 % of what is free.

    Returns
    -------
    SemiSupervisedClassifier or SemiSupervisedRegressor
        With ``extra_``, what was given to `save`.

    Raises
    ------
    lapwing.ModelFileError
        If the file is damaged, is no model file, or was written by a newer version.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import lapwing
    >>> X, y = np.arange(40.0)[:, None], np.full(40, -1)
    >>> y[[0, 5, 30, 39]] = 0, 0, 1, 1
    >>> model = lapwing.SemiSupervisedClassifier().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(os.path.join(folder, "model.lapwing"))
    ...     again = lapwing.load(os.path.join(folder, "model.lapwing"))
    >>> bool(np.all(again.predict(X) == model.predict(X)))
    True
    """
    page, arrays = read_archive(path, memory_limit)
    try:
        return _from_file(page, arrays)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise ModelFileError(
            f"{path}: the parts of the model do not fit together ({error}): write it again"
        ) from None


def _from_file(
    page: dict[str, Any], arrays: dict[str, np.ndarray]
) -> SemiSupervisedClassifier | SemiSupervisedRegressor:
    from .default import SemiSupervisedClassifier, SemiSupervisedRegressor

    kinds = {kind.__name__: kind for kind in (SemiSupervisedClassifier, SemiSupervisedRegressor)}
    if page["class"] not in kinds:
        raise ModelFileError(f"it holds a {page['class']}, which this Lapwing does not know")
    model = kinds[page["class"]](**_read_parameters(page["parameters"]))
    classifier = is_classifier(model)
    d = int(page["columns"])
    model.n_features_in_ = d
    if page["names"]:
        check(len(page["names"]) == d)
        model.feature_names_in_ = np.array([str(name) for name in page["names"]], dtype=object)
    model.X_fit_ = unpack_rows("X", arrays, d)
    n = model.X_fit_.shape[0]
    model._seed = int(page["seed"])
    check(model._seed >= 0)
    model._rows = _places(arrays["rows"], n)
    check(len(model._rows) >= 2 and bool(np.all(np.diff(model._rows) > 0)))
    model._twin = _places(arrays["twin"], n)
    check(len(model._twin) == n)
    model._first = _places(arrays["first"], len(model._rows))
    model.n_copies_ = int(page["copies"])
    model.scaling_ = _scaling(page, arrays, d)
    model.graph_ = _graph(page["graph"], arrays, len(model._rows))
    model.labelled_ = _places(arrays["labelled"], n)
    check(bool(np.isin(model.labelled_, model._rows).all()))
    model.label_reach_ = _of_length(arrays["label_reach"], n, "b")
    model._row_weights = _of_length(arrays["row_weights"], n, "f")
    model.candidates_ = [_candidate(item) for item in page["candidates"]]
    model.report_ = SelectionReport.from_dict(page["report"])
    model.extra_ = dict(page["extra"])
    found = _of_length(arrays["found"], n, "i" if classifier else "f")
    given = _of_length(arrays["given"], n, "i" if classifier else "f")
    alone = _of_length(arrays["supervised"], n, "i" if classifier else "f")
    if classifier:
        classes = arrays["classes"]
        c = len(classes)
        check(classes.ndim == 1 and c >= 2 and bool(np.all(classes[:-1] < classes[1:])))
        check(min(found.min(), alone.min(), given.min() + 1) >= 0)
        check(max(found.max(), alone.max(), given.max()) < c)
        model.classes_ = classes
        model.transduction_, model.supervised_transduction_ = classes[found], classes[alone]
        model._labels = classes.astype(object)[np.maximum(given, 0)]
        model._labels[given < 0] = None
        model._given = given >= 0
        model.label_distributions_ = arrays["distributions"]
        check(model.label_distributions_.shape == (n, c))
        check_finite(model.label_distributions_)
        model._temperature = model._held_temperature = float(page["temperature"])
        check(0.0 < model._temperature < np.inf)
        columns = 1 if c == 2 else c
    else:
        model.transduction_, model.supervised_transduction_ = found, alone
        model._labels, model._given, columns = given, ~np.isnan(given), 1
    model.parts_ = parts.unpack(page["parts"], arrays, d, columns, {"scaled": model._scaled})
    check(len(model.parts_) > 0)
    return model


def _parameters(model: Any) -> dict[str, Any]:
    """Return the parameters that mean something elsewhere; a graph and a callback do not."""
    seed = model.random_state
    found = {
        "method": model.method,
        "unlabeled": _marker(model.unlabeled),
        "random_state": int(seed) if isinstance(seed, (int, np.integer)) else None,
    }
    weight = getattr(model, "class_weight", None)
    if isinstance(weight, dict):
        weight = [[_marker(key), float(value)] for key, value in weight.items()]
    return found | ({"class_weight": weight} if is_classifier(model) else {})


def _read_parameters(page: dict[str, Any]) -> dict[str, Any]:
    found = {name: page[name] for name in ("method", "random_state")}
    check(found["method"] == "auto" or found["method"] in FAMILIES)
    check(found["random_state"] is None or isinstance(found["random_state"], int))
    found["unlabeled"] = _read_marker(page["unlabeled"])
    if "class_weight" in page:
        weight = page["class_weight"]
        check(weight in (None, "balanced") or isinstance(weight, list))
        if isinstance(weight, list):
            weight = {_read_marker(key): float(value) for key, value in weight}
        found["class_weight"] = weight
    return found


def _marker(value: Any) -> Any:
    """Return a label or a mark of unlabelled rows as JSON holds it."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and np.isnan(value):
        return {"nan": True}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if type(value).__name__ == "NAType":
        return None
    raise TypeError(
        f"{value!r} cannot be kept in a model file: use a number, a text or None for labels"
    )


def _read_marker(value: Any) -> Any:
    if isinstance(value, dict):
        return np.nan
    check(value is None or isinstance(value, (bool, int, float, str)))
    return value


def _number(value: Any) -> Any:
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _candidate(item: dict[str, Any]) -> Candidate:
    check(item["family"] in FAMILIES and known_settings(item["family"], item["settings"]))
    found = {k: np.nan if item[k] is None else float(item[k]) for k in _SETTINGS[2:]}
    check(0.0 <= found["weight"] <= 1.0 and 0.0 < found["temperature"] < np.inf)
    empty = np.zeros((0, 1))
    return Candidate(item["family"], item["settings"], empty, empty, 0.0, **found)


def _scaling(page: dict[str, Any], arrays: dict[str, np.ndarray], d: int) -> RowScaling:
    check(page["scaling"] in _KINDS)
    center, factor = arrays.get("scaling.center"), arrays["scaling.factor"]
    check(factor.shape in ((1,), (d,)) and factor.dtype.kind == "f")
    check(center is None or center.shape == (d,))
    check_finite(factor)
    if center is not None:
        check_finite(center)
    return RowScaling(page["scaling"], center, factor)


def _graph(page: dict[str, Any], arrays: dict[str, np.ndarray], n: int) -> KNNGraph:
    W = unpack_rows("graph", arrays, n)
    check(W.shape[0] == n)
    graph = KNNGraph.from_affinity(W, normalized=bool(page["normalized"]))
    graph.n_neighbors = int(page["n_neighbors"])
    graph.bandwidth_ = None if page["bandwidth"] is None else float(page["bandwidth"])
    return graph


def _places(index: np.ndarray, n: int) -> np.ndarray:
    check(index.ndim == 1 and index.dtype.kind == "i")
    check(len(index) == 0 or (index.min() >= 0 and index.max() < n))
    return index


def _of_length(array: np.ndarray, n: int, kind: str) -> np.ndarray:
    check(array.shape == (n,) and array.dtype.kind == kind)
    return array
