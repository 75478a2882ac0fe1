"""Figures that say whether the package is still in order: `make house`.

    python tools/house.py [--src src] [--exclude NAME ...] [--coverage coverage.xml] [--check]

Prints the classes of ours in the MRO of every public estimator, code lines of every module and in
total (no blank lines, comments or docstrings), long functions, long files, and the coverage of a
test run. Reads source files, and imports the package for the MRO alone.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import io
import sys
import tokenize
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "lapwing"
MOST_CLASSES = 3
MOST_FUNCTION_LINES = 60
MOST_FILE_LINES = 400

_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}
_Definition = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Function:
    """A function or method, and its code lines from the signature on."""

    name: str
    code_lines: int


@dataclass(frozen=True)
class Module:
    """A source file.

    Attributes
    ----------
    path : str
        Relative to the package, with slashes.
    lines : int
        All lines of the file.
    code_lines : int
        Lines without blank lines, comments and docstrings.
    functions : tuple of Function
        All functions, methods and nested functions.
    """

    path: str
    lines: int
    code_lines: int
    functions: tuple[Function, ...]

    @property
    def part(self) -> str:
        """The sub-package, or the file itself at the top level."""
        return self.path.split("/")[0]


def read_module(path: Path, package: Path) -> Module:
    """Count the lines of one file."""
    with tokenize.open(path) as file:
        source = file.read()
    tree = ast.parse(source)
    code = _code_lines(source) - _docstring_lines(tree)
    functions = tuple(_functions(tree, code))
    return Module(
        path.relative_to(package).as_posix(), len(source.splitlines()), len(code), functions
    )


def _code_lines(source: str) -> set[int]:
    """Return the numbers of the lines that hold more than blanks and a comment."""
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE:
            code.update(range(token.start[0], token.end[0] + 1))
    return code


def _docstring_lines(tree: ast.Module) -> set[int]:
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | _Definition) and _has_docstring(node):
            first = node.body[0]
            lines.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return lines


def _has_docstring(node: ast.Module | ast.ClassDef | _Definition) -> bool:
    return ast.get_docstring(node, clean=False) is not None


def _functions(node: ast.AST, code: set[int], prefix: str = "") -> Iterable[Function]:
    for child in ast.iter_child_nodes(node):
        name = prefix
        if isinstance(child, ast.ClassDef | _Definition):
            name = f"{prefix}.{child.name}".lstrip(".")
        if isinstance(child, _Definition):
            own = range(child.lineno, (child.end_lineno or child.lineno) + 1)
            yield Function(name, len(code.intersection(own)))
        yield from _functions(child, code, name)


def estimator_classes(source: Path) -> dict[str, list[str]]:
    """Return the classes of ours in the MRO of every public estimator, the estimator first."""
    sys.path.insert(0, str(source))
    package = importlib.import_module(PACKAGE)
    if not Path(str(package.__file__)).resolve().is_relative_to(source):
        raise SystemExit(f"{PACKAGE} was imported from {package.__file__}, not from {source}")
    classes: dict[str, list[str]] = {}
    for name in sorted(package.__all__):
        public = getattr(package, name)
        if isinstance(public, type) and hasattr(public, "fit"):
            classes[name] = [
                c.__name__ for c in public.__mro__ if c.__module__.split(".")[0] == PACKAGE
            ]
    return classes


def print_estimators(classes: dict[str, list[str]]) -> None:
    """Print a line for each estimator."""
    print(f"Classes of {PACKAGE} in the MRO of each estimator (at most {MOST_CLASSES})")
    for name, mro in classes.items():
        mark = "  <-- too many" if len(mro) > MOST_CLASSES else ""
        print(f"  {len(mro):3d}  {name:<28} {' '.join(mro[1:])}{mark}")


def print_modules(modules: list[Module]) -> None:
    """Print code lines of the modules, of the sub-packages, and in total."""
    print("\nCode lines (no blank lines, comments or docstrings)")
    parts: dict[str, list[Module]] = defaultdict(list)
    for module in modules:
        parts[module.part].append(module)
    for part, members in parts.items():
        print(f"  {sum(m.code_lines for m in members):6d}  {part}")
        for module in members:
            if module.path != part:
                print(f"          {module.code_lines:6d}  {module.path}")
    print(f"  {sum(m.code_lines for m in modules):6d}  in total, in {len(modules)} files")


def print_long(modules: list[Module]) -> None:
    """Print functions and files that are longer than they should be."""
    functions = [
        (f.code_lines, f"{m.path}: {f.name}")
        for m in modules
        for f in m.functions
        if f.code_lines > MOST_FUNCTION_LINES
    ]
    _print_longest(f"Functions above {MOST_FUNCTION_LINES} code lines", functions)
    files = [(m.lines, m.path) for m in modules if m.lines > MOST_FILE_LINES]
    _print_longest(f"Files above {MOST_FILE_LINES} lines", files)


def _print_longest(title: str, sizes: list[tuple[int, str]]) -> None:
    print(f"\n{title}: {len(sizes)}")
    for size, name in sorted(sizes, key=lambda pair: (-pair[0], pair[1])):
        print(f"  {size:6d}  {name}")


def print_coverage(path: Path) -> None:
    """Print the figures of a coverage report in XML (Cobertura, as coverage.py writes it)."""
    root = ElementTree.parse(path).getroot()
    print(f"\nCoverage: {100 * float(root.attrib['line-rate']):.2f} % of lines", end="")
    if int(root.attrib.get("branches-valid", 0)):
        print(f", {100 * float(root.attrib['branch-rate']):.2f} % of branches", end="")
    print()


def main() -> int:
    """Print all figures; return 1 if they are to be checked and an estimator fails."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    source = Path(__file__).resolve().parents[1] / "src"
    parser.add_argument("--src", type=Path, default=source, help="folder that holds the package")
    parser.add_argument(
        "--exclude", nargs="+", default=[], help="sub-packages that are not counted"
    )
    parser.add_argument("--coverage", type=Path, help="XML report of `coverage xml`")
    parser.add_argument(
        "--check", action="store_true", help="exit with 1 if an MRO is longer than allowed"
    )
    options = parser.parse_args()
    source = options.src.resolve()
    package = source / PACKAGE
    if not package.is_dir():
        parser.error(f"{source} holds no package {PACKAGE}")
    modules = [read_module(path, package) for path in sorted(package.rglob("*.py"))]
    classes = estimator_classes(source)
    print_estimators(classes)
    print_modules([module for module in modules if module.part not in options.exclude])
    print_long([module for module in modules if module.part not in options.exclude])
    if options.coverage is not None:
        print_coverage(options.coverage)
    too_many = any(len(mro) > MOST_CLASSES for mro in classes.values())
    return int(options.check and too_many)


if __name__ == "__main__":
    raise SystemExit(main())
