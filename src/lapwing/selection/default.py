"""The front door: a classifier and a regressor that need no parameter and say what they did."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from ..estimators.classifier import (
    LabelClassifier,
    LabelledData,
    fit_temperature,
    per_class,
    softmax,
)
from ..estimators.regressor import LabelRegressor
from ..solvers import decisions
from .chooser import Chooser, Progress
from .race import Race


class SemiSupervisedClassifier(LabelClassifier, Chooser):
    """Classifier for few labels and many unlabelled rows that needs no parameter.

    Scales the rows, builds one graph of nearest neighbours, and lets four families race: least
    squares on the labelled rows alone, with a manifold term, over the graph alone, and the
    semi-supervised support vector machine. Scores come from repeated folds over the labelled
    rows, steadied by how far machines that saw different labels agree on rows without one.
    Supervised machines, the simpler ones, get a standard error more; those within about a
    standard error of the best are blended.

    Parameters
    ----------
    method : {"auto", "supervised", "manifold", "graph", "margin"}, default="auto"
        "auto" lets all race; a name takes the best of that family.
    graph : KNNGraph, affinity matrix or None, default=None
        The graph of the rows; None builds one with ten neighbours over the scaled rows.
    unlabeled : object, default=-1
        Marks unlabelled rows in y; None, NaN and pd.NA always do.
    class_weight : dict, "balanced" or None, default=None
        Weights of the labelled rows of each class.
    random_state : int, RandomState or None, default=0
        For folds, samples and landmarks.
    memory_limit : int, str or None, default=None
        Most memory for what is built, in bytes or such as "8GB"; None is 60 % of what is free.
    callback : callable, optional
        Called with the name of each stage and the share that is done, from 0 to 1.

    Attributes
    ----------
    classes_ : ndarray
        The classes.
    report_ : SelectionReport
        What was tried, what was chosen and why; ``print(model.report_)``.
    transduction_ : ndarray of shape (n,)
        Labels of the training rows: given or predicted.
    label_distributions_ : ndarray of shape (n, n_classes)
        Probabilities of the training rows.
    supervised_transduction_ : ndarray of shape (n,)
        What the best supervised machine says of the training rows.
    label_reach_ : ndarray of bool, shape (n,)
        Whether a label can reach the row through the graph.
    labelled_ : ndarray of int
        The labelled rows.
    graph_ : KNNGraph
        The graph used.
    scaling_ : RowScaling
        How rows are scaled.
    parts_ : list
        The functions that add up to the decision.

    Notes
    -----
    Above 100 000 rows the machines see all labelled rows and a sample of the others. Of unlabelled
    rows that equal another they see one.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from lapwing import SemiSupervisedClassifier
    >>> X, truth = make_moons(300, noise=0.05, random_state=0)
    >>> y = np.full(300, -1)
    >>> y[:12] = truth[:12]
    >>> model = SemiSupervisedClassifier().fit(X, y)
    >>> float(np.mean(model.transduction_ == truth)) > 0.95
    True
    >>> model.report_.chosen
    'manifold'
    """

    def __init__(
        self,
        method: str = "auto",
        *,
        graph: Any = None,
        unlabeled: Any = -1,
        class_weight: Any = None,
        random_state: Any = 0,
        memory_limit: float | str | None = None,
        callback: Progress | None = None,
    ) -> None:
        self.method = method
        self.graph = graph
        self.unlabeled = unlabeled
        self.class_weight = class_weight
        self.random_state = random_state
        self.memory_limit = memory_limit
        self.callback = callback

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose a machine and fit it to labelled and unlabelled rows.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
            All rows, labelled or not.
        y : array of shape (n,)
            Labels; ``unlabeled``, None, NaN and ``pd.NA`` mark rows without one.
        sample_weight : array of shape (n,), optional
            Weights of the losses; those of unlabelled rows are not used.

        Returns
        -------
        self
        """
        self._fit(self._check_data(X, y, sample_weight))
        return self

    def _check_data(self, X: Any, y: Any, sample_weight: Any) -> LabelledData:
        return self._check_labels(self._check_rows(X, reset=True), y, sample_weight)

    def _kinds(self, data: LabelledData) -> np.ndarray:
        return decisions(data.targets).astype(int)

    def _store_values(
        self, data: LabelledData, values: np.ndarray, alone: np.ndarray, race: Race
    ) -> None:
        if race.kinds is not None:  # else the choice was made before
            self._held_temperature, self._confusion = 1.0, None
            if race.folds:
                held = race.blend().held
                self._held_temperature = race.fit_temperature(held, fit_temperature)
                kinds = race.kinds[race.held_places(len(held))]
                self._confusion = _confusion(held, kinds, len(self.classes_))
        self._store_decisions(data, values, values[data.index])
        self._given = data.labelled
        self._temperature = self._held_temperature
        self.label_distributions_ = softmax(per_class(values) * self._temperature)
        self.supervised_transduction_ = self.classes_[decisions(alone).astype(int)]

    def _doubt(self) -> np.ndarray:
        P = np.sort(self.label_distributions_, axis=1)
        return 1.0 - (P[:, -1] - P[:, -2])

    def predict(self, X: Any, reject: float | None = None) -> np.ndarray:
        """Return the class of each row.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
            Rows.
        reject : float, optional
            Least probability, more than 0 and less than 1: rows whose class is less sure get None.

        Returns
        -------
        ndarray of shape (n,)
            Of objects where ``reject`` is given.
        """
        if reject is None:
            return super().predict(X)
        if not 0.0 < float(reject) < 1.0:
            raise ValueError(f"reject must be more than 0 and less than 1, got {reject!r}")
        P = self.predict_proba(X)
        found = self.classes_[P.argmax(axis=1)].astype(object)
        found[P.max(axis=1) < reject] = None
        return found


