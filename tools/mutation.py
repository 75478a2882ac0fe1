"""Small changes of source code that tests should notice: the mutants of `tools/mutants.py`.

Finds the places in a file where one operator, constant or statement can be changed, and makes the
changed text. Runs nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_COMPARISONS: dict[type[ast.cmpop], ast.cmpop] = {
    ast.Lt: ast.LtE(),
    ast.LtE: ast.Lt(),
    ast.Gt: ast.GtE(),
    ast.GtE: ast.Gt(),
    ast.Eq: ast.NotEq(),
    ast.NotEq: ast.Eq(),
    ast.Is: ast.IsNot(),
    ast.IsNot: ast.Is(),
    ast.In: ast.NotIn(),
    ast.NotIn: ast.In(),
}
_ARITHMETIC: dict[type[ast.operator], ast.operator] = {
    ast.Add: ast.Sub(),
    ast.Sub: ast.Add(),
    ast.Mult: ast.Div(),
    ast.Div: ast.Mult(),
    ast.FloorDiv: ast.Mult(),
    ast.Mod: ast.Mult(),
    ast.Pow: ast.Mult(),
}
_NAMES = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "any": "all",
    "all": "any",
    "argmin": "argmax",
    "argmax": "argmin",
    "floor": "ceil",
    "ceil": "floor",
}


@dataclass(frozen=True)
class Mutant:
    """One change of a file.

    Attributes
    ----------
    path : str
        The file, relative to the root of the repository.
    line, end : int
        First and last line of the changed expression or statement.
    old, new : str
        Source text before and after.
    begin : int
        Position of the change in bytes.
    source : bytes
        The whole file after the change.
    """

    path: str
    line: int
    end: int
    old: str
    new: str
    begin: int
    source: bytes

    @property
    def differs(self) -> bool:
        """Whether the change is valid and more than parentheses."""
        begin, length = self.begin, len(self.new.encode())
        before = self.source[:begin] + self.old.encode() + self.source[begin + length :]
        try:
            return ast.dump(ast.parse(before)) != ast.dump(ast.parse(self.source))
        except SyntaxError:
            return False

    def __str__(self) -> str:
        old, new = (" ".join(text.split()) for text in (self.old, self.new))
        return f"{self.path}:{self.line}: {old}  ->  {new}"


def mutants(path: str, source: str) -> Iterator[Mutant]:
    """Yield every mutant of a file; a few do not differ from it."""
    encoded = source.encode()
    starts = [0]
    for text in encoded.splitlines(keepends=True):
        starts.append(starts[-1] + len(text))
    for node, new in _changes(ast.parse(source)):
        begin = starts[node.lineno - 1] + node.col_offset
        finish = starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[operator]
        old = encoded[begin:finish].decode()
        changed = encoded[:begin] + new.encode() + encoded[finish:]
        end = node.end_lineno or node.lineno
        yield Mutant(path, node.lineno, end, old, new, begin, changed)


def _changes(tree: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """Yield nodes and what to write in their place; texts, types and messages are left alone."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, (ast.JoinedStr, ast.Raise, ast.Import, ast.ImportFrom)):
            continue
        if isinstance(child, ast.AnnAssign):
            if child.value is not None:
                yield from _change(child.value)
                yield from _changes(child.value)
            continue
        if isinstance(child, ast.arg):
            continue  # an annotation
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _changes(child.args)
            for statement in child.body:
                yield from _change(statement)
                yield from _changes(statement)
            continue
        if isinstance(child, (ast.expr, ast.stmt)):
            yield from _change(child)
        yield from _changes(child)


def _change(node: ast.expr | ast.stmt) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """Yield the changes of one node itself, each as a new text."""
    make: dict[type[ast.AST], Callable] = {
        ast.Compare: _compare,
        ast.BinOp: _arithmetic,
        ast.BoolOp: _boolean,
        ast.UnaryOp: _unary,
        ast.Constant: _constant,
        ast.Attribute: _name,
        ast.Name: _name,
        ast.Subscript: _slice,
        ast.Expr: _drop,
        ast.AugAssign: _drop,
        ast.If: _guard,
    }
    for text in make.get(type(node), lambda _: ())(node):
        yield node, text


def _compare(node: ast.Compare) -> Iterator[str]:
    for i, operator in enumerate(node.ops):
        others: list[ast.cmpop] = [*node.ops]
        others[i] = _COMPARISONS[type(operator)]
        yield f"({ast.unparse(ast.Compare(node.left, others, node.comparators))})"


def _arithmetic(node: ast.BinOp) -> Iterator[str]:
    if _is_type(node):
        return
    if other := _ARITHMETIC.get(type(node.op)):
        yield f"({ast.unparse(ast.BinOp(node.left, other, node.right))})"


def _is_type(node: ast.BinOp) -> bool:
    """Return whether this is a sum or product of texts, or a union of types."""
    sides = (node.left, node.right)
    return any(
        isinstance(side, ast.JoinedStr)
        or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in sides
    )


def _boolean(node: ast.BoolOp) -> Iterator[str]:
    other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    yield f"({ast.unparse(ast.BoolOp(other, node.values))})"


def _unary(node: ast.UnaryOp) -> Iterator[str]:
    if isinstance(node.op, (ast.Not, ast.USub, ast.Invert)):
        yield f"({ast.unparse(node.operand)})"


def _constant(node: ast.Constant) -> Iterator[str]:
    value = node.value
    if isinstance(value, bool):
        yield str(not value)
    elif isinstance(value, int):
        yield str(value + 1)
        if value > 1:
            yield str(value - 1)
    elif isinstance(value, float):
        yield repr(2.0 * value if value else 1.0)


def _name(node: ast.Attribute | ast.Name) -> Iterator[str]:
    name = node.attr if isinstance(node, ast.Attribute) else node.id
    if name in _NAMES and isinstance(node.ctx, ast.Load):
        yield ast.unparse(node)[: -len(name)] + _NAMES[name]


def _slice(node: ast.Subscript) -> Iterator[str]:
    part = node.slice
    if isinstance(part, ast.Slice) and isinstance(node.ctx, ast.Load):
        whole = ast.unparse(node.value)
        for lower, upper in ((None, part.upper), (part.lower, None)):
            other = ast.Slice(lower, upper, part.step)
            yield f"{whole}[{ast.unparse(other)}]"


def _drop(node: ast.stmt) -> Iterator[str]:
    text = isinstance(node, ast.Expr) and isinstance(node.value, (ast.Constant, ast.Yield))
    logs = isinstance(node, ast.Expr) and ast.unparse(node).startswith("logger.")
    if not text and not logs:
        yield "pass"


def _guard(node: ast.If) -> Iterator[str]:
    """Drop the check of an error or an early way out."""
    if not node.orelse and isinstance(node.body[-1], (ast.Raise, ast.Return, ast.Continue)):
        yield "pass"
