"""Two fits at once give the same bits as one after the other, in threads and in processes."""

import pytest

from helpers.at_once import differing, fingerprints, two_processes, two_threads
from helpers.cases import CASES, first_cases
from helpers.device import DEVICES

NAMES = [case.name for case in first_cases(case for case in CASES if not case.slow)]


@pytest.fixture(scope="module", params=DEVICES)
def expected(request):
    """What one fit after the other gives, on the device that those at once then use as well."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param:
            patch.setenv("LAPWING_DEVICE", request.param)
        yield fingerprints(NAMES)


def test_two_threads(expected):
    assert differing(NAMES, expected, two_threads()) == []


def test_two_processes(expected):
    assert differing(NAMES, expected, two_processes()) == []
