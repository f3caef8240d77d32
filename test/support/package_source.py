"""Source code as data: imports and functions of each module, read in one pass for all tests about it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "rne_dynamics"
MODULES = sorted(PACKAGE.rglob("*.py"))
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class Import(NamedTuple):
    """One imported name; `late` if inside a function, `typing` if only type checkers see it."""

    line: int
    name: str
    late: bool
    typing: bool


class Function(NamedTuple):
    """A function's length without its docstring, and its number of arguments without self or cls."""

    name: str
    lines: int
    arguments: int


class Module(NamedTuple):
    """What one file holds."""

    lines: int
    imports: list[Import]
    functions: list[Function]


def subpackage(path: Path) -> str:
    """First folder, or single file, of the package that `path` is in; "" for the public API itself."""
    name = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    return "" if name in ("__init__", "__main__") else name


def dotted(path: Path) -> str:
    """Full name of a module."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join((PACKAGE.name, *parts)).removesuffix(".__init__")


@cache
def source(path: Path) -> Module:
    """Read one file, as the oldest Python does."""
    text = path.read_text(encoding="utf-8")
    module = Module(text.count("\n"), [], [])
    tree = ast.parse(text, str(path), feature_version=(3, 10))
    _read(tree, path.relative_to(ROOT).parts[:-1], module, False, False)
    return module


def _read(parent: ast.AST, package: tuple[str, ...], module: Module, late: bool, typing: bool) -> None:
    for node in ast.iter_child_nodes(parent):
        if not isinstance(node, ast.stmt | ast.excepthandler | ast.match_case):
            continue  # expressions hold neither imports nor functions
        if isinstance(node, ast.Import | ast.ImportFrom):
            module.imports.extend(Import(node.lineno, name, late, typing) for name in _names(node, package))
        elif isinstance(node, _Function):
            module.functions.append(_function(node))
        guarded = isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        _read(node, package, module, late or isinstance(node, _Function), typing or guarded)


def _names(node: ast.Import | ast.ImportFrom, package: tuple[str, ...]) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    base = package[: len(package) - node.level + 1] if node.level else ()
    stem = ".".join((*base, node.module) if node.module else base)
    return [f"{stem}.{alias.name}" for alias in node.names]


def _function(node: _Function) -> Function:
    text = ast.get_docstring(node, clean=False)
    lines = (node.end_lineno or 0) - node.lineno + 1 - (text.count("\n") + 1 if text else 0)
    names = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
    return Function(node.name, lines, len(names) + len(node.args.kwonlyargs) - (names[:1] in (["self"], ["cls"])))
