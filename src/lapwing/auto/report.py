"""What the default tried, what it chose and why: numbers and sentences, no decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from ..arrays.archive import plain
from ..arrays.packing import expect
from ..estimators.targets import Targets
from ..solvers import decisions
from ..version import __version__
from . import limits
from .families import GRAPH, MANIFOLD, MARGIN, SUPERVISED
from .selection import (
    AGREEMENT_LABELS,
    LEAD,
    Candidate,
    Folds,
    Selected,
    Trial,
    best_of,
    blend,
    score,
)
from .setup import Setup

_NO_LABEL = "without a label"
_WHAT = {
    SUPERVISED: "models that see the labelled rows alone",
    MANIFOLD: "kernel models that vary little along the graph",
    GRAPH: "labels spread over the graph of neighbours",
    MARGIN: "a boundary that avoids the unlabelled rows",
}


@dataclass(frozen=True)
class SelectionReport:
    """What was tried and chosen.

    Attributes
    ----------
    metric : {"accuracy", "R²"}
        What scores are.
    score, spread : float
        Held-out score of the blend, and its standard error; NaN where nothing could be held out.
    supervised_score, supervised_spread : float
        The same of the best supervised model.
    chosen : str
        The family with the largest share in the decision.
    reason : str
        Why, in words.
    warnings : list of str
        What the reader should know.
    candidates : list of dict
        Each setting: family, settings, score (held out), spread, agreement, steadied (what
        decides), seconds, weight (share in the blend), supervised.
    curve : list of dict
        Held-out score by the weight of a regulariser: family, reg, score, spread.
    labels, rows, columns : int
        Sizes.
    confusion : list of list of int or None
        Held-out labels of classifiers, truth by rows.
    held_out : dict or None
        Held-out targets of regressors: truth and predicted.
    settings : dict
        What reproduces the model.
    seconds : float
        What the fit took.
    refits : int
        Calls of add_labels since, which kept the choice.
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

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold, with None for numbers that are not known."""
        return plain(asdict(self))

    def check_loaded(self) -> None:
        """Refuse the report of a model file that lacks what is shown of it."""
        numbers = ("score", "spread", "agreement", "steadied", "seconds", "weight")
        for item in self.candidates:
            expect(isinstance(item["family"], str) and isinstance(item["settings"], dict))
            expect(all(isinstance(item[name], (int, float)) for name in numbers))
            expect(isinstance(item["supervised"], bool))
        for item in self.curve:
            expect(all(isinstance(item[name], (int, float)) for name in ("reg", "score", "spread")))
        expect(all(isinstance(message, str) for message in self.warnings))
        if self.confusion is not None:
            expect(all(isinstance(count, int) for row in self.confusion for count in row))
        if self.held_out is not None:
            expect(len(self.held_out["truth"]) == len(self.held_out["predicted"]))

    def __str__(self) -> str:
        lines = [self.reason, ""]
        lines.append(f"{'family':<12}{self.metric:>10}{'agreement':>11}{'share':>8}  settings")
        best: dict[str, dict[str, Any]] = {}
        for candidate in self.candidates:
            kept = best.get(candidate["family"])
            if kept is None or candidate["steadied"] > kept["steadied"]:
                best[candidate["family"]] = candidate
        for family, candidate in best.items():
            share = sum(c["weight"] for c in self.candidates if c["family"] == family)
            settings = ", ".join(f"{k} {_short(v)}" for k, v in candidate["settings"].items())
            score, agreement = candidate["score"], candidate["agreement"]
            lines.append(f"{family:<12}{score:>10.3f}{agreement:>11.3f}{share:>8.2f}  {settings}")
        lines += ["", *(f"Note: {message}" for message in self.warnings)]
        return "\n".join(lines).rstrip()


def make_report(
    settings: Any,
    setup: Setup,
    targets: Targets,
    selected: Selected,
    reach: np.ndarray,
    seconds: float,
) -> SelectionReport:
    """Return the report of a fit; ``settings`` is the estimator."""
    folds, candidates = selected.folds, selected.candidates
    shares: dict[str, float] = {}
    for candidate in candidates:
        shares[candidate.family] = shares.get(candidate.family, 0.0) + candidate.weight
    chosen = max(shares, key=lambda family: shares[family])
    supervised = best_of([c for c in candidates if c.supervised])
    trial = blend(folds, selected.trials, candidates)
    blended = score(folds, trial)
    known = bool(folds.folds)
    return SelectionReport(
        metric="R²" if targets.classes is None else "accuracy",
        score=blended.held_out,
        spread=_spread(blended, folds),
        supervised_score=supervised.held_out,
        supervised_spread=_spread(supervised, folds),
        chosen=chosen,
        reason=_reason(settings.method, folds, candidates, chosen, shares),
        warnings=_warnings(settings.method, setup, targets, selected, reach),
        candidates=[_describe(candidate, folds) for candidate in candidates],
        curve=_curve(folds, candidates),
        labels=len(targets.index),
        rows=setup.rows.X.shape[0],
        columns=setup.rows.X.shape[1],
        confusion=_confusion(folds, trial, targets) if known else None,
        held_out=_held_out_targets(folds, trial) if known else None,
        settings=_settings(settings, setup),
        seconds=seconds,
    )


def _confusion(folds: Folds, trial: Trial, targets: Targets) -> list[list[int]] | None:
    """Return how often a held-out label of one class was taken for another, truth by rows."""
    if folds.labels.codes is None or targets.classes is None:
        return None
    truth = folds.labels.codes[folds.held_out_index(len(trial.held_out))]
    found = decisions(trial.held_out).astype(int)
    return confusion_matrix(truth, found, labels=np.arange(len(targets.classes))).tolist()


def _held_out_targets(folds: Folds, trial: Trial) -> dict[str, list[float]] | None:
    """Return held-out quantities and their predictions."""
    if folds.labels.codes is not None:
        return None
    truth = folds.labels.targets[folds.held_out_index(len(trial.held_out)), 0]
    return {"truth": truth.tolist(), "predicted": trial.held_out[:, 0].tolist()}


def _spread(candidate: Candidate, folds: Folds) -> float:
    """Return the standard error of a held-out score, of an accuracy never zero."""
    l = max(folds.n_held_out, 1)
    if folds.labels.codes is None:
        return float(candidate.spread * np.sqrt((l + AGREEMENT_LABELS) / l))
    p = (l * candidate.held_out + 1.0) / (l + 2.0)  # all of four right is no proof of all right
    return float(np.sqrt(p * (1.0 - p) / l))


def _describe(candidate: Candidate, folds: Folds) -> dict[str, Any]:
    return {
        "family": candidate.family,
        "settings": {k: v for k, v in candidate.settings.items() if k != "scale"},
        "score": candidate.held_out,
        "spread": _spread(candidate, folds),
        "agreement": candidate.agreement,
        "steadied": candidate.score,
        "seconds": candidate.seconds,
        "weight": candidate.weight,
        "supervised": candidate.supervised,
    }


def _curve(folds: Folds, candidates: Sequence[Candidate]) -> list[dict[str, Any]]:
    """Return the best held-out score for each weight of the norm and each ratio γ_I/γ_A."""
    best: dict[tuple[str, float], Candidate] = {}
    for candidate in candidates:
        name = {SUPERVISED: "reg", MANIFOLD: "ratio"}.get(candidate.family)
        if name is not None and folds.folds:
            key = candidate.family, float(candidate.settings[name])
            if key not in best or candidate.score > best[key].score:
                best[key] = candidate
    return [
        {"family": family, "reg": reg, "score": c.held_out, "spread": _spread(c, folds)}
        for (family, reg), c in sorted(best.items())
    ]


def _reason(
    method: str,
    folds: Folds,
    candidates: Sequence[Candidate],
    chosen: str,
    shares: dict[str, float],
) -> str:
    if method != "auto":
        return f"The decision goes to {chosen}, because method={method!r} asks for it."
    if not folds.folds:
        return (
            "No class has two labels, so that nothing can be held out: the families share the "
            "decision evenly. Label more rows so that they can be compared."
        )
    order = sorted(shares, key=lambda family: -shares[family])
    listed = ", ".join(f"{name} {shares[name]:.0%}" for name in order if shares[name] > 0.005)
    text = f"The decision goes to {chosen}, {_WHAT[chosen]}, for the largest part: {listed}."
    if shares[chosen] > 0.995:
        text = f"The decision goes to {chosen}, {_WHAT[chosen]}."
    others = [c for c in candidates if not c.supervised]
    if others:
        supervised, rival = best_of([c for c in candidates if c.supervised]), best_of(others)
        text += (
            " With held-out labels and agreement counted together, the best model that uses "
            f"unlabelled rows scores {rival.score:.3f} and the best supervised one "
            f"{supervised.score:.3f}, to which its standard error, "
            f"{LEAD * supervised.spread:.3f}, is added because it is simpler."
        )
    return text


def _warnings(
    method: str, setup: Setup, targets: Targets, selected: Selected, reach: np.ndarray
) -> list[str]:
    found, folds = [], selected.folds
    others = [c for c in selected.candidates if not c.supervised]
    if folds.folds and others and method == "auto":
        supervised = best_of([c for c in selected.candidates if c.supervised])
        if best_of(others).score < supervised.score - supervised.spread:
            found.append(
                "unlabelled rows hurt here: every model that uses them does worse than the "
                "supervised one, which was taken"
            )
    found += _unreached(reach)
    if folds.labels.codes is not None and targets.classes is not None:
        counts = np.bincount(folds.labels.codes, minlength=len(targets.classes))
        if counts.min() < 2:
            names = ", ".join(str(c) for c in targets.classes[counts < 2])
            found.append(f"classes with a single label are never held out: {names}")
    l, n, used = len(targets.index), setup.rows.X.shape[0], len(setup.rows.index)
    if l > limits.MOST_LABELS:
        found.append(f"with {l} labels only models that see the labelled rows alone are tried")
    elif method == "auto" and l * used > limits.GRAPH_WORK:
        found.append(f"with {l} labels of {used} rows the graph alone is not tried")
    if targets.labelled.all():
        found.append("every row is labelled, so there are no unlabelled rows to learn from")
    duplicates = setup.rows.n_duplicates
    if duplicates:
        found.append(f"{duplicates} duplicate rows were used once")
    if used + duplicates < n:
        found.append(
            f"the models used {used} of {n} rows, all labelled ones among them; the others are "
            "predicted"
        )
    return found


def _unreached(reach: np.ndarray) -> list[str]:
    lost = int((~reach).sum())
    if lost == 0:
        return []
    return [
        f"{lost} of {len(reach)} rows lie in parts of the graph {_NO_LABEL}; suggest() names some"
    ]


def after_refit(report: SelectionReport, targets: Targets, reach: np.ndarray) -> SelectionReport:
    """Return the report of a model that was given more labels: what is still true of it."""
    kept = [message for message in report.warnings if _NO_LABEL not in message]
    confusion = report.confusion
    if confusion is not None and len(confusion) != len(targets.classes):  # type: ignore[arg-type]
        confusion = None
    return replace(
        report,
        labels=len(targets.index),
        refits=report.refits + 1,
        warnings=[*kept, *_unreached(reach)],
        confusion=confusion,
    )


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


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
