"""The default classifier: SemiSupervisedClassifier."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..arrays.device import follows_tensors
from ..arrays.packing import expect, expect_finite
from ..estimators.model import Classifier
from ..estimators.parameters import check_share, is_word, one_of
from ..estimators.rows import Rows
from ..estimators.targets import Targets
from . import methods
from .candidate_settings import FAMILIES
from .fit import Progress, fit_default
from .suggestions import class_doubt


@dataclass(repr=False, eq=False)
class SemiSupervisedClassifier(Classifier):
    """Classifier for few labels and many unlabelled rows that needs no parameter.

    Scales the rows, builds one graph of nearest neighbours, and compares families of
    candidates: least squares on the labelled rows alone, with a manifold term, over the graph
    alone, for few classes the semi-supervised support vector machine, and for sparse rows of many
    classes logistic regression that learns from its own predictions. Scores come from repeated
    folds over the labelled rows, combined with how far fold models agree on unlabelled rows.
    Candidates are blended; their shares follow the scores, with a bonus for supervised ones, which
    are simpler, and the likelihood of the held-out labels.

    Parameters
    ----------
    method : {"auto", "supervised", "manifold", "graph", "margin", "self-training"}, default="auto"
        "auto" compares all families; a name takes the best candidate of that family.
    graph : KNNGraph, affinity matrix or None, default=None
        The graph of the rows; None builds one with ten neighbours over the scaled rows.
    unlabeled : object, default=-1
        Marker of unlabelled rows in y; None, NaN and pd.NA always count as unlabelled.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply those of the labelled rows.
    class_shares : dict, "labels" or None, default=None
        Shares of the classes among the unlabelled rows, by class; of all rows, if all are labelled.
        Decision values get an offset per class, with which the mean probabilities of these rows are
        the shares. "labels" takes the shares of the labelled rows, (count + 1) / (rows + classes),
        for labels that are a random sample. None adds no offsets.
    random_state : int, RandomState, Generator or None, default=0
        Seed of folds, samples and landmarks.
    memory_limit : int, str or None, default=None
        Memory that may be used for rows, graph and candidates, in bytes or as text such as "8GB";
        None is 60 % of the free memory.
    callback : callable, optional
        Called with the name of each stage and the share that is done, from 0 to 1.

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted.
    report_ : SelectionReport
        The candidates, which were chosen and why; ``print(model.report_)`` shows it.
    transduction_ : ndarray of shape (n,)
        Labels of the training rows: given or predicted.
    label_distributions_ : ndarray of shape (n, n_classes)
        Probabilities of the training rows.
    supervised_transduction_ : ndarray of shape (n,)
        Labels of the training rows by the best supervised candidate.
    label_reach_ : ndarray of bool, shape (n,)
        Whether a label can reach the row through the graph.
    sample_ : ndarray of int
        The rows that the models see, ascending; all but duplicates up to 100 000 rows.
    labelled_ : ndarray of int
        The labelled rows.
    graph_ : KNNGraph
        The graph used.
    scaling_ : RowScaling
        How rows are scaled.
    candidates_ : list of Candidate
        The settings that were compared, with scores and shares in the decision.
    n_duplicates_ : int
        Duplicate rows, which are used once.
    predictor_ : Predictor
        The fitted function; ``predictor_.values(X)`` are the decision values.
    temperature_ : float
        Factor of the decision values in `predict_proba`.
    class_offsets_ : ndarray of shape (n_columns,)
        What ``class_shares`` has added to the decision values; zeros without it.
    result_ : SolverResult
        Status, message and time of the fit.
    n_iter_ : int
        Candidates that were compared.

    Notes
    -----
    Above 100 000 rows the candidates see all labelled rows and a sample of the others, and up to
    100 000 further rows weigh the edges of its graph. Duplicate unlabelled rows are used once.

    Rows may come in blocks, see `PVMClassifier`. Then ``label_distributions_``,
    ``supervised_transduction_`` and ``label_reach_`` do not exist, ``transduction_`` is computed
    when it is read, and `add_labels` is refused.

    Classes count the same, however many labels they have, so ``class_weight="balanced"`` changes
    nothing. Numbers of labels per class are taken for shares of the classes only as far as the
    labels look like a random sample; ``class_shares="labels"`` says that they are one.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from lapwing import SemiSupervisedClassifier
    >>> X, truth = make_moons(300, noise=0.05, random_state=0)
    >>> y = np.full(300, -1)
    >>> y[:20] = truth[:20]
    >>> model = SemiSupervisedClassifier().fit(X, y)
    >>> float(np.mean(model.transduction_ == truth)) > 0.95
    True
    >>> model.report_.chosen
    'manifold'
    """

    method: str = "auto"
    _: KW_ONLY
    graph: Any = None
    unlabeled: Any = -1
    class_weight: Any = None
    class_shares: Any = None
    random_state: Any = 0
    memory_limit: float | str | None = None
    callback: Progress | None = None

    _scales_columns = True
    _in_blocks = True
    _checks = {"method": one_of("auto", *FAMILIES)}

    def _fit(
        self, rows: Rows, targets: Targets, *, refit: bool = False, random: bool | None = None
    ) -> Self:
        sampled = None if random is None else float(random)
        if is_word(self.class_shares, "labels"):
            sampled = 1.0
        solution = fit_default(self, rows, targets, refit=refit, sampled=sampled)
        return self._set_fitted(rows, targets, solution)

    @property
    def _of_labels(self) -> dict[str, Any]:
        """Parameters about labels and classes; weights are balanced in any case."""
        found = super()._of_labels
        return found | ({"class_weight": None} if is_word(self.class_weight, "balanced") else {})

    @follows_tensors
    def add_labels(self, index: Any, y: Any, random: bool | None = None) -> Self:
        """Label more training rows and fit again.

        The graph is kept, and so are the selected models and their shares. They are selected again
        if the number of labels that count has doubled since they were (many of one class count
        little), if the classes have changed, if the new labels differ from the predictions more
        than the probabilities let expect, or if labels have been corrected; a note in
        ``report_.warnings`` says so. The new shares are then averaged with those before, unless
        labels have been corrected.

        Parameters
        ----------
        index : array of int or bool
            Rows of the training data: numbers, which count from the end if they are negative, or a
            mask of all rows.
        y : array of the same length
            Their labels, which may be new classes. The marker of unlabelled rows removes the label
            of a row, and changes nothing for a row that has none.
        random : bool, optional
            Whether the labelled rows are a random sample, so that the numbers of labels per class
            tell how frequent the classes are; False if they are chosen by class. It holds until
            it is given again, or until the next fit. None without one before judges by the labels.

        Returns
        -------
        self
        """
        if not (random is None or isinstance(random, (bool, np.bool_))):
            raise ValueError(f"random must be True, False or None, got {random!r}")
        if random is not None and not random and is_word(self.class_shares, "labels"):
            raise ValueError(
                'random=False contradicts class_shares="labels", which says that the labels are a '
                "random sample: set class_shares to None or to known shares"
            )
        return self._fit(*self._check_new_labels(index, y), refit=True, random=random)

    def _doubt(self, index: np.ndarray) -> np.ndarray:
        """Return how uncertain the model is of these training rows, from 0 to 1."""
        return class_doubt(self.label_distributions_[index])

    _packed_first: ClassVar[tuple[str, ...]] = ("_setup",)

    suggest = methods.suggest
    save = methods.save
    _row_map = cached_property(methods.row_map)
    map_ = property(methods.map_points)
    map_kind_ = property(methods.map_kind)
    sample_ = property(methods.sample)
    label_distributions_ = methods.OfRowsInMemory("predict_proba computes it for any rows")
    supervised_transduction_ = methods.OfRowsInMemory('method="supervised" fits such a model')
    label_reach_ = methods.OfRowsInMemory("report_.warnings counts the rows that no label reaches")
    _known_rows = methods.known_rows
    _kept_rows = methods.kept_rows

    @follows_tensors
    def predict(self, X: Any, reject: float | None = None) -> Any:
        """Return the class of each row.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
            Rows, in any form that `fit` takes.
        reject : float, optional
            Smallest probability, more than 0 and less than 1; rows whose class is less probable
            get None.

        Returns
        -------
        ndarray of shape (n,)
            The classes, an array of objects if ``reject`` is given; a lazy array for rows of Dask.
        """
        check_is_fitted(self, "predictor_")
        if reject is None:
            return super().predict(X)
        check_share("reject", reject)
        classes, of_values = self.classes_, self._probabilities

        def sure(values: np.ndarray) -> np.ndarray:
            P = of_values(values)
            found = classes[P.argmax(axis=1)].astype(object)
            found[P.max(axis=1) < reject] = None
            return found

        return self._of_values(X, sure)

    def check_loaded(self) -> None:
        """Refuse contents of a model file that do not fit together."""
        super().check_loaded()
        methods.check_candidates(self)
        if self._setup.rows.numbers is None:
            shape = len(self.transduction_), len(self.classes_)
            expect(self.label_distributions_.shape == shape)
            expect_finite(self.label_distributions_)
        else:
            expect(self._sample.confidence is not None)
            for codes in (self._sample.found, self._sample.supervised):
                expect(codes.dtype.kind == "i" and codes.min() >= 0)
                expect(codes.max() < len(self.classes_))
