"""Stopping rules by name, from decisions on unlabelled rows and errors on validation rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..solvers.driver import Step, StoppingRule
from ..solvers.stopping import MixedCheck, StabilityCheck, ValidationCheck, decisions
from ..spaces.predictors import Predictor
from .manifold import Rules
from .parameters import check_choice
from .rows import FLOATS, Rows
from .targets import Targets, labelled_rows

STOPPING = ("optimal", "stability", "validation", "mixed")


def early_stopping(settings: Any, rows: Rows, targets: Targets, validation: Any) -> Rules | None:
    """Return a function that makes the stopping rules of a solver; None where ``tol`` decides.

    Parameters
    ----------
    settings : object
        A classifier; ``stopping`` and ``unlabeled`` are read.
    rows : Rows
        Training rows.
    targets : Targets
        Their labels.
    validation : tuple (X_v, y_v) or None
        As users give it.
    """
    stopping = settings.stopping
    check_choice("stopping", stopping, STOPPING)
    if stopping == "optimal":
        return None
    if stopping != "stability" and validation is None:
        raise ValueError(
            f"stopping={stopping!r} uses validation rows: pass validation=(X_v, y_v) to fit"
        )
    stability = StabilityCheck(~targets.labelled)
    if stopping == "stability":
        return lambda predictor: [stability]
    X_v, truth = _validation_rows(settings, rows, targets, validation)

    def rules(predictor: Callable[[Step], Predictor]) -> Sequence[StoppingRule]:
        def error_rate(step: Step) -> float:
            return float(np.mean(decisions(predictor(step).values(X_v)) != truth))

        check = ValidationCheck(error_rate, len(truth), rows.X.shape[0])
        return [check] if stopping == "validation" else [MixedCheck(stability, check)]

    return rules


def _validation_rows(
    settings: Any, rows: Rows, targets: Targets, validation: Any
) -> tuple[Any, np.ndarray]:
    """Return the labelled validation rows and their class codes, -1 for unknown classes."""
    X_v, y_v = validation
    X_v = rows.check_like(settings, X_v, dtype=FLOATS)
    y_v, known = labelled_rows(y_v, settings.unlabeled)
    if not known.any():
        raise ValueError("no validation row is labelled: validation=(X_v, y_v) needs labels")
    X_v, y_v = X_v[known], y_v[known]
    assert targets.classes is not None
    truth = np.searchsorted(targets.classes, y_v)
    truth[~np.isin(y_v, targets.classes)] = -1
    return X_v, truth
