"""Python functions as LLVM assembly: the part of Python that kernels are written in.

Numbers, tuples, arrays, `if`, `while`, `for` over ranges and tuples, calls of other functions, any number of arguments
(`*arguments`, a tuple), comprehensions over tuples, which give tuples. Kinds of values follow from the arguments, as
they would if the function ran; a variable has the kind of its first value. Where a condition is known while translating
(that an argument is None), only what runs is translated. Nothing checks that indices lie within their arrays.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from types import FunctionType
from typing import Any

from rne_dynamics.compiling.arrays import Variable
from rne_dynamics.compiling.expressions import Callees, Expressions
from rne_dynamics.compiling.instructions import UntranslatableError
from rne_dynamics.compiling.kinds import (
    INT,
    Compiled,
    Fixed,
    Kind,
    Number,
    Table,
    View,
    assembled,
    has_arrays,
    kind_of,
    registers,
    result_type,
)

#: Longest range of known length that is written out instead of a loop.
_UNROLLED = 10


@cache
def _assignments(tree: ast.FunctionDef) -> Mapping[str, int]:
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
        while not self._translated():
            pass

    def _translated(self) -> bool:
        """Translate once; False where the kind of a table's items was not known."""
        self.lines, self.slots, self.open, self.allocates = [], [], True, False
        self.scope.clear()
        self._loops: list[tuple[str, str]] = []
        self._result: Variable | None = None
        self._place, count, self.is_outdated, self._tables = self._name, 0, False, 0
        try:
            given, names = [], [argument.arg for argument in self._tree.args.args]
            for kind in self._kinds:
                parts = registers(kind)
                given.append(assembled(kind, (f"%a{k}" for k in range(count, count + len(parts)))))
                count += len(parts)
            if self._tree.args.vararg is not None:
                given[len(names) :] = [tuple(given[len(names) :])]
                names.append(self._tree.args.vararg.arg)
            for name, value in zip(names, given, strict=True):
                if name in self._assigned:
                    self.bind(name, value)
                else:
                    self.scope[name] = value
            self._statements(self._tree.body)
            if self.open:
                self._do_Return(ast.Return(None))
        except Exception as error:
            if isinstance(error, UntranslatableError) and error.__cause__ is not None:
                raise
            raise UntranslatableError(f"{self._place}: {error!r}") from error
        return not self.is_outdated

    @property
    def returned(self) -> Kind:
        """Kind of what the function returns."""
        return Fixed(None) if self._result is None else self._result.kind

    def compiled(self, name: str) -> Compiled:
        """Its signature for callers."""
        return Compiled(name, self._kinds, self.returned, result_type(self.returned), self.allocates)

    def text(self, name: str, attributes: str) -> str:
        """The function as LLVM assembly."""
        parts = [f"{part} %a{k}" for k, part in enumerate(p for kind in self._kinds for p in registers(kind))]
        if self.allocates:
            parts.insert(0, "ptr %arena")
        head = f"define internal {result_type(self.returned)} @{name}({', '.join(parts)}) {attributes} nounwind {{"
        gives_back = self.allocates and not has_arrays(self.returned)
        mark, release = (_MARK, _RELEASE) if gives_back else ([], [])
        return "\n".join((head, "entry:", *self.slots, *mark, *self.lines, "end:", *release, *self._return(), "}"))

    def _return(self) -> list[str]:
        parts, slots, whole = registers(self.returned), () if self._result is None else self._result.slots, "undef"
        lines = [f"  %r{k} = load {part}, ptr {slots[k]}" for k, part in enumerate(parts)]
        if len(parts) < 2:
            return [*lines, f"  ret {parts[0]} %r0" if parts else "  ret void"]
        for k, part in enumerate(parts):
            lines.append(f"  %w{k} = insertvalue {result_type(self.returned)} {whole}, {part} %r{k}, {k}")
            whole = f"%w{k}"
        return [*lines, f"  ret {result_type(self.returned)} {whole}"]

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
        if self._result is None:
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
            self.go(after)
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
        else:
            self._counted(statement, start, stop, step)

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

    def _counted(self, statement: ast.For, start: Any, stop: Any, step: Any) -> None:
        counter, is_down = self.slot("i64"), isinstance(step, int) and step < 0  # steps that are not known lead upwards
        test, body, again, after = (self.new("l") for _ in range(4))
        end = self.register(stop, INT)
        self.do(f"store i64 {self.register(start, INT)}, ptr {counter}")
        self.label(test)
        now = self.let(f"load i64, ptr {counter}")
        self.branch(self.let(f"icmp {'sgt' if is_down else 'slt'} i64 {now}, {end}"), body, after)
        self.label(body)
        self._assign(statement.target, Number(INT, now))
        self._body(statement.body, again, after)
        self.label(again)
        last = self.let(f"load i64, ptr {counter}")
        self.do(f"store i64 {self.let(f'add nsw i64 {last}, {self.register(step, INT)}')}, ptr {counter}")
        self.go(test)
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
