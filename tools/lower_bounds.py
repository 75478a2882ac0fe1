"""The lowest versions that pyproject.toml allows, as constraints for pip: `make test-oldest`.

    python tools/lower_bounds.py [EXTRA ...]

Prints a line `name==2.0.*` for `name>=2.0`, for the dependencies of the package and of the given
extras, those that they contain included: the last patch of a release has the fewest errors.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
_BOUND = re.compile(r"(?P<name>[\w.-]+)>=(?P<version>[\d.]+)")
_EXTRAS = re.compile(r"lapwing\[(?P<extras>[\w,-]+)\]")


def lower_bounds(project: dict, extras: list[str]) -> Iterator[str]:
    """Yield the constraints of a project, of which this is the table of pyproject.toml."""
    requirements = list(project["dependencies"])
    for extra in extras:
        requirements += project["optional-dependencies"][extra]
    for requirement in requirements:
        if own := _EXTRAS.fullmatch(requirement):
            yield from lower_bounds(project, own["extras"].split(","))
        elif bound := _BOUND.fullmatch(requirement):
            yield f"{bound['name']}=={bound['version']}.*"
        else:
            raise SystemExit(f"pyproject.toml: {requirement!r} is not of the form name>=version")


def main() -> None:
    """Print the constraints in alphabetical order."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    print("\n".join(sorted(set(lower_bounds(project, sys.argv[1:])))))


if __name__ == "__main__":
    main()