class SemiSupervisedRegressor(LabelRegressor, Chooser):
    """Regressor for few targets and many rows without one that needs no parameter.

    As `SemiSupervisedClassifier`, with three families: least squares on the rows with a target,
    with a manifold term, and over the graph alone. Scores are shares of explained variance.

    Parameters
    ----------
    method : {"auto", "supervised", "manifold", "graph"}, default="auto"
        "auto" lets all race; a name takes the best of that family.
    graph : KNNGraph, affinity matrix or None, default=None
        The graph of the rows; None builds one with ten neighbours over the scaled rows.
    unlabeled : float, default=nan
        Marks rows without a target; None, NaN and pd.NA always do.
    random_state : int, RandomState or None, default=0
        For folds, samples and landmarks.
    memory_limit : int, str or None, default=None
        Most memory for what is built, in bytes or such as "8GB"; None is 60 % of what is free.
    callback : callable, optional
        Called with the name of each stage and the share that is done, from 0 to 1.

    Attributes
    ----------
    report_ : SelectionReport
        What was tried, what was chosen and why; ``print(model.report_)``.
    transduction_ : ndarray of shape (n,)
        Targets of the training rows: given or predicted.
    supervised_transduction_ : ndarray of shape (n,)
        What the best supervised machine says of the training rows.
    label_reach_ : ndarray of bool, shape (n,)
        Whether a target can reach the row through the graph.
    labelled_ : ndarray of int
        The rows with a target.
    graph_ : KNNGraph
        The graph used.
    scaling_ : RowScaling
        How rows are scaled.
    parts_ : list
        The functions that add up to the prediction.

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

    def __init__(
        self,
        method: str = "auto",
        *,
        graph: Any = None,
        unlabeled: Any = np.nan,
        random_state: Any = 0,
        memory_limit: float | str | None = None,
        callback: Progress | None = None,
    ) -> None:
        self.method = method
        self.graph = graph
        self.unlabeled = unlabeled
        self.random_state = random_state
        self.memory_limit = memory_limit
        self.callback = callback

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose a machine and fit it to rows with and without targets.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
            All rows.
        y : array of shape (n,)
            Targets; NaN, None, ``pd.NA`` and ``unlabeled`` mark rows without one.
        sample_weight : array of shape (n,), optional
            Weights of the losses; those of rows without a target are not used.

        Returns
        -------
        self
        """
        self._fit(self._check_data(X, y, sample_weight))
        return self

    def _check_data(self, X: Any, y: Any, sample_weight: Any) -> LabelledData:
        return self._check_numbers(self._check_rows(X, reset=True), y, sample_weight)

    def _kinds(self, data: LabelledData) -> None:
        return None

    def _store_values(
        self, data: LabelledData, values: np.ndarray, alone: np.ndarray, race: Race
    ) -> None:
        if race.folds:
            held = race.blend().held[:, 0]
            truth = race.labels.targets[race.held_places(len(held)), 0]
            self._held_out = {"truth": truth.tolist(), "predicted": held.tolist()}
        self._store_targets(data, values[:, 0])
        self._given = data.labelled
        self.supervised_transduction_ = alone[:, 0]

    def _doubt(self) -> np.ndarray:
        """Where supervised and semi-supervised machines differ, and far from all targets."""
        gap = np.abs(self.transduction_ - self.supervised_transduction_)
        gap = gap / max(float(gap.max()), 1e-300)
        return 0.5 * gap + 0.5 * (~self.label_reach_)


def _confusion(held: np.ndarray, kinds: np.ndarray, c: int) -> np.ndarray:
    """Return how often a held-out label of one class was taken for another, truth by rows."""
    table = np.zeros((c, c), dtype=int)
    np.add.at(table, (kinds, decisions(held).astype(int)), 1)
    return table
