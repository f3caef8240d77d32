"""LLVM assembly of one compiled function: its lines, and the arithmetic of its numbers."""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from rne_dynamics.compiling.kinds import BOOL, FLOAT, INT, Number, Scalar, joined, kind_of
from rne_dynamics.errors import RneDynamicsError

_PLAIN: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "Div": operator.truediv, "Mod": operator.mod,
    "FloorDiv": operator.floordiv, "Pow": operator.pow, "BitAnd": operator.and_, "BitOr": operator.or_,
    "BitXor": operator.xor, "Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt, "GtE": operator.ge,
    "Eq": operator.eq, "NotEq": operator.ne,
}  # fmt: skip
_FLOATS = {"Add": "fadd", "Sub": "fsub", "Mult": "fmul", "Div": "fdiv"}
_INTEGERS = {"Add": "add nsw", "Sub": "sub nsw", "Mult": "mul nsw", "BitAnd": "and", "BitOr": "or", "BitXor": "xor"}
_CONDITIONS = {"Lt": ("olt", "slt"), "LtE": ("ole", "sle"), "Gt": ("ogt", "sgt"), "GtE": ("oge", "sge"),
               "Eq": ("oeq", "eq"), "NotEq": ("une", "ne")}  # fmt: skip
#: Largest exponent of a power that is written as multiplications.
_LARGEST_POWER = 4


class UntranslatableError(RneDynamicsError):
    """A function that has more than compiled functions may have."""


def widest(*values: Any) -> Scalar:
    """The kind of number that holds all of these numbers."""
    kind = BOOL
    for value in values:
        wider = joined(kind, kind_of(value))
        if not isinstance(wider, Scalar):
            raise UntranslatableError(f"{kind_of(value)} is no number")
        kind = wider
    return kind


def constant(value: Any, kind: Scalar) -> str:
    """A number as LLVM writes it."""
    if kind == FLOAT:
        return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
    return str(int(value)) if kind == INT else str(bool(value)).lower()


