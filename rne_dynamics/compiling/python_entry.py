"""The functions that Python calls in front of compiled ones, as LLVM assembly.

They read the objects of Python and NumPy themselves: arrays of exactly a type, C-contiguous and aligned, numbers,
tuples of them. With all other arguments they call a function of Python.

CPython's protocol is METH_FASTCALL | METH_KEYWORDS: (self, arguments, their number, names of the last ones). `self` is
a tuple that begins with the function of Python.

`PythonEntry` is in front of any kernel.

`FillingEntry` is in front of a kernel that fills its last argument: ``f(a0, …, out=None)``. In `self` are also the
kernel's first arguments, of the right kinds, and an array of the lengths that the other ones must have. The last
argument must share no memory with those before it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
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
    Number,
    Scalar,
    TupleKind,
    View,
    made,
)

#: Bytes on the stack for what a call makes.
_CHUNK = 2**14
_TYPES = {FLOAT: float, INT: int, BOOL: bool}


class PythonEntry(Arrays):
    """Writes the entry of a compiled function; `objects` that it compares with, by the names of symbols."""

    def __init__(self, function: Compiled, *, releases_lock: bool) -> None:
        super().__init__()
        self.function, self._releases_lock = function, releases_lock
        self.objects: dict[str, Any] = {}
        #: The block for arguments that the function does not take; empty while all are known to be right.
        self.odd = "odd"

    def text(self) -> str:
        """The function ``@entry``."""
        function = self.function
        self.require("icmp eq ptr %names, null", f"icmp eq i64 %count, {len(function.kinds)}")
        result = self.called(self.items("%arguments", 0, function.kinds))
        self.do(f"ret ptr {self._packed(result, function.returned)}")
        return self.finished()

    def finished(self) -> str:
        """The function with its end, the call of Python, and the objects that it refers to."""
        self.label("odd")
        other = self.call(
            "PyObject_Vectorcall", "ptr", ("ptr", self.field("%self", ITEMS, "ptr")), ("ptr", "%arguments"),
            ("i64", "%count"), ("ptr", "%names"),
        )  # fmt: skip
        self.do(f"ret ptr {other}")
        named = [f"@{name} = external global i8" for name in self.objects]
        head = "define ptr @entry(ptr %self, ptr %arguments, i64 %count, ptr %names) nounwind {"
        return "\n".join((*named, head, "entry:", *self.slots, *self.lines, "}"))

    def called(self, values: list[Any]) -> Any:
        """What the function returns, which is in no memory of the arena."""
        self.slots.append("  %arena = alloca [3 x ptr]")
        if self.function.allocates:  # the first chunk is on the stack, which is enough for most calls
            self.slots.append(f"  %chunk = alloca [{_CHUNK} x i8], align 32")
            self.do("store ptr null, ptr %arena")
            for k, offset in ((1, 0), (2, _CHUNK)):
                place = self.let(f"getelementptr ptr, ptr %arena, i64 {k}")
                self.do(f"store ptr {self.let(f'getelementptr i8, ptr %chunk, i64 {offset}')}, ptr {place}")
        if self._releases_lock:
            state = self.call("PyEval_SaveThread", "ptr")
        result = self.result(self.function, values)
        if self._releases_lock:
            self.call("PyEval_RestoreThread", "void", ("ptr", state))
        if self.function.allocates:
            self.do("call void @release(ptr %arena, ptr null, ptr %chunk)")
        return result

    # from Python

    def items(self, pointer: str, offset: int, kinds: Sequence[Kind]) -> list[Any]:
        """The values of objects, whose addresses are in memory one after the other, if they are of these kinds."""
        return [self._unpacked(self.field(pointer, offset + 8 * k, "ptr"), kind) for k, kind in enumerate(kinds)]

    def _unpacked(self, item: str, kind: Kind) -> Any:
        if isinstance(kind, Scalar):
            return Number(kind, self._number(item, kind))
        if isinstance(kind, ArrayKind):
            return self.array(item, kind)
        if isinstance(kind, TupleKind):
            self._require_type(item, kind.cls)
            self.require(f"icmp eq i64 {self.field(item, LENGTH, 'i64')}, {len(kind.items)}")
            return made(kind.cls, self.items(item, ITEMS, kind.items))
        assert isinstance(kind, Fixed)  # tables do not come from Python
        self.require(f"icmp eq ptr {item}, {self.object(kind.value)}")
        return kind.value

    def _number(self, item: str, kind: Scalar) -> str:
        self._require_type(item, _TYPES[kind])
        if kind == FLOAT:
            return self.field(item, FLOAT_VALUE, "double")
        if kind == INT:
            return self.call("PyLong_AsLongLong", "i64", ("ptr", item))
        return self.let(f"icmp eq ptr {item}, {self.object(True)}")

    def array(self, item: str, kind: ArrayKind, flags: int = READABLE) -> View:
        """An array, if it is of a kind and has these flags."""
        self._require_type(item, np.ndarray)
        wanted = flags & ~CONTIGUOUS if kind.strided else flags
        found = self.let(f"and i32 {self.field(item, FLAGS, 'i32')}, {wanted | CONTIGUOUS}")
        self.require(
            f"icmp eq ptr {self.field(item, DTYPE, 'ptr')}, {self.object(np.dtype(kind.element))}",
            f"icmp eq i32 {self.field(item, DIMENSIONS, 'i32')}, {kind.dimensions}",
            f"icmp eq i32 {found}, {wanted}",
        )
        data, size = self.field(item, DATA, "ptr"), ELEMENTS[kind.element].size
        shape, steps = (
            [self.field(self.field(item, place, "ptr"), 8 * k, "i64") for k in range(kind.dimensions)]
            for place in (SHAPE, STRIDES)
        )
        strides = tuple(Number(INT, self.let(f"sdiv i64 {step}, {size}")) for step in steps) if kind.strided else None
        return View(kind.element, data, tuple(Number(INT, length) for length in shape), strides)

    def _require_type(self, item: str, cls: type) -> None:
        self.require(f"icmp eq ptr {self.field(item, TYPE, 'ptr')}, {self.object(cls)}")

    def require(self, *comparisons: str) -> None:
        """Go on where comparisons are true."""
        if not self.odd:
            return
        label, true, *others = self.new("l"), *map(self.let, comparisons)
        for other in others:
            true = self.let(f"and i1 {true}, {other}")
        self.branch(true, label, self.odd)
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
_LENGTHS = ArrayKind("<i8", 1)


class FillingEntry(PythonEntry):
    """Writes the entry of a kernel that returns 0 where it has filled its last argument; `first` ones are in `self`."""

    def __init__(self, function: Compiled, first: int) -> None:
        super().__init__(function, releases_lock=False)
        self._first, self._arrays = function.kinds[:first], cast("tuple[ArrayKind, ...]", function.kinds[first:])

    def text(self) -> str:
        """The function ``@entry``."""
        *inputs, output = self._arrays
        has_out, answer = self._has_output(len(inputs)), self.slot("ptr")
        self.odd = ""
        *first, lengths = self.items("%self", ITEMS + 8, (*self._first, _LENGTHS))
        self.odd = "odd"
        arrays = self.items("%arguments", 0, inputs)
        self.branch(has_out, "with_out", "without_out")
        self.label("with_out")
        self.do(f"store ptr {self._counted(self.field('%arguments', 8 * len(inputs), 'ptr'))}, ptr {answer}")
        self.go("with_answer")
        self.label("without_out")
        self.do(f"store ptr {self._new(output, self.element(lengths, (len(inputs),)))}, ptr {answer}")
        self.label("with_answer")
        out, self.odd = self.let(f"load ptr, ptr {answer}"), "refused"
        arrays.append(self.array(out, output, WRITABLE))
        found = [length for array in arrays for length in array.shape]
        self.require(*(f"icmp eq i64 {x.text}, {self.item(lengths, (k,)).text}" for k, x in enumerate(found)))
        self._require_apart(arrays)
        status = self.called([*first, *arrays])
        self.require(f"icmp eq i64 {self.register(status, INT)}, 0")
        self.do(f"ret ptr {out}")
        self.label("refused")
        self.call("Py_DecRef", "void", ("ptr", out))
        return self.finished()

    def _has_output(self, inputs: int) -> str:
        """Whether there is an output besides so many inputs; to `odd` with another number of arguments."""
        more, outputs = self.let(f"sub i64 %count, {inputs}"), self.slot("i64")
        self.do(f"store i64 {more}, ptr {outputs}")
        self.branch(self.let("icmp eq ptr %names, null"), "positional", "named")
        self.label("named")
        self.require(f"icmp eq i64 {more}, 0", f"icmp eq i64 {self.field('%names', LENGTH, 'i64')}, 1")
        self.require(f"icmp eq ptr {self.field('%names', ITEMS, 'ptr')}, {self.object(OUT)}")
        self.do(f"store i64 1, ptr {outputs}")
        self.label("positional")
        found = self.let(f"load i64, ptr {outputs}")
        self.require(f"icmp ult i64 {found}, 2")
        return self.let(f"icmp eq i64 {found}, 1")

    def _new(self, kind: ArrayKind, lengths: str) -> str:
        """A new array."""
        null, zero = ("ptr", "null"), ("i32", "0")
        array = self.call(
            "PyArray_New", "ptr", ("ptr", self.object(np.ndarray)), ("i32", str(kind.dimensions)), ("ptr", lengths),
            ("i32", str(ELEMENTS[kind.element].number)), null, null, zero, zero, null,
        )  # fmt: skip
        self.branch(self.let(f"icmp eq ptr {array}, null"), "failed", "made")
        self.label("failed")
        self.do("ret ptr null")
        self.label("made")
        return array

    def _require_apart(self, arrays: list[View]) -> None:
        """The last array shares no memory with the others."""
        *others, (start, end) = map(self._ends, arrays)
        for other, other_end in others:
            after, before = self.let(f"icmp sge i64 {start}, {other_end}"), self.let(f"icmp sge i64 {other}, {end}")
            self.require(f"or i1 {after}, {before}")

    def _ends(self, array: View) -> tuple[str, str]:
        """First and last address of an array's memory."""
        start = self.let(f"ptrtoint ptr {array.data} to i64")
        size = self.register(self.product((*array.shape, ELEMENTS[array.element].size)), INT)
        return start, self.let(f"add nsw i64 {start}, {size}")
