"""Verdicts on fits of odd data: correct, explicit or refused; anything else is a finding.

Runs a problem of `helpers.odd_inputs` through fit, predictions, added labels and files. Knows what
an answer must satisfy, and not how any estimator finds it.
"""

import re
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning

import lapwing
from helpers.cases import assert_finite, assert_same_outputs, outputs_of
from helpers.odd_rows import Problem

#: Messages of Python, NumPy and SciPy that do not say what is wrong with the user's data.
RAW = re.compile(
    r"zero-size array|could not be broadcast|cannot be broadcast|shapes? .* not aligned|"
    r"\bmin\(\)|\bmax\(\)|empty sequence|not subscriptable|not iterable|has no (attribute|len)|"
    r"cannot convert float|out of bounds|index out of range|divi(sion|de) by zero|"
    r"unsupported operand|must be real number|takes \d+ positional|unexpected keyword|"
    r"dimension mismatch|inconsistent shapes|inhomogeneous|Unable to allocate|array is too big|"
    r"ufunc|NoneType|setting an array element|must not contain infs or NaNs|truth value of|"
    r"data must be finite|matrix contains|exactly singular|32-bit integer indices",
)
REFUSALS = (ValueError, TypeError, MemoryError)
#: Solvers that estimators never choose by themselves, and that may need more than max_iter
#: iterations on ordinary rows: the method of a paper, for comparison.
SLOW_SOLVERS = ("pcg",)
MOST_SECONDS = 10.0
#: Share of the way from chance to perfection below which an answer is poor, and above which the
#: nearest labelled rows solve a problem.
_POOR, _SOLVED = 0.4, 0.8
_PACKAGE = str(Path(lapwing.__file__).parent)
#: Libraries whose messages about the user's data are as good as ours.
_CHECKS = tuple(f"sklearn/utils/{name}" for name in ("valid", "_param", "multi", "class_weight"))


@dataclass(frozen=True)
class Finding:
    """What is wrong with the answer to a problem.

    Attributes
    ----------
    kind : str
        "raw error", "wrong error", "not finite", "warning", "slow", "chance", "not converged",
        "differs" or "broken".
    where : str
        File and function of the library, or the method of the estimator.
    text : str
        The message.
    """

    kind: str
    where: str
    text: str


def judge(problem: Problem) -> Finding | None:
    """Run a problem and return what is wrong, or None."""
    began = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        finding = _run(problem)
    seconds = time.process_time() - began
    finding = finding or next(_noise(caught), None)
    if finding is None and seconds > MOST_SECONDS:
        finding = Finding("slow", "fit", f"{seconds:.0f} s")
    if finding is None and problem.gentle:
        finding = next(_unconverged(problem, caught), None)
    # A warning excuses a poor answer: the user has been told.
    told = any(issubclass(w.category, UserWarning) for w in caught)
    return None if finding is not None and finding.kind == "chance" and told else finding


def _noise(caught: list[warnings.WarningMessage]) -> Iterator[Finding]:
    for warning in caught:
        noisy = issubclass(warning.category, (RuntimeWarning, DeprecationWarning, FutureWarning))
        if noisy and "_core/fromnumeric" not in warning.filename:  # scikit-learn's check for NaN
            where = f"{_short(warning.filename)}:{warning.lineno}"
            yield Finding("warning", where, f"{warning.category.__name__}: {warning.message}")


def _unconverged(problem: Problem, caught: list[warnings.WarningMessage]) -> Iterator[Finding]:
    """Yield warnings of methods that the library chose; one that was asked for may be slow."""
    solver = problem.case.new().get_params(deep=False).get("solver")
    for warning in caught:
        if issubclass(warning.category, ConvergenceWarning) and solver not in SLOW_SOLVERS:
            yield Finding("not converged", "fit", str(warning.message))


def _run(problem: Problem) -> Finding | None:
    rng = np.random.default_rng(problem.seed)
    model = problem.case.new()
    arguments = {} if problem.weights is None else {"sample_weight": problem.weights}
    try:
        model.set_params(**problem.parameters)
        model.fit(problem.X, problem.y, **arguments)
    except Exception as error:
        finding = _judge_error(error)
        if finding is None and problem.gentle:
            finding = Finding("refused", _place(error), f"{type(error).__name__}: {error}")
        return finding
    checks: list[Callable[..., Finding | None]] = [_answers, _quality]
    checks += [check for check in (_file, _copy, _more_labels) if rng.random() < 0.4]
    for check in checks:
        try:
            finding = check(problem, model, arguments)
        except Exception as error:
            finding = _judge_error(error)
        if finding is not None:
            return finding
    return None


# ---------------------------------------------------------------- errors


def _judge_error(error: Exception) -> Finding | None:
    """Return None for a refusal in words of ours."""
    text = f"{type(error).__name__}: {' '.join(str(error).split())}"
    place = _place(error)
    if isinstance(error, AssertionError) and place == "":
        return Finding("broken", "answer", text)
    if not isinstance(error, REFUSALS) or isinstance(error, np.linalg.LinAlgError):
        return Finding("wrong error", place, text)
    last = traceback.extract_tb(error.__traceback__)[-1].filename
    foreign = _PACKAGE not in last and not any(part in last for part in _CHECKS)
    if foreign or RAW.search(text) or not str(error):
        return Finding("raw error", place, text)
    return None


