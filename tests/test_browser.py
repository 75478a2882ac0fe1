"""Tests of pages need a browser: where there is none, a run says so, and how to get one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import browser

ROOT = Path(__file__).resolve().parents[1]


def run_page_test(tmp_path, **variables):
    """Run one test of a page in a process that finds no browser by itself."""
    kept = {name: value for name, value in os.environ.items() if name != "LAPWING_BROWSER"}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", "-q"]
    return subprocess.run(
        [*command, "tests/test_model_page.py", "-k", "test_headings_sort"],
        cwd=ROOT,
        env=kept | {"PATH": str(tmp_path)} | variables,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_skipped_tests_are_counted(tmp_path):
    done = run_page_test(tmp_path)
    assert done.returncode == 0, done.stdout
    assert "1 skipped" in done.stdout
    assert "Tests of pages SKIPPED: 1. No Chromium or Chrome was found" in done.stdout


def test_browser_of_the_variable(tmp_path, monkeypatch):
    program = tmp_path / "some-browser"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("LAPWING_BROWSER", str(program))
    assert browser.find_browser() == str(program)
    monkeypatch.setenv("LAPWING_BROWSER", str(tmp_path / "none"))
    with pytest.raises(pytest.fail.Exception, match="is not a program that can be run"):
        browser.find_browser()
