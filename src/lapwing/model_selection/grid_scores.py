"""Scores of the cells of a grid, and their table in the form of `GridSearchCV`.

Knows labels and values of held-out rows, and not how the values were computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer

from ..estimators.targets import Targets
from ..losses import Loss
from ..solvers.stopping import decisions

#: Takes an estimator, rows and labels.
Scorer = Callable[[Any, Any, Any], float]


@dataclass(frozen=True)
class Cell:
    """One cell of a grid.

    Attributes
    ----------
    params : dict
        Its parameters by name.
    scores : list of float
        The score of each fold.
    loss : float
        Mean loss of the held-out rows, the mean over the folds.
    """

    params: dict[str, Any]
    scores: list[float]
    loss: float

    @property
    def mean(self) -> float:
        """The mean score; NaN without folds."""
        return float(np.mean(self.scores)) if self.scores else np.nan

    @property
    def rank(self) -> tuple[float, float]:
        """Sort key, larger for a better cell: the mean score, then the negative loss.

        Differences by rounding do not count, and NaN is below everything.
        """
        mean = self.mean
        return (-np.inf if np.isnan(mean) else round(mean, 12), -self.loss)


def make_scorer(scoring: Any) -> Scorer | None:
    """Return the scorer of a name or a function; None is the default for the targets."""
    return None if scoring is None else get_scorer(scoring)


def score_cell(
    params: dict[str, Any],
    scorer: Scorer | None,
    X: Any,
    targets: Targets,
    loss: Loss,
    parts: Sequence[tuple[np.ndarray, np.ndarray]],
) -> Cell:
    """Return a cell with its scores.

    Parameters
    ----------
    params : dict
        Parameters of the cell.
    scorer : callable or None
        None is accuracy for classes and the negative mean squared error for quantities.
    X : array or CSR matrix of shape (n, d)
        All rows.
    targets : Targets
        Their labels.
    loss : Loss
        The loss whose mean breaks ties.
    parts : sequence of (test, values)
        For each fold the indices of the held-out rows among the labelled ones, and their values,
        shape (len(test), c), as the solver found them. Scores and losses are in the units of y.
    """
    y, parts = targets.restored(targets.values), [(t, targets.restored(v)) for t, v in parts]
    scores = [_score(scorer, X, targets, y, *part) for part in parts]
    losses = [float(loss.value(values, y[test]).mean()) for test, values in parts]
    return Cell(params, scores, float(np.mean(losses)) if losses else np.nan)


def _score(
    scorer: Scorer | None,
    X: Any,
    targets: Targets,
    y: np.ndarray,
    test: np.ndarray,
    values: np.ndarray,
) -> float:
    expected = y[test]
    if scorer is None:
        if targets.classes is None:
            return -float(np.mean((values - expected) ** 2))
        return float(np.mean(decisions(values) == decisions(expected)))
    model: Any = _PredictedQuantities(values)
    if targets.classes is not None:
        model = _PredictedClasses(values, targets.classes)
    return float(scorer(model, X[targets.index[test]], targets.known[test]))


def table_attributes(cells: list[Cell], best: int, *, closed: bool) -> dict[str, Any]:
    """Return the fitted attributes that describe the grid: its table, and the best cell.

    ``closed`` means that there is one score for all rows together, and so no spread.
    """
    scores = np.array([cell.scores for cell in cells])
    mean, params = np.array([cell.mean for cell in cells]), [cell.params for cell in cells]
    alone = closed or scores.shape[1] == 0
    spread = np.full(len(mean), np.nan) if alone else scores.std(axis=1)
    order = np.where(np.isnan(mean), -np.inf, mean)
    table = {
        "params": params,
        **{f"param_{name}": _column([cell[name] for cell in params]) for name in params[0]},
        **{f"split{k}_test_score": part for k, part in enumerate(scores.T)},
        "mean_test_score": mean,
        "std_test_score": spread,
        "rank_test_score": rankdata(-order, method="min").astype(int),
        "mean_test_loss": np.array([cell.loss for cell in cells]),
    }
    return {
        "cv_results_": table,
        "best_index_": best,
        "best_params_": dict(params[best]),
        "best_score_": float(mean[best]),
        "n_splits_": scores.shape[1],
    }


def _column(values: list) -> np.ma.MaskedArray:
    """Return a column of parameters in the form of `GridSearchCV`."""
    if all(isinstance(value, float) for value in values):
        return np.ma.array(values)
    column = np.ma.array(np.empty(len(values), dtype=object))
    column[:] = values
    return column


class _PredictedClasses(ClassifierMixin, BaseEstimator):
    """Held-out values as a classifier, for scikit-learn's scorers."""

    def __init__(self, values: np.ndarray, classes_: np.ndarray) -> None:
        self.values = values
        self.classes_ = classes_

    def predict(self, X: Any) -> np.ndarray:
        return self.classes_[decisions(self.values).astype(int)]

    def decision_function(self, X: Any) -> np.ndarray:
        return self.values[:, 0] if self.values.shape[1] == 1 else self.values


class _PredictedQuantities(RegressorMixin, BaseEstimator):
    """Held-out values as a regressor, for scikit-learn's scorers."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def predict(self, X: Any) -> np.ndarray:
        return self.values[:, 0]
