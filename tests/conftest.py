"""Settings and fixtures shared by all tests."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

pytest.register_assert_rewrite("helpers")

ROOT = Path(__file__).resolve().parents[1]

os.environ.pop("LAPWING_DEVICE", None)  # tests choose their device: `helpers.device`

# The same examples on every run and every machine, and no clock: a busy machine is no bug.
# Look for new counter-examples with HYPOTHESIS_PROFILE=default.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_terminal_summary(terminalreporter) -> None:
    """Say in one line each what was skipped because there is no browser, or no torch."""
    from helpers.browser import NO_BROWSER
    from helpers.device import NO_TORCH

    skipped = terminalreporter.stats.get("skipped", [])
    if any(NO_TORCH in str(report.longrepr) for report in skipped):
        terminalreporter.write_line(
            "Tests of devices SKIPPED, and the contract suite ran on the host only: torch is not "
            "installed. Any version of it will do, without a GPU as well: `pip install torch` "
            "(see CONTRIBUTING.md, Tests).",
            yellow=True,
        )
    count = sum(NO_BROWSER in str(report.longrepr) for report in skipped)
    if count:
        terminalreporter.write_line(
            f"Tests of pages SKIPPED: {count}. No Chromium or Chrome was found: install one, for "
            "example `apt install chromium`, or set LAPWING_BROWSER (see CONTRIBUTING.md, Tests).",
            yellow=True,
        )


@pytest.fixture
def device_of_the_case(request, monkeypatch) -> None:
    """Compute on the device of the case, in all threads and processes that the test starts."""
    device = request.node.callspec.params["case"].device
    if device:
        monkeypatch.setenv("LAPWING_DEVICE", device)


@pytest.fixture(scope="session")
def data_path() -> Path:
    """Folder of the real data sets (``*.npz``); the test is skipped where there is none."""
    named = os.environ.get("LAPWING_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(
            f"no real data sets in {folder}: set LAPWING_DATA to the folder of the .npz files"
        )
    return folder
