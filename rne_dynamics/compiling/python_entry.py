"""The functions that Python calls in front of compiled ones, as LLVM assembly.

They read the objects of Python and NumPy themselves: arrays of exactly a type, C-contiguous and aligned, numbers,
tuples of them. With all other arguments they call a function of Python.

`PythonEntry` is in front of any kernel. CPython's protocol METH_FASTCALL: (self, arguments, their number); `self` is
the function of Python.

`FillingEntry` is in front of a kernel that fills its last argument: ``f(a0, …, out=None)``. Protocol METH_FASTCALL |
METH_KEYWORDS: (self, arguments, their number, names of the last ones). `self` is a tuple: the function of Python with
the same arguments; the kernel's first arguments, of the right kinds; and an array of the lengths that the other ones
must have. The last argument must share no memory with those before it.
"""

from __future__ import annotations

import sys
from itertools import count
from typing import Any, cast

import numpy as np

from rne_dynamics.compiling.arrays import Arrays
from rne_dynamics.compiling.instructions import UntranslatableError
from rne_dynamics.compiling.jit import (
    CONTIGUOUS,
    DATA,
    DIMENSIONS,
    DTYPE,
    FLAGS,
    FLOAT_VALUE,
    ITEMS,
    LENGTH,
    READABLE,
    SHAPE,
    STRIDES,
    TYPE,
    WRITABLE,
)
from rne_dynamics.compiling.kinds import (
    BOOL,
    ELEMENTS,
    FLOAT,
    INT,
    ArrayKind,
    Compiled,
    Fixed,
    Kind,
    Scalar,
    TupleKind,
    View,
    assembled,
    registers,
)

#: Bytes on the stack for what a call makes.
_CHUNK = 2**14


