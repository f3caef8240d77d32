"""Python functions as LLVM assembly: the part of Python that kernels are written in.

Numbers, tuples, arrays, `if`, `while`, `for` over ranges and tuples, calls of other functions, any number of arguments
(`*arguments`, a tuple), comprehensions over tuples, which give tuples. Kinds of values follow from the arguments, as
they would if the function ran; a variable has the kind of its first value. Where a condition is known while translating
(that an argument is None), only what runs is translated. Nothing checks that indices lie within their arrays.
"""

from __future__ import annotations

import ast
import linecache
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import count
from types import FunctionType
from typing import Any

from rne_dynamics.compiling.arrays import Variable
from rne_dynamics.compiling.expressions import Callees, Expressions
from rne_dynamics.compiling.instructions import UntranslatableError
from rne_dynamics.compiling.kinds import (
    Compiled,
    Fixed,
    Kind,
    Number,
    Table,
    View,
    assembled,
    kind_of,
    registers,
)

#: The variable for what a function returns before its first `return`.
_NO_RESULT = Variable(Fixed(None), ())
#: Longest range of known length that is written out instead of a loop.
_UNROLLED = 10


@cache
def _assignments(tree: ast.FunctionDef) -> Mapping[str, int]:
    """Number of assignments to each name."""
    nodes = list(ast.walk(tree))
    targets = (*nodes, *(x.target for x in nodes if isinstance(x, ast.AugAssign)))
    return Counter(x.id for x in targets if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store))


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


def _source_of(function: FunctionType) -> ast.FunctionDef:
    """A function's syntax tree."""
    found = _functions(function.__code__.co_filename).get(function.__code__.co_firstlineno)
    if found is None:
        raise UntranslatableError(f"the source of {function.__module__}.{function.__qualname__} cannot be read")
    return found


def _is_long(body: Sequence[ast.stmt]) -> bool:
    """Whether a loop's rounds are attempts, most of which never run, or calls of other modules."""
    nodes = [node for statement in body for node in ast.walk(statement)]
    return any(isinstance(x, ast.Break) or (isinstance(x, ast.Name) and x.id == "apart") for x in nodes)


