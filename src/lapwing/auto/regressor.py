"""The default regressor: SemiSupervisedRegressor."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from ..arrays.device import follows_tensors
from ..estimators.model import Regressor
from ..estimators.parameters import one_of
from ..estimators.rows import Rows
from ..estimators.targets import Targets
from . import methods
from .candidate_settings import FAMILIES, SLOW
from .fit import Progress, fit_default
from .suggestions import target_doubt


@dataclass(repr=False, eq=False)
class SemiSupervisedRegressor(Regressor):
    """Regressor for few targets and many rows without one that needs no parameter.

    As `SemiSupervisedClassifier`, with three families of candidates: least squares on the rows
    with a target, with a manifold term, and over the graph alone. Scores are shares of explained
    variance. Candidates are fitted to differences from the mean of the targets: the model of
    a·y + b is a times that of y, plus b.

    Parameters
    ----------
    method : {"auto", "supervised", "manifold", "graph"}, default="auto"
        "auto" compares all families; a name takes the best candidate of that family.
    graph : KNNGraph, affinity matrix or None, default=None
        The graph of the rows; None builds one with ten neighbours over the scaled rows.
    unlabeled : float, default=nan
        Marker of rows without a target; None, NaN and pd.NA always count as such.
    random_state : int, RandomState, Generator or None, default=0
        Seed of folds, samples and landmarks.
    memory_limit : int, str or None, default=None
        Memory that may be used for rows, graph and candidates, in bytes or as text such as "8GB";
        None is 60 % of the free memory.
    callback : callable, optional
        Called with the name of each stage and the share that is done, from 0 to 1.

    Attributes
    ----------
    report_ : SelectionReport
        The candidates, which were chosen and why; ``print(model.report_)`` shows it.
    transduction_ : ndarray of shape (n,)
        Targets of the training rows: given or predicted.
    supervised_transduction_ : ndarray of shape (n,)
        Targets of the training rows by the best supervised candidate.
    label_reach_ : ndarray of bool, shape (n,)
        Whether a target can reach the row through the graph.
    sample_ : ndarray of int
        The rows that the models see, ascending; all but duplicates up to 100 000 rows.
    labelled_ : ndarray of int
        The rows with a target.
    graph_ : KNNGraph
        The graph used.
    scaling_ : RowScaling
        How rows are scaled.
    candidates_ : list of Candidate
        The settings that were compared, with scores and shares in the prediction.
    n_duplicates_ : int
        Duplicate rows, which are used once.
    predictor_ : Predictor
        The fitted function; ``predictor_.values(X)`` are the predictions.
    result_ : SolverResult
        Status, message and time of the fit.
    n_iter_ : int
        Candidates that were compared.

    Notes
    -----
    Above 100 000 rows and for rows in blocks, see `SemiSupervisedClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing import SemiSupervisedRegressor
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> y = np.where(np.arange(200) % 10 == 0, np.sin(4 * X[:, 0]), np.nan)
    >>> model = SemiSupervisedRegressor().fit(X, y)
    >>> bool(np.abs(model.predict([[0.5]]) - np.sin(2.0))[0] < 0.05)
    True
    """

    method: str = "auto"
    _: KW_ONLY
    graph: Any = None
    unlabeled: Any = np.nan
    random_state: Any = 0
    memory_limit: float | str | None = None
    callback: Progress | None = None

    _scales_columns = True
    _in_blocks = True
    _checks = {"method": one_of("auto", *(f for f in FAMILIES if f not in SLOW))}

    def _fit(self, rows: Rows, targets: Targets, *, refit: bool = False) -> Self:
        return self._set_fitted(rows, targets, fit_default(self, rows, targets, refit=refit))

    def _doubt(self, index: np.ndarray) -> np.ndarray:
        """Return how uncertain the model is of these training rows, from 0 to 1."""
        found, supervised = self.transduction_[index], self.supervised_transduction_[index]
        return target_doubt(found, supervised, self.label_reach_[index])

    @follows_tensors
    def add_labels(self, index: Any, y: Any) -> Self:
        """Give more training rows a target and fit again.

        The graph is kept, and so are the selected models and their shares, unless the number of
        targets has doubled since they were selected; a note in ``report_.warnings`` says so. The
        new shares are then averaged with those before.

        Parameters
        ----------
        index : array of int or bool
            Rows of the training data: numbers, which count from the end if they are negative, or a
            mask of all rows.
        y : array of the same length
            Their targets. The marker of rows without a target removes that of a row.

        Returns
        -------
        self
        """
        return super().add_labels(index, y)

    _packed_first: ClassVar[tuple[str, ...]] = ("_setup",)

    suggest = methods.suggest
    save = methods.save
    _row_map = cached_property(methods.row_map)
    map_ = property(methods.map_points)
    map_kind_ = property(methods.map_kind)
    sample_ = property(methods.sample)
    supervised_transduction_ = methods.OfRowsInMemory('method="supervised" fits such a model')
    label_reach_ = methods.OfRowsInMemory("report_.warnings counts the rows that no target reaches")
    _known_rows = methods.known_rows
    _kept_rows = methods.kept_rows

    def check_loaded(self) -> None:
        """Refuse contents of a model file that do not fit together."""
        super().check_loaded()
        methods.check_candidates(self)