def _place(error: Exception) -> str:
    """Return the innermost line of the library, empty outside."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename.startswith(_PACKAGE)]
    return f"{_short(own[-1].filename)}:{own[-1].lineno}" if own else ""


def _short(filename: str) -> str:
    return filename.removeprefix(f"{_PACKAGE}/").split("site-packages/")[-1]


# ---------------------------------------------------------------- answers


def _answers(problem: Problem, model: BaseEstimator, arguments: dict) -> Finding | None:
    """Finite values, known classes, probabilities that add up, and labels that are kept."""
    try:
        assert_finite_outputs(model, problem.X)
    except AssertionError as error:
        return Finding("not finite", str(error).split("\n")[0] or "transduction_", "")
    if problem.case.is_classifier:
        outputs = outputs_of(model, problem.X)
        if not np.isin(outputs["predict"], model.classes_).all():
            return Finding("broken", "predict", "an unknown class")
        chances = outputs.get("predict_proba")
        if chances is not None and (
            chances.min() < 0.0 or np.abs(chances.sum(axis=1) - 1.0).max() > 1e-6
        ):
            return Finding("broken", "predict_proba", "rows do not sum to one")
    return None


def assert_finite_outputs(model: BaseEstimator, X: Any) -> None:
    """Like `assert_finite`, for classes of any type."""
    for name, values in outputs_of(model, X).items():
        if name != "predict" or not hasattr(model, "classes_"):
            assert np.isfinite(np.asarray(values, dtype=float)).all(), name
    if not hasattr(model, "classes_"):
        assert_finite(model, X)


def _quality(problem: Problem, model: BaseEstimator, arguments: dict) -> Finding | None:
    """Far better than chance where the nearest labelled rows give nearly the truth.

    A few targets in three columns may not determine a function, and no method is then at fault.
    Nor is it with one or two labels of a class, if it does no better with the plain rows.
    """
    hidden = problem.hidden
    if not problem.learnable or hidden.sum() < 10:
        return None
    quality, chance = _score(problem, np.asarray(model.transduction_)[hidden])
    if quality >= chance + _POOR * (1.0 - chance):
        return None
    solved = _score(problem, _nearest(problem))[0] >= chance + _SOLVED * (1.0 - chance)
    if solved and _has_few_labels(problem):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plain = clone(model).fit(problem.plain, problem.y, **arguments)
        found = _score(problem, np.asarray(plain.transduction_)[hidden])[0]
        solved = found >= chance + _POOR * (1.0 - chance)
    text = f"score {quality:.2f} where {chance:.2f} is chance"
    return Finding("chance", "fit", text) if solved else None


def _has_few_labels(problem: Problem) -> bool:
    known = problem.truth[~problem.hidden]
    counts = np.unique(known.astype(str), return_counts=True)[1]
    return problem.case.is_classifier and counts.min() < 3


def _score(problem: Problem, found: np.ndarray) -> tuple[float, float]:
    """Return accuracy or R² on the hidden rows, and that of a constant."""
    truth = problem.truth[problem.hidden]
    if not problem.case.is_classifier:
        return 1.0 - float(np.mean((found - truth) ** 2) / np.var(truth)), 0.0
    share = float(np.unique(truth.astype(str), return_counts=True)[1].max() / len(truth))
    return float(np.mean(found == truth)), share


def _nearest(problem: Problem) -> np.ndarray:
    """Return the classes of the nearest labelled row, or means of three, among the plain rows."""
    hidden = problem.hidden
    known, plain = np.flatnonzero(~hidden), problem.plain
    squares = ((plain[hidden][:, None] - plain[known]) ** 2).sum(axis=2)
    if problem.case.is_classifier:
        return problem.truth[known[squares.argmin(axis=1)]]
    near = np.argsort(squares, axis=1)[:, :3]
    return problem.truth[known[near]].mean(axis=1)


# ---------------------------------------------------------------- life


def _file(problem: Problem, model: BaseEstimator, arguments: dict) -> Finding | None:
    with tempfile.TemporaryDirectory() as folder:
        lapwing.save(model, Path(folder) / "model")
        again = lapwing.load(Path(folder) / "model")
    return _same(again, model, problem, "load")


def _copy(problem: Problem, model: BaseEstimator, arguments: dict) -> Finding | None:
    if problem.parameters.get("random_state", 0) is None:
        return None
    again = clone(model).fit(problem.X, problem.y, **arguments)
    return _same(again, model, problem, "second fit")


def _same(
    found: BaseEstimator, model: BaseEstimator, problem: Problem, what: str
) -> Finding | None:
    try:
        assert_same_outputs(found, model, problem.X)
    except AssertionError as error:
        return Finding("differs", what, " ".join(str(error).split())[:80])
    return None


def _more_labels(problem: Problem, model: BaseEstimator, arguments: dict) -> Finding | None:
    rows = np.flatnonzero(problem.hidden)[:3]
    if len(rows) == 0:
        return None
    model.add_labels(rows, problem.truth[rows])
    found = np.asarray(model.transduction_)[rows]
    if problem.case.is_classifier and not (found == problem.truth[rows]).all():
        return Finding("broken", "add_labels", "labels are not kept")
    return _answers(problem, model, arguments)
