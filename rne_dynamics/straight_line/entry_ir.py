"""A function that Python calls, as LLVM assembly: ``f(a0, …, out=None)`` in front of a function of one state.

CPython's protocol METH_FASTCALL | METH_KEYWORDS: (self, arguments, their number, names of the last ones). The entry
reads NumPy's array objects itself, which takes 10 % of the time of NumPy's and Python's own functions. It accepts one
state in C-contiguous aligned arrays of float64 of exactly the right shape, and an `out` of that kind that is writable
and apart from them in memory. `self` is a Python function that is called with everything else, and for states that the
code refuses. Where fields lie in the objects is checked by `objects.lie_as_expected`.
"""

from __future__ import annotations

from collections.abc import Sequence

from rne_dynamics.compiling.objects import (
    DATA,
    DIMENSIONS,
    DTYPE,
    FLAGS,
    ITEMS,
    LENGTH,
    READABLE,
    SHAPE,
    TYPE,
    WRITABLE,
)

#: What the entry refers to by address, see `entry.addresses`.
SYMBOLS = ("array_type", "double_dtype", "out_name", "new_array", "increment", "decrement", "call_python")
_NUMBER_OF_DOUBLE = 12


def entry_text(name: str, widths: Sequence[int], shape: Sequence[int], refusals: int) -> str:
    """The function `name` of inputs of these widths and an output of this shape, in front of ``@state``.

    An answer is refused if what `state` returns has one of the bits of `refusals`.
    """
    return _Entry(name, tuple(widths), tuple(shape), refusals).text()


def declarations() -> str:
    """What all entries of a module refer to."""
    return "\n".join(
        (
            "@array_type = external global i8",
            "@double_dtype = external global i8",
            "@out_name = external global i8",
            "declare ptr @new_array(ptr, i32, ptr, i32, ptr, ptr, i32, i32, ptr)",
            "declare void @increment(ptr)",
            "declare void @decrement(ptr)",
            "declare ptr @call_python(ptr, ptr, i64, ptr)",
        )
    )


