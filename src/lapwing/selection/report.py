"""What the default tried, what it chose and why: numbers and sentences, no decisions."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier

from ..arrays.archive import plain
from . import families
from .families import GRAPH, MANIFOLD, MARGIN, SUPERVISED
from .race import AGREEMENT_LABELS, LEAD, Candidate, Race

if TYPE_CHECKING:
    from ..estimators.classifier import LabelledData

_NO_LABEL = "without a label"
_WHAT = {
    SUPERVISED: "machines that see the labelled rows alone",
    MANIFOLD: "kernel machines that vary little along the graph",
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
        The same of the best supervised machine.
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

    @classmethod
    def from_dict(cls, page: dict[str, Any]) -> SelectionReport:
        """Return the report of such a dictionary; ValueError or TypeError if it is none."""
        report = cls(**page)
        found: dict[str, Any] = {"seconds": float(report.seconds)}
        for name in ("score", "spread", "supervised_score", "supervised_spread"):
            found[name] = _number(getattr(report, name))
        for name in ("labels", "rows", "columns", "refits"):
            found[name] = int(getattr(report, name))
        for name in ("metric", "chosen", "reason"):
            found[name] = str(getattr(report, name))
        own = ("score", "spread", "agreement", "steadied", "seconds", "weight")
        found["candidates"] = [
            {
                "family": str(item["family"]),
                "settings": {str(k): _setting(v) for k, v in item["settings"].items()},
                **{name: _number(item[name]) for name in own},
                "supervised": bool(item["supervised"]),
            }
            for item in report.candidates
        ]
        found["curve"] = [
            {"family": str(item["family"])}
            | {name: _number(item[name]) for name in ("reg", "score", "spread")}
            for item in report.curve
        ]
        found["warnings"] = [str(message) for message in report.warnings]
        found["settings"] = {str(k): _setting(v) for k, v in report.settings.items()}
        if report.confusion is not None:
            found["confusion"] = [[int(count) for count in row] for row in report.confusion]
        if report.held_out is not None:
            sides = ("truth", "predicted")
            found["held_out"] = {k: [_number(v) for v in report.held_out[k]] for k in sides}
        return replace(report, **found)

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


def make_report(model: Any, data: LabelledData, race: Race, seconds: float) -> SelectionReport:
    """Return the report of a fit."""
    shares: dict[str, float] = {}
    for candidate in race.candidates:
        shares[candidate.family] = shares.get(candidate.family, 0.0) + candidate.weight
    chosen = max(shares, key=lambda family: shares[family])
    plain = race.best(supervised=True)
    confusion = getattr(model, "_confusion", None)
    held_out = getattr(model, "_held_out", None)
    blend, l = race.blend(), max(race.n_held_out, 1)
    return SelectionReport(
        metric="accuracy" if is_classifier(model) else "R²",
        score=blend.held_out,
        spread=_spread(blend, race, l),
        supervised_score=plain.held_out,
        supervised_spread=_spread(plain, race, l),
        chosen=chosen,
        reason=_reason(model, race, chosen, shares),
        warnings=_warnings(model, data, race),
        candidates=[_describe(candidate, race, l) for candidate in race.candidates],
        curve=_curve(race, l),
        labels=len(data.index),
        rows=data.X.shape[0],
        columns=data.X.shape[1],
        confusion=None if confusion is None else confusion.tolist(),
        held_out=held_out if race.folds else None,
        settings=_settings(model),
        seconds=seconds,
    )


def _spread(candidate: Candidate, race: Race, l: int) -> float:
    """Return the standard error of a held-out score, of an accuracy never zero."""
    if race.kinds is None:
        return float(candidate.spread * np.sqrt((l + AGREEMENT_LABELS) / l))
    p = (l * candidate.held_out + 1.0) / (l + 2.0)  # all of four right is no proof of all right
    return float(np.sqrt(p * (1.0 - p) / l))


def _describe(candidate: Candidate, race: Race, l: int) -> dict[str, Any]:
    return {
        "family": candidate.family,
        "settings": {k: v for k, v in candidate.settings.items() if k != "scale"},
        "score": candidate.held_out,
        "spread": _spread(candidate, race, l),
        "agreement": candidate.agreement,
        "steadied": candidate.score,
        "seconds": candidate.seconds,
        "weight": candidate.weight,
        "supervised": candidate.supervised,
    }


def _curve(race: Race, l: int) -> list[dict[str, Any]]:
    """Return the best held-out score for each weight of the norm and each ratio γ_I/γ_A."""
    best: dict[tuple[str, float], Candidate] = {}
    for candidate in race.candidates:
        name = {SUPERVISED: "reg", MANIFOLD: "ratio"}.get(candidate.family)
        if name is not None and race.folds:
            key = candidate.family, float(candidate.settings[name])
            if key not in best or candidate.score > best[key].score:
                best[key] = candidate
    return [
        {"family": family, "reg": reg, "score": c.held_out, "spread": _spread(c, race, l)}
        for (family, reg), c in sorted(best.items())
    ]


def _reason(model: Any, race: Race, chosen: str, shares: dict[str, float]) -> str:
    if model.method != "auto":
        return f"The decision goes to {chosen}, because method={model.method!r} asks for it."
    if not race.folds:
        return (
            "No class has two labels, so that nothing can be held out: the families share the "
            "decision evenly. Label more rows to let them race."
        )
    order = sorted(shares, key=lambda family: -shares[family])
    listed = ", ".join(f"{name} {shares[name]:.0%}" for name in order if shares[name] > 0.005)
    said = f"The decision goes to {chosen}, {_WHAT[chosen]}, for the largest part: {listed}."
    if shares[chosen] > 0.995:
        said = f"The decision goes to {chosen}, {_WHAT[chosen]}."
    others = [c for c in race.candidates if not c.supervised]
    if others:
        plain, rival = race.best(supervised=True), max(others, key=lambda c: c.score)
        said += (
            " Held-out labels and agreement counted together, the best machine with unlabelled "
            f"rows scores {rival.score:.3f} and the best supervised one {plain.score:.3f}, to "
            f"which its standard error, {LEAD * plain.spread:.3f}, is added as to the simpler one."
        )
    return said


def _warnings(model: Any, data: LabelledData, race: Race) -> list[str]:
    found = []
    others = [c for c in race.candidates if not c.supervised]
    if race.folds and others and model.method == "auto":
        plain, rival = race.best(supervised=True), max(others, key=lambda c: c.score)
        if rival.score < plain.score - plain.spread:
            found.append(
                "unlabelled rows hurt here: every machine that uses them does worse than the "
                "supervised one, which was taken"
            )
    found += _unreached(model)
    if race.kinds is not None:
        counts = np.bincount(race.kinds, minlength=len(model.classes_))
        if counts.min() < 2:
            names = ", ".join(str(c) for c in model.classes_[counts < 2])
            found.append(f"classes with a single label are never held out: {names}")
    l = len(data.index)
    if l > families.MOST_LABELS:
        found.append(f"with {l} labels only machines that see the labelled rows alone are tried")
    elif model.method == "auto" and l * len(model._rows) > families.GRAPH_WORK:
        found.append(f"with {l} labels of {len(model._rows)} rows the graph alone is not tried")
    if data.labelled.all():
        found.append("every row is labelled, so there are no unlabelled rows to learn from")
    if model.n_copies_:
        found.append(f"{model.n_copies_} rows equal another row and were seen once")
    if len(model._rows) + model.n_copies_ < data.X.shape[0]:
        found.append(
            f"the machines saw {len(model._rows)} of {data.X.shape[0]} rows, all labelled ones "
            "among them; the others are predicted"
        )
    return found


def _unreached(model: Any) -> list[str]:
    lost, n = int((~model.label_reach_).sum()), len(model.label_reach_)
    if lost == 0:
        return []
    return [f"{lost} of {n} rows lie in parts of the graph {_NO_LABEL}; suggest() names some"]


def after_refit(report: SelectionReport, model: Any, labels: int) -> SelectionReport:
    """Return the report of a model that was given more labels: what is still true of it."""
    kept = [message for message in report.warnings if _NO_LABEL not in message]
    confusion = report.confusion
    if confusion is not None and len(confusion) != len(model.classes_):
        confusion = None
    return replace(
        report,
        labels=labels,
        refits=report.refits + 1,
        warnings=[*kept, *_unreached(model)],
        confusion=confusion,
    )


def _settings(model: Any) -> dict[str, Any]:
    from .. import __version__

    seed = model.random_state if isinstance(model.random_state, (int, np.integer)) else None
    return {
        "class": type(model).__name__,
        "method": model.method,
        "random_state": None if seed is None else int(seed),
        "seed": model._seed,
        "scaling": model.scaling_.kind,
        "n_neighbors": int(model.graph_.n_neighbors),
        "version": __version__,
    }


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _number(value: Any) -> float:
    """Return a number that JSON held, or NaN for None."""
    return np.nan if value is None else float(value)


def _setting(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"{value!r} is no setting")
