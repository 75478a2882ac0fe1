"""A few problems of `make fuzz`: odd data are answered correctly, explicitly or not at all."""

import pytest

from helpers.device import DEVICES
from helpers.odd_inputs import random_problem
from helpers.verdicts import judge


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("seed", range(1050, 1110))
def test_answers_are_right_or_explained_or_refused(seed, device, monkeypatch):
    if device:
        monkeypatch.setenv("LAPWING_DEVICE", device)
    problem = random_problem(seed)
    assert judge(problem) is None, problem.steps