class Instructions:
    """The lines of one function of LLVM, and what it declares."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.slots: list[str] = []
        self.declarations: set[str] = set()
        self._names = 0
        self.open = True

    def new(self, prefix: str = "v") -> str:
        """A name that no other value or label has."""
        self._names += 1
        return f"{prefix}{self._names}"

    def do(self, instruction: str) -> None:
        """Append an instruction without a value, which may end the block."""
        self.lines.append(f"  {instruction}")
        self.open = instruction.partition(" ")[0] not in ("br", "ret", "unreachable")

    def let(self, instruction: str) -> str:
        """Append an instruction with a value; the value's name."""
        name = f"%{self.new()}"
        self.lines.append(f"  {name} = {instruction}")
        return name

    def slot(self, kind: str) -> str:
        """Memory of the function's own for a value of a type of LLVM's."""
        name = f"%{self.new('s')}"
        self.slots.append(f"  {name} = alloca {kind}")
        return name

    def label(self, name: str) -> None:
        """Begin a block; the one before goes on into it."""
        if self.open:
            self.do(f"br label %{name}")
        self.lines.append(f"{name}:")
        self.open = True

    def go(self, label: str) -> None:
        """End the block with a jump."""
        if self.open:
            self.do(f"br label %{label}")

    def branch(self, condition: str, yes: str, no: str) -> None:
        """End the block with a branch."""
        self.do(f"br i1 {condition}, label %{yes}, label %{no}")

    def call(self, name: str, result: str, *arguments: tuple[str, str]) -> str:
        """Call a function of C or of LLVM by name, with (type, value) pairs; the value's name."""
        kinds = ", ".join(kind for kind, _ in arguments)
        self.declarations.add(f"declare {result} @{name}({kinds})")
        given = ", ".join(f"{kind} {value}" for kind, value in arguments)
        if result == "void":
            self.do(f"call void @{name}({given})")
            return ""
        return self.let(f"call {result} @{name}({given})")

    # numbers

    def register(self, value: Any, kind: Scalar) -> str:
        """A number of a kind in a register, converted if need be; constants as they are written."""
        if not isinstance(value, Number):
            return constant(value, kind)
        if value.kind == kind:
            return value.text
        if kind == FLOAT:
            conversion = "sitofp" if value.kind == INT else "uitofp"
            return self.let(f"{conversion} {value.kind.register} {value.text} to double")
        if kind == INT and value.kind == BOOL:
            return self.let(f"zext i1 {value.text} to i64")
        raise UntranslatableError(f"a {value.kind} cannot become a {kind}")

    def binary(self, name: str, a: Any, b: Any) -> Any:
        """An operation of arithmetic, by the name of Python's syntax node."""
        if not isinstance(a, Number) and not isinstance(b, Number):
            return self.constant_division(a, b) if name == "Div" else _PLAIN[name](a, b)
        both = widest(a, b) if name in ("BitAnd", "BitOr", "BitXor") else widest(a, b, 0)
        if name == "Pow":
            return self._power(a, b)
        if name == "Div":
            both = FLOAT
        x, y = self.register(a, both), self.register(b, both)
        if name in ("Mod", "FloorDiv"):
            return self._floored(name, both, x, y)
        instruction = f"{_FLOATS[name]} contract" if both == FLOAT else _INTEGERS[name]
        return Number(both, self.let(f"{instruction} {both.register} {x}, {y}"))

    @staticmethod
    def constant_division(a: Any, b: Any) -> float:
        """a / b as processors divide: by zero too."""
        with np.errstate(all="ignore"):
            return float(np.float64(a) / np.float64(b))

    def _power(self, a: Any, b: Any) -> Any:
        if isinstance(b, int) and 0 < b <= _LARGEST_POWER:
            product = a
            for _ in range(b - 1):
                product = self.binary("Mult", product, a)
            return product
        return Number(FLOAT, self.call("pow", "double", *(("double", self.register(x, FLOAT)) for x in (a, b))))

    def _floored(self, name: str, kind: Scalar, x: str, y: str) -> Any:
        """Python's remainder of integers, which has the divisor's sign, and its quotient."""
        if kind == FLOAT:
            raise UntranslatableError("floats have no remainder and no whole quotient")
        rest, number = Number(kind, self.let(f"srem i64 {x}, {y}")), Number(kind, y)
        crossed = Number(INT, self.let(f"xor i64 {rest.text}, {y}"))
        wrong = self.both(self.compare("NotEq", rest, 0), self.compare("Lt", crossed, 0))
        if name == "Mod":
            return self.choose(wrong, self.binary("Add", rest, number), rest)
        quotient = Number(kind, self.let(f"sdiv i64 {x}, {y}"))
        return self.choose(wrong, self.binary("Sub", quotient, 1), quotient)

    def compare(self, name: str, a: Any, b: Any) -> Any:
        """A comparison, by the name of Python's syntax node."""
        if name in ("Eq", "NotEq") and isinstance(a, tuple) and isinstance(b, tuple):
            same: Any = len(a) == len(b)
            for x, y in zip(a, b, strict=False):
                same = self.both(same, self.compare("Eq", x, y))
            return same if name == "Eq" else self.opposite(same)
        if not isinstance(a, Number) and not isinstance(b, Number):
            return _PLAIN[name](a, b)
        kind = widest(a, b)
        x, y = self.register(a, kind), self.register(b, kind)
        floating, integer = _CONDITIONS[name]
        instruction = f"fcmp {floating}" if kind == FLOAT else f"icmp {integer}"
        return Number(BOOL, self.let(f"{instruction} {kind.register} {x}, {y}"))

    def choose(self, condition: Any, a: Any, b: Any) -> Any:
        """One of two numbers."""
        if not isinstance(condition, Number):
            return a if condition else b
        kind = widest(a, b)
        x, y = self.register(a, kind), self.register(b, kind)
        return Number(kind, self.let(f"select i1 {condition.text}, {kind.register} {x}, {kind.register} {y}"))

    def both(self, a: Any, b: Any) -> Any:
        """Whether two conditions hold."""
        return self.binary("BitAnd", a, b)

    def truth(self, value: Any) -> Any:
        """Whether Python takes a number for true."""
        if isinstance(value, Number):
            return value if value.kind == BOOL else self.compare("NotEq", value, 0)
        return bool(value)

    def opposite(self, value: Any) -> Any:
        """`not` of a value."""
        truth = self.truth(value)
        return Number(BOOL, self.let(f"xor i1 {truth.text}, true")) if isinstance(truth, Number) else not truth

    def minus(self, value: Any) -> Any:
        """−x."""
        if not isinstance(value, Number):
            return -value
        if value.kind == FLOAT:
            return Number(FLOAT, self.let(f"fneg double {value.text}"))
        return Number(INT, self.let(f"sub i64 0, {self.register(value, INT)}"))

    def of_float(self, name: str, *values: Any) -> Any:
        """A function of C's mathematics, or of LLVM's, of numbers."""
        return Number(FLOAT, self.call(name, "double", *(("double", self.register(x, FLOAT)) for x in values)))

    def whole(self, value: Any) -> Any:
        """`int` of a number."""
        if isinstance(value, Number) and value.kind == FLOAT:
            return Number(INT, self.let(f"fptosi double {value.text} to i64"))
        return Number(INT, self.register(value, INT)) if isinstance(value, Number) else int(value)

    def absolute(self, value: Any) -> Any:
        """|x|."""
        if not isinstance(value, Number):
            return abs(value)
        if value.kind == FLOAT:
            return self.of_float("llvm.fabs.f64", value)
        return self.choose(self.compare("Lt", value, 0), self.minus(value), value)

    def extreme(self, name: str, *values: Any) -> Any:
        """Python's `min` or `max`: the first of equal ones."""
        best = values[0]
        for value in values[1:]:
            best = self.choose(self.compare("Lt" if name == "min" else "Gt", value, best), value, best)
        return best

    def sign(self, value: Any) -> Any:
        """−1, 0 or 1; NaN of NaN."""
        zero_or_nan = self.choose(self.compare("Lt", value, 0.0), -1.0, value)
        return self.choose(self.compare("Gt", value, 0.0), 1.0, zero_or_nan)
