"""The report of the default: which candidates were compared, which were chosen, and why.

Turns a selection into numbers. Makes no decisions; `report_words` has the sentences, and
`report_view` shows them as text and in notebooks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from ..arrays.archive import plain
from ..arrays.packing import expect
from ..estimators.targets import Targets
from ..solvers.stopping import decisions
from ..version import __version__
from .candidate_settings import MANIFOLD, SUPERVISED
from .class_notes import CLASS_SHARES, class_notes
from .folds import Folds, Trial
from .labels import Labels
from .report_view import html_text, long_text, short_text
from .report_words import AGAIN, PASSING, explain, label_notes, notes, unreached
from .selection import AGREEMENT_LABELS, Candidate, Selected, best_of, best_supervised, score
from .setup import Setup


@dataclass(frozen=True, repr=False)
class SelectionReport:
    """The candidates that were compared and the choice between them.

    Attributes
    ----------
    metric : {"accuracy", "R²"}
        The metric of all scores.
    score, spread : float
        Held-out score of the blend, and its standard error; NaN where nothing could be held out.
    supervised_score, supervised_spread : float
        The same for the best supervised candidate.
    chosen : str
        The family with the largest share in the decision.
    reason : str
        Why, in words.
    warnings : list of str
        What the user should know.
    candidates : list of dict
        For each setting: family, settings, score (of held-out labels), spread, agreement, steadied
        (the score that decides), seconds, weight (share in the blend), supervised.
    curve : list of dict
        Held-out score by the weight of a regulariser: family, reg, score, spread.
    labels, rows, columns : int
        Sizes of what was given.
    confusion : list of list of int or None
        Confusion matrix of the held-out labels of a classifier, true classes by rows.
    held_out : dict or None
        Held-out targets of a regressor: truth and predicted.
    settings : dict
        The settings that reproduce the model.
    seconds : float
        Time of the fit.
    refits : int
        Number of calls of `add_labels` since, which keep the choice.
    rows_used : int
        Rows that the models see, both when they are compared and when those chosen are fitted.
    rows_weighed : int
        Rows by which the edges of the graph are weighed: those in use and up to 100 000 others.
    """

    metric: str
    score: float
    spread: float
    supervised_score: float
    supervised_spread: float
    chosen: str
    reason: str
    warnings: list[str]
    candidates: list[dict[str, Any]]
    curve: list[dict[str, Any]]
    labels: int
    rows: int
    columns: int
    confusion: list[list[int]] | None
    held_out: dict[str, list[float]] | None
    settings: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    refits: int = 0
    rows_used: int = 0
    rows_weighed: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON types, with None for unknown numbers."""
        return plain(asdict(self))

    def check_loaded(self) -> None:
        """Refuse the report of a model file that lacks values that are shown."""
        numbers = ("score", "spread", "agreement", "steadied", "seconds", "weight")
        for item in self.candidates:
            expect(isinstance(item["family"], str) and isinstance(item["settings"], dict))
            expect(all(isinstance(item[name], (int, float)) for name in numbers))
            expect(isinstance(item["supervised"], bool))
        for item in self.curve:
            expect(all(isinstance(item[name], (int, float)) for name in ("reg", "score", "spread")))
        if self.held_out is not None:
            expect(len(self.held_out["truth"]) == len(self.held_out["predicted"]))

    def __repr__(self) -> str:
        return short_text(self)

    def __str__(self) -> str:
        return long_text(self)

    def _repr_html_(self) -> str:
        return html_text(self)


def make_report(
    settings: Any,
    setup: Setup,
    targets: Targets,
    selected: Selected,
    reach: np.ndarray,
    seconds: float,
    outdated: str = "",
) -> SelectionReport:
    """Return the report of a selection; ``settings`` is the estimator.

    ``outdated`` says why `add_labels` has repeated it.
    """
    folds, candidates, shares = selected.folds, selected.candidates, selected.shares
    chosen = max(shares, key=lambda family: shares[family])
    supervised, trial = best_supervised(candidates), selected.blend
    blended = score(folds, trial)
    metric = "R²" if targets.classes is None else "accuracy"
    again = [f"{AGAIN}, because {outdated}"] if outdated else []
    confusion, held_out = _held_out(folds, trial, targets) if folds.folds else (None, None)
    return SelectionReport(
        metric=metric,
        score=blended.held_out,
        spread=_spread(blended, folds),
        supervised_score=supervised.held_out,
        supervised_spread=_spread(supervised, folds),
        chosen=chosen,
        reason=explain(settings.method, metric, selected, chosen),
        warnings=again + notes(settings, setup, targets, selected, reach),
        candidates=[_describe(candidate, folds) for candidate in candidates],
        curve=_curve(folds, candidates),
        labels=len(targets.index),
        rows=setup.rows.n_rows,
        columns=setup.rows.X.shape[1],
        confusion=confusion,
        held_out=held_out,
        settings=_settings(settings, setup),
        seconds=seconds,
        rows_used=len(setup.rows.index),
        rows_weighed=len(setup.rows.index) + setup.n_others,
    )


