"""The lowest versions that pyproject.toml allows, as constraints for pip: `make test-oldest`.

    python tools/lower_bounds.py [EXTRA ...]

Prints `name==bound.*` for the dependencies of the package and of the given extras. A bound of two
numbers, such as 2.0, allows the last patch of that release (`2.0.*`): its errors are corrected there.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
_REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+)>=(?P<bound>[0-9.]+)$")


def lower_bounds(project: dict, extras: list[str]) -> dict[str, str]:
    """Return the lowest allowed version of every dependency, by name."""
    optional = project["optional-dependencies"]
    requirements = [*project["dependencies"], *(r for extra in extras for r in optional[extra])]
    bounds = {}
    for requirement in requirements:
        found = _REQUIREMENT.match(requirement)
        if found is None:
            raise SystemExit(f"{requirement!r} is not of the form name>=version: write it so")
        bounds[found["name"]] = found["bound"]
    return bounds


def main() -> None:
    """Print the constraints."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    for name, bound in lower_bounds(project, sys.argv[1:]).items():
        print(f"{name}=={bound}.*")


if __name__ == "__main__":
    main()
