"""LLVM assembly text of instructions on vectors, one number per lane, or on single numbers."""

from __future__ import annotations

from collections.abc import Sequence

from rne_dynamics.compiling.instructions import constant
from rne_dynamics.compiling.kinds import FLOAT


class Lines:
    """The lines of one function, in which every value is a vector of `width` doubles, or a double for width 1."""

    def __init__(self, width: int, text: list[str] | None = None, *, fused: bool = True) -> None:
        self.width, self.fused = width, fused
        kinds = ("double", "i64", "i1")
        self.vector, self.integers, self.mask = kinds if width == 1 else (f"<{width} x {kind}>" for kind in kinds)
        self._suffix = "f64" if width == 1 else f"v{width}f64"
        self.text: list[str] = [] if text is None else text

    def of_width(self, width: int) -> Lines:
        """The same function's lines, for values of another width."""
        return Lines(width, self.text, fused=self.fused)

    def _same(self, kind: str, value: str) -> str:
        return value if self.width == 1 else f"<{', '.join([f'{kind} {value}'] * self.width)}>"

    def let(self, instruction: str) -> str:
        """Append an instruction with a value; return the value's name."""
        name = f"%v{len(self.text)}"
        self.text.append(f"  {name} = {instruction}")
        return name

    def do(self, instruction: str) -> None:
        """Append an instruction without a value."""
        self.text.append(f"  {instruction}")

    def splat(self, value: float) -> str:
        """The same double in every lane."""
        return self._same("double", constant(value, FLOAT))

    def splat_integer(self, value: int) -> str:
        """The same 64-bit integer in every lane."""
        return self._same("i64", str(value))

    def splat_mask(self, value: bool) -> str:
        """The same truth value in every lane."""
        return self._same("i1", str(value).lower())

    def arithmetic(self, name: str, *operands: str) -> str:
        """`fadd`, `fsub`, `fmul`; a multiplication and an addition may be fused."""
        return self.let(f"{name} contract {self.vector} {', '.join(operands)}")

    def exact(self, name: str, *operands: str) -> str:
        """As `arithmetic`, without fusing."""
        return self.let(f"{name} {self.vector} {', '.join(operands)}")

    def integer(self, name: str, a: str, b: str) -> str:
        """An operation on 64-bit integers."""
        return self.let(f"{name} {self.integers} {a}, {b}")

    def intrinsic(self, name: str, *operands: str) -> str:
        """`llvm.<name>` of vectors, e.g. fma, sqrt, fabs."""
        arguments = ", ".join(f"{self.vector} {x}" for x in operands)
        return self.let(f"call {self.vector} @llvm.{name}.{self._suffix}({arguments})")

    def multiply_add(self, a: str, b: str, c: str) -> str:
        """a b + c, rounded once where the processor does so."""
        if self.fused:
            return self.intrinsic("fma", a, b, c)
        return self.exact("fadd", self.exact("fmul", a, b), c)

    def bits(self, x: str) -> str:
        """A vector of doubles as integers."""
        return self.let(f"bitcast {self.vector} {x} to {self.integers}")

    def doubles(self, x: str) -> str:
        """A vector of integers as doubles."""
        return self.let(f"bitcast {self.integers} {x} to {self.vector}")

    def compare(self, condition: str, a: str, b: str) -> str:
        """`fcmp`, e.g. olt: false where a number is NaN."""
        return self.let(f"fcmp {condition} {self.vector} {a}, {b}")

    def select(self, mask: str, a: str, b: str) -> str:
        """a where the mask is set, otherwise b."""
        return self.let(f"select {self.mask} {mask}, {self.vector} {a}, {self.vector} {b}")

    def shuffle(self, a: str, b: str, lanes: Sequence[int]) -> str:
        """Selected lanes of a (0 to `width` − 1) and b (from `width` on)."""
        chosen = ", ".join(f"i32 {lane}" for lane in lanes)
        return self.let(
            f"shufflevector {self.vector} {a}, {self.vector} {b}, <{len(lanes)} x i32> <{chosen}>"
        )


def declarations(width: int) -> list[str]:
    """Of the functions that `intrinsic` calls."""
    kind, suffix = ("double", "f64") if width == 1 else (f"<{width} x double>", f"v{width}f64")
    counts = {"fabs": 1, "sqrt": 1, "sin": 1, "cos": 1, "copysign": 2, "fma": 3}
    return [f"declare {kind} @llvm.{name}.{suffix}({', '.join([kind] * k)})" for name, k in counts.items()]