class Translator(Expressions):
    """Translates one function of a `module` for kinds of arguments."""

    def __init__(self, module: Callees, function: FunctionType, kinds: Sequence[Kind]) -> None:
        self._tree = _source_of(function)
        super().__init__(module, function, _assignments(self._tree))
        self._name, self._kinds = f"{function.__module__}.{function.__qualname__}", tuple(kinds)
        self._loops: list[tuple[str, str]] = []
        self._result = _NO_RESULT
        self._place = self._name
        try:
            self._bind_arguments()
            self._statements(self._tree.body)
            if self.open:
                self._do_Return(ast.Return(None))
        except Exception as error:
            if isinstance(error, UntranslatableError) and error.__cause__ is not None:
                raise
            raise UntranslatableError(f"{self._place}: {error!r}") from error

    def _bind_arguments(self) -> None:
        texts, names = (f"%a{k}" for k in count()), [argument.arg for argument in self._tree.args.args]
        given = [assembled(kind, texts) for kind in self._kinds]
        if self._tree.args.vararg is not None:
            given[len(names) :] = [tuple(given[len(names) :])]
            names.append(self._tree.args.vararg.arg)
        for name, value in zip(names, given, strict=True):
            self.bind(name, value)

    def compiled(self, name: str) -> Compiled:
        """Its signature for callers."""
        return Compiled(name, self._kinds, self._result.kind, self.allocates)

    def text(self, head: str) -> str:
        """The function as LLVM assembly after the line `head`."""
        returns_memory = "ptr" in registers(self._result.kind)
        mark, release = (_MARK, _RELEASE) if self.allocates and not returns_memory else ([], [])
        sizes = (
            f"  {name} = add i64 0, {0 if table.item is None else 8 * len(registers(table.item))}"
            for name, table in self.tables.items()
        )
        body = (*self.slots, *sizes, *mark, *self.lines, "end:", *release, *self._return())
        return "\n".join((head, "entry:", *body, "}"))

    def _return(self) -> list[str]:
        result, whole, lines = self.compiled("").result, "undef", list[str]()
        for k, (part, slot) in enumerate(zip(registers(self._result.kind), self._result.slots, strict=True)):
            lines.append(f"  %r{k} = load {part}, ptr {slot}")
            lines.append(f"  %w{k} = insertvalue {result} {whole}, {part} %r{k}, {k}")
            whole = f"%w{k}"
        return [*lines, f"  ret {result} {whole}"]

    # statements

    def _statements(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            if not self.open:
                return
            self._place = f"{self._name}, line {statement.lineno}"
            getattr(self, f"_do_{type(statement).__name__}")(statement)

    def _do_Expr(self, statement: ast.Expr) -> None:
        if not isinstance(statement.value, ast.Constant):
            self.value(statement.value)

    def _do_Pass(self, _statement: ast.Pass) -> None:
        """Nothing to do."""

    def _do_Assign(self, statement: ast.Assign) -> None:
        value = self.value(statement.value)
        for target in statement.targets:
            self._assign(target, value)

    def _do_AnnAssign(self, statement: ast.AnnAssign) -> None:
        if statement.value is not None:
            self._assign(statement.target, self.value(statement.value))

    def _do_AugAssign(self, statement: ast.AugAssign) -> None:
        name, target = type(statement.op).__name__, statement.target
        if isinstance(target, ast.Subscript):
            view = self.value(target.value)
            pointer = self.element(view, self.indices(target.slice))
            new = self.binary(name, self.load(view.element, pointer), self.value(statement.value))
            self.store(view.element, pointer, new)
        else:
            self._assign(target, self.binary(name, self.value(target), self.value(statement.value)))

    def _assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            if target.id != "_":
                self.bind(target.id, value)
        elif isinstance(target, ast.Subscript):
            place, indices = self.value(target.value), self.indices(target.slice)
            if isinstance(place, Table):
                self.put_item_of_table(place, indices[0], value)
            else:
                self.put_item(place, indices, value)
        elif isinstance(target, ast.Tuple):
            count = len(target.elts)
            items = [self.item(value, (k,)) for k in range(count)] if isinstance(value, View) else value
            for one, item in zip(target.elts, items, strict=True):
                self._assign(one, item)
        else:
            raise UntranslatableError(f"nothing can be assigned to {ast.unparse(target)}")

    def _do_Return(self, statement: ast.Return) -> None:
        value = None if statement.value is None else self.value(statement.value)
        if self._result is _NO_RESULT:
            self._result = self.new_variable(kind_of(value))
        self.put(self._result, value, "what is returned")
        self.go("end")

    def _do_If(self, statement: ast.If) -> None:
        condition = self.truth(self.value(statement.test))
        if not isinstance(condition, Number):
            self._statements(statement.body if condition else statement.orelse)
            return
        yes, no, after = (self.new("l") for _ in range(3))
        self.branch(condition.text, yes, no if statement.orelse else after)
        self.label(yes)
        self._statements(statement.body)
        is_joined = self.open or not statement.orelse
        self.go(after)
        if statement.orelse:
            self.label(no)
            self._statements(statement.orelse)
            is_joined |= self.open
        if is_joined:
            self.label(after)

    def _do_While(self, statement: ast.While) -> None:
        test, body, after = (self.new("l") for _ in range(3))
        self.label(test)
        condition = self.truth(self.value(statement.test))
        if isinstance(condition, Number):
            self.branch(condition.text, body, after)
        else:
            self.go(body if condition else after)
        self.label(body)
        self._body(statement.body, test, after)
        self.go(test)
        self.label(after)

    def _body(self, body: Sequence[ast.stmt], again: str, after: str) -> None:
        self._loops.append((again, after))
        self._statements(body)
        self._loops.pop()

    def _do_For(self, statement: ast.For) -> None:
        source = statement.iter
        if not (isinstance(source, ast.Call) and isinstance(source.func, ast.Name) and source.func.id == "range"):
            self._unrolled(statement, self.value(source))
            return
        bounds = [self.value(x) for x in source.args]
        start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
        is_known = all(isinstance(x, int) for x in (start, stop, step))
        if is_known and len(range(start, stop, step)) <= _UNROLLED and not _is_long(statement.body):
            self._unrolled(statement, range(start, stop, step))
            return
        for now, again, after in self.counting(start, stop, step):
            self._assign(statement.target, now)
            self._body(statement.body, again, after)

    def _unrolled(self, statement: ast.For, values: Sequence[Any]) -> None:
        after, name = self.new("l"), statement.target.id if isinstance(statement.target, ast.Name) else ""
        has_any_kind = self._assigned.get(name) == 1  # a name of its own may stand for values of several kinds
        for value in values:
            again = self.new("l")
            if name and (has_any_kind or isinstance(value, int)):
                self.scope[name] = value
            else:
                self._assign(statement.target, value)
            self._body(statement.body, again, after)
            self.label(again)
        breaks = any(isinstance(x, ast.Break) for one in statement.body for x in ast.walk(one))
        if (breaks or has_any_kind) and not isinstance(self.scope.get(name), int if not breaks else Variable):
            self.scope.pop(name, None)  # after `break` it would be another value
        self.label(after)

    def _do_Continue(self, _statement: ast.Continue) -> None:
        self.go(self._loops[-1][0])

    def _do_Break(self, _statement: ast.Break) -> None:
        self.go(self._loops[-1][1])


_MARK = [
    "  %mark_chunk = load ptr, ptr %arena", "  %mark_place = getelementptr ptr, ptr %arena, i64 1",
    "  %mark_next = load ptr, ptr %mark_place",
]  # fmt: skip
_RELEASE = ["  call void @release(ptr %arena, ptr %mark_chunk, ptr %mark_next)"]
