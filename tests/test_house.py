"""The figures that `make house` prints, of a package made for the purpose."""

import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[1] / "tools" / "house.py"

PARTS = '''\
"""A module
of two docstring lines."""

# A comment.
class Base:
    """Is not counted."""

    def fit(self):
        """Is not counted either."""

        text = """Not a docstring,

        and so three lines."""
        return text  # counted once


class Middle(Base): ...
class Lower(Middle): ...
class Deep(Lower): ...
'''


def house(source, *options):
    command = [sys.executable, str(TOOL), "--src", str(source), *map(str, options)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, [" ".join(line.split()) for line in done.stdout.splitlines()]


@pytest.fixture
def source(tmp_path):
    package = tmp_path / "src" / "lapwing"
    (package / "models").mkdir(parents=True)
    (package / "models" / "__init__.py").write_text("")
    (package / "models" / "parts.py").write_text(PARTS)
    public = "from .models.parts import Base, Deep\n__all__ = ['Base', 'Deep']\n"
    (package / "__init__.py").write_text(public)
    (package / "long.py").write_text(
        "def long(\n    a,\n):\n" + "    a += 1\n" * 58 + "# x\n" * 400
    )
    return tmp_path / "src"


def test_figures(source):
    code, lines = house(source)
    assert code == 0
    assert "1 Base" in lines
    assert "4 Deep Lower Middle Base <-- too many" in lines
    assert "9 models/parts.py" in lines
    assert "72 in total, in 4 files" in lines
    assert "Functions above 60 code lines: 1" in lines
    assert "61 long.py: long" in lines
    assert "Files above 400 lines: 1" in lines


def test_check_fails_where_an_mro_is_too_long(source):
    assert house(source, "--check")[0] == 1
    public = "from .models.parts import Lower\n__all__ = ['Lower']\n"
    (source / "lapwing" / "__init__.py").write_text(public)
    assert house(source, "--check")[0] == 0


def test_parts_that_are_left_out_are_not_counted(source):
    assert "63 in total, in 2 files" in house(source, "--exclude", "models")[1]


def test_coverage_of_a_report(source, tmp_path):
    report = tmp_path / "coverage.xml"
    report.write_text('<coverage line-rate="0.9712" branch-rate="0.5" branches-valid="10"/>')
    lines = house(source, "--coverage", report)[1]
    assert "Coverage: 97.12 % of lines, 50.00 % of branches" in lines
