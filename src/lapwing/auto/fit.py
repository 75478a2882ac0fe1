"""The fit of the default, as a pipe of values: rows → setup → trials → candidates → blend → report.

Knows neither how candidates are fitted nor how they are scored.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..estimators.calibration import probabilities, share_offsets, usual_temperature
from ..estimators.graph_choice import resolve_graph
from ..estimators.parameters import draw_seed
from ..estimators.rows import Rows
from ..estimators.run import Solution, direct_result, restored_predictor
from ..estimators.targets import Targets
from ..plan.default import plan_default
from ..solvers.stopping import decisions
from ..spaces.predictors import NeighborAverage, Predictor, WeightedSum
from . import limits
from .arrival import LastSelection
from .candidate_settings import GRAPH, MANIFOLD, SETTINGS, SLOW
from .edges import weigh_edges
from .folds import Folds, Trial, make_folds
from .labels import Labels, draw_labels
from .report import SelectionReport, after_refit, make_report, with_class_notes
from .rows import ScaledInput, UsedRows, choose_rows
from .sample import Sample, SampleResult, read_sample
from .selection import Candidate, Selected, best_supervised, judge, only
from .setup import DEFAULT_GRAPH, Setup, families_to_try, may_weigh_edges
from .suggestions import class_doubt, target_doubt

logger = logging.getLogger("lapwing")

#: Fitted attributes with an entry per row, besides ``transduction_``.
OF_ALL_ROWS = ("label_distributions_", "supervised_transduction_", "label_reach_")
#: Called with the name of a stage and the share that is done.
Progress = Callable[[str, float], object]


@dataclass(frozen=True)
class Blend:
    """The chosen candidates, fitted to all labels and added up.

    Attributes
    ----------
    predictor : Predictor
        The function of any row.
    values, supervised : ndarray of shape (n, c)
        Values of the training rows in memory, and those of the best supervised candidate.
    reach : ndarray of bool, shape (n,)
        Whether a label can reach the row through the graph.
    seen : ndarray of bool, shape (n,)
        Whether candidates have seen the row.
    """

    predictor: Predictor
    values: np.ndarray
    supervised: np.ndarray
    reach: np.ndarray
    seen: np.ndarray


def fit_default(
    model: Any, rows: Rows, targets: Targets, *, refit: bool, sampled: float | None = None
) -> Solution:
    """Select candidates, fit them to all labels and add them up.

    ``refit`` keeps the graph of the last fit, and the candidates and their shares unless they are
    outdated. ``sampled`` is the probability that the labels are a random sample, if it is known.
    """
    started = time.perf_counter()
    outdated = ""
    if refit:
        setup, last = model._setup.including(targets.index), model._last_selection
        sampled = last.said if sampled is None else sampled
        last = replace(last, said=sampled)
        labels = Labels.among(setup.rows.index, targets, last.sampled_now(targets))
        outdated = last.outdated(targets, labels)
        families = feasible_families(model, setup.rows, targets) if outdated else []
    else:
        seed = draw_seed(model.random_state)
        report_stage(model, "scaling", 0.0)
        n_rows = min(rows.n_rows, limits.MOST_ROWS)
        weighing = may_weigh_edges(model, len(targets.index), n_rows)
        sample = read_sample(model, rows, targets, seed, weighing=weighing)
        targets = sample.targets
        setup, families = prepare(model, sample, seed)
    if refit and not outdated:
        candidates, temperature = model.candidates_, getattr(model, "temperature_", 1.0)
        blend = fit_blend(setup, candidates, targets, labels)
        report = after_refit(model.report_, setup, targets, labels, blend.reach)
    else:
        selected = select(model, setup, targets, families, sampled)
        share = last.share(targets, labels) if outdated and model.method == "auto" else 0.0
        if share > 0.0:
            selected = selected.averaged_with(model.candidates_, share)
        candidates = selected.candidates
        report_stage(model, "fitting the blend", 0.9)
        labels = Labels.among(setup.rows.index, targets, selected.folds.labels.sampled)
        blend = fit_blend(setup, candidates, targets, labels)
        if selected.folds.folds:
            temperature = selected.folds.fit_temperature(selected.blend)
        else:
            temperature = _usual_temperature(blend.values, blend, targets)
        seconds = time.perf_counter() - started
        report = make_report(model, setup, targets, selected, blend.reach, seconds, outdated)
        last = LastSelection(targets.index, labels.sampled, sampled, labels.codes)
    attributes = _attributes(setup, blend, targets, candidates, temperature, report)
    if last.probabilities is None and targets.classes is not None:
        P = attributes["label_distributions_"]
        last = replace(last, classes=targets.classes, probabilities=P)
    attributes["_last_selection"] = last
    report_stage(model, "done", 1.0)  # before anything is stored: a callback may raise
    tried, reason = len(candidates), report.reason
    passes = 0
    if setup.rows.numbers is not None:  # the sample, and counts of words
        passes = 1 + (setup.rows.scaling.kind == "counts")
    result = direct_result("selection", started, passes=passes, message=reason, n_iter=tried)
    solution = Solution(blend.predictor, result, blend.values, attributes=attributes)
    return solution if setup.rows.numbers is None else _of_sample(solution, setup.rows, targets)


def _attributes(
    setup: Setup,
    blend: Blend,
    targets: Targets,
    candidates: Sequence[Candidate],
    temperature: float,
    report: SelectionReport,
) -> dict[str, Any]:
    """Return the fitted attributes."""
    attributes = {
        "_setup": setup,
        "X_fit_": setup.rows.X,
        "graph_": setup.graph,
        "scaling_": setup.rows.scaling,
        "candidates_": candidates,
        "n_duplicates_": setup.rows.n_duplicates,
        "label_reach_": blend.reach,
        "labelled_": targets.index,
        "report_": report,
    }
    if targets.classes is None:
        return attributes | {"supervised_transduction_": blend.supervised[:, 0]}
    attributes |= _class_attributes(blend, targets, candidates, temperature)
    codes = decisions(blend.values + attributes["class_offsets_"]).astype(int)
    return attributes | {"report_": with_class_notes(report, targets, codes)}


def _class_attributes(
    blend: Blend, targets: Targets, candidates: Sequence[Candidate], temperature: float
) -> dict[str, Any]:
    """Return the fitted attributes that only a classifier has, and the supervised classes."""
    assert targets.classes is not None
    own = temperature  # of the supervised candidate, whose values have another scale if unscored
    if not best_supervised(candidates).scored:
        own = _usual_temperature(blend.supervised, blend, targets)
    offsets = _offsets(blend.values, blend, targets, temperature)
    supervised = blend.supervised + _offsets(blend.supervised, blend, targets, own)
    return {
        "label_distributions_": probabilities(blend.values + offsets, temperature),
        "temperature_": temperature,
        "class_offsets_": offsets,  # `_set_fitted` adds them to the blend
        "supervised_transduction_": targets.classes[decisions(supervised).astype(int)],
    }


def _offsets(values: np.ndarray, blend: Blend, targets: Targets, temperature: float) -> np.ndarray:
    """Return the offsets that match known class shares, by rows that candidates have seen."""
    if targets.shares is None:
        return np.zeros(targets.n_columns)
    some = blend.seen & ~targets.labelled
    return share_offsets(values[some if some.any() else blend.seen], targets, temperature)


def _usual_temperature(values: np.ndarray, blend: Blend, targets: Targets) -> float:
    """Return the temperature of values that nothing was held out for, by rows that labels reach."""
    if targets.classes is None:
        return 1.0
    return usual_temperature(values[blend.reach & ~targets.labelled & blend.seen])


def _of_sample(solution: Solution, rows: UsedRows, targets: Targets) -> Solution:
    """Return a solution for rows in blocks, of which a sample was fitted.

    Attributes with an entry per row would be those of the sample; what `suggest`, `transduction_`
    and `view_rows` need of them is kept.
    """
    assert rows.numbers is not None and solution.values is not None
    attributes, values = dict(solution.attributes), solution.values
    supervised, reach = attributes["supervised_transduction_"], attributes["label_reach_"]
    confidence = None
    if targets.classes is None:
        found = np.where(targets.labelled, targets.given, values[:, 0])
        doubt = target_doubt(found, supervised, reach)
    else:
        codes = decisions(values + attributes["class_offsets_"]).astype(int)
        found = np.where(targets.labelled, targets.given, codes)
        supervised = np.searchsorted(targets.classes, supervised).astype(found.dtype)
        P = attributes["label_distributions_"]
        doubt, confidence = class_doubt(P), P.max(axis=1)
    for name in (*OF_ALL_ROWS, "X_fit_", "_last_selection"):
        attributes.pop(name, None)
    attributes["_sample"] = SampleResult(found, supervised, doubt, reach, confidence)
    attributes["labelled_"] = rows.numbers[targets.index]
    return replace(solution, values=None, of_labelled=values[targets.index], attributes=attributes)


def prepare(settings: Any, sample: Sample, seed: int) -> tuple[Setup, list[str]]:
    """Choose rows, scale them and build their graph; return the setup and the families to try."""
    rows = choose_rows(sample, all_rows=settings.graph is not None, seed=seed)
    families = feasible_families(settings, rows, sample.targets)
    report_stage(settings, "building the graph", 0.05)
    labels = Labels.among(rows.index, sample.targets)
    graph, n = resolve_graph(settings.graph, rows.scaled, DEFAULT_GRAPH), 0
    by_graph = settings.graph is None and {GRAPH, MANIFOLD} & set(families)
    others = sample.others
    if by_graph and not rows.all_seen and (others is None or others.shape[0]):
        report_stage(settings, "weighing edges", 0.1)
        others = rows.others(seed) if others is None else others
        graph, n = weigh_edges(graph, rows, others), others.shape[0]
    return Setup(rows, graph, labels.index, seed, n), families


def feasible_families(settings: Any, rows: UsedRows, targets: Targets) -> list[str]:
    """Return the families to try, or refuse the rows if the memory is too small for any."""
    n, d, X = len(rows.index), rows.X.shape[1], rows.X
    plan = plan_default(
        n,
        d,
        row_bytes=X.nnz * 12 if sp.issparse(X) else 8 * n * d,
        n_labels=min(len(targets.index), limits.MOST_LABELS),
        n_points=n if n <= limits.EXACT_ROWS else limits.LANDMARKS,
        n_systems=len({settings["ratio"] for settings in SETTINGS[MANIFOLD]}),
        margin_rows=min(n, limits.MARGIN_ROWS),
        self_training_rows=min(n, limits.SELF_TRAINING_ROWS),
        memory_limit=settings.memory_limit,
    )
    return families_to_try(settings.method, plan, Labels.among(rows.index, targets), rows)


def select(
    settings: Any,
    setup: Setup,
    targets: Targets,
    families: Sequence[str],
    sampled: float | None = None,
) -> Selected:
    """Try the settings of the families on folds of the labelled rows, and score them.

    Unequal numbers of labels per class are first taken for chosen ones, unless ``sampled`` is
    given; the models found in this way judge whether the labels are a random sample.
    """
    labels = every = Labels.among(setup.rows.index, targets)
    judged = sampled is None and not labels.is_even
    if not labels.is_even:
        labels = replace(labels, sampled=0.0 if sampled is None else sampled)
    rng = np.random.default_rng(setup.seed)
    if len(labels.index) > limits.SELECTION_LABELS:
        labels = labels.take(draw_labels(labels, limits.SELECTION_LABELS, rng))
    unlabelled = np.setdiff1d(np.arange(setup.rows.scaled.shape[0]), every.index)
    sample = np.sort(rng.permutation(unlabelled)[: limits.SAMPLE_ROWS])
    folds = Folds(labels, make_folds(labels.codes, len(labels.index), setup.seed), sample)
    tried: list[Any] = []
    trials: list[Trial] = []
    for number, name in enumerate(families):
        report_stage(settings, f"trying {name} models", 0.2 + 0.7 * number / len(families))
        own = list(setup.families[name].candidates(labels, sample))
        trials += folds.run(own, slow=name in SLOW)
        tried += own
    selected = Selected(folds, trials, _judge(settings, folds, trials))
    if not judged or not folds.folds:
        return selected
    folds = replace(folds, labels=replace(labels, sampled=selected.sample_probability()))
    linear = [setting for setting in tried if setting.family not in SLOW]
    trials = [*folds.run(linear), *(trial for trial in trials if trial.family in SLOW)]
    return Selected(folds, trials, _judge(settings, folds, trials))


def _judge(settings: Any, folds: Folds, trials: Sequence[Trial]) -> list[Candidate]:
    candidates = judge(folds, trials)
    return candidates if settings.method == "auto" else only(candidates, settings.method)


def fit_blend(
    setup: Setup, candidates: Sequence[Candidate], targets: Targets, labels: Labels
) -> Blend:
    """Fit the candidates that share the decision to all labels, and add them up."""
    values: Any = 0.0
    parts: list[Predictor] = []
    for candidate in candidates:
        if candidate.weight > 0:
            on_rows, part = setup.families[candidate.family].fit(candidate.settings, labels)
            values = values + candidate.factor * on_rows
            parts.append(part.times(candidate.factor))
    function = WeightedSum.of(parts)
    best, supervised, own = best_supervised(candidates), values, function
    if best.weight != 1.0:
        on_rows, part = setup.families[best.family].fit(best.settings, labels)
        supervised, own = on_rows * best.temperature, part.times(best.temperature)
    component = setup.graph.component_
    reach = np.isin(component, component[labels.index])
    if len(setup.rows.index) < setup.rows.X.shape[0]:
        known = [values, supervised, reach]
        values, supervised, reach = _extend(setup.rows, known, function, own)
    predictor = ScaledInput(setup.rows.scaling, restored_predictor(function, targets))
    values, supervised = targets.restored(values), targets.restored(supervised)
    return Blend(predictor, values, supervised, reach, setup.rows.seen)


def _extend(
    rows: UsedRows, known: Sequence[np.ndarray], function: Predictor, supervised: Predictor
) -> list[np.ndarray]:
    """Return values, supervised values and reach of all rows from those of the rows in use.

    Duplicates get those of their representatives. The values of other rows are predicted, and their
    reach is that of the nearest row in use.
    """
    n = len(rows.representative)
    others = np.setdiff1d(np.flatnonzero(rows.representative == np.arange(n)), rows.index)
    found = [np.empty((n, *part.shape[1:]), dtype=part.dtype) for part in known]
    for whole, part in zip(found, known, strict=True):
        whole[rows.index] = part
    if len(others):
        X, reach = rows.scaling.apply(rows.X[others]), known[2]
        found[0][others] = function.values(X)
        found[1][others] = found[0][others] if supervised is function else supervised.values(X)
        if reach.all():
            found[2][others] = True
        else:
            near = NeighborAverage(rows.scaled, reach[:, None] * 1.0, np.ones(len(reach)), 1)
            found[2][others] = near.values(X)[:, 0] > 0.5
    return [whole[rows.representative] for whole in found]


def report_stage(settings: Any, stage: str, share: float) -> None:
    """Log a stage and call the user's callback with it."""
    logger.info("%s: %s", type(settings).__name__, stage)
    if settings.callback is not None:
        settings.callback(stage, share)
