"""Two fits at once give the same bits as one after the other, in threads and in processes."""

import pytest

from helpers.at_once import differing, fingerprints, two_processes, two_threads
from helpers.cases import CASES, first_cases

NAMES = [case.name for case in first_cases(case for case in CASES if not case.slow)]


@pytest.fixture(scope="module")
def expected():
    return fingerprints(NAMES)


def test_two_threads(expected):
    assert differing(NAMES, expected, two_threads()) == []


def test_two_processes(expected):
    assert differing(NAMES, expected, two_processes()) == []
