"""The function that Python calls in front of a compiled one, as LLVM assembly.

CPython's protocol METH_FASTCALL: (self, arguments, their number). The entry reads the objects of Python and NumPy
itself: arrays of exactly a type, C-contiguous and aligned, numbers, tuples of them. With all other arguments it calls
`self`, a function of Python.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rne_dynamics.compiling.arrays import Arrays
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
from rne_dynamics.compiling.objects import (
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

#: Bytes on the stack for what a call makes.
_CHUNK = 2**14


class PythonEntry(Arrays):
    """Writes the entry of a compiled function; `objects` that it compares with, by the names of symbols."""

    def __init__(self, function: Compiled, *, releases_lock: bool) -> None:
        super().__init__()
        self.function, self._releases_lock = function, releases_lock
        self._at = 0  # how many registers of the function's arguments are unpacked
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
            self._at += 1
            return [(kind.register, self._number(item, kind))]
        if isinstance(kind, ArrayKind):
            parts = self._array(item, kind, WRITABLE if self._at in self.function.written else READABLE)
            self._at += len(parts)
            return parts
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

    def _array(self, item: str, kind: ArrayKind, flags: int) -> list[tuple[str, str]]:
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
        return self._new_array(value) if isinstance(value, View) else self._counted(self.object(value))

    def _counted(self, item: str) -> str:
        self.call("Py_IncRef", "void", ("ptr", item))
        return item

    def _new_array(self, view: View) -> str:
        """A new array of NumPy's with the elements of one in an arena."""
        element = ELEMENTS[view.element]
        shape = self.slot(f"[{max(len(view.shape), 1)} x i64]")
        for k, length in enumerate(view.shape):
            place = self.let(f"getelementptr i64, ptr {shape}, i64 {k}")
            self.do(f"store i64 {self.register(length, INT)}, ptr {place}")
        null, zero = ("ptr", "null"), ("i32", "0")
        made = self.call(
            "PyArray_New", "ptr", ("ptr", self.object(np.ndarray)), ("i32", str(len(view.shape))), ("ptr", shape),
            ("i32", str(element.number)), null, null, zero, zero, null,
        )  # fmt: skip
        size = self.register(self.product((*view.shape, element.size)), INT)
        self.call("memcpy", "ptr", ("ptr", self.field(made, DATA, "ptr")), ("ptr", view.data), ("i64", size))
        return made
