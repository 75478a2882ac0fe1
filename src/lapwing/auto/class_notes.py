"""Notes of the report of the default on how often classes are predicted.

Labels say how often classes occur only if they are a random sample, which the user knows and the
program does not. So the notes say what was found and what can be done in each case. Must not know
how a report is shown.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2

from ..estimators.targets import Targets
from .report_words import join_names

#: The parameter that all of these notes name.
CLASS_SHARES = "class_shares"
#: Shares of classes among labels and predictions are worth a note if they differ by this part of
#: the rows, and if chance explains that with at most this probability.
_FAR, _BY_CHANCE = 0.1, 0.01
#: A prediction is worth a note if it puts more than the first part of the rows into one class that
#: is expected to have less than the last part; of fewer rows than the number between, it is not.
_NEARLY_ALL, _MANY_ROWS, _EXPECTED = 0.98, 50, 0.9
#: The most classes that a note compares.
_COMPARED = 3
#: What to do about shares of classes; continues a sentence.
_REMEDY = (
    "set class_shares='labels' if the labels are a random sample of the rows, or "
    "class_shares={class: share, …} if you know the shares of the classes in the data"
)


def class_notes(targets: Targets, codes: np.ndarray) -> list[str]:
    """Return what the user should know about the shares of the classes in a prediction.

    Parameters
    ----------
    targets : Targets
        The labels, and the expected shares, where they are known.
    codes : ndarray of int, shape (n,)
        Predicted classes of all rows; those of the unlabelled rows are compared.
    """
    assert targets.classes is not None
    names, c = targets.classes.tolist(), len(targets.classes)
    predicted = np.bincount(codes[~targets.labelled], minlength=c)
    given = np.bincount(targets.given[targets.index], minlength=c)
    shares, of_labels = predicted / max(predicted.sum(), 1), given / given.sum()
    if targets.shares is not None:
        scores = "the scores are those of the models before class_shares is applied"
        more = "label more rows of the other classes"
        found = _one_class(names, predicted, targets.shares, "class_shares says", more)
        return [*found, scores]
    remedy = f"{_REMEDY}; otherwise label more rows of the other classes"
    found = _one_class(names, predicted, of_labels, "the labels have", remedy)
    if found or not _are_far(given, predicted):
        return found
    order = np.argsort(-np.abs(shares - of_labels), kind="stable")[: min(_COMPARED, c - 1)]
    compared = "; ".join(
        f"{join_names([names[k]])} has {_percent(shares[k])} of the predictions and "
        f"{_percent(of_labels[k])} of the labels"
        for k in order
    )
    return [
        "the shares of the classes among the predictions for unlabelled rows differ from those "
        f"among the labels ({compared}): {_REMEDY}; nothing needs to be done if rows were chosen "
        "for labelling by their class"
    ]


def _one_class(
    names: list, predicted: np.ndarray, expected: np.ndarray, source: str, remedy: str
) -> list[str]:
    """Return a note if nearly all rows are predicted as one class, against what is expected."""
    u, top = int(predicted.sum()), int(predicted.argmax())
    is_one = u >= _MANY_ROWS and predicted[top] > _NEARLY_ALL * u and expected[top] < _EXPECTED
    if not is_one:
        return []
    return [
        f"{_percent(predicted[top] / u)} of the unlabelled rows are predicted as "
        f"{join_names([names[top]])}, where {source} {_percent(expected[top])}, so the model may "
        f"not tell the classes apart: {remedy}"
    ]


def _are_far(given: np.ndarray, predicted: np.ndarray) -> bool:
    """Return whether shares among labels and predictions differ by more than chance explains.

    Their distance is that of the chi-square test, Σ (g_k - e_k)² / (e_k + 1) of the g labels of a
    class and the e that the predictions let expect, times u/(l + u) for l labels and u predictions.
    The 1 is for rare classes: a label of a class that is never predicted is no evidence. The part
    of the rows that would have to change class must be large as well, because with many labels
    every difference is beyond chance.
    """
    l, u = int(given.sum()), int(predicted.sum())
    if u == 0:
        return False
    expected = l * predicted / u
    distance = u / (l + u) * float(((given - expected) ** 2 / (expected + 1.0)).sum())
    far = float(np.abs(given - expected).sum()) / (2.0 * l) > _FAR
    return far and distance > float(chi2.isf(_BY_CHANCE, len(given) - 1))


def _percent(share: float) -> str:
    """Return a share in per cent; with a decimal, if it would otherwise be shown as 0 or all."""
    digits = 1 if 0.0 < share < 0.005 or 0.995 <= share < 1.0 else 0
    return f"{100 * share:.{digits}f} %"
