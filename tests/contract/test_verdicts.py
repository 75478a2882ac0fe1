"""`make fuzz` finds planted defects, and accepts what is right, explained or refused.

A verdict that excuses too much is worse than none: each rule of `helpers.verdicts` has a defect
here that it must find and, where it excuses something, the excuse.
"""

import itertools
import warnings
from dataclasses import dataclass, replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from helpers.cases import Case
from helpers.odd_inputs import random_problem, targets
from helpers.odd_rows import Problem, constant_columns, easy_problem, extreme_scale, rescale
from helpers.verdicts import judge
from lapwing import LapRLSClassifier, LapRLSRegressor, LapSVR
from lapwing.arrays.row_units import refuse

_fits = itertools.count()


def problem_of(case, n=60, d=2, **changes):
    """The first plain problem of these sizes, for the given case."""
    for seed in itertools.count():
        found = easy_problem(seed, np.random.default_rng(seed))
        same = found.case.is_classifier == case.is_classifier
        if same and found.X.shape == (n, d) and found.learnable:
            return replace(found, case=case, **changes)


def planted(base=LapRLSClassifier, **parameters):
    """A decorator that makes a function of a fit into an estimator with a defect."""

    def wrap(function):
        @dataclass(repr=False, eq=False)
        class Planted(base):
            def fit(self, X, y, sample_weight=None):
                super().fit(X, y, sample_weight)
                function(self, X)
                return self

        return Case(function.__name__, Planted(**parameters))

    return wrap


# ---------------------------------------------------------------- defects that must be found


@planted()
def raw_error(model, X):
    np.zeros((0, 2)).min()


@planted()
def wrong_error(model, X):
    raise np.linalg.LinAlgError("singular")


@planted()
def key_error(model, X):
    raise KeyError("gamma")


@planted()
def no_message(model, X):
    raise ValueError


@planted()
def refused(model, X):
    refuse("has an odd colour")


@planted()
def noise(model, X):
    np.float64(1e300) * np.float64(1e300)


@planted()
def not_finite(model, X):
    model.predict_proba = lambda X: np.full((len(X), 2), np.nan)


@planted()
def improper(model, X):
    model.predict_proba = lambda X: np.full((len(X), 2), 0.4)


@planted()
def unknown_class(model, X):
    model.predict = lambda X: np.full(len(X), 77)


@planted()
def coin(model, X):
    model.transduction_ = np.arange(len(X)) // 2 % 2


@planted()
def unconverged(model, X):
    warnings.warn("not there yet", ConvergenceWarning, stacklevel=1)


@planted(LapRLSRegressor)
def far_off(model, X):
    model.transduction_ = model.transduction_ + 100.0


FOUND = {
    "raw error": (raw_error, no_message),
    "wrong error": (wrong_error, key_error),
    "refused": (refused,),
    "warning": (noise,),
    "not finite": (not_finite,),
    "broken": (improper, unknown_class),
    "chance": (coin, far_off),
    "not converged": (unconverged,),
}


@pytest.mark.parametrize(
    ("kind", "case"),
    [pytest.param(kind, case, id=case.name) for kind, cases in FOUND.items() for case in cases],
)
def test_defects_on_plain_rows_are_found(kind, case):
    finding = judge(problem_of(case))
    assert finding is not None
    assert finding.kind == kind


@planted()
def drifting(model, X):
    values, shift = model.decision_function, next(_fits)
    model.decision_function = lambda X: values(X) + shift


@planted()
def forgetful(model, X):
    model.add_labels = lambda rows, labels: model


def test_defects_of_a_models_life_are_found():
    """Copies and added labels are checked in four of ten problems, as the seed says."""
    for case, kind in ((drifting, "differs"), (forgetful, "broken")):
        plain = problem_of(case)
        if case is forgetful:  # a wrong class, whose label is then not kept
            plain = replace(plain, truth=np.where(plain.y == -1, 1 - plain.truth, plain.truth))
            plain = replace(plain, learnable=False)
        found = [judge(replace(plain, seed=seed)) for seed in range(12)]
        assert {finding.kind for finding in found if finding} == {kind}
        assert any(finding is None for finding in found)


@planted()
def fixed_units(model, X):
    """An answer that depends on the unit of the rows."""
    if not 1e-3 < np.abs(X).max() < 1e3:
        model.transduction_ = np.arange(len(X)) // 2 % 2


@pytest.mark.parametrize("step", [rescale, extreme_scale, constant_columns])
def test_answers_that_depend_on_units_are_found(step):
    found = []
    for seed in range(20):
        odd = step(problem_of(fixed_units), np.random.default_rng(seed))
        largest = np.abs(odd.X).max()
        if odd.learnable and not 1e-3 < largest < 1e3:
            found.append(judge(odd))
    assert len(found) > 3
    assert all(finding is not None and finding.kind == "chance" for finding in found)


# ---------------------------------------------------------------- what is excused


@planted()
def explained(model, X):
    model.transduction_ = np.arange(len(X)) // 2 % 2
    warnings.warn("these classes are those of a coin", UserWarning, stacklevel=1)


def test_a_poor_answer_with_a_warning_is_explained():
    assert judge(problem_of(explained)) is None


def test_classes_that_rows_do_not_determine_are_nobodys_fault():
    plain = problem_of(Case("LapRLSClassifier", LapRLSClassifier()))
    truth = np.random.default_rng(0).permutation(plain.truth)
    odd = replace(plain, truth=truth, y=np.where(plain.hidden, -1, truth))
    assert judge(odd) is None


def with_one_label_per_class(problem):
    first = [np.flatnonzero(problem.truth == label)[0] for label in np.unique(problem.truth)]
    return replace(
        problem, y=np.where(np.isin(np.arange(len(problem.y)), first), problem.truth, -1)
    )


def test_a_method_that_needs_more_labels_is_compared_with_itself():
    assert judge(with_one_label_per_class(problem_of(coin))) is None
    few = with_one_label_per_class(problem_of(fixed_units))
    finding = judge(replace(few, X=1e6 * few.X))
    assert finding is not None
    assert finding.kind == "chance"


def test_a_refusal_of_odd_rows_is_fine():
    odd = replace(problem_of(refused), steps=("outlier 1e6",))
    assert judge(odd) is None


def test_a_slow_method_that_was_asked_for_may_say_so():
    class Slow(type(unconverged.estimator)):
        pass

    case = Case("slow", Slow(solver="pcg"))
    assert judge(problem_of(case)) is None


# ---------------------------------------------------------------- problems


def test_every_second_problem_can_be_learnt():
    problems = [random_problem(seed) for seed in range(200)]
    assert all(problem.learnable for problem in problems[1::2])
    assert not all(problem.learnable for problem in problems[::2])


def test_rows_that_underflow_determine_nothing():
    rng = np.random.default_rng(0)
    odd = problem_of(Case("LapRLSClassifier", LapRLSClassifier()))
    while odd.learnable:
        odd = extreme_scale(odd, rng)
    assert len(odd.steps) > 1
    assert not 1e-310 < np.abs(odd.X).max() < np.inf


def test_the_tube_has_the_unit_of_the_targets_and_squares_have_not():
    rng = np.random.default_rng(0)
    tube, squares = (
        targets(problem_of(Case(type(model).__name__, model)), rng)
        for model in (LapSVR(), LapRLSRegressor())
    )
    factor = np.ptp(tube.truth) / np.ptp(problem_of(tube.case).truth)
    assert tube.parameters["epsilon"] == pytest.approx(0.1 * factor)
    assert set(tube.parameters) == {"C", "epsilon"}
    assert isinstance(squares, Problem)
    assert squares.parameters == {}
