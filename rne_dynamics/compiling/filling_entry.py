"""The function that Python calls in front of a kernel that fills its last argument: ``f(a0, …, out=None)``.

CPython's protocol METH_FASTCALL | METH_KEYWORDS: (self, arguments, their number, names of the last ones). `self` is a
tuple: a function of Python with the same arguments, which takes all that the kernel does not; the kernel's first
arguments; and an array of the shape of those that are made for answers.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from rne_dynamics.compiling.kinds import ELEMENTS, INT, ArrayKind, Compiled
from rne_dynamics.compiling.objects import ITEMS, LENGTH, SHAPE, WRITABLE
from rne_dynamics.compiling.python_entry import PythonEntry

#: Name of the last argument.
OUT = sys.intern("out")


class FillingEntry(PythonEntry):
    """Writes the entry of a kernel that returns 0 where it has filled its last argument.

    Parameters
    ----------
    function
        The kernel.
    first
        How many of its arguments are in `self`.
    """

    def __init__(self, function: Compiled, first: int) -> None:
        super().__init__(function, releases_lock=False)
        self._kinds, self._first = function.kinds, first

    def text(self) -> str:
        """As of `PythonEntry`."""
        inputs, kinds = len(self._kinds) - self._first - 1, self._kinds
        has_out = self._count_arguments(inputs)
        items = [self.field("%self", ITEMS + 8 * k, "ptr") for k in range(self._first + 2)]
        items[1:-1] += [self.field("%arguments", 8 * k, "ptr") for k in range(inputs)]
        given = [part for item, kind in zip(items[1:-1], kinds[:-1], strict=True) for part in self.unpacked(item, kind)]
        answer = self.slot("ptr")
        self.branch(has_out, "with_out", "without_out")
        self.label("with_out")
        self.do(f"store ptr {self.field('%arguments', 8 * inputs, 'ptr')}, ptr {answer}")
        self.go("with_answer")
        self.label("without_out")
        self.do(f"store ptr {self._made(items[-1])}, ptr {answer}")
        self.go("with_answer")
        self.label("with_answer")
        out = self.let(f"load ptr, ptr {answer}")
        self.flags = WRITABLE
        given += self.unpacked(out, kinds[-1])
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
        self.open = False
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

    def _count_arguments(self, inputs: int) -> str:
        """Whether there is an output besides so many inputs; to `odd` with another number of arguments."""
        more, outputs = self.let(f"sub i64 %count, {inputs}"), self.slot("i64")
        self.do(f"store i64 {more}, ptr {outputs}")
        self.branch(self.let("icmp eq ptr %names, null"), "positional", "named")
        self.label("named")
        self.require(f"icmp eq i64 {self.field('%names', LENGTH, 'i64')}, 1")
        self.require(f"icmp eq ptr {self.field('%names', ITEMS, 'ptr')}, {self.object(OUT)}")
        self.do(f"store i64 {self.let(f'add i64 {more}, 1')}, ptr {outputs}")
        self.go("positional")
        self.label("positional")
        found = self.let(f"load i64, ptr {outputs}")
        self.require(f"icmp ult i64 {found}, 2")
        return self.let(f"icmp eq i64 {found}, 1")

    def _made(self, like: str) -> str:
        """A new array."""
        kind: Any = self._kinds[-1]
        assert isinstance(kind, ArrayKind)
        null, zero = ("ptr", "null"), ("i32", "0")
        made = self.call(
            "PyArray_New", "ptr", ("ptr", self.object(np.ndarray)), ("i32", str(kind.dimensions)),
            ("ptr", self.field(like, SHAPE, "ptr")), ("i32", str(ELEMENTS[kind.element].number)), null, null, zero,
            zero, null,
        )  # fmt: skip
        self.branch(self.let(f"icmp eq ptr {made}, null"), "failed", "made")
        self.label("failed")
        self.do("ret ptr null")
        self.open = False
        self.label("made")
        return made
