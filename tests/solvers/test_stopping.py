"""Rules of early stopping, on sequences of decisions and errors written by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from lapwing.solvers.stopping import MixedCheck, StabilityCheck, ValidationCheck, check_interval


def steps(rule, values):
    """Return at which of the checked iterations a rule stops, given what it sees there."""
    found = []
    for number, seen in enumerate(values, 1):
        for iteration in range((number - 1) * rule.interval + 1, number * rule.interval + 1):
            function = SimpleNamespace(values=seen)
            reason = rule(SimpleNamespace(iteration=iteration, function=function, error=seen))
            if reason is not None:
                assert iteration == number * rule.interval
                found.append(number)
    return found


@pytest.mark.parametrize(("n", "interval"), [(1, 1), (16, 2), (100, 5), (121, 6)])
def test_interval_is_half_the_root_of_the_rows(n, interval):
    assert check_interval(n) == interval


@pytest.mark.parametrize(
    ("errors", "stops"),
    [
        ([0.5, 0.4, 0.3, 0.3], [4]),  # one of ten rows fewer each time
        ([0.5, 0.4, 0.5], [3]),
        ([1.0], [1]),  # no better than the start
        ([0.9, 0.7, 0.6], []),
    ],
)
def test_validation_stops_where_not_one_row_fewer_is_wrong(errors, stops):
    rule = ValidationCheck(lambda step: step.error, n_validation=10, n_rows=100)
    assert steps(rule, errors) == stops


@pytest.mark.parametrize(("changed", "stops"), [(0, [2]), (1, [2]), (2, [])])
def test_decisions_are_stable_below_three_quarters_of_a_percent(changed, stops):
    # Of 200 unlabelled rows; a change counts twice, and 1.5 % is too much.
    values = np.where(np.arange(203) % 2, 1.0, -1.0)[:, None]
    later = values.copy()
    later[: changed + 3] *= -1.0  # three of them are labelled
    assert steps(StabilityCheck(np.arange(203) >= 3), [values, later]) == stops
    both = np.hstack([values, -values]), np.hstack([later, -later])
    assert steps(StabilityCheck(np.arange(203) >= 3), both) == stops


def test_mixed_stops_where_both_do():
    def says(reason):
        return lambda step: reason

    assert MixedCheck(says("stable"), says("no better"))(None) == "stable and no better"
    assert MixedCheck(says("stable"), says(None))(None) is None
    assert MixedCheck(says(None), says("no better"))(None) is None
