"""A fit that raises leaves the estimator exactly as it was, fitted or not."""

import contextlib
import pickle
from copy import deepcopy

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from helpers.cases import CASES, assert_same_outputs, each_case, on_devices, on_its_device
from helpers.data import fit_quietly


class Stop(Exception):
    """Raised from within a fit."""


def stop(*_arguments):
    raise Stop


def nan_in_the_rows(case, model, X, y):
    broken = X.copy()
    broken[3, 1] = np.nan
    return ValueError, broken, y


def too_few_labels(case, model, X, y):
    return ValueError, X, np.where(y == 1, 1, -1) if case.is_classifier else np.full(len(y), np.nan)


def wrong_length(case, model, X, y):
    return ValueError, X, y[:-1]


def bad_parameter(case, model, X, y):
    name, value = case.bad_parameter
    model.set_params(**{name: value})
    return ValueError, X, y


def no_memory(case, model, X, y):
    model.set_params(memory_limit="1KB")
    return MemoryError, X, y


def raising_callback(case, model, X, y):
    model.set_params(callback=stop)
    return Stop, X, y


def raising_last_callback(case, model, X, y):
    def stop_when_done(_stage, share):
        if share == 1.0:
            raise Stop

    model.set_params(callback=stop_when_done)
    return Stop, X, y


def raising_score(case, model, X, y):
    model.set_params(scoring=stop)
    return Stop, X, y


def raising_kernel(case, model, X, y):
    model.set_params(kernel=stop)
    return Stop, X, y


#: What goes wrong, and the parameter that it needs.
FAILURES = {
    "nan": (nan_in_the_rows, None),
    "labels": (too_few_labels, None),
    "length": (wrong_length, None),
    "parameter": (bad_parameter, None),
    "memory": (no_memory, "memory_limit"),
    "callback": (raising_callback, "callback"),
    "last callback": (raising_last_callback, "method"),
    "score": (raising_score, "scoring"),
    "kernel": (raising_kernel, "kernel"),
}
EACH_FAILURE = [
    pytest.param(case, kind, id=f"{case.id}-{kind}")
    for case in on_devices(CASES)
    for kind, (_, needed) in FAILURES.items()
    if needed is None or case.has(needed)
]


def each_failure(test):
    return on_its_device(pytest.mark.parametrize(("case", "kind"), EACH_FAILURE)(test))


def state(model):
    """What the model is made of, by name."""
    return dict(vars(model))


def content(model):
    """The same, as bytes that show changes within; what cannot be written down is left out."""
    found = {}
    for name, value in vars(model).items():
        with contextlib.suppress(Exception):
            found[name] = pickle.dumps(value)
    return found


def assert_unchanged(model, before, within):
    after = state(model)
    assert after.keys() == before.keys()
    replaced = [name for name in before if after[name] is not before[name]]
    assert replaced == []
    assert content(model) == within


def fail(case, model, kind):
    """Let a fit fail; return what the model was made of before, and its content."""
    error, X, y = FAILURES[kind][0](case, model, *case.data()[:2])
    before, within = state(model), content(model)
    with pytest.raises(error):
        fit_quietly(model, X, y)
    return before, within


@each_failure
def test_a_failed_fit_leaves_an_unfitted_estimator_unfitted(case, kind):
    model = case.new()
    before, within = fail(case, model, kind)
    assert_unchanged(model, before, within)
    with pytest.raises(NotFittedError):
        model.predict(case.data()[0])


@each_failure
def test_a_failed_fit_leaves_the_fitted_model(case, kind):
    X, _, _ = case.data()
    model = deepcopy(case.fitted())
    before, within = fail(case, model, kind)
    assert_unchanged(model, before, within)
    assert_same_outputs(model, case.fitted(), X)
    np.testing.assert_array_equal(model.transduction_, case.fitted().transduction_)


@each_case(one_a_class=True)
def test_a_failed_fit_to_other_rows_leaves_the_fitted_model(case):
    X, y, _ = case.data()
    model = fit_quietly(case.new(), X, y)
    others, labels, _ = case.data(2)
    before, within = state(model), content(model)
    with pytest.raises(ValueError, match=r"\d"):
        fit_quietly(model, others[:40, :2], labels[:39])
    assert_unchanged(model, before, within)
    assert_same_outputs(model, case.fitted(), X)


@each_case(one_a_class=True)
def test_failed_labels_leave_the_fitted_model(case):
    X, y, _ = case.data()
    model = fit_quietly(case.new(), X, y)
    before, within = state(model), content(model)
    with pytest.raises((ValueError, TypeError)):
        model.add_labels([40], [object()] if case.is_classifier else [np.inf])
    assert_unchanged(model, before, within)
    assert_same_outputs(model, case.fitted(), X)


@each_case(lambda case: case.has("memory_limit"), one_a_class=True)
def test_after_a_failed_fit_a_good_one_works(case):
    X, y, _ = case.data()
    model = case.new(memory_limit="1KB")
    with pytest.raises(MemoryError):
        fit_quietly(model, X, y)
    model.set_params(memory_limit=None)
    assert_same_outputs(fit_quietly(model, X, y), case.fitted(), X)
