"""Sources of functions, and what can be seen in them before they are translated."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from types import FunctionType

from rne_dynamics.compiling.instructions import UntranslatableError


@cache
def assignments(tree: ast.FunctionDef) -> Mapping[str, int]:
    """Number of assignments to each name."""
    found: dict[str, int] = {}
    nodes = list(ast.walk(tree))
    for node in (*nodes, *(x.target for x in nodes if isinstance(x, ast.AugAssign))):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found[node.id] = found.get(node.id, 0) + 1
    return found


@cache
def _functions(path: str) -> dict[int, ast.FunctionDef]:
    """The functions of a file by the line of their definition, or of their first decorator."""
    linecache.checkcache(path)
    tree = ast.parse("".join(linecache.getlines(path)))
    return {min([node.lineno, *(x.lineno for x in node.decorator_list)]): node for node in _defined(tree.body)}


def _defined(body: Sequence[ast.stmt]) -> Iterator[ast.FunctionDef]:
    for statement in body:
        if isinstance(statement, ast.FunctionDef):
            yield statement
        yield from _defined(getattr(statement, "body", ()))


def source_of(function: FunctionType) -> ast.FunctionDef:
    """A function's syntax tree."""
    found = _functions(function.__code__.co_filename).get(function.__code__.co_firstlineno)
    if found is None:
        raise UntranslatableError(f"the source of {function.__module__}.{function.__qualname__} cannot be read")
    return found


def is_long(body: Sequence[ast.stmt]) -> bool:
    """Whether a loop's rounds are attempts, most of which never run, or calls of other modules."""
    nodes = [node for statement in body for node in ast.walk(statement)]
    return any(isinstance(x, ast.Break) or (isinstance(x, ast.Name) and x.id == "apart") for x in nodes)
