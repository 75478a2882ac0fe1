"""The device of the tests that need torch: its processor, or what ``LAPWING_TEST_DEVICE`` names."""

import os

import pytest

NO_TORCH = "torch is not installed"
DEVICE = os.environ.get("LAPWING_TEST_DEVICE", "cpu")


def torch_or_skip():
    """Return torch; skip the tests of a module where it is not installed."""
    return pytest.importorskip("torch", reason=NO_TORCH)
