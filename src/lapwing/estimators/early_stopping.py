"""Stopping rules by name, from decisions on unlabelled rows and errors on validation rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..solvers.driver import Step, StoppingRule
from ..solvers.stopping import MixedCheck, StabilityCheck, ValidationCheck, decisions
from ..spaces.predictors import Predictor
from .labels import labelled_rows
from .manifold import Rules
from .rows import FLOATS, Rows
from .targets import Targets

STOPPING = ("optimal", "stability", "validation", "mixed")


def check_validation(settings: Any, rows: Rows, validation: Any) -> tuple[Any, np.ndarray] | None:
    """Return the labelled validation rows and their labels; None if ``stopping`` uses none.

    Parameters
    ----------
    settings : object
        A classifier; ``stopping`` and ``unlabeled`` are read.
    rows : Rows
        Training rows.
    validation : tuple (X_v, y_v) or None
        As users give it.
    """
    if settings.stopping in ("optimal", "stability"):
        return None
    if validation is None:
        raise ValueError(
            f"stopping={settings.stopping!r} uses validation rows: pass validation=(X_v, y_v) to "
            "fit"
        )
    X_v, y_v = validation
    X_v, extent = rows.check_like(settings, X_v, dtype=FLOATS)
    X_v = rows.units.apply_new(X_v, extent.largest)
    y_v, known = labelled_rows(y_v, settings.unlabeled)
    if not known.any():
        raise ValueError("no validation row is labelled: validation=(X_v, y_v) needs labels")
    return X_v[known], y_v[known]


def early_stopping(
    stopping: str, targets: Targets, validation: tuple[Any, np.ndarray] | None
) -> Rules | None:
    """Return a function that makes the stopping rules of a solver; None where ``tol`` decides.

    ``validation`` comes from `check_validation`.
    """
    if stopping == "optimal":
        return None
    stability = StabilityCheck(~targets.labelled)
    if stopping == "stability" or validation is None:
        return lambda predictor: [stability]
    assert targets.classes is not None
    X_v, y_v = validation
    truth = np.searchsorted(targets.classes, y_v)
    truth[~np.isin(y_v, targets.classes)] = -1

    def rules(predictor: Callable[[Step], Predictor]) -> Sequence[StoppingRule]:
        def error_rate(step: Step) -> float:
            return float(np.mean(decisions(predictor(step).values(X_v)) != truth))

        check = ValidationCheck(error_rate, len(truth), len(targets.given))
        return [check] if stopping == "validation" else [MixedCheck(stability, check)]

    return rules
