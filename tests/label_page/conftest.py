"""The window and the table of the tests of the page for labels."""

import pytest

from helpers.browser import Browser
from helpers.labelling import TREES, Loop, blobs


@pytest.fixture(scope="module")
def one_window(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("browser")) as window:
        yield window


@pytest.fixture
def window(one_window):
    """The window; at the end, no page may have reported an error."""
    one_window.resize(1200, 900)
    one_window.prefer("light")
    one_window.offline(False)  # whatever a test that failed has left
    one_window.errors.clear()
    yield one_window
    one_window.open("about:blank")
    # The page may have asked a server that the test had ended.
    assert [error for error in one_window.errors if "ERR_CONNECTION_REFUSED" not in error] == []


@pytest.fixture
def trees(tmp_path):
    """Ninety rows of three classes, none labelled."""
    X, _ = blobs()
    with Loop(tmp_path, X, classes=TREES[:3]) as loop:
        yield loop