class _Entry:
    def __init__(self, name: str, widths: tuple[int, ...], shape: tuple[int, ...], refusals: int) -> None:
        self._name, self._widths, self._shape, self._refusals = name, widths, shape, refusals
        self._lines: list[str] = []
        self._blocks = 0

    def text(self) -> str:
        """The function, and the constant that it reads."""
        count, size = len(self._widths), 8
        for length in self._shape:
            size *= length
        self._count_arguments(count)
        self._label("inputs")
        self._do("%has_out = phi i1 [ false, %positional ], [ true, %positional_out ], [ true, %named_out ]")
        data = [self._array(k, (width,), READABLE) for k, width in enumerate(self._widths)]
        self._do("br i1 %has_out, label %given, label %fresh")
        self._label("given")
        out = self._array(count, self._shape, WRITABLE)
        for pointer, width in zip(data, self._widths, strict=True):
            self._require(self._apart(out, size, pointer, 8 * width))
        given, last = f"%p{count}", self._here
        self._do("br label %compute")
        self._label("fresh")
        self._do(
            f"%made = call ptr @new_array(ptr @array_type, i32 {len(self._shape)}, ptr @shape_of_{self._name}, "
            f"i32 {_NUMBER_OF_DOUBLE}, ptr null, ptr null, i32 0, i32 0, ptr null)"
        )
        self._do("%none = icmp eq ptr %made, null")
        self._do("br i1 %none, label %failed, label %fresh_data")
        self._label("fresh_data")
        fresh = self._field("%made", DATA, "ptr")
        self._do("br label %compute")
        self._label("compute")
        self._do(f"%answer = phi ptr [ {given}, %{last} ], [ %made, %fresh_data ]")
        self._do(f"%into = phi ptr [ {out}, %{last} ], [ {fresh}, %fresh_data ]")
        pointers = "".join(f"ptr {pointer}, " for pointer in data)
        self._do(f"%status = call i32 @state({pointers}ptr %into)")
        self._do(f"%wrong = and i32 %status, {self._refusals}")
        self._do("%valid = icmp eq i32 %wrong, 0")
        self._do("br i1 %valid, label %done, label %refused")
        self._label("done")
        self._do("br i1 %has_out, label %borrowed, label %own")
        self._label("borrowed")
        self._do("call void @increment(ptr %answer)")
        self._do("br label %own")
        self._label("own")
        self._do("ret ptr %answer")
        self._label("refused")
        self._do("br i1 %has_out, label %odd, label %drop")
        self._label("drop")
        self._do("call void @decrement(ptr %answer)")
        self._do("br label %odd")
        self._label("odd")
        self._do("%other = call ptr @call_python(ptr %self, ptr %arguments, i64 %count, ptr %names)")
        self._do("ret ptr %other")
        self._label("failed")
        self._do("ret ptr null")
        lengths = ", ".join(f"i64 {length}" for length in self._shape)
        head = f"define ptr @{self._name}(ptr %self, ptr %arguments, i64 %count, ptr %names) nounwind {{"
        shape = f"@shape_of_{self._name} = internal constant [{len(self._shape)} x i64] [{lengths}]"
        return "\n".join((shape, head, *self._lines, "}"))

    def _count_arguments(self, count: int) -> None:
        """To `inputs` with the right number of arguments, with and without `out`; otherwise to `odd`."""
        self._label("entry")
        self._do("%plain = icmp eq ptr %names, null")
        self._do("br i1 %plain, label %positional, label %named")
        self._label("positional")
        self._do(f"%bare = icmp eq i64 %count, {count}")
        self._do("br i1 %bare, label %inputs, label %positional_out")
        self._label("positional_out")
        self._do(f"%one_more = icmp eq i64 %count, {count + 1}")
        self._do("br i1 %one_more, label %inputs, label %odd")
        self._label("named")
        one = self._equal(self._field("%names", LENGTH, "i64"), "1", "i64")
        self._do(f"%inputs_only = icmp eq i64 %count, {count}")
        self._require(self._both(one, "%inputs_only"))
        self._require(self._equal(self._field("%names", ITEMS, "ptr"), "@out_name", "ptr"))
        self._do("br label %named_out")
        self._label("named_out")
        self._do("br label %inputs")

    def _array(self, k: int, shape: tuple[int, ...], flags: int) -> str:
        """The data of argument k, if it is such an array."""
        self._do(f"%e{k} = getelementptr ptr, ptr %arguments, i64 {k}")
        self._do(f"%p{k} = load ptr, ptr %e{k}, align 8")
        self._require(self._equal(self._field(f"%p{k}", TYPE, "ptr"), "@array_type", "ptr"))
        doubles = self._equal(self._field(f"%p{k}", DTYPE, "ptr"), "@double_dtype", "ptr")
        dimensions = self._equal(self._field(f"%p{k}", DIMENSIONS, "i32"), str(len(shape)), "i32")
        found = self._let(f"and i32 {self._field(f'%p{k}', FLAGS, 'i32')}, {flags}")
        self._require(self._both(self._both(doubles, dimensions), self._equal(found, str(flags), "i32")))
        lengths = self._field(f"%p{k}", SHAPE, "ptr")
        for axis, length in enumerate(shape):
            self._require(self._equal(self._field(lengths, 8 * axis, "i64"), str(length), "i64"))
        return self._field(f"%p{k}", DATA, "ptr")

    def _apart(self, a: str, a_size: int, b: str, b_size: int) -> str:
        """Whether two parts of memory do not overlap."""
        a_end, b_end = (self._let(f"getelementptr i8, ptr {x}, i64 {n}") for x, n in ((a, a_size), (b, b_size)))
        after, before = self._let(f"icmp uge ptr {a}, {b_end}"), self._let(f"icmp uge ptr {b}, {a_end}")
        return self._let(f"or i1 {after}, {before}")

    def _field(self, pointer: str, offset: int, kind: str) -> str:
        place = self._let(f"getelementptr i8, ptr {pointer}, i64 {offset}")
        return self._let(f"load {kind}, ptr {place}, align {4 if kind == 'i32' else 8}")

    def _equal(self, a: str, b: str, kind: str) -> str:
        return self._let(f"icmp eq {kind} {a}, {b}")

    def _both(self, a: str, b: str) -> str:
        return self._let(f"and i1 {a}, {b}")

    def _require(self, condition: str) -> None:
        self._blocks += 1
        self._do(f"br i1 {condition}, label %next{self._blocks}, label %odd")
        self._label(f"next{self._blocks}")

    def _let(self, instruction: str) -> str:
        name = f"%v{len(self._lines)}"
        self._do(f"{name} = {instruction}")
        return name

    def _do(self, instruction: str) -> None:
        self._lines.append(f"  {instruction}")

    def _label(self, name: str) -> None:
        self._here = name
        self._lines.append(f"{name}:")
