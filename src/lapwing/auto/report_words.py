"""The sentences of the report of the default: why models were chosen, and what to know about them.

Written for somebody who knows scikit-learn and none of the papers. Must not know how a report is
shown, and makes no decisions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..estimators.targets import Targets
from . import limits
from .candidate_settings import GRAPH, MANIFOLD, MARGIN, SELF_TRAINING, SUPERVISED
from .folds import FEWEST_TARGETS
from .labels import Labels
from .selection import LEAD, Selected, best_of, best_supervised
from .setup import Setup, may_have_margin, may_self_train

#: What each family is; for a sentence.
DESCRIPTIONS = {
    SUPERVISED: "models of the labelled rows alone",
    MANIFOLD: "kernel models that change little between neighbours",
    GRAPH: "labels that spread from neighbour to neighbour",
    MARGIN: "a boundary where there are few rows",
    SELF_TRAINING: "linear models that learn from their own surest predictions",
}
#: Parts of notes that `add_labels` may make obsolete.
NO_LABEL = "without a label"
SINGLE = "classes with a single label"
UNEVEN = "the classes have different numbers of labels"
AGAIN = "models were selected again"
PASSING = (NO_LABEL, SINGLE, UNEVEN, AGAIN)
#: Share in the prediction that is shown as 0 %.
_LEAST_SHARE = 0.005
#: The most names in a sentence, and characters of a name.
_NAMES, _LETTERS = 8, 40


def score_text(metric: str, score: float, spread: float | None = None) -> str:
    """Return a score, and its standard error if it is given; accuracies are in per cent.

    Parameters
    ----------
    metric : {"accuracy", "R²"}
        The metric.
    score, spread : float
        The score and its standard error; NaN if they are not known.

    Returns
    -------
    str

    Examples
    --------
    >>> from lapwing.auto.report_words import score_text
    >>> score_text("accuracy", 0.9166, 0.0512), score_text("R²", 0.75)
    ('91.7 % ± 5.1', '0.750')
    """
    if np.isnan(score):
        return "unknown"
    percent = metric == "accuracy"
    text = f"{100 * score:.1f} %" if percent else f"{score:.3f}"
    if spread is None or np.isnan(spread):
        return text
    return f"{text} ± {100 * spread:.1f}" if percent else f"{text} ± {spread:.3f}"


def settings_text(settings: dict[str, Any]) -> str:
    """Return the settings of a candidate in words.

    Examples
    --------
    >>> from lapwing.auto.report_words import settings_text
    >>> settings_text({"width": None, "reg": 0.1})
    'linear kernel, regularisation 0.1'
    """
    return ", ".join(_setting_text(name, value) for name, value in settings.items())


def _setting_text(name: str, value: Any) -> str:
    short = f"{value:.3g}" if isinstance(value, float) else str(value)
    if name == "width":  # in units of 1/(2·median²), of the median distance between rows
        return "linear kernel" if value is None else f"Gaussian kernel (γ = {short} × median)"
    if name == "added":
        return f"{value} predictions"
    if name == "neighbours":
        return f"{value} neighbours" if value == "all" else f"{value} of the neighbours"
    names = {"reg": "regularisation", "ratio": "graph weight"}
    return f"{names.get(name, name)} {short}"


def shares_text(shares: dict[str, float]) -> str:
    """Return the families that have a share in the decision, the largest first."""
    order = sorted(shares, key=lambda family: -shares[family])
    return ", ".join(
        f"{name} {100 * shares[name]:.0f} %" for name in order if shares[name] > _LEAST_SHARE
    )


def explain(method: str, metric: str, selected: Selected, chosen: str) -> str:
    """Return why a family was chosen."""
    if method != "auto":
        return f"Only the {chosen} family is used, as method={method!r} says."
    if not selected.folds.folds:
        few, more = "No class has two labels", "Label a second row of some classes"
        which = "that use unlabelled rows" if len(selected.shares) > 1 else "that can be fitted"
        if metric != "accuracy":
            few = f"There are fewer than {FEWEST_TARGETS} targets"
            more, which = "Give more rows a target", "that can be fitted"
        return (
            f"{few}, so nothing can be held out and models cannot be compared: all families "
            f"{which} get the same share. {more}."
        )
    text = f"The {chosen} family is chosen: {DESCRIPTIONS[chosen]}."
    if selected.shares[chosen] <= 1.0 - _LEAST_SHARE:
        text = (
            f"The {chosen} family ({DESCRIPTIONS[chosen]}) has the largest share in the "
            f"prediction: {shares_text(selected.shares)}."
        )
    if all(candidate.supervised for candidate in selected.candidates):
        return text
    return f"{text} {_compare(metric, selected)}"


def _compare(metric: str, selected: Selected) -> str:
    """Return how good models are that use unlabelled rows, and ones that do not, and their share.

    The scores are those of the column "combined" of the tables.
    """
    other = best_of([c for c in selected.candidates if not c.supervised])
    supervised = best_supervised(selected.candidates)
    gap, lead = other.score - supervised.score, LEAD * supervised.spread
    size = score_text(metric, lead).replace(" %", " points")
    text = (
        "A model is scored by its held-out labels and by how well its versions, fitted to "
        "different labels, agree on unlabelled rows, combined. Shares follow the scores, and how "
        "probable the held-out labels are by the model. The best model that uses unlabelled "
        f"rows scores {score_text(metric, other.score)}, the best one that does not "
        f"{score_text(metric, supervised.score)}."
    )
    found = "The first is not better than the second"
    if gap > 0.0:
        side = "larger than" if gap > lead else "within"
        found = f"The difference is {side} the standard error ({size})"
    return f"{text} {found}{_outcome(selected, gap > 0.0)}."


def _outcome(selected: Selected, better: bool) -> str:
    """Return what the models that use unlabelled rows have in the prediction; for a sentence."""
    share = 1.0 - selected.shares.get(SUPERVISED, 0.0)
    if share < _LEAST_SHARE:
        return ", and unlabelled rows are not used"
    if share > 1.0 - _LEAST_SHARE:
        return ", and only models that use unlabelled rows are used"
    text = f"models that use unlabelled rows have {100 * share:.0f} % of the prediction"
    if selected.scored is not None:
        return f"; {text}, in part by the selection before"
    return f"{', so' if better else ', but close enough to count:'} {text}"


def notes(
    settings: Any, setup: Setup, targets: Targets, selected: Selected, reach: np.ndarray
) -> list[str]:
    """Return what the user should know about labels, rows and the selection.

    ``settings`` is the estimator.
    """
    found, labels, method = [], selected.folds.labels, settings.method
    if method == "auto" and _hurt(selected):
        found.append(
            "unlabelled rows hurt here: every model that uses them is clearly worse than the best "
            "supervised model"
        )
    found += unreached(reach)
    found += label_notes(labels, targets) if selected.folds.folds else []
    l, n, used = len(targets.index), setup.rows.n_rows, len(setup.rows.index)
    if l > limits.MOST_LABELS:
        found.append(
            f"with more than {limits.MOST_LABELS} labels only supervised models are tried: the "
            "unlabelled rows are not used"
        )
    elif method == "auto" and l * used > limits.GRAPH_WORK:
        found.append(f"the graph family is not tried: {l} labels × {used} rows would take too long")
    tried = {trial.family for trial in selected.trials}
    suited = {
        MANIFOLD: True,
        MARGIN: may_have_margin(labels),
        SELF_TRAINING: may_self_train(labels, setup.rows.X),
    }
    lost = {family for family, suits in suited.items() if suits} - tried
    if method == "auto" and l <= limits.MOST_LABELS and used > l and lost:
        names = " and ".join(sorted(lost))
        found.append(
            f"the {names} {'family is' if len(lost) == 1 else 'families are'} not tried, because "
            "the memory is too small: raise memory_limit, or fit fewer rows"
        )
    if int(targets.labelled.sum()) == n:
        found.append("every row is labelled, so there are no unlabelled rows to learn from")
    found += row_notes(setup)
    by_graph = settings.graph is None and {GRAPH, MANIFOLD} & tried
    return found + (_few_others(setup) if by_graph else [])


def _few_others(setup: Setup) -> list[str]:
    """Return a note if memory was short for the rows that weigh the edges, in a list."""
    rows = setup.rows
    wanted = 0 if rows.numbers is None else min(rows.n_rows - len(rows.numbers), limits.EDGE_ROWS)
    if setup.n_others >= wanted:
        return []
    return [
        f"the memory has room for {setup.n_others} of {wanted} rows beside the sample that would "
        "weigh the edges of the graph, which changes the model: raise memory_limit"
    ]


def row_notes(setup: Setup) -> list[str]:
    """Return notes on rows that the models do not see."""
    found, rows = [], setup.rows
    duplicates, used, n = rows.n_duplicates, len(rows.index), rows.n_rows
    if duplicates:
        found.append(
            f"{duplicates} duplicate row{'s were' if duplicates > 1 else ' was'} used once"
        )
    if used + duplicates < n:
        note = (
            f"the models were compared on and fitted to {used} of {n} rows, with all labelled ones "
            "among them"
        )
        if setup.n_others:
            weighed = used + setup.n_others
            some = "all" if weighed == n else str(weighed)
            note += f"; {some} rows weigh the edges of their graph"
        found.append(f"{note}; the other rows are predicted like new ones")
    return found


def label_notes(labels: Labels, targets: Targets) -> list[str]:
    """Return notes on the numbers of labels per class."""
    if labels.codes is None or targets.classes is None:
        return []
    found, counts = [], np.bincount(labels.codes, minlength=len(targets.classes))
    if counts.min() < 2:
        names = join_names(targets.classes[counts < 2])
        found.append(
            f"{SINGLE} cannot be held out, so the score does not count them ({names}): label a "
            "second row of each"
        )
    if counts.max() >= 2 * counts.min() and labels.sampled < 0.5:
        found.append(
            f"{UNEVEN}, which are not taken for shares of the classes: models and scores count "
            "classes rather than labels"
        )
    return found


def unreached(reach: np.ndarray) -> list[str]:
    """Return a note if there are rows that no label reaches, in a list."""
    lost = int((~reach).sum())
    if not lost:
        return []
    return [
        f"{lost} of {len(reach)} rows {'is' if lost == 1 else 'are'} in parts of the graph "
        f"{NO_LABEL}, so predictions for {'it' if lost == 1 else 'them'} are less reliable: "
        "suggest() lists such rows first"
    ]


def _hurt(selected: Selected) -> bool:
    """Return whether models that use unlabelled rows are clearly worse, and thus not selected."""
    others = [c for c in selected.scored or selected.candidates if not c.supervised]
    used = sum(candidate.weight for candidate in others) >= _LEAST_SHARE
    if not selected.folds.folds or not others or used:
        return False
    supervised = best_supervised(selected.candidates)
    return best_of(others).score < supervised.score - supervised.spread


def join_names(names: Iterable[Any]) -> str:
    """Return names of classes for a sentence; many and long ones are cut."""
    texts = [str(name) for name in names]
    shown = [t if len(t) <= _LETTERS else t[: _LETTERS - 1] + "…" for t in texts[:_NAMES]]
    rest = len(texts) - len(shown)
    return ", ".join(shown) + (f" and {rest} more" if rest else "")
