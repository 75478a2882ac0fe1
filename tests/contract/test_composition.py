"""How every estimator is built: few classes, a result that explains itself, one fitted function."""

import dataclasses

import numpy as np
import pytest

from helpers.cases import each_case, values_of

STATUSES = {"converged", "stopped_early", "interrupted", "not_converged"}


@each_case(one_a_class=True)
def test_at_most_three_classes_of_ours(case):
    ours = [
        kind.__name__
        for kind in type(case.estimator).__mro__
        if kind.__module__.split(".")[0] == "lapwing"
    ]
    assert len(ours) <= 3, ours


@each_case()
def test_the_result_tells_how_the_fit_ended(case):
    result = case.fitted().result_
    assert type(result).__name__ == "SolverResult"
    assert result.status in STATUSES
    assert result.message.strip()
    assert result.seconds >= 0
    assert result.passes >= 0
    assert isinstance(result.passes, (int, np.integer))


@each_case()
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_predictor_has_the_values(case, n_classes):
    X, _, _ = case.data(n_classes)
    model = case.fitted(n_classes)
    values = model.predictor_.values(X)
    assert values.shape == values_of(model, X).shape
    np.testing.assert_array_equal(values, values_of(model, X))


@each_case()
def test_the_predictor_cannot_be_changed(case):
    predictor = case.fitted().predictor_
    assert dataclasses.is_dataclass(predictor)
    name = dataclasses.fields(predictor)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(predictor, name, None)


@each_case(one_a_class=True)
def test_every_fit_makes_a_new_predictor(case):
    X, y, truth = case.data()
    model = case.new().fit(X, y)
    first = model.predictor_
    values = first.values(X)
    model.add_labels([40, 41], truth[[40, 41]])
    assert model.predictor_ is not first
    np.testing.assert_array_equal(first.values(X), values)
