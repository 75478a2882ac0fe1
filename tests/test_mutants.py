"""The changes of source code that `make mutants` tries, and the versions of `make test-oldest`."""

import ast
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[1] / "tools"
SOURCE = '''"""Not changed: 1 + 1."""

def f(x: int = 3, *, y: float | None = None) -> int:
    """Not changed."""
    if not x:
        raise ValueError(f"{x + 1} is wrong")
    x += 1
    g(x)
    return max(x * 2.5, -1) if "ä" <= x < 9 or x is None else x[2:5]
'''


@pytest.fixture
def tools(monkeypatch):
    monkeypatch.syspath_prepend(str(TOOLS))
    import lower_bounds
    import mutation

    yield mutation, lower_bounds
    for name in ("mutation", "lower_bounds"):
        sys.modules.pop(name, None)


def test_every_change_is_one_place_and_valid(tools):
    found = {
        (mutant.line, mutant.old, mutant.new)
        for mutant in tools[0].mutants("f.py", SOURCE)
        if mutant.differs
    }
    comparison = '"ä" <= x < 9'
    assert found == {
        (3, "3", "4"),
        (3, "3", "2"),
        (5, 'if not x:\n        raise ValueError(f"{x + 1} is wrong")', "pass"),
        (5, "not x", "(x)"),
        (7, "x += 1", "pass"),
        (7, "1", "2"),
        (8, "g(x)", "pass"),
        (9, "max", "min"),
        (9, "x * 2.5", "(x / 2.5)"),
        (9, "2.5", "5.0"),
        (9, "-1", "(1)"),
        (9, "1", "2"),
        (9, f"{comparison} or x is None", "('ä' <= x < 9 and x is None)"),
        (9, comparison, "('ä' < x < 9)"),
        (9, comparison, "('ä' <= x <= 9)"),
        (9, "9", "10"),
        (9, "9", "8"),
        (9, "x is None", "(x is not None)"),
        (9, "x[2:5]", "x[:5]"),
        (9, "x[2:5]", "x[2:]"),
        (9, "2", "3"),
        (9, "2", "1"),
        (9, "5", "6"),
        (9, "5", "4"),
    }


def test_the_rest_of_the_file_stays(tools):
    for mutant in tools[0].mutants("f.py", SOURCE):
        changed = mutant.source.decode()
        ast.parse(changed)
        start = SOURCE.encode().find(mutant.old.encode())
        assert start >= 0
        assert len(mutant.source) - len(SOURCE.encode()) == len(mutant.new.encode()) - len(
            mutant.old.encode()
        )


def test_lower_bounds(tools):
    project = {
        "dependencies": ["numpy>=2.0"],
        "optional-dependencies": {
            "plot": ["matplotlib>=3.9"],
            "test": ["lapwing[plot]", "pytest-xdist>=3.6"],
        },
    }
    found = set(tools[1].lower_bounds(project, ["test"]))
    assert found == {"numpy==2.0.*", "matplotlib==3.9.*", "pytest-xdist==3.6.*"}
    project["dependencies"] = ["numpy==2.0"]
    with pytest.raises(SystemExit, match=r"'numpy==2\.0' is not of the form"):
        list(tools[1].lower_bounds(project, []))