class PythonEntry(Arrays):
    """Writes the entry of a compiled function; `objects` that it compares with, by the names of symbols."""

    def __init__(self, function: Compiled, *, releases_lock: bool) -> None:
        super().__init__()
        self.function, self._releases_lock = function, releases_lock
        self.objects: dict[str, Any] = {}

    def text(self) -> str:
        """The function ``@entry``, and ``@direct`` for other modules."""
        function = self.function
        count = len(function.kinds)
        self.branch(self.let(f"icmp eq i64 %count, {count}"), "taken", "odd")
        self.label("taken")
        given = [
            part for k, kind in enumerate(function.kinds)
            for part in self.unpacked(self.field("%arguments", 8 * k, "ptr"), kind)
        ]  # fmt: skip
        result = self._packed(self.result(given), function.returned)
        self.end_arena()
        self.do(f"ret ptr {result}")
        self.label("odd")
        other = self.call(
            "PyObject_Vectorcall", "ptr", ("ptr", "%self"), ("ptr", "%arguments"), ("i64", "%count"), ("ptr", "null")
        )
        self.do(f"ret ptr {other}")
        return f"{self.whole('ptr %self, ptr %arguments, i64 %count')}\n{self._direct()}"

    def whole(self, arguments: str) -> str:
        """The function, and the objects that it refers to."""
        named = [f"@{name} = external global i8" for name in self.objects]
        head = f"define ptr @entry({arguments}) nounwind {{"
        return "\n".join((*named, head, "entry:", *self.slots, *self.lines, "}"))

    def result(self, given: list[tuple[str, str]]) -> Any:
        """Call the function and return its result; the arena is not released."""
        function = self.function
        arena = ["ptr %arena"] if function.allocates else []
        if arena:  # its first chunk is on the stack, which is enough for most calls
            self.slots += ["  %arena = alloca [3 x ptr]", f"  %chunk = alloca [{_CHUNK} x i8], align 32"]
            self.do("store ptr null, ptr %arena")
            for k, offset in ((1, 0), (2, _CHUNK)):
                place = self.let(f"getelementptr ptr, ptr %arena, i64 {k}")
                self.do(f"store ptr {self.let(f'getelementptr i8, ptr %chunk, i64 {offset}')}, ptr {place}")
        if self._releases_lock:
            state = self.call("PyEval_SaveThread", "ptr")
        values = self.returned_by(function, [*arena, *(f"{p} {v}" for p, v in given)])
        if self._releases_lock:
            self.call("PyEval_RestoreThread", "void", ("ptr", state))
        return assembled(function.returned, iter(values))

    def end_arena(self) -> None:
        """Give back what the call made."""
        if self.function.allocates:
            self.do("call void @release(ptr %arena, ptr null, ptr %chunk)")

    def _direct(self) -> str:
        """The compiled function under a name that other modules know; it always takes an arena."""
        function = self.function
        parts = [f"{part} %a{k}" for k, part in enumerate(p for kind in function.kinds for p in registers(kind))]
        given = (["ptr %arena"] if function.allocates else []) + parts
        call = f"call {function.result} @{function.name}({', '.join(given)})"
        head = f"define {function.result} @direct({', '.join(['ptr %arena', *parts])}) nounwind {{"
        if function.result == "void":
            return "\n".join((head, f"  {call}", "  ret void", "}"))
        return "\n".join((head, f"  %r = {call}", f"  ret {function.result} %r", "}"))

    # from Python

    def unpacked(self, item: str, kind: Kind) -> list[tuple[str, str]]:
        """The parts of an argument, if it is of a kind."""
        if isinstance(kind, Scalar):
            return [(kind.register, self._number(item, kind))]
        if isinstance(kind, ArrayKind):
            return self._array(item, kind)
        if isinstance(kind, TupleKind):
            self._require_type(item, kind.cls)
            self.require(f"icmp eq i64 {self.field(item, LENGTH, 'i64')}, {len(kind.items)}")
            return [
                part for k, one in enumerate(kind.items)
                for part in self.unpacked(self.field(item, ITEMS + 8 * k, "ptr"), one)
            ]
        assert isinstance(kind, Fixed)  # tables do not come from Python
        self.require(f"icmp eq ptr {item}, {self.object(kind.value)}")
        return []

    def _number(self, item: str, kind: Scalar) -> str:
        if kind == FLOAT:
            self._require_type(item, float)
            return self.field(item, FLOAT_VALUE, "double")
        if kind == INT:
            self._require_type(item, int)
            return self.call("PyLong_AsLongLong", "i64", ("ptr", item))
        self._require_type(item, bool)
        return self.let(f"icmp eq ptr {item}, {self.object(True)}")

    def _array(self, item: str, kind: ArrayKind, flags: int = READABLE) -> list[tuple[str, str]]:
        self._require_type(item, np.ndarray)
        wanted = flags & ~CONTIGUOUS if kind.strided else flags
        found = self.let(f"and i32 {self.field(item, FLAGS, 'i32')}, {wanted | CONTIGUOUS}")
        self.require(
            f"icmp eq ptr {self.field(item, DTYPE, 'ptr')}, {self.object(np.dtype(kind.element))}",
            f"icmp eq i32 {self.field(item, DIMENSIONS, 'i32')}, {kind.dimensions}",
            f"icmp eq i32 {found}, {wanted}",
        )
        lengths = self.field(item, SHAPE, "ptr") if kind.dimensions else ""
        shape = [("i64", self.field(lengths, 8 * k, "i64")) for k in range(kind.dimensions)]
        if kind.strided:
            steps, size = self.field(item, STRIDES, "ptr"), ELEMENTS[kind.element].size
            for k in range(kind.dimensions):
                shape.append(("i64", self.let(f"sdiv i64 {self.field(steps, 8 * k, 'i64')}, {size}")))
        return [("ptr", self.field(item, DATA, "ptr")), *shape]

    def _require_type(self, item: str, cls: type) -> None:
        self.require(f"icmp eq ptr {self.field(item, TYPE, 'ptr')}, {self.object(cls)}")

    def require(self, *comparisons: str) -> None:
        """Go on where comparisons are true."""
        label, true, *others = self.new("l"), *map(self.let, comparisons)
        for other in others:
            true = self.let(f"and i1 {true}, {other}")
        self.branch(true, label, "odd")
        self.label(label)

    def field(self, pointer: str, offset: int, kind: str) -> str:
        """A field of an object."""
        place = self.let(f"getelementptr i8, ptr {pointer}, i64 {offset}")
        return self.let(f"load {kind}, ptr {place}")

    def object(self, value: Any) -> str:
        """The symbol of an object that is compared with."""
        for name, known in self.objects.items():
            if known is value:
                return f"@{name}"
        name = f"object{len(self.objects)}"
        self.objects[name] = value
        return f"@{name}"

    # to Python

    def _packed(self, value: Any, kind: Kind) -> str:
        if isinstance(kind, Scalar):
            if kind == BOOL:
                condition = self.register(value, BOOL)
                yes, no = self.object(True), self.object(False)
                return self._counted(self.let(f"select i1 {condition}, ptr {yes}, ptr {no}"))
            if kind == INT:
                return self.call("PyLong_FromLongLong", "ptr", ("i64", self.register(value, INT)))
            return self.call("PyFloat_FromDouble", "ptr", ("double", self.register(value, FLOAT)))
        if isinstance(kind, TupleKind):
            made = self.call("PyTuple_New", "ptr", ("i64", str(len(kind.items))))
            for k, (item, one) in enumerate(zip(value, kind.items, strict=True)):
                place = self.let(f"getelementptr i8, ptr {made}, i64 {ITEMS + 8 * k}")
                self.do(f"store ptr {self._packed(item, one)}, ptr {place}")
            return made
        if isinstance(kind, ArrayKind):
            raise UntranslatableError("a kernel returns no arrays to Python; let it fill one that it is given")
        return self._counted(self.object(value))

    def _counted(self, item: str) -> str:
        self.call("Py_IncRef", "void", ("ptr", item))
        return item


