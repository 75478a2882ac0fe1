"""The device of the tests that need torch: its processor, or what ``LAPWING_TEST_DEVICE`` names."""

import os
from importlib.util import find_spec

import pytest

NO_TORCH = "torch is not installed"
DEVICE = os.environ.get("LAPWING_TEST_DEVICE", "cpu")
#: Where the contract suite runs; "" is the host.
DEVICES = ("", DEVICE) if find_spec("torch") else ("",)


def torch_or_skip():
    """Return torch; skip the tests of a module where it is not installed."""
    return pytest.importorskip("torch", reason=NO_TORCH)
