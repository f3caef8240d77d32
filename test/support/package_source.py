"""Source code as data: imports, functions and kind checks of each module, read in one pass for all tests about it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "rne_dynamics"
MODULES = sorted(PACKAGE.rglob("*.py"))
#: Classes that say which kind of robot a value is.
KINDS = {"RobotModel", "Mechanism", "FlexibleArm"}

#: What contains no import, function or check of a kind, and what may contain imports and functions.
LEAVES = ast.expr_context, ast.operator, ast.Name, ast.Constant
STATEMENTS = ast.stmt, ast.ExceptHandler, ast.match_case

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
    """What one file holds; `kind_checks` are the lines that test which kind of robot a value is.

    `numbers` are the names in capitals that it gives a number.
    """

    lines: int
    imports: list[Import]
    functions: list[Function]
    kind_checks: list[int]
    numbers: set[str]


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
    tree = ast.parse(text, str(path), feature_version=(3, 10))
    module = Module(text.count("\n"), [], [], [], {name for part in tree.body for name in _numbers(part)})
    every = any(kind in text for kind in (*KINDS, "Packed"))  # expressions are read only where they may check a kind
    _read(tree, path.relative_to(ROOT).parts[:-1], module, False, False, every)
    return module


def _numbers(statement: ast.stmt) -> Iterator[str]:
    if not isinstance(statement, ast.Assign):
        return
    target, value = statement.targets[0], statement.value
    pairs = zip(target.elts, value.elts, strict=True) if (
        isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
    ) else [(target, value)]
    for name, number in pairs:
        plain = number.operand if isinstance(number, ast.UnaryOp) else number
        counts = isinstance(plain, ast.Constant) and type(plain.value) in (int, float)
        if counts and isinstance(name, ast.Name) and name.id.isupper() and name.id[0] != "_":
            yield name.id


def _read(
    parent: ast.AST, package: tuple[str, ...], module: Module, late: bool, typing: bool, every: bool
) -> None:
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, LEAVES) or not (every or isinstance(node, STATEMENTS)):
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            module.imports.extend(Import(node.lineno, name, late, typing) for name in _names(node, package))
        elif isinstance(node, _Function):
            module.functions.append(_function(node))
        elif _checks_kind(node):
            module.kind_checks.append(node.lineno)  # type: ignore[attr-defined]
        guarded = isinstance(node, ast.If) and "TYPE_CHECKING" in vars(node.test).values()
        _read(node, package, module, late or isinstance(node, _Function), typing or guarded, every)


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


def _checks_kind(node: ast.AST) -> bool:
    """`isinstance(robot, Mechanism)`, `case Mechanism():` and `type(robot) is Mechanism`, array forms included."""
    match node:
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, kinds]):
            return _names_kind(kinds)
        case ast.MatchClass(cls=kind):
            return _names_kind(kind)
        case ast.Compare(left=ast.Call(func=ast.Name(id="type")), comparators=[kind]):
            return _names_kind(kind)
    return False


def _names_kind(node: ast.AST) -> bool:
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    names |= {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
    return any(name in KINDS or name.startswith("Packed") for name in names)