def _held_out(
    folds: Folds, trial: Trial, targets: Targets
) -> tuple[list[list[int]] | None, dict[str, list[float]] | None]:
    """Return the confusion matrix of held-out classes, or held-out quantities and predictions."""
    index = folds.held_out_index(len(trial.on_sample))
    if targets.classes is None or folds.labels.codes is None:
        truth, predicted = folds.labels.targets[index], trial.held_out
        pairs = {"truth": truth, "predicted": predicted}
        return None, {name: targets.restored(v)[:, 0].tolist() for name, v in pairs.items()}
    codes, found = folds.labels.codes[index], decisions(trial.held_out).astype(int)
    every = np.arange(len(targets.classes))
    return confusion_matrix(codes, found, labels=every).tolist(), None


def _spread(candidate: Candidate, folds: Folds) -> float:
    """Return the standard error of a held-out score; that of an accuracy is never zero."""
    l = max(folds.worth, 1.0)
    if folds.labels.codes is None:
        return float(candidate.spread * np.sqrt((l + AGREEMENT_LABELS) / l))
    p = (l * candidate.held_out + 1.0) / (l + 2.0)  # four of four right does not mean all right
    return float(np.sqrt(p * (1.0 - p) / l))


def _describe(candidate: Candidate, folds: Folds) -> dict[str, Any]:
    return {
        "family": candidate.family,
        "settings": {k: v for k, v in candidate.settings.items() if k != "scale"},
        "score": candidate.held_out,
        "spread": _spread(candidate, folds),
        "agreement": candidate.agreement,
        "steadied": np.nan if np.isnan(candidate.agreement) else candidate.score,
        "seconds": candidate.seconds,
        "weight": candidate.weight,
        "supervised": candidate.supervised,
    }


def _curve(folds: Folds, candidates: Sequence[Candidate]) -> list[dict[str, Any]]:
    """Return the best held-out score for each weight of the norm and each ratio γ_I/γ_A."""
    if not folds.folds:
        return []
    settings = {SUPERVISED: "reg", MANIFOLD: "ratio"}
    best: dict[tuple[str, float], Candidate] = {}
    for candidate in candidates:
        if candidate.family in settings:
            key = candidate.family, float(candidate.settings[settings[candidate.family]])
            best[key] = best_of([best.get(key, candidate), candidate])
    return [
        {"family": family, "reg": reg, "score": c.held_out, "spread": _spread(c, folds)}
        for (family, reg), c in sorted(best.items())
    ]


def after_refit(
    report: SelectionReport, setup: Setup, targets: Targets, labels: Labels, reach: np.ndarray
) -> SelectionReport:
    """Return the report of a model after `add_labels`, without what is no longer true."""
    kept = [message for message in report.warnings if not any(word in message for word in PASSING)]
    confusion = report.confusion
    if confusion is not None and len(confusion) != len(targets.classes):  # type: ignore[arg-type]
        confusion = None
    return replace(
        report,
        labels=len(targets.index),
        refits=report.refits + 1,
        rows_used=len(setup.rows.index),
        rows_weighed=len(setup.rows.index) + setup.n_others,
        warnings=[*kept, *unreached(reach), *label_notes(labels, targets)],
        confusion=confusion,
    )


def with_class_notes(
    report: SelectionReport, targets: Targets, codes: np.ndarray
) -> SelectionReport:
    """Return the report with notes on the class shares of the predicted codes of all rows."""
    kept = [message for message in report.warnings if CLASS_SHARES not in message]
    again = [message for message in kept if message.startswith(AGAIN)]
    others = [message for message in kept if message not in again]
    return replace(report, warnings=[*again, *class_notes(targets, codes), *others])


def _settings(settings: Any, setup: Setup) -> dict[str, Any]:
    seed = settings.random_state
    return {
        "class": type(settings).__name__,
        "method": settings.method,
        "random_state": int(seed) if isinstance(seed, (int, np.integer)) else None,
        "seed": setup.seed,
        "scaling": setup.rows.scaling.kind,
        "n_neighbors": int(setup.graph.n_neighbors),
        "version": __version__,
    }
