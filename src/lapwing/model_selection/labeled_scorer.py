"""Scores of labelled rows, for the tools of scikit-learn.

Those tools treat the marker of unlabelled rows as a class and count every prediction there as
wrong; `labeled_scorer` drops such rows before a score is computed. It does not know how the
estimator was fitted, or how rows were split.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
from sklearn.metrics import check_scoring
from sklearn.utils.metadata_routing import get_routing_for_object

from ..estimators.labels import labelled_part, labelled_rows


def labeled_scorer(scoring: str | Callable[..., float], *, unlabeled: Any = -1) -> LabeledScorer:
    """Return a scorer that leaves unlabelled rows out.

    For parts that may contain unlabelled rows: test parts of `KFold`, `GroupKFold` and other
    splitters that do not know of them, and training parts, as in `learning_curve`.

    Parameters
    ----------
    scoring : str or callable
        A name that scikit-learn knows, such as "accuracy", or a function
        ``scorer(estimator, X, y)``. For several scores pass a dict of such scorers:
        ``{"accuracy": labeled_scorer("accuracy"), "f1": labeled_scorer("f1_macro")}``.
    unlabeled : object, default=-1
        Marker of unlabelled rows in y; None, NaN and pd.NA always count as unlabelled.

    Returns
    -------
    LabeledScorer
        For ``scoring=``. It raises a ValueError where no row is labelled, which scikit-learn turns
        into ``error_score`` and a warning.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.metrics import get_scorer
    >>> from lapwing import LapSVC
    >>> from lapwing.model_selection import labeled_scorer
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> y = np.array([0, -1, -1, 1, -1, -1])
    >>> model = LapSVC().fit(X, y)
    >>> round(get_scorer("accuracy")(model, X, y), 2), labeled_scorer("accuracy")(model, X, y)
    (0.33, 1.0)
    """
    if not (isinstance(scoring, str) or callable(scoring)):
        raise ValueError(
            'scoring must be a name such as "accuracy" or a function scorer(estimator, X, y), got '
            f"{scoring!r}; for several scores pass a dict of such scorers to scikit-learn"
        )
    return LabeledScorer(check_scoring(scoring=scoring), unlabeled)


class LabeledScorer:
    """Scorer of labelled rows, made by `labeled_scorer`.

    Parameters
    ----------
    scorer : callable
        ``scorer(estimator, X, y)``.
    unlabeled : object, default=-1
        Marker of unlabelled rows in y.
    """

    def __init__(self, scorer: Callable[..., float], unlabeled: Any = -1) -> None:
        self.scorer = scorer
        self.unlabeled = unlabeled

    def __repr__(self) -> str:
        return f"labeled_scorer({self.scorer!r}, unlabeled={self.unlabeled!r})"

    def __call__(self, estimator: Any, X: Any, y: Any, **parameters: Any) -> float:
        """Return the score of the labelled rows; parameters with one entry per row are subset."""
        rows, known, kept = labelled_part(X, y, self.unlabeled, **parameters)
        self._check_marker(estimator, y)
        return self.scorer(estimator, rows, known, **kept)

    def _check_marker(self, estimator: Any, y: Any) -> None:
        """Refuse an estimator that has another idea of which rows are labelled."""
        if hasattr(estimator, "unlabeled"):
            labelled = labelled_rows(y, self.unlabeled)[1]
            own = labelled_rows(y, estimator.unlabeled)[1]
            if not np.array_equal(own, labelled):
                raise ValueError(
                    f"the estimator marks unlabelled rows by {estimator.unlabeled!r} and this "
                    f"scorer by {self.unlabeled!r}, and y contains a row on which they differ: "
                    f"pass labeled_scorer(..., unlabeled={estimator.unlabeled!r})"
                )
        learnt = getattr(estimator, "classes_", ())
        if isinstance(learnt, np.ndarray) and not labelled_rows(learnt, self.unlabeled)[1].all():
            raise ValueError(
                f"the estimator has learnt {self.unlabeled!r} as a class, which marks unlabelled "
                "rows here: use an estimator that understands unlabelled rows, or, if it is a "
                "class, another marker, as in labeled_scorer(..., unlabeled=None)"
            )

    def get_metadata_routing(self) -> Any:
        """Return the metadata that the wrapped scorer requests, such as weights."""
        return get_routing_for_object(self.scorer)

    def _accept_sample_weight(self) -> bool:
        """Return whether weights can be passed, for scikit-learn without metadata routing."""
        if hasattr(self.scorer, "_accept_sample_weight"):
            return bool(self.scorer._accept_sample_weight())
        return "sample_weight" in signature(self.scorer).parameters