#: Name of the last argument.
OUT = sys.intern("out")


class FillingEntry(PythonEntry):
    """Writes the entry of a kernel that returns 0 where it has filled its last argument; `first` ones are in `self`."""

    def __init__(self, function: Compiled, first: int) -> None:
        super().__init__(function, releases_lock=False)
        self._first, self._kinds = function.kinds[:first], cast("tuple[ArrayKind, ...]", function.kinds[first:])
        self._checks = True

    def text(self) -> str:
        """The function ``@entry``."""
        inputs = len(self._kinds) - 1
        has_out = self._count_arguments(inputs)
        given, lengths = self._from_self()
        arrays = [self._like(k, lengths[k]) for k in range(inputs)]
        answer, place = self.slot("ptr"), self.slot("ptr")
        self.branch(has_out, "with_out", "without_out")
        self.label("with_out")
        filled = self._like(inputs, lengths[-1], WRITABLE)
        for parts, kind in zip(arrays, self._kinds, strict=False):
            (start, end), (other, other_end) = self._ends(filled, self._kinds[-1]), self._ends(parts, kind)
            after, before = self.let(f"icmp sge i64 {start}, {other_end}"), self.let(f"icmp sge i64 {other}, {end}")
            self.require(f"or i1 {after}, {before}")
        self.do(f"store ptr {self.field('%arguments', 8 * inputs, 'ptr')}, ptr {answer}")
        self.do(f"store ptr {filled[0][1]}, ptr {place}")
        self.go("with_answer")
        self.label("without_out")
        made = self._made(lengths[-1])
        self.do(f"store ptr {made}, ptr {answer}")
        self.do(f"store ptr {self.field(made, DATA, 'ptr')}, ptr {place}")
        self.go("with_answer")
        self.label("with_answer")
        out, data = (self.let(f"load ptr, ptr {slot}") for slot in (answer, place))
        given += [*(part for parts in arrays for part in parts), ("ptr", data), *self._loaded(lengths[-1])]
        status = self.register(self.result(given), INT)
        self.end_arena()
        self.branch(self.let(f"icmp eq i64 {status}, 0"), "done", "refused")
        self.label("done")
        self.branch(has_out, "counted", "returned")
        self.label("counted")
        self.call("Py_IncRef", "void", ("ptr", out))
        self.go("returned")
        self.label("returned")
        self.do(f"ret ptr {out}")
        self.label("refused")
        self.branch(has_out, "odd", "dropped")
        self.label("dropped")
        self.call("Py_DecRef", "void", ("ptr", out))
        self.go("odd")
        self.label("odd")
        other = self.call(
            "PyObject_Vectorcall", "ptr", ("ptr", self.field("%self", ITEMS, "ptr")), ("ptr", "%arguments"),
            ("i64", "%count"), ("ptr", "%names"),
        )  # fmt: skip
        self.do(f"ret ptr {other}")
        return self.whole("ptr %self, ptr %arguments, i64 %count, ptr %names")

    def _from_self(self) -> tuple[list[tuple[str, str]], list[list[str]]]:
        """The parts of the first arguments, and the places in memory of each other argument's lengths."""
        self._checks = False
        items = [self.field("%self", ITEMS + 8 * k, "ptr") for k in range(1, len(self._first) + 2)]
        given = [part for item, kind in zip(items, self._first, strict=False) for part in self.unpacked(item, kind)]
        self._checks = True
        memory, places = self.field(items[-1], DATA, "ptr"), count()
        return given, [
            [self.let(f"getelementptr i64, ptr {memory}, i64 {next(places)}") for _ in range(kind.dimensions)]
            for kind in self._kinds
        ]

    def require(self, *comparisons: str) -> None:
        """As of `PythonEntry`; nothing while the arguments in `self` are read."""
        if self._checks:
            super().require(*comparisons)

    def _like(self, k: int, lengths: list[str], flags: int = READABLE) -> list[tuple[str, str]]:
        """The parts of array argument `k` if it has these lengths."""
        parts = self._array(self.field("%arguments", 8 * k, "ptr"), self._kinds[k], flags)
        for (_, length), (_, wanted) in zip(parts[1:], self._loaded(lengths), strict=True):
            self.require(f"icmp eq i64 {length}, {wanted}")
        return parts

    def _loaded(self, lengths: list[str]) -> list[tuple[str, str]]:
        return [("i64", self.let(f"load i64, ptr {place}")) for place in lengths]

    def _ends(self, parts: list[tuple[str, str]], kind: Kind) -> tuple[str, str]:
        """First and last address of an array's memory."""
        view: View = assembled(kind, (text for _, text in parts))
        start = self.let(f"ptrtoint ptr {view.data} to i64")
        size = self.register(self.product((*view.shape, ELEMENTS[view.element].size)), INT)
        return start, self.let(f"add nsw i64 {start}, {size}")

    def _count_arguments(self, inputs: int) -> str:
        """Whether there is an output besides so many inputs; to `odd` with another number of arguments."""
        more, outputs = self.let(f"sub i64 %count, {inputs}"), self.slot("i64")
        self.do(f"store i64 {more}, ptr {outputs}")
        self.branch(self.let("icmp eq ptr %names, null"), "positional", "named")
        self.label("named")
        self.require(f"icmp eq i64 {self.field('%names', LENGTH, 'i64')}, 1")
        self.require(f"icmp eq ptr {self.field('%names', ITEMS, 'ptr')}, {self.object(OUT)}")
        self.require(f"icmp eq i64 {more}, 0")
        self.do(f"store i64 1, ptr {outputs}")
        self.go("positional")
        self.label("positional")
        found = self.let(f"load i64, ptr {outputs}")
        self.require(f"icmp ult i64 {found}, 2")
        return self.let(f"icmp eq i64 {found}, 1")

    def _made(self, lengths: list[str]) -> str:
        """A new array."""
        kind = self._kinds[-1]
        null, zero = ("ptr", "null"), ("i32", "0")
        made = self.call(
            "PyArray_New", "ptr", ("ptr", self.object(np.ndarray)), ("i32", str(kind.dimensions)),
            ("ptr", lengths[0]), ("i32", str(ELEMENTS[kind.element].number)), null, null, zero,
            zero, null,
        )  # fmt: skip
        self.branch(self.let(f"icmp eq ptr {made}, null"), "failed", "made")
        self.label("failed")
        self.do("ret ptr null")
        self.label("made")
        return made
