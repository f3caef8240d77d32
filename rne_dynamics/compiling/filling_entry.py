"""The function that Python calls in front of a kernel that fills its last argument: ``f(a0, …, out=None)``.

CPython's protocol METH_FASTCALL | METH_KEYWORDS: (self, arguments, their number, names of the last ones). `self` is a
tuple: a function of Python with the same arguments, which takes all that the kernel does not; the kernel's first
arguments, of the right kinds; and an array of the lengths that the other ones must have. The last argument must share
no memory with those before it.
"""

from __future__ import annotations

import sys
from itertools import count
from typing import cast

import numpy as np

from rne_dynamics.compiling.kinds import ELEMENTS, INT, ArrayKind, Compiled, Kind, View, assembled
from rne_dynamics.compiling.objects import DATA, ITEMS, LENGTH
from rne_dynamics.compiling.python_entry import PythonEntry

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
        filled = self._like(inputs, lengths[-1])
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

    def _like(self, k: int, lengths: list[str]) -> list[tuple[str, str]]:
        """The parts of array argument `k` if it has these lengths."""
        parts = self.unpacked(self.field("%arguments", 8 * k, "ptr"), self._kinds[k])
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
